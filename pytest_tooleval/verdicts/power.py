"""What gates with a confidence can decide, reported before any request."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Sequence

from ..record.results import CaseRow
from ..text import counted
from .gates import groups_of
from .planning import least_cases
from .planning import reach
from .rules import MODEL
from .rules import PASS_RATE
from .rules import Rule
from .statistics import clusters_of
from .statistics import summed


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
    weights = summed([case.weight for case in cases], clusters_of(cases))
    trials = sorted({case.scored for case in cases})
    each = f"{trials[0]} to {trials[-1]} trials" if len(trials) > 1 else counted(trials[0], "trial")
    binary = gate.metric == PASS_RATE
    found = reach([each for each in weights if each], gate.needed, confidence, binary=binary)
    parts = []
    # Rounded to the safe side, where the gate is certainly decided.
    if found.fails is not None:
        parts.append(f"under {math.floor(100 * found.fails) / 100:.2f} fails")
    if found.passes is not None:
        parts.append(f"over {math.ceil(100 * found.passes) / 100:.2f} passes")
    rest = {0: "anything", 1: "anything else", 2: "in between"}[len(parts)]
    parts.append(f"{rest} {'is' if binary else 'may be'} inconclusive")
    least = least_cases(gate.needed, confidence) if found.passes is None else None
    takes = "" if least is None else f"; passing takes {counted(least, 'case')}"
    return f"{counted(len(cases), 'case')}, {each}, all answered: {', '.join(parts)}{takes}"
