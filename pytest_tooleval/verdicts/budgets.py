"""Budgets of a run: limits of what a trial takes on average, for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..record.gates import Gate
from ..record.metrics import BUDGETS
from ..record.results import CaseRow
from ..record.results import TrialRow
from ..scoring.thresholds import TOLERANCE
from ..text import counted
from .options import read_number


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The limit of one of `metrics.BUDGETS`, for the mean over a model's trials."""

    name: str
    most: float

    @classmethod
    def parse(cls, text: str, where: str = "--tooleval-budget=") -> RunBudget:
        """Read `NAME=VALUE`. ConfigError, starting with `where`, if it is invalid."""
        name, _, number = text.partition("=")
        most = read_number(number)
        if name.strip() not in BUDGETS or not 0.0 <= most < float("inf"):
            known = ", ".join(BUDGETS)
            expected = f"expected NAME=VALUE, such as max_calls=2; names are {known}"
            raise ConfigError(f"{where}{text}: {expected}")
        return cls(name.strip(), most)


def judge_budgets(cases: Sequence[CaseRow], budgets: Sequence[RunBudget]) -> list[Gate]:
    """A gate for each budget and model, over the answered trials."""
    trials: dict[str, list[TrialRow]] = {}
    for case in cases:
        if case.model:
            trials.setdefault(case.model, []).extend(t for t in case.trials if t.error is None)
    return [_judge(budget, model, found) for budget in budgets for model, found in trials.items()]


def _judge(budget: RunBudget, model: str, trials: Sequence[TrialRow]) -> Gate:
    spent = [trial.spent[budget.name] for trial in trials]
    known = [value for value in spent if value is not None]
    mean, passed = None, False
    if not trials:
        text = "no trial has an answer"
    elif len(known) < len(spent):
        text = f"unknown for {len(spent) - len(known)} of {counted(len(spent), 'trial')}"
    else:
        mean = sum(known) / len(known)
        passed = mean <= budget.most * (1 + TOLERANCE)
        text = f"{mean:.4g} on average over {counted(len(known), 'trial')}"
    return Gate(
        kind="budget",
        name=f"{budget.name} of {model}",
        model=model,
        metric=budget.name,
        needed=budget.most,
        value=mean,
        cases=len(trials),
        verdict="passed" if passed else "failed",
        failed=not passed,
        message=f"{budget.name} of {model}: {text}, at most {budget.most:g} allowed",
    )
