"""When calls are made, how many at a time, and that nothing outlives the run."""

from __future__ import annotations

import pytest

from .project import Project, call, case, right, wrong


def test_calls_are_in_flight_together_from_the_start(project: Project) -> None:
    project.suite(*(right(f"c{i}", together=12) for i in range(12)))
    project.run().assert_outcomes(passed=12)
    assert max(project.log("flight")) == 12


def test_concurrency_bounds_what_is_in_flight(project: Project) -> None:
    """Over all models, cases and trials."""
    project.suite(*(right(f"c{i}", delay=0.05, together=3) for i in range(5)))
    options = ("--tooleval-concurrency=3", "--tooleval-trials=2")
    project.run(*options, model="agent,other").assert_outcomes(passed=10)
    assert max(project.log("flight")) == 3
    assert len(project.calls) == 20


def test_one_at_a_time_asks_in_the_order_of_the_file(project: Project) -> None:
    project.suite(*(right(f"c{i}") for i in range(5)))
    project.run("--tooleval-concurrency=1")
    assert project.calls == [f"c{i}" for i in range(5)]


def test_reports_come_in_order_though_answers_do_not(project: Project) -> None:
    paris = [call(city="Paris")]
    project.suite(
        case("slow", {"calls": paris, "after": "middle"}),
        right("fast"),
        case("middle", {"calls": paris, "after": "fast"}),
    )
    result = project.run("-v")
    assert [line.split("::")[1].split("[")[0] for line in result.outlines if "PASSED" in line] == [
        "slow",
        "fast",
        "middle",
    ]
    answered = [prompt.rpartition("(")[2][:-1] for prompt in project.log("answered")]
    assert answered == ["fast", "middle", "slow"]


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_stopping_early_cancels_what_is_in_flight(project: Project, option: str) -> None:
    project.suite(wrong("first", together=6), *(right(f"c{i}", delay=600) for i in range(5)))
    result = project.run(option, "--tooleval-report=out.json", "--tooleval-timeout=1200")
    result.assert_outcomes(failed=1)
    assert sorted(project.rows()) == ["first[agent]"]
    assert len(project.log("cancelled")) == 5
    assert project.document()["run"]["selected"] == 6
    result.stdout.fnmatch_lines(["1 of 6 results arrived before the run ended"])


def test_stopping_early_leaves_queued_cases_unasked(project: Project) -> None:
    project.suite(wrong("first"), *(right(f"c{i}", delay=30) for i in range(9)))
    project.run("-x", "--tooleval-concurrency=2")
    assert len(project.calls) <= 3


def test_skipped_cases_are_not_asked(project: Project) -> None:
    project.suite(right("a", skip=True), right("b", skip="not today"), right("c"))
    result = project.run("-rs")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*weather.tooleval.json*not today"])
    assert project.calls == ["c"]


def test_a_collection_error_elsewhere_asks_nothing(project: Project) -> None:
    project.suite(right("a"))
    project.write("test_broken.py", "import nothing_of_this_name\n")
    result = project.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert project.calls == []
    result = project.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)


def test_no_thread_is_left_behind(project: Project) -> None:
    project.suite(right("a"), right("slow", delay=30), wrong("b"))
    project.write(
        "conftest.py",
        """
        import threading

        def pytest_unconfigure(config):
            # The agents' loop lives as long as the process: libraries bind their clients to it.
            left = [
                each
                for each in threading.enumerate()
                if each.name.startswith("tooleval") and each.name != "tooleval-agents"
            ]
            for each in left:
                each.join(60)  # it may be about to end
            print("left:", [each.name for each in left if each.is_alive()])
        """,
    )
    result = project.run_subprocess("-x", "--deselect", "weather.tooleval.json::slow[agent]", "-s")
    result.stdout.fnmatch_lines(["left: []"])
