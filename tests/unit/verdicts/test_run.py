"""The verdict on a run: what its gates tolerate and can decide, and what fails beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import result_of
from msgspec import structs

from pytest_tooleval.errors import ConfigError, ErrorKind
from pytest_tooleval.record.results import CaseRow, FailureCategory, Outcome, TrialError, TrialResult
from pytest_tooleval.record.run import Run
from pytest_tooleval.verdicts.gating import Baseline, Gates, Gating
from pytest_tooleval.verdicts.rules import judged_by, read_rule
from pytest_tooleval.verdicts.run import (
    RunProblem,
    RunVerdict,
    decide_run,
    gates_that_cannot_pass,
    is_judged_by_gate,
    judge_gates,
)
from pytest_tooleval.verdicts.sides import Side

RUN = Run(id="r", started="now", pytest_tooleval="1", pytest="9", python="3", scoring_version=1)
BASE = structs.replace(RUN, id="base")


def gates(*rules: str, confidence: float | None = None) -> Gates:
    """Rules that begin with `over ` are of --tooleval-fail-over."""
    read = (read_rule(rule.removeprefix("over "), over=rule.startswith("over ")) for rule in rules)
    return Gates(tuple(read), confidence)


def failed(
    outcome: Outcome = "failed", failure: FailureCategory | None = "wrong_value", tag: str = ""
) -> CaseRow:
    return result_of(
        outcome=outcome,
        scores={"overall": 0.6} if outcome == "failed" else {},
        trials=(TrialResult(failure=failure),),
        tags=(tag,) if tag else (),
    )


WRONG, ERROR, FORBIDDEN = failed(), failed("error", None), failed(failure="forbidden_call")
POLICY = structs.replace(
    failed(failure="broken_policy"), scores={"overall": 0.6, "policies": 0.0}, answered=1
)
RAISED = failed(failure="unexpected_exception")
RIGHT_TOOL = structs.replace(WRONG, scores={"overall": 0.6, "tool_selection": 1.0})
UNSCORED = result_of(outcome="error")


def error(kind: ErrorKind) -> CaseRow:
    return result_of(outcome="error", trials=(TrialResult(error=TrialError(kind, "no")),))


@pytest.mark.parametrize(
    ("rules", "case", "is_counted"),
    [
        ([], WRONG, False),
        (["0.9"], WRONG, True),
        (["overall=0.9"], WRONG, True),
        (["model=m:0.9"], WRONG, True),
        (["model=other:0.9"], WRONG, False),
        (["suite=s:0.5"], WRONG, True),
        (["suite=Weather:0.5"], WRONG, False),
        (["tag=smoke:0.9"], WRONG, False),
        (["tag=smoke:0.9"], failed(tag="smoke"), True),
        (["tag:0.9"], WRONG, False),
        (["tag:0.9", "0.5"], WRONG, True),
        (["parameter_accuracy=0.9"], WRONG, False),
        # What a gate does not measure, it does not tolerate.
        (["tool_selection=0.9"], RIGHT_TOOL, False),
        (["tool_selection=0.9", "overall=0.5"], RIGHT_TOOL, True),
        (["tool_selection=0.9", "0.5"], RIGHT_TOOL, True),
        (["overall=0.9"], structs.replace(WRONG, scores={"overall": 1.0, "policies": 0.0}), False),
        (["pass^3=0.9"], WRONG, False),
        (["over errors=5"], WRONG, False),
        (["0.1", "over calls=9"], FORBIDDEN, False),
        (["0.1", "overall=0.1", "pass^1=0.1"], POLICY, False),
        (["policies=0.9"], POLICY, True),
        (["0.1"], RAISED, False),
        (["0.1"], ERROR, False),
        (["over errors=1"], ERROR, True),
        (["over calls=1"], ERROR, False),
        (["over errors=1"], UNSCORED, False),
        (["over errors=1"], error("rate_limit"), True),
        (["over errors=1"], error("callable"), False),
        (["over errors=1"], error("world"), False),
        (["over errors=1"], error("replay"), False),
    ],
)
def test_a_gate_counts_what_it_judges(rules: list[str], case: CaseRow, is_counted: bool) -> None:
    assert is_judged_by_gate(gates(*rules), case) is is_counted
    cases = [case, structs.replace(case, model="another")]
    judging = [gate for gate in judge_gates(cases, Gating(gates(*rules))) if judged_by(case, gate)]
    if not case.fails_despite.gates:
        assert len(judging) == is_counted


SKIPPED = structs.replace(WRONG, outcome="skipped")
RIGHT = structs.replace(WRONG, outcome="passed")


@pytest.mark.parametrize(
    ("cases", "test_files", "typed", "fails"),
    [
        ([], [], True, True),
        # The ini file is also about runs of other tests.
        ([], [], False, False),
        ([result_of(model="")], [], False, False),
        ([], ["test_it.py"], False, True),  # whose tests skipped themselves
        ([SKIPPED], [], False, True),
        ([SKIPPED, RIGHT], [], False, False),
        ([RIGHT], ["test_it.py"], False, True),
        ([RIGHT, structs.replace(RIGHT, file="test_it.py")], ["test_it.py"], False, False),
        ([RIGHT, structs.replace(SKIPPED, file="b.tooleval.json")], [], False, True),
        ([RIGHT, structs.replace(SKIPPED, model="other")], [], False, True),
    ],
)
def test_a_gate_preset_or_baseline_needs_cases_of_each_file_and_model(
    cases: list[CaseRow], test_files: list[str], typed: bool, fails: bool
) -> None:
    for given in (Gating(gates("0")), Gating(cases_needed_by="preset")):
        gating = replace(given, is_typed=typed)
        assert decide_run(cases, RUN, gating, test_files=test_files).failed is fails
    for gating in (Gating(), Gating(gates("0"), excuses_unasked=True)):
        assert not decide_run(cases, RUN, gating, test_files=test_files).failed


def planned(cases: int, suite: str = "s", models: str = "a", **fields: object) -> list[CaseRow]:
    return [
        result_of(**{"case": f"c{n}", "suite": suite, "model": model, "answered": 1, **fields})
        for n in range(cases)
        for model in models
    ]


PERFECT: dict[str, Any] = {
    "outcome": "passed",
    "answered": 5,
    "passes": 5,
    "scores": {"overall": 1.0},
}


@pytest.mark.parametrize(
    ("cases", "rule", "lines"),
    [
        (
            planned(13, models="ab", **PERFECT),
            "0.85",
            [
                f"pass_rate of {model}: inconclusive even if all of its 13 cases pass: 0.85 is above "
                "the interval's lower end, 0.77"
                for model in "ab"
            ],
        ),
        (
            [*planned(2, "Two", **PERFECT), *planned(8, "Eight", **PERFECT)],
            "suite:overall=0.6",
            [
                "overall of a, suite Two: inconclusive even if all of its 2 cases pass: 0.6 is above "
                "the interval's lower end, 0.34"
            ],
        ),
        (planned(22, **PERFECT), "0.85", []),
        (planned(3, **PERFECT), "1", []),
        (planned(3, **PERFECT), "0", []),
        (planned(3, **PERFECT), "over errors=1", []),
    ],
)
def test_which_gates_cannot_pass(cases: list[CaseRow], rule: str, lines: list[str]) -> None:
    assert gates_that_cannot_pass(cases, gates(rule, confidence=0.95)) == lines
    assert gates_that_cannot_pass(cases, gates(rule)) == []


def test_what_fails_beside_the_cases() -> None:
    """Of gates that passed, and inconclusive ones that are not fatal, the second is named alone."""
    cases = [result_of(case=f"c{n}", scores={"overall": 1.0}) for n in range(3)]

    def verdict(*rules: str, unknown: tuple[str, ...] = (), strict: bool = False) -> RunVerdict:
        by_rules = gates(*rules, confidence=0.95)
        return decide_run(cases, RUN, Gating(by_rules, strict=strict), unknown)

    assert verdict("0.3").problems == []
    (unsure,) = verdict("0.9").problems
    assert (unsure.name, unsure.failed) == ("gate pass_rate of m", False)
    assert verdict("0.9", strict=True).failed
    assert not verdict("0.9").failed
    assert verdict("0.9").other_messages == []
    lost = verdict("0.3", unknown=("a.jsonl:2: no case", "b", "c"))
    message = "the gates judged without these transcripts: a.jsonl:2: no case (and 2 more runs)"
    assert lost.problems == [RunProblem("transcripts", message)]
    assert lost.other_messages == [message]
    assert verdict(unknown=("a",)).problems == []


# Which cases of the baseline a run is compared with


def whole(cases: str, suite: str = "s", file: str = "s.json", model: str = "m") -> list[CaseRow]:
    """A suite of three cases."""
    return [
        result_of(case=name, suite=suite, file=file, model=model, case_fingerprint=name, suite_cases=3)
        for name in cases
    ]


def against(
    old: list[CaseRow], name: str = "old.json", models: object = (), known: bool = True
) -> Baseline:
    side = Side(name, BASE, old)

    def load(name: str, holding: object) -> Side:
        if not old:
            raise ConfigError("no complete run yet")
        return side

    return Baseline(name, side if known else None, [], 0.0, load, "no good run yet")


@pytest.mark.parametrize(
    ("new", "removed"),
    [
        (whole("abc"), []),
        (whole("ab"), []),  # a selection
        (whole("abd"), ["c"]),
        (whole("ab", file="moved.json"), []),
        (whole("abd", file="moved.json"), ["c"]),
        ([*whole("a"), *whole("xyz", file="below/s.json")], []),
    ],
)
def test_a_selection_removes_no_case(new: list[CaseRow], removed: list[str]) -> None:
    found = decide_run(new, RUN, Gating(baseline=against(whole("abc")))).comparison
    assert found is not None
    assert [each.case for each in found.cases.removed] == removed


def test_a_baseline_that_is_not_there() -> None:
    new = [*whole("abc"), result_of(model="")]
    absent = against([], "good", known=False)
    found = decide_run(new, RUN, Gating(baseline=absent))
    assert found.why_uncompared == "no good run yet"
    assert (found.comparison, found.problems) == (None, [])
    strict = decide_run(new, RUN, Gating(baseline=absent, strict=True))
    assert strict.problems == [
        RunProblem("baseline", "no good run yet; make it without strict or --tooleval-fail-inconclusive")
    ]
    named = decide_run(new, RUN, Gating(baseline=against([], "good")))
    assert named.problems == [RunProblem("baseline", "no complete run yet")]
    assert decide_run([], RUN, Gating(baseline=against([], "good", known=False))) == RunVerdict(
        [], None, "", []
    )


def test_a_baseline_without_anything_in_common_fails_if_it_is_a_certain_run() -> None:
    """`good` and `latest` are whatever run there is."""
    new, old = whole("abc"), whole("abc", model="other")
    for name, fails in (("old.json", True), ("@release-1", True), ("good", False), ("latest", False)):
        verdict = decide_run(new, RUN, Gating(baseline=against(old, name), strict=True))
        assert verdict.comparison is not None
        assert "no model is in both runs" in verdict.comparison.message
        assert verdict.failed is fails


def test_a_base_without_an_answer_to_these_files_and_models_is_replaced_by_an_older_one() -> None:
    def answered(**fields: str) -> list[CaseRow]:
        return [structs.replace(row, passes=1, answered=1) for row in whole("abc", **fields)]

    run = Side("auto", BASE, answered())
    loads: list[object] = []

    def load(name: str, holding: object) -> Side:
        loads.append(holding)
        return run

    for base in (whole("abc"), answered(model="other"), answered(file="t.json")):
        baseline = Baseline("auto", Side("auto", BASE, base), [], 0.0, load)
        found = decide_run(answered(), RUN, Gating(baseline=baseline)).comparison
        assert found is not None
        assert [each.cases for each in found.models] == [3]
        assert loads.pop() == {("s.json", "m")}
    baseline = Baseline("auto", run, [], 0.0, load)
    assert decide_run(answered(), RUN, Gating(baseline=baseline)).comparison is not None
    assert not loads
