"""How cases spread over scores and over passing trials."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ....text import counted
from ..markup import Html
from ..markup import join
from ..markup import label
from ..markup import tag
from ..numbers import known
from .data import ModelRows
from .data import answered
from .drawing import EDGE
from .drawing import RIGHT
from .drawing import WIDTH
from .drawing import caption
from .drawing import figure
from .drawing import model_class
from .drawing import numbers_table

_SCORE_BINS = (*(f"{i / 10:.1f}" for i in range(10)), "1")
_COLUMN = 44


def trials_plot(models: Sequence[ModelRows]) -> Html:
    """How many cases passed in 0, 1, ... n of their n trials."""
    most = max((len(answered(row)) for model in models for row in model.rows), default=0)
    if most < 2:
        return join([])
    found, partly = [], 0
    for model in models:
        trials = [answered(row) for row in model.rows]
        partly += sum(0 < len(each) < most for each in trials)
        counts = Counter(sum(t["passed"] for t in each) for each in trials if len(each) == most)
        if counts:
            found.append((model, [counts[k] for k in range(most + 1)]))
    note = f"{counted(partly, 'case')} with fewer answered trials left out." if partly else ""
    bins = [str(k) for k in range(most + 1)]
    return _histograms("Passing trials per case", f"trials passed, of {most}", bins, found, note)


def scores_plot(models: Sequence[ModelRows]) -> Html:
    """How the cases' overall scores spread; exactly 1 is a column of its own."""
    found = []
    for model in models:
        counts = [0] * len(_SCORE_BINS)
        for row in model.rows:
            overall = known(row["scores"].get("overall"))
            if overall is not None and row["outcome"] in ("passed", "failed", "missed"):
                counts[min(max(math.floor(overall * 10 + 1e-9), 0), 9 if overall < 1 else 10)] += 1
        if any(counts):
            found.append((model, counts))
    note = "Each column starts at its number and is 0.1 wide; the last holds exactly 1."
    return _histograms("Overall score per case", "overall score", _SCORE_BINS, found, note)


def _histograms(
    heading: str,
    axis: str,
    bins: Sequence[str],
    found: Sequence[tuple[ModelRows, Sequence[int]]],
    note: str = "",
) -> Html:
    """One row of columns per model on one common axis; the counts stand on the columns."""
    if not found:
        return join([])
    step, top = 86, 14
    bottom = top + step * len(found) - 8
    highest = max(max(counts) for _, counts in found)
    slot = (WIDTH - EDGE - RIGHT) / len(bins)
    shapes = [caption(WIDTH - RIGHT, 12, "cases", "end", "axis")]
    for number, (model, counts) in enumerate(found):
        base = top + step * (number + 1) - 8
        shapes.append(caption(EDGE, base - _COLUMN - 20, label(model.model, 60)))
        shapes.append(tag("line", x1=EDGE, x2=WIDTH - RIGHT, y1=base, y2=base, class_="base"))
        for i, cases in enumerate(counts):
            words = f"{axis} {bins[i]}: {counted(cases, 'case')}"
            shapes += _column(EDGE + slot * i, base, slot, cases, highest, words, model.index)
    every = math.ceil(len(bins) / 12)
    shapes += [
        caption(EDGE + slot * (i + 0.5), bottom + 14, each, "middle", "tick")
        for i, each in enumerate(bins)
        if i % every == 0
    ]
    shapes.append(caption((WIDTH - RIGHT) / 2, bottom + 30, axis, "middle", "axis"))
    lines = [[label(model.model), *map(str, counts)] for model, counts in found]
    words = "; ".join(
        f"{row[0]}: " + ", ".join(f"{n} at {b}" for n, b in zip(row[1:], bins, strict=True) if n != "0")
        for row in lines
    )
    below = [tag("p", note, class_="muted")] if note else []
    return figure(heading, shapes, bottom + 36, words, numbers_table(["Model", *bins], lines), below)


def _column(
    x: float, base: float, slot: float, cases: int, highest: int, words: str, index: int
) -> list[Html]:
    if not cases:
        return []
    tall = max(_COLUMN * cases / highest, 1.5)
    gap = 3 if slot > 12 else 0
    place = {"x": x + gap, "y": base - tall, "width": max(slot - 2 * gap, 1.0), "height": tall}
    column = tag("rect", tag("title", words), **place, class_=f"bar {model_class(index)}")
    if slot <= 16:
        return [column]
    return [column, caption(x + slot / 2, base - tall - 3, str(cases), "middle", "tick")]
