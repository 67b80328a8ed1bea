"""The mutation score of a suite: the share of wrong answers that it notices."""

from __future__ import annotations

import dataclasses

from ..errors import ScoringError
from ..record.metrics import BUILT_IN
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import resolve
from .answers import calls_of
from .answers import right_answer
from .answers import score
from .conversations import mutate_conversation
from .gaps import Found
from .gaps import gap_of
from .gaps import lines
from .gaps import no_score_fell
from .mutants import Mutant
from .mutants import mutants
from .results import CaseMutation
from .results import SuiteMutation
from .results import Survivor
from .results import share_noticed


def mutate_suite(suite: Suite, file: str = "") -> SuiteMutation:
    """Break the right answer of every case that is not skipped, and score what came of it."""
    skipped = sum(case.skip is not False for case in suite.test_cases)
    found = tuple(mutate_case(resolve(suite, case)) for case in suite.test_cases if case.skip is False)
    mutants = sum(case.mutants for case in found)
    survivors = sum(len(case.survivors) for case in found)
    return SuiteMutation(
        file=file,
        name=suite.name,
        score=share_noticed(mutants, survivors),
        mutants=mutants,
        survivors=survivors,
        legal=sum(case.legal for case in found),
        unknown=sum(case.calls is None for case in found),
        skipped=skipped,
        cases=found,
    )


def mutate_case(case: ResolvedCase) -> CaseMutation:
    """The wrong answers of one case, as far as its own expectations tell them from the right one."""
    # Nobody knows what other scorers would say, nor what an answer without a model would take.
    built_in = {metric: least for metric, least in case.thresholds.items() if metric in BUILT_IN}
    calls = {name: most for name, most in case.budgets.items() if name == "max_calls"}
    case = dataclasses.replace(case, thresholds=built_in, budgets=calls)
    try:
        if case.turns:
            return mutate_conversation(case)
        right = right_answer(case)
    except ScoringError as error:
        right = str(error)
    if isinstance(right, str):
        return CaseMutation(id=case.id, line=case.line, calls=None, unknown=right)
    legal = wrong = 0
    passing: list[tuple[Mutant, Found]] = []
    for mutant in mutants(case, right):
        try:
            trial = score(case, mutant.replies)
        except ScoringError:  # an error is no pass
            wrong += 1
            continue
        if mutant.looked and trial.passed and no_score_fell(right.trial, trial):
            legal += 1
            continue
        wrong += 1
        if trial.passed:
            passing.append((mutant, gap_of(case, right, mutant, trial)))
    adds = lines([found for _, found in passing])
    return CaseMutation(
        id=case.id,
        line=case.line,
        calls=calls_of(right.replies()),
        mutants=wrong,
        legal=legal,
        survivors=tuple(
            Survivor(mutant.kind, calls_of(mutant.replies), found.gap, add, found.to)
            for (mutant, found), add in zip(passing, adds, strict=True)
        ),
    )
