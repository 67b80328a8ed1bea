"""Line charts of past runs: a metric of a suite over time, one line per model."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ....record.metrics import ordered_metrics
from ..head import section
from ..markup import Html
from ..markup import join
from ..markup import label
from ..markup import tag
from ..numbers import known
from ..numbers import moment
from ..numbers import score
from .drawing import LEFT
from .drawing import RIGHT
from .drawing import WIDTH
from .drawing import Scale
from .drawing import caption
from .drawing import figure
from .drawing import legend
from .drawing import marker
from .drawing import model_class
from .drawing import numbers_table
from .drawing import ticks
from .drawing import vertical_axis

_OPEN = 6
_MOST = 60


def trends_section(trends: Mapping[str, Any] | None, models: Sequence[str] = ()) -> Html:
    """`{"runs": [{"id", "started", "commit"}], "series": [{"model", "suite", "metric", "values"}]}`.

    `values` holds a number or None per run. Fewer than two runs are no trend. `models` are those of the
    page, in the order that gives them their colours.
    """
    if not trends or len(trends.get("runs") or []) < 2:
        return join([])
    charts = [chart for chart in _charts(trends, models) if chart]
    if not charts:
        return join([])
    more = charts[_OPEN:_MOST]
    blocks = [tag("div", *charts[:_OPEN], class_="plots")]
    if more:
        blocks.append(
            tag("details", tag("summary", f"{len(more)} more"), tag("div", *more, class_="plots"))
        )
    return section("trends", "Trends", *blocks)


def _charts(trends: Mapping[str, Any], first: Sequence[str]) -> list[Html]:
    """Metric by metric in their usual order, and within it suite by suite."""
    models = list(dict.fromkeys([*first, *(each["model"] for each in trends["series"])]))
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for metric in ordered_metrics(each["metric"] for each in trends["series"]):
        for each in trends["series"]:
            if each["metric"] == metric:
                groups.setdefault((metric, each.get("suite") or "all suites"), []).append(each)
    return [
        _chart(metric, suite, series, trends["runs"], models)
        for (metric, suite), series in groups.items()
    ]


def _chart(
    metric: str,
    suite: str,
    series: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    models: Sequence[str],
) -> Html:
    lines = [
        (models.index(each["model"]), [known(value) for value in each["values"]]) for each in series
    ]
    values = [value for _, line in lines for value in line if value is not None]
    if not values:
        return join([])
    top, bottom = 26, 196
    least, most = min(0.0, *values), max(1.0, *values)
    round_numbers = ticks(least, most)
    up = Scale(round_numbers[0], round_numbers[-1], bottom, top)
    across = Scale(0, len(runs) - 1, LEFT + 6, WIDTH - RIGHT - 6)
    shapes = [
        vertical_axis(up, LEFT, WIDTH - RIGHT, f"{label(metric, 40)}, mean"),
        _dates(runs, across, bottom),
    ]
    for index, line in lines:
        shapes += _line(index, models[index], line, runs, across, up)
    rows = [
        [
            f"{moment(run.get('started'))} {_commit(run)}".strip(),
            *(score(_at(line, i)) for _, line in lines),
        ]
        for i, run in enumerate(runs)
    ]
    words = "; ".join(
        f"{label(models[index])}: from {score(_first(line))} to {score(_first(line[::-1]))}"
        for index, line in lines
    )
    return figure(
        f"{label(metric, 40)}: {label(suite, 60)}",
        shapes,
        bottom + 36,
        f"{len(runs)} runs. {words}",
        numbers_table(["Run", *(label(models[index]) for index, _ in lines)], rows),
        [legend((index, models[index]) for index, _ in lines)],
    )


def _at(line: Sequence[float | None], i: int) -> float | None:
    return line[i] if i < len(line) else None


def _first(line: Sequence[float | None]) -> float | None:
    return next((value for value in line if value is not None), None)


def _commit(run: Mapping[str, Any]) -> str:
    return label(str(run["commit"]), 10) if run.get("commit") else ""


def _dates(runs: Sequence[Mapping[str, Any]], across: Scale, bottom: float) -> Html:
    """The first, middle and last run; more would not fit."""
    places = sorted({0, (len(runs) - 1) // 2, len(runs) - 1}) if len(runs) > 2 else [0, 1]
    sides = {0: "start", len(runs) - 1: "end"}
    parts = [
        caption(
            across(i), bottom + 14, moment(runs[i].get("started"))[:10], sides.get(i, "middle"), "tick"
        )
        for i in places
    ]
    return join(
        [*parts, caption((LEFT + WIDTH - RIGHT) / 2, bottom + 30, "run, by date", "middle", "axis")]
    )


def _line(
    index: int,
    model: str,
    line: Sequence[float | None],
    runs: Sequence[Mapping[str, Any]],
    across: Scale,
    up: Scale,
) -> list[Html]:
    """A line broken where a run has no value, with a mark at each value unless they are too many."""
    pieces: list[list[str]] = [[]]
    marks = []
    for i, value in enumerate(line[: len(runs)]):
        if value is None:
            pieces.append([])
            continue
        x, y = across(i), up(value)
        pieces[-1].append(f"{x:.1f},{y:.1f}")
        alone = _at(line, i + 1) is None and (i == 0 or line[i - 1] is None)
        if alone or len(runs) <= 40 or i == len(runs) - 1:
            words = (
                f"{label(model)}: {score(value)}, {moment(runs[i].get('started'))} {_commit(runs[i])}"
            )
            marks.append(marker(index, x, y, words))
    drawn = [
        tag("polyline", points=" ".join(piece), class_=f"line {model_class(index)}")
        for piece in pieces
        if len(piece) > 1
    ]
    return [*drawn, *marks]
