"""Compute a suite's mutation score: the share of wrong answers that it notices."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from ..errors import ScoringError
from ..record.metrics import BUILT_IN
from ..suite.case import ResolvedCase
from ..suite.model import Suite
from ..suite.resolved import resolve
from .answers import Right, UnknownError, calls_of, right_answers, score
from .gaps import JudgedAnswer, case_mutation, gap_of
from .mutants import mutants
from .policies import unnoticed
from .results import CaseMutation, SuiteMutation, share_noticed


def mutate_suite(suite: Suite, file: str = "") -> SuiteMutation:
    """Break the right answer of every case that is not skipped, and score the results."""
    skipped = sum(case.skip is not False for case in suite.test_cases)
    cases = [resolve(suite, case) for case in suite.test_cases if case.skip is False]
    found = tuple(map(mutate_case, cases))
    # Each policy counts as one more wrong answer: one that breaks it.
    lost = tuple(unnoticed(suite, cases))
    policies = len(suite.policies) + sum(len(case.policies) - len(suite.policies) for case in cases)
    mutants = sum(case.mutants for case in found) + policies
    survivors = sum(len(case.survivors) for case in found) + len(lost)
    return SuiteMutation(
        file=file,
        name=suite.name,
        score=share_noticed(mutants, survivors),
        mutants=mutants,
        survivors=survivors,
        legal=sum(case.legal for case in found),
        unknown=sum(case.calls is None for case in found),
        skipped=skipped,
        unnoticed=lost,
        cases=found,
    )


def mutate_case(case: ResolvedCase) -> CaseMutation:
    """Break the right answer of a case, and score the results by its built-in metrics."""
    # Third-party scorers cannot judge made-up answers, which also have no tokens, cost or latency.
    built_in = {metric: least for metric, least in case.thresholds.items() if metric in BUILT_IN}
    calls = {name: most for name, most in case.limits.items() if name == "max_calls"}
    case = structs.replace(case, thresholds=built_in, limits=calls)
    try:
        rights = right_answers(case)
    except (ScoringError, UnknownError) as error:
        return CaseMutation(id=case.id, line=case.line, calls=None, unknown=str(error))
    seen: set[str] = set()
    wrong = [each for right in rights for each in _judged(case, right, seen)]
    return case_mutation(case, calls_of(rights[0].answer()), wrong)


def _judged(case: ResolvedCase, right: Right, seen: set[str]) -> Iterator[JudgedAnswer]:
    for mutant, answer in mutants(case, right, seen):
        found = None
        try:
            trial = score(case, answer)
            passes = trial.passed
        except ScoringError:
            passes = False
        if passes:
            found = gap_of(mutant.kind, mutant.line, right.trial, trial)
        yield JudgedAnswer(mutant.kind, calls_of(answer), passes, found)
