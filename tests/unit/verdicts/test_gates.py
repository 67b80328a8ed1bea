"""Gates on amounts and errors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from builders import result_of

from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.results import Outcome
from pytest_tooleval.record.results import TrialError
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.verdicts.gates import judge_gates
from pytest_tooleval.verdicts.rules import read_rule

_number = count()


def case(
    model: str, *costs: float | None, outcome: Outcome = "passed", tags: Sequence[str] = ()
) -> CaseResult:
    trials = [TrialResult(cost_usd=cost, calls_made=2) for cost in costs]
    trials.append(TrialResult(error=TrialError("timeout", "no answer")))
    name = f"c{next(_number)}"
    return result_of(
        nodeid=f"s::{name}[{model}]",
        suite="s",
        case=name,
        model=model,
        outcome=outcome,
        tags=tuple(tags),
        scores={"overall": 1.0},
        trials=tuple(trials),
    )


def judged(cases: Sequence[CaseResult], *texts: str) -> list[tuple[str | None, str, str]]:
    rules = [read_rule(text, over=True) for text in texts]
    return [(gate.model, gate.verdict, gate.message) for gate in judge_gates(cases, rules)]


def test_the_mean_over_the_answered_trials_of_each_model_decides() -> None:
    cases = [case("cheap", 0.01, 0.03), case("dear", 0.02, 0.04), case("unknown", None)]
    costs = judged(cases, "cost_usd=0.02", "calls=2")
    assert [each[:2] for each in costs] == [
        ("cheap", "passed"),
        ("dear", "failed"),
        ("unknown", "failed"),
        *((model, "passed") for model in ("cheap", "dear", "unknown")),
    ]
    message = "cost_usd of dear: 0.03 on average over 2 trials, at most 0.02 allowed"
    assert costs[1][2] == message
    assert "unknown for 1 of 1 trial" in costs[2][2]


def test_amounts_and_errors_have_the_scopes_of_metrics() -> None:
    cases = [case("a", 1.0), case("a", 9.0, tags=("slow",)), case("b", 9.0), case("b", outcome="error")]
    assert [each[1:] for each in judged(cases, "tag=slow:cost_usd=5", "model=a:cost_usd=5")] == [
        ("failed", "cost_usd of a, tag slow: 9 on average over 1 trial, at most 5 allowed"),
        ("passed", "cost_usd of a: 5 on average over 2 trials, at most 5 allowed"),
    ]
    assert [each[::2] for each in judged(cases, "errors=50%", "errors=0.2")] == [
        ("a", "errors of a: 0 of 2 cases without an answer, 50% allowed"),
        ("b", "errors of b: 1 of 2 cases without an answer, 50% allowed"),
        ("a", "errors of a: 0 of 2 cases without an answer, 20% allowed"),
        ("b", "errors of b: 1 of 2 cases without an answer, 20% allowed"),
    ]


def test_errors_are_allowed_where_a_gate_allows_them() -> None:
    cases = [case("a", 1.0), case("a", outcome="error"), case("b", 1.0), case("b", outcome="error")]
    rules = [read_rule("overall=0", over=False), read_rule("model=a:errors=1", over=True)]
    verdicts = {gate.name: gate.verdict for gate in judge_gates(cases, rules)}
    assert verdicts == {
        "overall of a": "passed",
        "overall of b": "failed",
        "errors of a": "passed",
    }
