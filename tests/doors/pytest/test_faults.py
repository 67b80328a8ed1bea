"""Machines that fail: full disks, folders that cannot be written, too few file handles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from mock_server import MockServer
from nightly import at_night

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History

from .project import Project, call, case, right, wrong
from .test_resume import served_cases, with_server

_NO_LIMITS = pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_a_full_disk_costs_no_answer_and_ends_asking(project: Project) -> None:
    project.suite(*(right(f"c{i}") for i in range(5)))
    (project.path / "tapes").mkdir()
    (project.path / "tapes" / "weather.jsonl").symlink_to("/dev/full")
    result = project.run("--tooleval-cassette=tapes", "--tooleval-concurrency=1")
    result.assert_outcomes(passed=1, errors=4)
    assert len(project.calls) == 1
    full = "the cassette *weather.jsonl cannot be written: No space left on device"
    result.stdout.fnmatch_lines(
        [
            f"agent: 4 errors, *not asked, because the answer could not be recorded: {full}",
            f"{full}; 1 answer scored and not recorded",
        ]
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_nothing_is_asked_where_the_cassette_cannot_be_written(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Root ignores permissions, hence a file in the way."""
    project.suite(right("a"), right("b"))
    project.write("tapes", "in the way")
    result = project.run_subprocess("--tooleval-cassette=tapes", *workers)
    result.assert_outcomes(errors=2)
    assert project.calls == []
    result.stdout.fnmatch_lines(
        [("*not asked, because the answer could not be recorded: *cannot be written*")]
    )


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_a_damaged_history_leaves_table_and_verdict(project: Project, workers: tuple[str, ...]) -> None:
    """Also in an earlier run that could not be stored."""
    project.suite(right("a"), wrong("b"))
    project.run()
    folder = project.path / ".tooleval"
    (folder / "running" / "20260101-000000-abcdef.jsonl").write_bytes(b'{"trust":"whole","run":\xff}\n')
    (head,) = (folder / "heads").iterdir()
    head.write_bytes(b"\xff" * 50_000)
    run = project.run_subprocess if workers else project.run
    result = run("--tooleval-fail-under=0.5", "--tooleval-report=out.html", *workers)
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["agent passed: 1 of 2 cases*", "the earlier run * stays on *damaged*"])
    shutil.rmtree(folder / "running")
    (folder / "running").write_text("in the way")
    result = run(*workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    unsaved = "the run was not saved in the history: *.tooleval: cannot be written: *xists"
    result.stdout.fnmatch_lines(["agent FAILED: 1 of 2 cases passed*", unsaved])


def test_a_case_is_saved_before_its_item_reports(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    project.write(
        "conftest.py",
        """
        from pathlib import Path

        def pytest_runtest_logreport(report):
            if report.when == "call":
                (log,) = Path(".tooleval").glob("*/*.jsonl")
                assert report.nodeid in log.read_text(encoding="utf-8")
        """,
    )
    project.run().assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("answer", ["null message", "no choices", "no message", "empty", "cut", "list"])
def test_an_unreadable_answer_is_asked_for_once_more(project: Project, answer: str) -> None:
    """Each is a 200, which a provider bills."""
    documents = {
        "null message": {"choices": [{"message": None, "finish_reason": "stop"}]},
        "no choices": {"choices": [], "usage": {"prompt_tokens": 5}},
        "no message": {"choices": [{"finish_reason": "stop"}]},
        "empty": b"",
        "cut": b'{"choices": [{"message": {"role": "assist',
        "list": [],
    }
    with MockServer(respond=lambda *_: (200, documents[answer])) as server:
        with_server(project, server)
        served_cases(project, 1)
        result = project.run(model="served")
        assert server.requests == 2
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["served: the answer *(after 2 attempts in * s)"])


def test_answers_that_no_run_can_take_over_are_scored(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.write(
        "conftest.py",
        """
        from pathlib import Path

        def pytest_collection_finish():
            # After the folder was made, and before the first answer.
            Path(".tooleval/answers").rename("gone")
            Path(".tooleval/answers").write_text("in the way")
        """,
    )
    result = project.run("--tooleval-history=off")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["the cassette *cannot be written: *; 2 answers scored and *"])


@_NO_LIMITS
@pytest.mark.parametrize(
    ("hard", "most", "warned"),
    [at_night(256, 256, True), (1024, 500, False)],
    ids=["at its limit", "raised"],
)
def test_few_file_handles(project: Project, hard: int, most: int, warned: bool) -> None:
    project.suite(*(right(f"c{i}", delay=0.2) for i in range(300)))
    project.write(
        "conftest.py", f"import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))\n"
    )
    result = project.run_subprocess("--tooleval-concurrency=500", "-q")
    result.assert_outcomes(passed=300, warnings=int(warned))
    assert max(project.log("flight")) < most
    assert ("requests at a time instead of 500" in result.stdout.str()) is warned


def test_an_agent_that_blocks_its_event_loop_is_told_of(project: Project) -> None:
    project.suite(*(right(f"c{i}") for i in range(12)))
    project.write(
        "my_agent.py",
        """
        import time

        async def answer(messages, tools):
            time.sleep(0.3)
            return {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
        """,
    )
    result = project.run("--tooleval-timeout=3")
    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(
        [
            "my_agent:answer blocks the event loop; use a plain def, or run it alone with "
            "max_concurrency = 1 (*agent*)"
        ]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there are no broken pipes")
def test_a_reader_that_goes_takes_nothing_along(project: Project) -> None:
    """`pytest | head`: pytest ends at the next line that it writes."""
    project.suite(
        right("quick"), case("slow", {"calls": [call(city="Paris")], "until": "go"}), right("c")
    )
    with project.started("-v", "--tooleval-report=out.json", stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert any("quick" in line for line in process.stdout)
        process.stdout.close()
        project.write("go", "")
        process.wait(120)
        assert "Traceback" not in process.stderr.read()
    assert project.rows()["quick[agent]"]["outcome"] == "passed"
    with pytest.raises(ToolevalError, match="0 runs finished"):
        History(project.path / ".tooleval").find("latest")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
def test_a_full_disk_costs_no_other_report(project: Project) -> None:
    project.suite(right("a"))
    result = project.run("--tooleval-report=json:/dev/full", "--tooleval-report=out.md")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["--tooleval-report=json:/dev/full: cannot be written: No space left *"])
    assert "agent" in (project.path / "out.md").read_text(encoding="utf-8")
    assert History(project.path / ".tooleval").runs()
