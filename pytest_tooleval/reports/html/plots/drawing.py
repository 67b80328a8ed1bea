"""What all plots share: scales and ticks, the marks of models, the frame with its texts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from ..markup import Html
from ..markup import join
from ..markup import named
from ..markup import tag

WIDTH = 440
LEFT = 44
RIGHT = 14
EDGE = 8
_COLOURS = 8
_SHAPES = 5


@dataclass(frozen=True)
class Scale:
    """Maps `low` to `high` onto pixels `start` to `end`; with `log`, by orders of magnitude."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        share = (value - low) / (high - low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        if self.log:
            return powers(self.low, self.high)
        return [tick for tick in ticks(self.low, self.high) if self.low <= tick <= self.high * 1.0001]


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten) from `low` to just past `high`."""
    step = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    first = math.floor(low / step)
    count = math.ceil(high / step - 1e-9) - first
    # Without the rounding 3 times 0.1 would be 0.30000000000000004.
    return [float(f"{(first + i) * step:.12g}") for i in range(count + 1)]


def powers(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**exponent for exponent in range(first, last + 1)]


def upward(values: Iterable[float], start: float, end: float) -> Scale:
    """A scale from 0 to a round number that holds all values."""
    most = max(values, default=0.0)
    high = ticks(0.0, most)[-1] if most > 1e-12 else 1.0
    return Scale(0.0, high, start, end)


def tick_text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def caption(x: float, y: float, content: str, side: str = "start", class_: str | None = None) -> Html:
    """Words in a plot; `side` is start, middle or end."""
    return tag("text", content, x=x, y=y, text_anchor=None if side == "start" else side, class_=class_)


def horizontal_axis(scale: Scale, top: float, bottom: float, label: str) -> Html:
    """Grid lines with their numbers below, and the axis' name with its unit."""
    lines = []
    for tick in scale.ticks:
        x = scale(tick)
        lines.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        side = "end" if x > WIDTH - 20 else "middle"
        lines.append(caption(x, bottom + 14, tick_text(tick), side, "tick"))
    middle = (scale.start + scale.end) / 2
    return join([*lines, caption(middle, bottom + 30, label, "middle", "axis")])


def vertical_axis(scale: Scale, left: float, right: float, label: str) -> Html:
    lines = []
    for tick in scale.ticks:
        y = scale(tick)
        lines.append(tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid"))
        lines.append(caption(left - 6, y + 4, tick_text(tick), "end", "tick"))
    return join([*lines, caption(2, min(scale.start, scale.end) - 10, label, "start", "axis")])


def model_class(index: int) -> str:
    return f"model-{index % _COLOURS}"


def marker(index: int, x: float, y: float, words: str | None = None) -> Html:
    """The sign of a model: a colour and a shape, so that neither is needed alone."""
    r = 4.5
    points: Sequence[tuple[float, float]]
    shape = index % _SHAPES
    note = tag("title", words) if words else join([])
    if shape == 0:
        return tag("circle", note, cx=x, cy=y, r=r, class_=f"mark {model_class(index)}")
    if shape == 1:
        points = [(-r, -r), (r, -r), (r, r), (-r, r)]
    elif shape == 2:
        points = [(0, -r - 1), (r + 1, r), (-r - 1, r)]
    elif shape == 3:
        points = [(0, -r - 1.5), (r + 1.5, 0), (0, r + 1.5), (-r - 1.5, 0)]
    else:
        points = [(0, r + 1), (r + 1, -r), (-r - 1, -r)]
    path = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return tag("polygon", note, points=path, class_=f"mark {model_class(index)}")


def legend(models: Iterable[tuple[int, str]]) -> Html:
    items = [
        tag(
            "li",
            tag("svg", marker(index, 7, 7), width=14, height=14, aria_hidden="true"),
            " ",
            named(model),
        )
        for index, model in models
    ]
    return tag("ul", *items, class_="legend")


def numbers_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """The numbers behind a plot; the first column names the row."""
    head = tag(
        "tr",
        *(tag("th", each, scope="col", class_="number" if i else None) for i, each in enumerate(header)),
    )
    body = [
        tag(
            "tr", tag("th", row[0], scope="row"), *(tag("td", cell, class_="number") for cell in row[1:])
        )
        for row in rows
    ]
    table = tag("table", tag("thead", head), tag("tbody", *body))
    # The region is named by its summary; a tab stop of its own lets the keyboard scroll it.
    return tag("details", tag("summary", "Numbers"), tag("div", table, class_="scrolling", tabindex=0))


def figure(
    heading: str,
    shapes: Iterable[str],
    height: float,
    words: str,
    table: Html,
    below: Iterable[str] = (),
) -> Html:
    """A plot with its title, the text that stands for it, what explains it, and its numbers."""
    svg = tag(
        "svg", *shapes, viewBox=f"0 0 {WIDTH} {height:g}", role="img", aria_label=f"{heading}. {words}"
    )
    return tag("figure", tag("figcaption", tag("h3", heading)), svg, *below, table, class_="plot")
