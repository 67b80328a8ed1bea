"""Pools several runs of one commit into one with all their trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import structs

from ..record.results import CaseRow
from .case import Standard, decide_again

_Case = TypeVar("_Case", bound=CaseRow)


def pool(runs: Sequence[Sequence[_Case]]) -> list[_Case]:
    """Pool the cases of runs, given newest first. Only cases with the same content are pooled.

    Each answer counts once. Cached answers are copies, from these runs or others, so they count only if
    no run has a fresh one, and then only those of one run. Trials without an answer are kept only if no
    run has an answer: they say nothing about the commit.
    """
    found: dict[str, list[_Case]] = {}
    for cases in runs:
        for case in cases:
            known = found.setdefault(case.nodeid, [])
            if not known or known[0].content == case.content:
                known.append(case)
    return [_joined(cases) for cases in found.values()]


def _joined(cases: Sequence[_Case]) -> _Case:
    if len(cases) == 1:
        return cases[0]
    trials = [trial for case in cases for trial in case.trials]
    answers = [[trial for trial in case.trials if trial.error is None] for case in cases]
    fresh = [trial for each in answers for trial in each if not trial.cached]
    trials = fresh or next(filter(None, answers), trials)
    numbered = tuple(structs.replace(trial, trial=number) for number, trial in enumerate(trials))
    case = next((case for case in cases if case.trials), cases[0])
    answered = sum(trial.error is None for trial in trials)
    joined = structs.replace(case, trials=numbered, scored=answered)
    standard = Standard(case.thresholds, case.limits, case.pass_rule, case.forbids)
    return decide_again(joined, standard) if answered else joined  # type: ignore[return-value]
