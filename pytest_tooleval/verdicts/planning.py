"""What gates can decide with the planned cases."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..figures import TOLERANCE, given_text
from ..record.results import CaseRow
from ..text import plural
from .rules import MODEL, PASS_RATE, Rule, groups_of
from .statistics import cluster_sums, clusters_of, mean_interval, wilson

MAX_CASES = 10_000


class Reach(NamedTuple):
    """A mean under `fails` fails a gate, and one over `passes` passes it; None if no mean does."""

    fails: float | None
    passes: float | None


def reach(weights: Sequence[float], needed: float, confidence: float, *, binary: bool) -> Reach:
    """Return the means, over cases with these weights, whose interval excludes `needed`.

    This is valid for any scores: none with the same mean have a wider interval than scores of 0 and 1,
    on which all trials of a case agree. `binary` scores are only these. A cluster is one case with its
    total weight. With unequal weights, it matters which cases are wrong: the widest intervals come from
    the heaviest or the lightest first. Between the two means, only equally weighted `binary` scores
    without clusters are certainly inconclusive.
    """
    orders = sorted(weights), sorted(weights, reverse=True)
    # The means of equally weighted binary cases come in steps of one case.
    step = 1 if binary and min(weights) == max(weights) else 0
    ends = [_reach(order, needed, confidence, step) for order in orders]
    fails, passes = [end.fails for end in ends], [end.passes for end in ends]
    return Reach(
        None if None in fails else min(share for share in fails if share is not None),
        None if None in passes else max(share for share in passes if share is not None),
    )


def _reach(weights: Sequence[float], needed: float, confidence: float, step: int) -> Reach:
    """Like `reach`, if cases go wrong in this order."""
    n, total = len(weights), math.fsum(weights)

    def interval(wrong: int) -> tuple[float, float]:
        return mean_interval([0.0] * wrong + [1.0] * (n - wrong), weights, confidence)

    def mean(wrong: int) -> float:
        return math.fsum(weights[wrong:]) / total

    undecided = bisect_left(range(n + 1), True, key=lambda k: interval(k)[0] < needed - TOLERANCE)
    failing = bisect_left(range(n + 1), True, key=lambda k: interval(k)[1] < needed - TOLERANCE)
    return Reach(
        mean(failing - step) if failing <= n else None, mean(undecided - 1 + step) if undecided else None
    )


def least_cases(needed: float, confidence: float) -> int | None:
    """The fewest cases that can pass a gate if all are right; None if more than `MAX_CASES`."""
    most = range(1, MAX_CASES + 1)
    fewer = bisect_left(most, True, key=lambda n: wilson(n, n, confidence)[0] >= needed - TOLERANCE)
    return most[fewer] if fewer < MAX_CASES else None


def gate_reaches(cases: Sequence[CaseRow], gates: Sequence[Rule], confidence: float) -> Iterator[str]:
    """Yield a line for each gate over planned cases, whose `scored` is their number of trials.

    Models with the same cases share a line. The lines assume that every case is answered and has the
    metric, and the worst for a case's trials: that they all agree, so they count no more than one.
    """
    for gate in gates:
        texts_of: dict[str, dict[str, list[str]]] = {}
        for (model, name, _), group in groups_of(gate, cases).items() if gate.needed else ():
            where = "" if gate.scope is MODEL else f" of {gate.scope.name} {name}"
            texts = texts_of.setdefault(f"gate {gate.metric}{where} {given_text(gate.needed)}", {})
            texts.setdefault(_reach_text(gate, group, confidence), []).append(model)
        for title, texts in texts_of.items():
            for text, models in texts.items():
                yield f"{title}, {text}" + (f" ({', '.join(models)})" if len(texts) > 1 else "")


def _reach_text(gate: Rule, cases: Sequence[CaseRow], confidence: float) -> str:
    clusters = clusters_of(cases)
    weights = [each for each in cluster_sums([case.weight for case in cases], clusters) if each]
    trials = sorted({case.answered for case in cases})
    each = f"{trials[0]} to {trials[-1]} trials" if len(trials) > 1 else plural(trials[0], "trial")
    passes_only = gate.metric == PASS_RATE
    # Otherwise, the same mean may be decided or not: it depends on which cases it is made of.
    alike = passes_only and len(weights) == len(cases) and min(weights) == max(weights)
    bounds = reach(weights, gate.needed, confidence, binary=alike)
    # Rounded to the safe side, but by less than one of many cases.
    digits = max(2, len(str(len(cases))))
    parts = []
    if bounds.fails is not None:
        parts.append(f"under {math.floor(10**digits * bounds.fails) / 10**digits:.{digits}f} fails")
    if bounds.passes is not None:
        parts.append(f"over {math.ceil(10**digits * bounds.passes) / 10**digits:.{digits}f} passes")
    if passes_only and not alike:
        rest = ("the verdict", "anything else", "in between, the verdict")[len(parts)]
        parts.append(f"{rest} depends on which cases fail")
    else:
        rest = ("anything", "anything else", "in between")[len(parts)]
        parts.append(f"{rest} {'is' if alike else 'may be'} inconclusive")
    least = least_cases(gate.needed, confidence) if alike and bounds.passes is None else None
    takes = "" if least is None else f"; passing takes {plural(least, 'case')}"
    return f"{plural(len(cases), 'case')}, {each}, all answered: {', '.join(parts)}{takes}"
