"""Budgets of a run."""

from __future__ import annotations

import pytest
from records import result_of

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.results import TrialError
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.verdicts.budgets import RunBudget
from pytest_tooleval.verdicts.budgets import judge_budgets


def case(model: str, *costs: float | None) -> CaseResult:
    trials = [TrialResult(cost_usd=cost, calls_made=2) for cost in costs]
    trials.append(TrialResult(error=TrialError("timeout", "no answer")))
    return result_of(
        nodeid=f"s::c[{model}]", suite="s", case="c", model=model, outcome="passed", trials=tuple(trials)
    )


def test_the_mean_over_the_answered_trials_of_each_model_decides() -> None:
    cases = [case("cheap", 0.01, 0.03), case("dear", 0.02, 0.04), case("unknown", None)]
    budgets = [RunBudget.parse("max_cost_usd=0.02"), RunBudget.parse("max_calls=2")]

    gates = judge_budgets(cases, budgets)

    assert [(gate.model, gate.verdict) for gate in gates] == [
        ("cheap", "passed"),
        ("dear", "failed"),
        ("unknown", "failed"),
        *((model, "passed") for model in ("cheap", "dear", "unknown")),
    ]
    assert gates[1].message == (
        "max_cost_usd of dear: 0.03 on average over 2 trials, at most 0.02 allowed"
    )
    assert "unknown for 1 of 1 trial" in gates[2].message


@pytest.mark.parametrize("text", ["", "max_calls", "max_calls=-1", "max_calls=inf", "overall=1"])
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--tooleval-budget=.*expected NAME=VALUE"):
        RunBudget.parse(text)
