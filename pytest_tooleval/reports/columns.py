"""The columns of all tables of figures: of models, suites and runs, of trials and replies, and others.

Each is a row of `COLUMNS`, which text, Markdown and CSV read here, and the page gets as data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from ..figures import (
    UNKNOWN_USD,
    count_text,
    interval_text,
    p_text,
    points_text,
    score_text,
    seconds_text,
    usd_text,
)
from ..record.document import RowsDocument
from ..record.metrics import ordered_metrics
from ..text import align_rows, shown

# Scores of models and suites, whole or in short; lists of runs, in the terminal and on the page; what
# the page says of a trial and of a reply; CSV's rows, which are trials; metrics of two runs; variants.
View = Literal["scores", "short", "runs", "page runs", "trial", "reply", "csv", "comparison", "variants"]
CellFormat = Literal[
    "name",
    "verdict",
    "rate",
    "mean",
    "interval",
    "score",
    "p",
    "points",
    "length",
    "count",
    "scored",
    "selected",
    "tokens",
    "parts",
    "usd",
    "seconds",
]
RowDict = dict[str, Any]  # as in JSON
ANY, UNKNOWN = "*", "-"
_NAME = 60


class Column(Struct, frozen=True):
    """How a value is found in a record, formatted and titled.

    `about` explains the heading, `tone` colours what is not 0. One that `is_rare` is left out if it
    is 0 or unknown everywhere, any if it is unknown.
    """

    path: tuple[str, ...]
    heading: str
    format: CellFormat
    shown: tuple[View, ...]
    about: str = ""
    tone: str = ""
    is_rare: bool = False

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def is_metric(self) -> bool:
        return self.path[:1] in (("metrics",), ("reliability",))


_EVERYWHERE: tuple[View, ...] = ("scores", "short", "runs", "page runs")
_SCORES: tuple[View, ...] = ("scores", "short")
_VARIANTS: tuple[View, ...] = ("variants",)
_MEASURED: tuple[View, ...] = ("scores", "trial", "reply", "csv")
COLUMNS = (
    Column(("pass_rate",), "pass rate", "rate", _EVERYWHERE, about="share of cases that passed"),
    Column(("passed",), "passed", "scored", ("short",)),
    Column(("passed",), "passed", "selected", ("runs",)),
    Column(("cases",), "cases", "count", ("scores",)),
    Column(("passed",), "passed", "count", ("scores",)),
    Column(("failed",), "failed", "count", ("scores",), tone="failed"),
    Column(("failed",), "failed", "count", ("runs",), is_rare=True),
    Column(("errors",), "errors", "count", ("scores", "short", "runs"), tone="error", is_rare=True),
    Column(("tolerated",), "tolerated", "count", ("scores", "runs"), tone="tolerated", is_rare=True),
    Column(("skipped",), "skipped", "count", ("scores", "short", "runs"), is_rare=True),
    Column(("metrics", ANY), "", "mean", _SCORES),
    Column(("metrics", "overall"), "overall", "mean", ("runs", "page runs")),
    Column(
        ("reliability", "pass@k", ANY), "pass@k", "score", _SCORES, about="at least one trial passes"
    ),
    Column(("reliability", "pass^k", ANY), "pass^k", "score", _SCORES, about="every trial passes"),
    Column(("recovered_calls",), "as text", "count", ("scores",), about="calls", is_rare=True),
    Column(("lost_calls",), "lost", "count", ("scores",), about="calls as text", is_rare=True),
    Column(("tokens",), "tokens", "tokens", ("scores",)),
    Column(("tokens", "reasoning"), "reasoning", "count", ("scores",), is_rare=True),
    Column((), "tokens", "parts", ("trial", "reply")),
    Column(("prompt_tokens",), "prompt tokens", "count", ("csv",)),
    Column(("completion_tokens",), "completion tokens", "count", ("csv",)),
    Column(("reasoning_tokens",), "reasoning tokens", "count", ("csv",)),
    Column(("cost_usd",), "cost", "usd", (*_MEASURED, "runs", "page runs")),
    Column(("others_cost_usd",), "judge and user cost", "usd", ("trial", "csv"), is_rare=True),
    Column(("is_cost_partial",), "partial cost", "count", ("csv",)),
    Column(("latency_s",), "latency", "seconds", _MEASURED, about="mean per trial"),
    Column(("cached",), "cached", "count", ("csv",)),
    Column(("variant",), "variant", "name", _VARIANTS),
    Column(("model",), "model", "name", ("comparison", "variants")),
    Column(("cases",), "cases", "count", _VARIANTS),
    Column(("old",), "before", "score", _VARIANTS, about="share of passed trials"),
    Column(("new",), "after", "score", _VARIANTS, about="share of passed trials"),
    Column(("difference",), "difference", "points", _VARIANTS, about="with the 95% interval"),
    Column(("p_adjusted",), "p", "p", _VARIANTS, about="adjusted by Holm over all variants"),
    Column(("better",), "better", "length", _VARIANTS, about="cases that got better"),
    Column(("worse",), "worse", "length", _VARIANTS, about="cases that got worse"),
    Column(("same",), "same", "count", _VARIANTS, about="left as they are", is_rare=True),
    Column(
        ("left_out",), "left out", "length", _VARIANTS, about="not applicable or not run", is_rare=True
    ),
    Column(("errors",), "errors", "count", _VARIANTS, tone="error", is_rare=True),
    Column(("verdict",), "", "verdict", _VARIANTS),
    Column(("title",), "metric", "name", ("comparison",)),
    Column(("n",), "cases", "count", ("comparison",)),
    Column(("old",), "old", "score", ("comparison",)),
    Column(("new",), "new", "score", ("comparison",)),
    Column(("difference",), "difference", "points", ("comparison",), about="with the 95% interval"),
    Column(("p_adjusted",), "p", "p", ("comparison",), about="adjusted by Holm over all tests"),
    Column(("largest_drop",), "drop at most", "score", ("comparison",), about="more is ruled out"),
    Column(("verdict",), "", "verdict", ("comparison",)),
)


class Table(Struct, frozen=True):
    """Records and the columns to show of them."""

    columns: list[Column]
    records: list[RowDict]
    limits: Sequence[float] = ()


def table_of(
    view: View,
    rows: Iterable[Struct | RowDict],
    only: Collection[str] | None = None,
    limits: Sequence[float] = (),
) -> Table:
    """The rows with the columns of a place; see `columns_at`, and `rounding_bounds`."""
    records = [row if isinstance(row, dict) else msgspec.to_builtins(row) for row in rows]
    return Table(columns_at(view, records, only), records, limits)


def rounding_bounds(document: RowsDocument) -> tuple[float, ...]:
    """The thresholds and gates of a run, which no rounded score of it may seem to pass or miss."""
    gates = {gate.needed for gate in document.gates if gate.kind == "fail_under"}
    limits = gates.union(*(case.thresholds.values() for case in document.plain_cases))
    return tuple(sorted(each for each in limits if each is not None))


def table_lines(table: Table) -> list[str]:
    """The table for a terminal."""
    texts = [index for index, each in enumerate(table.columns) if each.format in ("name", "verdict")]
    titles = [each.heading for each in table.columns]
    rows = ([cell(record, each, table.limits) for each in table.columns] for record in table.records)
    return align_rows([titles, *rows], texts=texts) if table.records else []


def columns_at(view: View, records: Sequence[RowDict], only: Collection[str] | None) -> list[Column]:
    """The columns of a table of these records that have a value.

    With `only`, of metrics and pass@k only these.
    """
    columns = [
        column
        for row in COLUMNS
        if view in row.shown
        for column in (_named(row, records, only) if ANY in row.path else [row])
    ]
    return [column for column in columns if any(_is_known(column, record) for record in records)]


def _named(column: Column, records: Sequence[RowDict], only: Collection[str] | None) -> Iterable[Column]:
    """A column for each metric; of pass@k and pass^k, one for the most trials of a case."""
    if column.path[0] == "metrics":
        headings = {name: name for name in ordered_metrics(m for row in records for m in row["metrics"])}
    else:
        k = max((row["reliability"]["trials"] for row in records if row["reliability"]), default=0)
        headings = {str(k): column.heading.replace("k", str(k))}
    for name, heading in headings.items():
        if only is None or heading in only:
            yield structs.replace(column, path=(*column.path[:-1], name), heading=heading)


def _is_known(column: Column, record: RowDict) -> bool:
    value = value_in(record, column)
    return bool(value) if column.is_rare else value is not None and cell(record, column) != UNKNOWN


def value_in(record: RowDict, column: Column) -> Any:
    """The value of a column; None if there is none."""
    value: Any = record
    for step in column.path:
        value = None if value is None else value.get(step)
    return value


def cell(
    record: RowDict, column: Column, limits: Sequence[float] = (), *, intervals: bool = False
) -> str:
    """The value as text; a dash for none. With `intervals`, the pass rate has its own."""
    value = value_in(record, column)
    if value is None:
        is_price = column.format == "usd" and record.get("trials") != 0
        return UNKNOWN_USD if is_price else UNKNOWN
    if column.format == "interval" or (intervals and column.format == "rate"):
        return interval_text(value["mean"], value["low"], value["high"], limits=limits)
    if column.format in ("rate", "mean"):
        return score_text(value["mean"], limits)
    if column.format == "score":
        return score_text(value, limits)
    return _TEXTS[column.format](value, record)


def cases_text(cases: int, selected: int) -> str:
    """`6`, or `3 of 6` if the run ended before all selected cases ran."""
    return f"{cases} of {selected}" if cases < selected else str(cases)


def _total(tokens: dict[str, int | None], _: RowDict) -> str:
    counts = [count for count in (tokens["prompt"], tokens["completion"]) if count is not None]
    return count_text(sum(counts)) if counts else UNKNOWN


def _usd(value: float, record: RowDict) -> str:
    """A `+` means that it is at least this: a price is not known, or not all of it."""
    return usd_text(value) + ("+" if record["priced"] < record["trials"] else "")


_TEXTS: dict[CellFormat, Callable[[Any, RowDict], str]] = {
    "name": lambda value, _: shown(value, _NAME),
    "verdict": lambda value, _: "FAILED" if value == "failed" else str(value),
    "p": lambda value, _: p_text(value),
    "points": lambda value, record: points_text(value, record["low"], record["high"]),
    "length": lambda value, _: count_text(len(value)),
    "count": lambda value, _: count_text(value),
    "scored": lambda value, record: f"{value}/{value + record['failed']}",
    "selected": lambda value, record: f"{value}/{cases_text(record['cases'], record['selected'])}",
    "tokens": _total,
    "usd": _usd,
    "seconds": lambda value, _: seconds_text(value),
}
