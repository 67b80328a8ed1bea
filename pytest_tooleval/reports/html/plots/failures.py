"""Why trials failed, model by model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ....text import counted
from ..markup import Html
from ..markup import join
from ..markup import label
from ..markup import tag
from .data import ModelRows
from .drawing import EDGE
from .drawing import WIDTH
from .drawing import Scale
from .drawing import caption
from .drawing import figure
from .drawing import horizontal_axis
from .drawing import legend
from .drawing import marker
from .drawing import model_class
from .drawing import numbers_table
from .drawing import upward


def failures_plot(models: Sequence[ModelRows]) -> Html:
    """Failed trials by category, and errors by kind, each with a bar per model."""
    counts = {model.index: Counter(_causes(model)) for model in models}
    totals = sum(counts.values(), Counter())
    if not totals:
        return join([])
    causes = [cause for cause, _ in totals.most_common(16)]
    shown = [model for model in models if counts[model.index]]
    bar, head = 11, 18
    step = head + bar * len(shown) + 6
    bottom = 6 + step * len(causes)
    scale = upward([max(counts[model.index].values()) for model in shown], EDGE + 12, WIDTH - 40)
    shapes = [horizontal_axis(scale, 4, bottom, "trials")]
    for number, cause in enumerate(causes):
        y = 6 + step * number
        shapes.append(caption(EDGE, y + 11, label(cause.replace("_", " "), 60)))
        for i, model in enumerate(shown):
            middle = y + head + bar * (i + 0.5)
            shapes += _failure_bar(scale, middle, model, cause, counts[model.index][cause])
    lines = [[label(cause), *(str(counts[model.index][cause]) for model in shown)] for cause in causes]
    header = ["Category", *(label(model.model) for model in shown)]
    words = "; ".join(
        f"{row[0]}: " + ", ".join(f"{n} {m}" for n, m in zip(row[1:], header[1:], strict=True))
        for row in lines
    )
    return figure(
        "Failures by category",
        shapes,
        bottom + 36,
        words,
        numbers_table(header, lines),
        [legend((model.index, model.model) for model in shown)],
    )


def _failure_bar(scale: Scale, y: float, model: ModelRows, cause: str, trials: int) -> list[Html]:
    note = tag("title", f"{label(model.model)}, {label(cause)}: {counted(trials, 'trial')}")
    series = model_class(model.index)
    width = scale(trials) - scale(0)
    sign = marker(model.index, 0, 0)
    return [
        tag("rect", note, x=scale(0), y=y - 4, width=width, height=8, class_=f"bar {series}"),
        tag("g", sign, transform=f"translate({EDGE + 4} {y:.1f}) scale(.7)"),
        caption(scale(0) + width + 4, y + 4, str(trials), class_="tick"),
    ]


def _causes(model: ModelRows) -> list[str]:
    trials = [trial for row in model.rows if row["outcome"] != "skipped" for trial in row["trials"]]
    return [
        f"error: {trial['error']['kind']}" if trial["error"] else trial["failure"]
        for trial in trials
        if trial["error"] or trial["failure"]
    ]
