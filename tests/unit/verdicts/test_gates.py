"""Gates: the verdict of each over cases, and its message in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from builders import result_of

from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import CaseRow, Outcome, TrialError, TrialResult
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.gates import decide_gates
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.rules import read_rule
from pytest_tooleval.verdicts.sides import Side
from unit.history.runs import run_of

_number = count()
_NO_ANSWER = TrialResult(error=TrialError("timeout", "no answer"))


def case(
    overall: float | None = 1.0, passes: str = "", costs: Sequence[float | None] = (), **fields: Any
) -> CaseRow:
    """A case with these scores, whose trials passed (`P`), failed (`F`) or have no answer (`-`)."""
    outcome: Outcome = "passed" if overall == 1 else "failed"
    passes = passes or outcome[0].upper()
    answered = [TrialResult(passed=each == "P", calls_made=2) for each in passes if each != "-"]
    trials = [TrialResult(cost_usd=cost, calls_made=2) for cost in costs] if costs else answered
    name = f"c{next(_number)}"
    given = {"case": name, "model": "agent", "suite": "Weather", "file": "w.json", "outcome": outcome}
    scores = {"overall": overall, "tool_selection": 1.0, "parameter_accuracy": float(overall == 1)}
    whole = (*trials, *[_NO_ANSWER] * (passes.count("-") + bool(costs)))
    return result_of(**{**given, "scores": scores, "trials": whole, **fields})


def error(**fields: Any) -> CaseRow:
    return case(None, "-", outcome="error", scores={}, **fields)


def judged(
    cases: Sequence[CaseRow], *rules: str, confidence: float | None = None, strict: bool = False
) -> list[Gate]:
    """Rules that begin with `over` are of --tooleval-fail-over."""
    read = [read_rule(rule.removeprefix("over "), over=rule.startswith("over ")) for rule in rules]
    return decide_gates(cases, read, confidence, strict=strict)


# Two right cases and one with 0.6: a mean of 0.87, two thirds passed.
THREE = [case(tags=("smoke",), suite_cases=3), case(0.6, suite_cases=3), case(suite_cases=3)]
BROKEN = [case(), case(), error()]
MANY = [case(suite_cases=8) for _ in range(3)]
WEIGHTED = [case(weight=3), case(0.6), case()]
FEATHERS = [case(weight=1e-170), case(0.6, weight=1e-170)]
SEVERAL = [case(passes="PPP", suite_cases=3), case(suite_cases=3), case(suite_cases=3)]
ATTACKED = [*[case(scores={"attack_success": 0.0}) for _ in range(37)], case()]
SILENT = [case(passes="PP-"), case(passes="P-")]

GATES: list[tuple[list[CaseRow], str, str, str]] = [
    (THREE, "0.7", "failed", "0.67 < 0.70, over 3 cases"),
    (THREE, "0.66", "passed", "0.67 >= 0.66, over 3 cases"),
    (THREE, "0.6666", "passed", "0.67 >= 0.6666, over 3 cases"),
    (THREE, "0.667", "failed", "0.6667 < 0.667, over 3 cases"),
    (THREE, "overall=0.8", "passed", "0.87 >= 0.80, over 3 cases"),
    (THREE, "overall=0.9", "failed", "0.87 < 0.90, over 3 cases"),
    (THREE, "tool_selection=1", "passed", "1.00 >= 1.00, over 3 cases"),
    (THREE, "parameter_accuracy=0.7", "failed", "0.67 < 0.70, over 3 cases"),
    (THREE, "pass^1=0.6", "passed", "0.67 >= 0.60, over 3 cases"),
    (THREE, "pass@1=0.7", "failed", "0.67 < 0.70, over 3 cases"),
    (THREE, "suite:overall=0.9", "failed", "0.87 < 0.90, over 3 cases"),
    (THREE, "suite=Weather:0.6", "passed", "0.67 >= 0.60, over 3 cases"),
    (THREE, "tag:overall=1", "passed", "1.00 >= 1.00, over 1 case"),
    (THREE, "tag=smoke:1", "passed", "1.00 >= 1.00, over 1 case"),
    (THREE, "model=agent:overall=0.9", "failed", "0.87 < 0.90, over 3 cases"),
    (THREE, "unheard_of=0.1", "failed", "no case has a value, over 0 of 3 cases"),
    (MANY, "0.9", "passed", "1.00 >= 0.90, over 3 of 8 cases"),
    # A group of no case fails.
    (THREE, "tag=zzz:0.9", "failed", "no case of tag zzz was evaluated, needs 0.9"),
    ([], "suite:0.9", "failed", "no case of any suite was evaluated, needs 0.9"),
    ([], "over cost_usd=1", "failed", "no case of any model was evaluated"),
    ([case(outcome="skipped"), case(model="")], "0", "failed",
     "no case of any model was evaluated, needs 0"),
    # Weights, and numbers of trials.
    (WEIGHTED, "0.7", "passed", "0.80 >= 0.70, over 3 cases, of which 2 passed (cases have weights)"),
    (WEIGHTED, "overall=0.7", "passed", "0.92 >= 0.70, over 3 cases"),
    (FEATHERS, "overall=0.7", "passed", "0.80 >= 0.70, over 2 cases"),
    (SEVERAL, "overall=0.9", "passed", "1.00 >= 0.90, over 3 cases (5 trials)"),
    (SEVERAL, "pass^3=0.9", "failed",
     "1.00 >= 0.90, over 1 of 3 cases (3 trials); 2 cases had fewer trials than pass^3 needs"),
    ([case(passes="PPF", overall=0.6)], "pass^2=0.4", "failed", "0.33 < 0.40, over 1 case (3 trials)"),
    ([case(passes="PPF", overall=0.6)], "pass@2=0.4", "passed", "1.00 >= 0.40, over 1 case (3 trials)"),
    # What has no answer.
    (SILENT, "overall=0.5", "passed",
     "1.00 >= 0.50, over 2 cases (3 trials); 2 trials without an answer"),
    (BROKEN, "overall=0.5", "failed",
     "1.00 >= 0.50, over 2 cases; 1 case without an answer, more than --tooleval-fail-over=errors "
     "allows"),
    (BROKEN, "over errors=1", "passed", "1 of 3 cases without an answer, 1 allowed"),
    (BROKEN, "over errors=0", "failed", "1 of 3 cases without an answer, 0 allowed"),
    (BROKEN, "over errors=50%", "passed", "1 of 3 cases without an answer, 50% allowed"),
    (BROKEN, "over errors=0.2", "failed", "1 of 3 cases without an answer, 20% allowed"),
    ([error()], "0.5", "failed",
     "no case has a value, over 0 cases; 1 case without an answer, more than "
     "--tooleval-fail-over=errors allows"),
    # Amounts are of answered trials.
    ([case(costs=[0.01, 0.03])], "over cost_usd=0.02", "passed",
     "$0.0200 on average over 2 trials, at most $0.02 allowed"),
    ([case(costs=[0.02, 0.04])], "over cost_usd=0.02", "failed",
     "$0.0300 on average over 2 trials, at most $0.02 allowed"),
    ([case(costs=[None])], "over cost_usd=9", "failed",
     "unknown for 1 of 1 trial, at most $9 allowed"),
    ([case(costs=[None, 1.0])], "over cost_usd=9", "failed",
     "unknown for 1 of 2 trials, at most $9 allowed"),
    ([case(costs=[None])], "over calls=2", "passed", "2 on average over 1 trial, at most 2 allowed"),
    ([error()], "over calls=2", "failed", "no trial has an answer, at most 2 allowed"),
    ([case(costs=[1.0]), case(costs=[9.0], tags=("slow",))], "over tag=slow:cost_usd=5", "failed",
     "$9.00 on average over 1 trial, at most $5 allowed"),
    # Rates are of the cases that have one.
    (ATTACKED, "over attack_success=0", "passed", "0.00 over 37 cases, at most 0.00 allowed"),
    ([case(scores={"attack_success": rate}) for rate in (0.0, 0.5)], "over attack_success=20%", "failed",
     "0.25 over 2 cases, at most 0.20 allowed"),
    (THREE, "over attack_success=1", "failed", "no case has a value, at most 1.00 allowed"),
    ([*ATTACKED, error(), error()], "over attack_success=50%", "failed",
     "0.00 over 37 cases, at most 0.50 allowed; 2 cases without an answer, more than "
     "--tooleval-fail-over=errors allows"),
]  # fmt: skip


@pytest.mark.parametrize(("cases", "rule", "verdict", "message"), GATES)
def test_a_verdict_and_its_words(cases: list[CaseRow], rule: str, verdict: str, message: str) -> None:
    (gate,) = judged(cases, rule)
    assert (gate.verdict, gate.message) == (verdict, f"{gate.name}: {message}")
    assert gate.failed is (verdict == "failed")
    assert gate.kind == ("fail_over" if rule.startswith("over ") else "fail_under")


@pytest.mark.parametrize("missing", [0, 8])
def test_a_gate_that_allows_missing_answers_says_what_the_rate_would_be_if_they_had_failed(
    missing: int,
) -> None:
    cases = [*(case() for _ in range(38)), case(0.6), case(0.6), *(error() for _ in range(missing))]
    gate, _ = judged(cases, "0.9", "over errors=20%")
    more = "; 0.79 if the 8 without an answer had failed" if missing else ""
    assert (gate.verdict, gate.value) == ("passed", 0.95)
    assert gate.message == f"{gate.name}: 0.95 >= 0.90, over 40 cases{more}"


WRONG_IN_ALL = [*[case(0.6, "FFFFF") for _ in range(4)], *[case(passes="PPPPP") for _ in range(9)]]
HALF = [*[case(0.6) for _ in range(12)], *[case() for _ in range(12)]]
NOISY = [case(0.4, "PPFFF") if number % 2 else case(0.8, "PPPPF") for number in range(20)]
OPEN = "; more cases or trials may decide"
FATAL, NOT_FATAL = (
    " (fatal, because of --tooleval-fail-inconclusive)",
    " (not fatal; --tooleval-fail-inconclusive makes it so)",
)
SURE: list[tuple[list[CaseRow], str, str, str]] = [
    (THREE, "tool_selection=0.9", "inconclusive",
     f"1.00 (0.44 to 1.00 at 95%) needs 0.90, over 3 cases, 1 of which FAILED{OPEN}"),
    (MANY, "pass^1=0.9", "inconclusive",
     f"1.00 (0.44 to 1.00 at 95%) needs 0.90, over 3 of 8 cases{OPEN}"),
    ([case(0.6) for _ in range(5)], "parameter_accuracy=0.9", "failed",
     "0.00 (0.00 to 0.43 at 95%) < 0.90, over 5 cases"),
    ([case() for _ in range(40)], "0.9", "passed", "1.00 (0.91 to 1.00 at 95%) >= 0.90, over 40 cases"),
    (THREE, "tag=smoke:1", "passed", "1.00 >= 1.00, over 1 case"),  # no interval reaches 1
    (WRONG_IN_ALL, "0.85", "inconclusive",
     "0.69 (0.42 to 0.87 at 95%) needs 0.85, over 13 cases (65 trials), 4 of which FAILED IN EVERY TRIAL"
     f"{OPEN}"),
    (WRONG_IN_ALL, "pass^2=0.85", "inconclusive",
     "0.69 (0.42 to 0.87 at 95%) needs 0.85, over 13 cases (65 trials), 4 of which FAILED IN EVERY TRIAL"
     f"{OPEN}"),
    ([case(0.5, "PF") for _ in range(9)], "overall=0.5", "inconclusive",
     f"0.50 (0.42 to 0.58 at 95%) needs 0.50, over 9 cases (18 trials){OPEN}"),
    (HALF, "overall=0.75", "inconclusive",
     f"0.80 (0.70 to 0.87 at 95%) needs 0.75, over 24 cases, 12 of which FAILED{OPEN}"),
    (HALF, "0.45", "inconclusive",
     f"0.50 (0.31 to 0.69 at 95%) needs 0.45, over 24 cases, 12 of which FAILED{OPEN}"),
    (NOISY, "pass^1=0.55", "inconclusive",
     f"0.60 (0.50 to 0.69 at 95%) needs 0.55, over 20 cases (100 trials){OPEN}"),
    (NOISY, "pass^2=0.3", "inconclusive",
     f"0.35 (0.25 to 0.47 at 95%) needs 0.30, over 20 cases (100 trials){OPEN}"),
    (ATTACKED, "over attack_success=10%", "passed",
     "0.00 (0.00 to 0.09 at 95%) over 37 cases, at most 0.10 allowed"),
    (ATTACKED, "over attack_success=5%", "inconclusive",
     "0.00 (0.00 to 0.09 at 95%) over 37 cases, at most 0.05 allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("cases", "rule", "verdict", "message"), SURE)
def test_a_verdict_by_the_interval(cases: list[CaseRow], rule: str, verdict: str, message: str) -> None:
    (gate,) = judged(cases, rule, confidence=0.95)
    (strict,) = judged(cases, rule, confidence=0.95, strict=True)
    end = (NOT_FATAL, FATAL) if verdict == "inconclusive" else ("", "")
    assert (gate.verdict, gate.message) == (verdict, f"{gate.name}: {message}{end[0]}")
    assert (strict.verdict, strict.message) == (verdict, f"{gate.name}: {message}{end[1]}")
    assert (gate.failed, strict.failed) == (verdict == "failed", verdict != "passed")
    assert gate.confidence == (None if rule.endswith(":1") else 0.95)


def test_a_gate_is_named_for_what_it_judges() -> None:
    """Each model and suite apart; suites of one name are told apart by their files."""
    cases = [*THREE, case(0.6, file="below/w.json"), case(0.6, model="other", tags=("smoke",))]
    rules = ("overall=0.8", "suite:overall=0.8", "tag=smoke:overall=0.8", "model=other:overall=0.8")
    gates = {gate.name: gate for gate in judged(cases, *rules)}
    assert {name: gate.verdict for name, gate in gates.items()} == {
        "overall of agent": "passed",
        "overall of other": "failed",
        "overall of agent, suite Weather (w.json)": "passed",
        "overall of agent, suite Weather (below/w.json)": "failed",
        "overall of other, suite Weather (w.json)": "failed",
        "overall of agent, tag smoke": "passed",
        "overall of other, tag smoke": "failed",
    }
    below = gates["overall of agent, suite Weather (below/w.json)"]
    assert (below.model, below.scope, below.of) == ("agent", "suite", "Weather")
    (alone,) = judged(THREE, "suite:overall=0.8")
    assert alone.name == "overall of agent, suite Weather"


def test_errors_are_allowed_where_a_gate_allows_them() -> None:
    cases = [case(), error(), case(model="b"), error(model="b")]
    gates = judged(cases, "overall=0", "over model=agent:errors=1")
    assert {gate.name: gate.verdict for gate in gates} == {
        "overall of agent": "passed",
        "overall of b": "failed",
        "errors of agent": "passed",
    }
    (share,) = judged([*BROKEN, case(0.6)], "over errors=30%")
    assert (share.needed, share.value, share.cases, share.errors) == (1, 1, 4, 1)
    # A run without any answer has shown nothing.
    (all_of_them,) = judged([error(), error()], "over errors=100%")
    assert all_of_them.verdict == "failed"


@pytest.mark.parametrize(
    ("before", "now", "needed", "expected"),
    [
        # One trial, and five: the tests are too weak, but a team can rule it out.
        (["P", "P"], ["FFFFF", "PPPPP"], "0", "failed 1 of 2 cases newly broken, 0 allowed"),
        (["P", "P"], ["FFFFF", "PPPPP"], "1", "passed 1 of 2 cases newly broken, 1 allowed"),
        (["P", "F"], ["PFFFF", "FFFFF"], "0", "passed 0 of 2 cases newly broken, 0 allowed"),
        ([], ["FFFFF"], "0", "inconclusive no baseline with comparable cases"),
    ],
)
def test_newly_broken_cases(before: list[str], now: list[str], needed: str, expected: str) -> None:
    def rows(trials: list[str]) -> list[CaseRow]:
        return [
            case(1.0 if "F" not in each else 0.6, each, case=f"n{number}", case_fingerprint=f"{number}")
            for number, each in enumerate(trials)
        ]

    old, new = rows(before), rows(now)
    found = (
        compare_runs(Side("old", run_of(), old), Side("new", run_of(), new), ComparisonRules())
        if old
        else None
    )
    rule = read_rule(f"broken={needed}", over=True)
    (gate,) = decide_gates(new, [rule], comparison=found)
    message = gate.message.removeprefix("broken of agent: ")
    assert f"{gate.verdict} {message}".startswith(expected)
    assert gate.failed == (gate.verdict == "failed")
