"""`--tooleval-trials=auto`: asking in steps until the verdicts are decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from mock_server import MockServer

from .project import Project, right, wrong
from .test_resume import served_cases, with_server

CASES = 30
# Of 30 cases that pass always, a drop of 0.1 is ruled out at 0.05 / 10 after so many trials each.
ROUNDS = 3


def cases(make: Any = right, **fields: Any) -> list[dict[str, Any]]:
    return [make(f"c{i}", **fields) for i in range(CASES)]


@pytest.fixture
def before(project: Project) -> Project:
    """A project with a run in old.json in which all 30 cases passed five times, and nothing logged."""
    project.suite(*cases())
    assert project.run("--tooleval-trials=5", "--tooleval-report=old.json").ret == 0
    project.forget_calls()
    return project


COMPARED = (
    "--tooleval-baseline=old.json",
    "--tooleval-fail-under=overall=0.1",
    "--tooleval-report=out.json",
)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_asking_goes_on_until_a_drop_is_ruled_out(before: Project, workers: Sequence[str]) -> None:
    run = before.run_subprocess if workers else before.run
    result = run("--tooleval-trials=auto", *COMPARED, *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "tooleval: agent; 32 requests at a time; up to 10 trials, in one process",
            "tooleval: step 1: no verdict yet on 30 cases",
            "tooleval: step 2: no verdict yet on 30 cases",
            "tooleval: step 3: all decided",
            "agent passed: *; no worse than old.json: drops above 0.07 ruled out; *",
        ]
    )
    assert Counter(before.calls) == {f"c{i}": ROUNDS for i in range(CASES)}
    document = before.document()
    assert {row["scored"] for row in document["cases"]} == {ROUNDS}
    assert (document["baseline"]["verdict"], document["baseline"]["alpha"]) == ("passed", 0.005)


def test_a_plain_drop_is_seen_at_once(before: Project) -> None:
    before.suite(*cases(wrong))
    assert before.run("--tooleval-trials=auto", *COMPARED).ret == 1
    assert len(before.calls) == CASES
    assert before.document()["baseline"]["verdict"] == "failed"


def test_at_the_most_trials_it_stays_inconclusive(before: Project) -> None:
    before.write("pytest.ini", "[pytest]\ntooleval_trials = auto:2\n")
    assert before.run().ret == 0  # nothing to decide, and nothing asked again
    before.forget_calls()
    result = before.run(*COMPARED, "--tooleval-max-drop=0.05", "--tooleval-fail-inconclusive")
    assert result.ret == 1
    assert len(before.calls) == 2 * CASES
    result.stdout.fnmatch_lines(
        ["  no drop from *, too few answers * (fatal, because of --tooleval-fail-inconclusive)"]
    )


def test_only_cases_that_matter_are_asked_again(before: Project) -> None:
    fixed: dict[str, Any] = {"pass": "2/2"}
    before.suite(*cases(), right("new"), right("counted", **fixed))
    before.run("--tooleval-trials=auto", *COMPARED)
    asked = Counter(before.calls)
    assert (asked["c0"], asked["new"], asked["counted"]) == (ROUNDS, 1, 2)


def test_a_variant_is_asked_as_often_as_the_unchanged_case(before: Project) -> None:
    fixed: dict[str, Any] = {"pass": "1/1"}
    before.suite(*cases(), right("new"), right("counted", **fixed))
    before.run("--tooleval-trials=auto", "--tooleval-variant=shuffle", *COMPARED)
    found = {(row["case"], row["variant"]): row["scored"] for row in before.document()["cases"]}
    for variant in ("", "shuffle"):
        assert [found[case, variant] for case in ("c0", "new", "counted")] == [ROUNDS, 1, 1]


def test_a_gate_goes_on_until_its_interval_is_off_the_value(project: Project) -> None:
    smoke = [(right if i % 4 else wrong)(f"c{i}", tags=["smoke"]) for i in range(8)]
    project.suite(*smoke, right("other"))
    gate = ("--tooleval-fail-under=tag=smoke:pass^2=0.5", "--tooleval-confidence=0.9")
    result = project.run("--tooleval-trials=auto:3", *gate, "--tooleval-report=out.json")
    # pass^2 has no value after one trial, and eight cases are too few whatever they are asked.
    asked = Counter(project.calls)
    assert (asked["c0"], asked["other"]) == (3, 1)
    result.stdout.fnmatch_lines(["  pass^2, tag smoke: 0.75 (* at 96.67%) needs *"])


def test_a_run_in_steps_is_replayed(before: Project) -> None:
    options = ("--tooleval-trials=auto", *COMPARED, "--tooleval-cassette=tape")
    assert before.run(*options).ret == 0
    before.forget_calls()
    assert before.run(*options, "--tooleval-record=none").ret == 0
    assert before.calls == []
    assert {row["scored"] for row in before.document()["cases"]} == {ROUNDS}


def test_the_cap_on_costs_ends_the_steps_and_keeps_what_was_answered(project: Project) -> None:
    with MockServer() as server:
        with_server(project, server, input_price=1000, output_price=0)  # 0.05 USD an answer
        served_cases(project, CASES)
        assert project.run("--tooleval-report=old.json", model="served").ret == 0
        options = (
            "--tooleval-trials=auto",
            "--tooleval-max-cost=2",
            "--tooleval-concurrency=2",
            *COMPARED,
        )
        result = project.run(*options, model="served")
        assert result.ret == 0
        rows = project.document()["cases"]
        assert {row["outcome"] for row in rows} == {"passed"}
        assert {row["scored"] for row in rows} == {1, 2}
        assert project.document()["baseline"]["verdict"] == "inconclusive"


def test_all_and_any_are_of_the_trials_that_were_asked(project: Project) -> None:
    every = ("--tooleval-pass=all", "--tooleval-fail-under=overall=0.1", "--tooleval-report=out.json")
    project.suite(*cases())
    assert project.run("--tooleval-trials=5", *every).ret == 0
    (project.path / "out.json").rename(project.path / "old.json")
    project.suite(*cases()[1:], wrong("c0"))
    project.run("--tooleval-trials=auto", "--tooleval-baseline=old.json", *every)
    row = project.rows()["c0[agent]"]
    asked = row["scored"]
    assert asked > 1
    assert row["reason"].startswith(f"0 of {asked} trials passed, needs {asked}: ")
