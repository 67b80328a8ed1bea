"""What a model takes, in money and tokens, against how well it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..markup import Html
from ..markup import join
from ..markup import label
from ..markup import tag
from ..numbers import count
from ..numbers import known
from ..numbers import score
from ..numbers import usd
from .data import ModelRows
from .drawing import LEFT
from .drawing import RIGHT
from .drawing import WIDTH
from .drawing import Scale
from .drawing import figure
from .drawing import horizontal_axis
from .drawing import legend
from .drawing import marker
from .drawing import model_class
from .drawing import numbers_table
from .drawing import upward
from .drawing import vertical_axis

_TOP, _BOTTOM = 26, 226


@dataclass(frozen=True)
class _Point:
    """A model: what a trial takes on average, and the mean overall score with its interval."""

    model: ModelRows
    taken: float
    score: float
    low: float
    high: float


def cost_plot(models: Sequence[ModelRows]) -> Html:
    return _against_score(models, "Cost", "US dollars per trial, mean", usd, _cost)


def tokens_plot(models: Sequence[ModelRows]) -> Html:
    return _against_score(models, "Tokens", "tokens per trial, mean", count, _tokens)


def _cost(trial: Mapping[str, Any]) -> float | None:
    return known(trial["cost_usd"])


def _tokens(trial: Mapping[str, Any]) -> float | None:
    prompt, completion = known(trial["prompt_tokens"]), known(trial["completion_tokens"])
    return None if prompt is None or completion is None else prompt + completion


def _against_score(
    models: Sequence[ModelRows],
    what: str,
    axis: str,
    show: Callable[[object], str],
    measure: Callable[[Mapping[str, Any]], float | None],
) -> Html:
    """One point per model; one model alone has nothing to be compared with."""
    points = [point for model in models if (point := _point(model, measure))]
    if len(points) < 2 or not any(point.taken for point in points):
        return join([])
    across = upward([point.taken for point in points], LEFT, WIDTH - RIGHT)
    # The models often lie close together; only their distance matters here.
    least = min(point.low for point in points) - 0.05
    up = Scale(math.floor(min(max(least, 0.0), 0.9) * 10) / 10, 1.0, _BOTTOM, _TOP)
    shapes = [
        vertical_axis(up, LEFT, WIDTH - RIGHT, "overall score, mean"),
        horizontal_axis(across, _TOP, _BOTTOM, axis),
    ]
    lines = []
    for point in points:
        line = [label(point.model.model), show(point.taken), score(point.score)]
        lines.append(line)
        x, index = across(point.taken), point.model.index
        ends = {"x1": x, "x2": x, "y1": up(point.low), "y2": up(point.high)}
        shapes.append(tag("line", **ends, class_=f"whisker {model_class(index)}"))
        shapes.append(
            marker(index, x, up(point.score), f"{line[0]}: {line[1]} per trial, overall {line[2]}")
        )
    return figure(
        f"{what} against score",
        shapes,
        _BOTTOM + 36,
        "; ".join(f"{row[0]}: {row[1]} per trial, overall {row[2]}" for row in lines),
        numbers_table(["Model", f"{what} per trial", "Overall"], lines),
        [legend((point.model.index, point.model.model) for point in points)],
    )


def _point(model: ModelRows, measure: Callable[[Mapping[str, Any]], float | None]) -> _Point | None:
    values = [value for value in map(measure, model.answered) if value is not None]
    overall = model.summary["metrics"].get("overall") or {}
    mean = known(overall.get("mean"))
    if not values or mean is None:
        return None
    low, high = known(overall.get("low")), known(overall.get("high"))
    return _Point(
        model,
        sum(values) / len(values),
        mean,
        mean if low is None else low,
        mean if high is None else high,
    )
