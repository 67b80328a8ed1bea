"""How long trials took, model by model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..markup import Html
from ..markup import join
from ..markup import label
from ..markup import tag
from ..numbers import known
from ..numbers import seconds
from .data import ModelRows
from .drawing import EDGE
from .drawing import RIGHT
from .drawing import WIDTH
from .drawing import Scale
from .drawing import caption
from .drawing import figure
from .drawing import horizontal_axis
from .drawing import model_class
from .drawing import numbers_table
from .drawing import powers
from .drawing import upward

_MOST_DOTS = 250
_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_STEP = 38
_TOP = 8


def latency_plot(models: Sequence[ModelRows]) -> Html:
    """Per model the quartiles as a box, the 5th to 95th percentile as whiskers, and single trials."""
    found = [(model, times) for model in models if (times := _times(model))]
    if not found:
        return join([])
    bottom = _TOP + _STEP * len(found)
    scale = _scale([times for _, times in found])
    axis = "seconds per trial" + (" (logarithmic)" if scale.log else "")
    shapes = [horizontal_axis(scale, _TOP, bottom, axis)]
    lines = []
    for number, (model, times) in enumerate(found):
        marks = [quantile(times, share) for share in _SHARES]
        shapes += _row(scale, _TOP + _STEP * number, model, times, marks)
        numbers = map(seconds, (*marks[2:], times[-1]))
        lines.append([label(model.model), str(len(times)), *numbers])
    words = "; ".join(f"{row[0]}: median {row[2]}, 95th percentile {row[4]}" for row in lines)
    header = ["Model", "Trials", "Median", "75th percentile", "95th percentile", "Longest"]
    note = "Box: the middle half of the trials, its line the median. Whiskers: 5th to 95th percentile."
    below = [tag("p", note, class_="muted")]
    return figure("Latency", shapes, bottom + 36, words, numbers_table(header, lines), below)


def quantile(values: Sequence[float], share: float) -> float:
    """Of sorted values, by linear interpolation between the nearest two (Hyndman and Fan's type 7)."""
    place = share * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


def _times(model: ModelRows) -> list[float]:
    found = (known(trial["latency_s"]) for trial in model.answered)
    return sorted(value for value in found if value is not None)


def _scale(times: Sequence[Sequence[float]]) -> Scale:
    """Linear from 0, unless fast models would be a smear at the edge because another is far slower."""
    most, least = max(each[-1] for each in times), min(each[0] for each in times)
    if least <= 0 or most / least <= 100:
        return upward([most], EDGE, WIDTH - RIGHT)
    edges = powers(max(least, most / 1e6), most)
    return Scale(edges[0], edges[-1], EDGE, WIDTH - RIGHT, log=True)


def _row(
    scale: Scale, top: float, model: ModelRows, times: Sequence[float], marks: Sequence[float]
) -> list[Html]:
    low, lower, median, upper, high = map(scale, marks)
    y = top + 24
    series = model_class(model.index)
    every = max(1, len(times) // _MOST_DOTS)
    return [
        caption(EDGE, top + 12, label(model.model, 44)),
        caption(WIDTH - RIGHT, top + 12, f"median {seconds(marks[2])}", "end", "tick"),
        tag("line", x1=low, x2=high, y1=y, y2=y, class_=f"whisker {series}"),
        tag("line", x1=low, x2=low, y1=y - 4, y2=y + 4, class_=f"whisker {series}"),
        tag("line", x1=high, x2=high, y1=y - 4, y2=y + 4, class_=f"whisker {series}"),
        tag("rect", x=lower, y=y - 7, width=max(upper - lower, 1.0), height=14, class_=f"box {series}"),
        tag("line", x1=median, x2=median, y1=y - 7, y2=y + 7, class_=f"median {series}"),
        *(tag("circle", cx=scale(t), cy=y, r=1.5, class_=f"trial {series}") for t in times[::every]),
    ]
