"""Over a socket, as with a real provider."""

from __future__ import annotations

import pytest
from mock_server import MockServer

from .project import Project, right

pytestmark = pytest.mark.slow


def configure(project: Project, server: MockServer) -> None:
    project.write(
        "tooleval.toml",
        f"""
        [models.local]
        model = "openai/tiny"
        api_base = "{server.base_url}"
        """,
    )


def town(id: str, name: str) -> dict[str, object]:
    return {
        **right(id),
        "prompt": f"What is the weather in {name}?",
        "expected_params": {"city": name},
    }


def test_a_whole_run_over_a_socket(project: Project) -> None:
    names = ["Paris", "Tokyo", "Lima", "Oslo", "Rome", "Bern"]
    project.suite(*(town(name.lower(), name) for name in names))
    with MockServer(latency=0.1, together=6) as server:
        configure(project, server)
        result = project.run("--tooleval-report=out.json", model="local")
    result.assert_outcomes(passed=6)
    assert server.requests == 6
    assert server.max_in_flight == 6
    row = project.rows()["paris[local]"]
    assert row["trials"][0]["prompt_tokens"] is not None
    assert row["trials"][0]["latency_s"] >= 0.1
    [model] = project.document()["models"]
    assert model["tokens"]["completion"] > 0


def test_no_usable_answer_is_no_abstention(project: Project) -> None:
    project.suite(
        {"id": "nothing", "prompt": "Thank you!", "expected_tool": None, "thresholds": {"overall": 0.0}},
        town("paris", "Paris"),
    )
    message = {"role": "assistant", "content": None, "refusal": "I can't help with \x1bthat."}
    document = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    with MockServer(respond=lambda path, request: (200, document)) as server:
        configure(project, server)
        result = project.run("--tooleval-report=out.json", model="local")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*(refused: I can't help with \\x1bthat.*"])
    for row in project.rows().values():
        [trial] = row["trials"]
        assert trial["failure"] == "refused"
        assert trial["transcript"]["replies"][0]["no_answer"]["category"] == "refused"


def test_a_failure_of_the_provider_is_asked_again(project: Project) -> None:
    project.suite(town("paris", "Paris"))
    answers = [
        {"choices": [{"index": 0, "finish_reason": "error", "message": {"role": "assistant"}}]},
    ]
    with MockServer(respond=lambda path, request: (200, answers.pop()) if answers else None) as server:
        configure(project, server)
        result = project.run(model="local")
    result.assert_outcomes(passed=1)
    assert server.requests == 2


@pytest.mark.parametrize("wait", ["99999999999", "inf", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_wait_of_years_does_not_end_the_model(project: Project, wait: str) -> None:
    names = ["Paris", "Tokyo", "Lima", "Oslo", "Rome", "Bern"]
    project.suite(*(town(name.lower(), name) for name in names))
    with MockServer(faults={"429": 4}, retry_after=wait) as server:
        configure(project, server)
        result = project.run("--tooleval-concurrency=1", model="local")
    result.assert_outcomes(passed=6)
    assert server.requests == 7


def test_a_refused_tool_choice_is_noted_and_remembered(project: Project) -> None:
    names = ["Paris", "Tokyo", "Lima", "Oslo", "Rome", "Bern"]
    project.suite(*(town(name.lower(), name) for name in names))
    with MockServer(faults={"refuse-required": 1}) as server:
        configure(project, server)
        options = ("--tooleval-report=out.json", "--tooleval-concurrency=2")
        result = project.run(*options, model="local")
    result.assert_outcomes(passed=6)
    # Only the two that were on their way at the first refusal are refused.
    assert server.requests <= 6 + 2
    result.stdout.fnmatch_lines(
        ["local: tool_choice sent as 'auto', because this model refuses the case's (6 cases)"]
    )
    [reply] = project.rows()["paris[local]"]["trials"][0]["transcript"]["replies"]
    assert reply["tool_choice"] == "auto"
    assert reply["fallbacks"] == {"tool_choice": "auto"}


def test_a_replayed_run_never_loads_litellm(project: Project) -> None:
    project.suite(town("paris", "Paris"))
    project.write(
        "conftest.py",
        """
        import sys

        def pytest_unconfigure(config):
            print("litellm loaded:", "litellm" in sys.modules)
        """,
    )
    with MockServer() as server:
        configure(project, server)
        args = ("--tooleval-cassette=tapes", "-s")
        project.run(*args, model="local").assert_outcomes(passed=1)
        result = project.run_subprocess(*args, "--tooleval-record=none", model="local")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["litellm loaded: False"])
    assert server.requests == 1
