"""Mutation results as text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ..text import ELLIPSIS
from .answers import call_with_arguments
from .results import CaseMutation, MutantCall


class SuggestedLine(NamedTuple):
    """A line to add to a part of a case, and the wrong answers that pass without it."""

    to: str
    add: str
    answers: list[str]


def gaps_of(case: CaseMutation) -> list[SuggestedLine]:
    """Return the lines to add to a case, without duplicates."""
    gaps: dict[tuple[str, str], SuggestedLine] = {}
    for survivor in case.survivors:
        gap = gaps.setdefault((survivor.to, survivor.add), SuggestedLine(survivor.to, survivor.add, []))
        kind = survivor.kind.replace("_", " ")
        shown = _shown_answer(survivor.calls, case.calls or ())
        gap.answers.append(f"{kind}: {shown}" if shown else kind)
    return list(gaps.values())


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
