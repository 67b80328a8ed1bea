"""A run that was killed is taken up again without asking twice."""

from __future__ import annotations

import os
import time
from datetime import datetime, tzinfo

import pytest
from mock_server import MockServer

from pytest_tooleval.engine.cassettes import folders

from .project import Project, right, wrong

pytestmark = pytest.mark.slow

CASES = 200


def with_server(project: Project, server: MockServer, **keys: object) -> None:
    lines = "\n".join(f"{key} = {value}" for key, value in keys.items())
    project.write(
        "tooleval.toml",
        f'[models.served]\nmodel = "openai/m"\napi_base = "{server.base_url}"\n{lines}\n',
    )


def served_cases(project: Project, count: int, file: str = "weather.tooleval.json") -> None:
    cases = [
        {
            "id": f"c{i}",
            "prompt": f"What's the weather in Town{i}?",
            "expected_tool": "get_weather",
            "expected_params": {"city": f"Town{i}"},
        }
        for i in range(count)
    ]
    project.suite(*cases, file=file)


def wait_until_answered(server: MockServer, count: int) -> None:
    deadline = time.monotonic() + 120
    while server.answered < count:
        assert time.monotonic() < deadline, "the run never got that far"
        time.sleep(0.01)


def test_a_killed_run_asks_only_for_what_is_missing(project: Project) -> None:
    with MockServer(latency=0.1) as server:
        with_server(project, server)
        served_cases(project, CASES)
        with project.started("--tooleval-concurrency=8", model="served"):
            wait_until_answered(server, CASES // 2)
        result = project.run("--tooleval-resume", model="served")
        result.assert_outcomes(passed=CASES)
        taken_over = [line for line in result.outlines if "reused from the last run" in line]
        assert int(taken_over[0].split()[1]) >= CASES // 2 - 8
        # What was in flight was answered by the server, to nobody.
        assert server.answered <= CASES + 8


def test_resuming_asks_again_what_errored_and_not_what_failed(project: Project) -> None:
    project.suite(right("a"), wrong("b"), {**right("c"), "_script": {"error": "broken"}})
    project.run().assert_outcomes(passed=1, failed=1, errors=1)
    project.forget_calls()
    project.suite(right("a"), wrong("b"), right("c"))
    project.run("--tooleval-resume").assert_outcomes(passed=2, failed=1)
    assert project.calls == ["c"]


def test_resuming_after_the_clock_was_set_back(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Ahead:
            return cls(2099, 1, 1, tzinfo=tz)

    project.suite(right("a"), {**right("b"), "_script": {"error": "broken"}})
    with monkeypatch.context() as patch:
        patch.setattr(folders, "datetime", Ahead)
        project.run().assert_outcomes(passed=1, errors=1)
    project.suite(right("a"), right("b"))
    project.run().assert_outcomes(passed=2)
    project.forget_calls()
    project.run("--tooleval-resume").assert_outcomes(passed=2)
    assert project.calls == []


def test_without_resume_everything_is_asked_anew(project: Project) -> None:
    project.suite(right("a"))
    project.run("--tooleval-resume").assert_outcomes(passed=1)  # there is nothing to resume
    project.run()
    assert project.calls == ["a", "a"]


def test_answers_are_hidden_from_git_and_old_runs_deleted(project: Project) -> None:
    project.suite(right("a"))
    for _ in range(12):
        project.run()
    answers = project.path / ".tooleval" / "answers"
    assert (project.path / ".tooleval" / ".gitignore").read_text() == "*\n"
    assert len(list(answers.iterdir())) == 12, "a run of the last hour may not be over"
    for file in answers.rglob("*.jsonl"):
        os.utime(file, (0, 0))
    project.run()
    assert len(list(answers.iterdir())) == 10


def test_runs_that_ask_nothing_cost_no_answers(project: Project) -> None:
    project.suite(right("a"))
    project.run()
    kept = list(project.path.glob(".tooleval/answers/*/*"))
    for _ in range(3):
        project.run(model="builtin/lexical")
        project.run("--tooleval-estimate")
    assert list(project.path.glob(".tooleval/answers/*/*")) == kept
    assert len(list((project.path / ".tooleval" / "answers").iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_a_warning(project: Project) -> None:
    project.suite(right("a"))
    (project.path / ".tooleval").write_text("a file")
    result = project.run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*answers cannot be saved, so this run cannot be resumed*"])


def test_the_same_question_of_two_cases_is_paid_for_once(project: Project) -> None:
    with MockServer(latency=0.1) as server:
        with_server(project, server)
        project.suite(
            *(
                {"id": id, "prompt": "Weather in Rome?", "expected_tool": "get_weather"}
                for id in ("one", "two")
            )
        )
        project.run(model="served").assert_outcomes(passed=2)
        assert server.requests == 1
