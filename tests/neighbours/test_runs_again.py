"""Plugins that run items again, or choose among them."""

from __future__ import annotations

import pytest
from doors.pytest.project import Project, right, wrong

from .test_reports import run

# Answers wrong at first.
FLAKY = """
from my_agent import *
from my_agent import answer as right

asked = 0


async def answer(messages, tools):
    global asked
    asked += 1
    reply = await right(messages, tools)
    if asked == 1:
        reply["tool_calls"][0]["function"]["arguments"] = "{}"
    return reply
"""


@pytest.fixture
def flaky(project: Project) -> Project:
    project.write("flaky_agent.py", FLAKY)
    project.write("tooleval.toml", '[models.agent]\ncallable = "flaky_agent:answer"\n')
    return project


@pytest.mark.parametrize(
    "options", [("pytest-retry", "--retries=2"), ("pytest-rerunfailures", "--reruns=2")]
)
def test_the_last_run_holds(flaky: Project, options: tuple[str, str]) -> None:
    flaky.suite(right("a"))
    result = run(flaky, *options, "--tooleval-report=out.json", "--tooleval-cassette=tapes")
    assert result.ret == pytest.ExitCode.OK
    assert (flaky.rows()["a[agent]"]["outcome"], len(flaky.calls)) == ("passed", 2)


def test_a_retry_without_an_answer_is_no_pass(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        def pytest_runtest_logreport(report):
            if report.outcome == "retried":
                import json
                from pathlib import Path
                script = Path("script.json")
                lines = json.loads(script.read_text())
                script.write_text(json.dumps({line: {"error": "down"} for line in lines}))
        """,
    )
    project.suite(wrong("a"))
    result = run(project, "pytest-retry", "--retries=1", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.rows()["a[agent]"]["outcome"] == "error"


def test_flakefinder_asks_each_time(project: Project) -> None:
    project.suite(right("a"))
    options = ("--flake-finder", "--flake-runs=3", "--tooleval-cassette=tapes")
    run(project, "pytest-flakefinder", *options).assert_outcomes(passed=3)
    assert project.calls == ["a"] * 3


@pytest.mark.parametrize(
    ("option", "outcomes"),
    [("--run-eval", {"passed": 1}), ("--run-eval-analysis", {"skipped": 1}), ("-v", {"passed": 1})],
)
def test_evals_leaves_no_case_out(project: Project, option: str, outcomes: dict[str, int]) -> None:
    project.suite(right("a"))
    result = run(project, "pytest-evals", option)
    found = result.parseoutcomes()
    found.pop("warnings", None)
    assert found == outcomes
