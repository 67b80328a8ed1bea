"""Several runs of one commit as one, with the trials of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import structs

from ..record.results import CaseRow
from .case import Standard
from .case import judge_again

_Case = TypeVar("_Case", bound=CaseRow)


def pool(runs: Sequence[Sequence[_Case]]) -> list[_Case]:
    """The cases of runs, the newest first, each with the trials of all that asked and expected the same.

    Each answer counts once. Cached ones are copies, of answers of these runs or others, and count only
    where no run has a fresh one, and then those of one run. Trials without an answer stay only where no
    run has one: they say nothing of the commit.
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
    standard = Standard(case.thresholds, case.limits, case.pass_rule)
    return judge_again(joined, standard) if answered else joined  # type: ignore[return-value]
