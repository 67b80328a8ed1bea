"""Mutation results as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import Problem
from ..suite.model import Suite
from ..text import ELLIPSIS, counted
from .answers import call_with_arguments
from .results import CaseMutation, MutantCall, SuiteMutation


class Gap(NamedTuple):
    """A line to add to a part of a case, and the wrong answers that pass without it."""

    to: str
    add: str
    answers: list[str]


def gaps_of(case: CaseMutation) -> list[Gap]:
    """Return the lines to add to a case, without duplicates."""
    gaps: dict[tuple[str, str], Gap] = {}
    for survivor in case.survivors:
        gap = gaps.setdefault((survivor.to, survivor.add), Gap(survivor.to, survivor.add, []))
        kind = survivor.kind.replace("_", " ")
        shown = _shown_answer(survivor.calls, case.calls or ())
        gap.answers.append(f"{kind}: {shown}" if shown else kind)
    return list(gaps.values())


def mutation_problems(suite: Suite, found: SuiteMutation) -> Iterator[Problem]:
    """Yield the lines to add to a suite, and cases without a known right answer, with their places."""
    places = {case.id: suite.place_of(index) for index, case in enumerate(suite.test_cases)}
    for policy in found.unnoticed:
        message = f"no case would notice a call that breaks {policy}"
        yield Problem(found.file, 1, 1, "policies", message)
    for case in found.cases:
        field = f"test_cases[{places[case.id]}]"
        if case.unknown:
            yield Problem(found.file, case.line, 1, field, f"no right answer is known: {case.unknown}")
        for gap in gaps_of(case):
            more = counted(len(gap.answers) - 1, "other") if len(gap.answers) > 1 else ""
            passing = gap.answers[0] + (f", and {more}" if more else "")
            message = f"passes, and should not: {passing}; add to {gap.to}: {gap.add}"
            yield Problem(found.file, case.line, 1, field, message)


def _shown_answer(calls: Sequence[MutantCall], right: Sequence[MutantCall]) -> str:
    """Return the calls as text, with an ellipsis for those that the right answer begins or ends with."""
    if calls == right:
        return ""
    first = _same(calls, right)
    last = _same(calls[first:][::-1], right[first:][::-1])
    shown = [call_with_arguments(call) for call in calls[first : len(calls) - last]]
    if not shown:
        return f"without {', '.join(map(call_with_arguments, right[first : len(right) - last]))}"
    return ", ".join([ELLIPSIS] * (first > 0) + shown + [ELLIPSIS] * (last > 0))


def _same(calls: Sequence[MutantCall], right: Sequence[MutantCall]) -> int:
    """Return how many calls at the beginning are the same."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(calls, right, strict=False))
    return sum(1 for _ in same)
