"""What gates with a confidence can decide, reported before any request."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..record.results import CaseRow
from ..text import counted
from .gates import groups_of
from .planning import least_cases, reach
from .rules import MODEL, PASS_RATE, Rule
from .statistics import clusters_of, summed


def power_lines(cases: Sequence[CaseRow], gates: Sequence[Rule], confidence: float) -> Iterator[str]:
    """Yield a line for each gate over planned cases, whose `scored` is their number of trials.

    Models with the same cases share a line. The lines assume that every case is answered and has the
    metric, and the worst for a case's trials: that they all agree, so they count no more than one.
    """
    for gate in gates:
        found: dict[str, dict[str, list[str]]] = {}
        for (model, name, _), group in groups_of(gate, cases).items() if gate.needed else ():
            where = "" if gate.scope is MODEL else f" of {gate.scope.name} {name}"
            texts = found.setdefault(f"gate {gate.metric}{where} {gate.needed:g}", {})
            texts.setdefault(_power(gate, group, confidence), []).append(model)
        for title, texts in found.items():
            for text, models in texts.items():
                yield f"{title}, {text}" + (f" ({', '.join(models)})" if len(texts) > 1 else "")


def _power(gate: Rule, cases: Sequence[CaseRow], confidence: float) -> str:
    clusters = clusters_of(cases)
    weights = [each for each in summed([case.weight for case in cases], clusters) if each]
    trials = sorted({case.scored for case in cases})
    each = f"{trials[0]} to {trials[-1]} trials" if len(trials) > 1 else counted(trials[0], "trial")
    passes_only = gate.metric == PASS_RATE
    # Otherwise, the same mean may be decided or not: it depends on which cases it is made of.
    alike = passes_only and len(weights) == len(cases) and min(weights) == max(weights)
    found = reach(weights, gate.needed, confidence, binary=alike)
    # Rounded to the safe side, but by less than one of many cases.
    digits = max(2, len(str(len(cases))))
    parts = []
    if found.fails is not None:
        parts.append(f"under {math.floor(10**digits * found.fails) / 10**digits:.{digits}f} fails")
    if found.passes is not None:
        parts.append(f"over {math.ceil(10**digits * found.passes) / 10**digits:.{digits}f} passes")
    if passes_only and not alike:
        rest = ("the verdict", "anything else", "in between, the verdict")[len(parts)]
        parts.append(f"{rest} depends on which cases fail")
    else:
        rest = ("anything", "anything else", "in between")[len(parts)]
        parts.append(f"{rest} {'is' if alike else 'may be'} inconclusive")
    least = least_cases(gate.needed, confidence) if alike and found.passes is None else None
    takes = "" if least is None else f"; passing takes {counted(least, 'case')}"
    return f"{counted(len(cases), 'case')}, {each}, all answered: {', '.join(parts)}{takes}"
