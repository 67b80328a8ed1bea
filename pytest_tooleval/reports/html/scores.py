"""The score tables: per model and suite, every mean with its interval, reliability over trials."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ...record.metrics import ordered_metrics
from ...text import counted
from ..run_text import fallbacks_text
from .head import scrolling
from .head import section
from .markup import Html
from .markup import join
from .markup import named
from .markup import spoken
from .markup import tag
from .numbers import UNKNOWN
from .numbers import count
from .numbers import known
from .numbers import score
from .numbers import seconds
from .numbers import title
from .numbers import usd

Row = Mapping[str, Any]

_BAR = 72


def scores_section(document: Mapping[str, Any]) -> Html:
    """Models over all suites, then suite by suite when there are several."""
    models: list[Row] = [row for row in document["models"] if row["cases"]]
    if not models:
        return join([])
    suites: dict[tuple[str, str], list[Row]] = {}
    for row in document["suites"]:
        suites.setdefault((row["suite"], row.get("file", "")), []).append(row)
    names = [suite for suite, _ in suites]
    groups: list[tuple[Html | None, list[Row]]] = [(None, models)]
    if len(suites) > 1:
        groups = [(join(["All suites"]), models)]
        for (suite, file), rows in suites.items():
            where = tag("span", f" {file}", class_="muted") if names.count(suite) > 1 else ""
            groups.append((join([named(suite), where]), rows))
    return section(
        "scores",
        "Scores",
        scrolling("Scores", _table(groups)),
        tag("p", _note(models), class_="muted"),
        _reliability(models),
        *(tag("p", line, class_="note") for line in _remarks(models)),
    )


def _note(models: Sequence[Row]) -> str:
    intervals = any(mean.get("low") is not None for row in models for mean in row["metrics"].values())
    lines = ["Means leave out errors and skipped cases."]
    if intervals:
        lines.append("The line below a mean runs from 0 to 1, its whiskers are the 95% interval.")
    lines.append(f"{UNKNOWN} is unknown or does not apply; tokens are those of prompts and completions.")
    lines.append("For redundancy and detours less is better.")
    return " ".join(lines)


def _table(groups: Sequence[tuple[Html | None, Sequence[Row]]]) -> Html:
    every = [row for _, rows in groups for row in rows]
    columns = _columns(every)
    head = tag("tr", tag("th", "Model", scope="col"), *(header for header, _ in columns))
    bodies = []
    for name, rows in groups:
        lines = [
            tag(
                "tr",
                tag("th", named(row["model"]) if row["model"] else "no model named", scope="row"),
                *(cell(row) for _, cell in columns),
            )
            for row in rows
        ]
        if name is not None:
            wide = tag("th", tag("span", name), scope="rowgroup", colspan=len(columns) + 1)
            lines.insert(0, tag("tr", wide, class_="group"))
        bodies.append(tag("tbody", *lines))
    return tag("table", tag("thead", head), *bodies, class_="scores")


Column = tuple[Html, Callable[[Row], Html]]


def _columns(rows: Sequence[Row]) -> list[Column]:
    """Header and cell of each column that has something to say about some row."""
    counts = [name for name in ("missed", "errors", "skipped") if any(row[name] for row in rows)]
    columns: list[Column] = [
        (_header(name.capitalize()), _count_cell(name))
        for name in ("cases", "passed", "failed", *counts)
    ]
    metrics = ordered_metrics(metric for row in rows for metric in row["metrics"])
    columns += [(_header(title(metric), metric), _mean_cell(metric)) for metric in metrics]
    if any(row.get("reliability") for row in rows):
        columns += [
            (_header(name, long), _last_cell(name))
            for name, long in (
                ("pass@k", "some trial of all passes"),
                ("pass^k", "every trial passes"),
            )
        ]
    if any(known((row.get("tokens") or {}).get("prompt")) is not None for row in rows):
        columns.append((_header("Tokens"), _tokens_cell))
    if any(row.get("cost_usd") is not None for row in rows):
        columns.append((_header("Cost"), lambda row: _number(_cost(row))))
    if any(row.get("latency_s") is not None for row in rows):
        columns.append(
            (
                _header("Latency", "seconds per trial, mean"),
                lambda row: _number(seconds(row.get("latency_s"))),
            )
        )
    return columns


def _header(text: str, long: str | None = None) -> Html:
    return tag("th", text, scope="col", title=None if long == text else long, class_="number")


def _number(content: str) -> Html:
    return tag("td", content, class_="number")


def _count_cell(name: str) -> Callable[[Row], Html]:
    tone = f" tone-{name}" if name in ("failed", "errors", "missed") else ""
    return lambda row: tag("td", f"{row[name]:,}", class_="number" + (tone if row[name] else ""))


def _mean_cell(metric: str) -> Callable[[Row], Html]:
    def cell(row: Row) -> Html:
        mean = row["metrics"].get(metric) or {}
        value, low, high = (known(mean.get(key)) for key in ("mean", "low", "high"))
        shown = tag("span", score(value), class_="main" if metric == "overall" else None)
        if value is None or low is None or high is None:
            return _number(shown)
        dash = tag("span", "–", aria_hidden="true")
        bounds = tag("small", f"{low:.2f}", spoken(" to "), dash, f"{high:.2f}")
        return _number(join([shown, bounds, interval_bar(value, low, high)]))

    return cell


def interval_bar(value: float, low: float, high: float) -> Html:
    """A line from 0 to 1 with the mean as a stroke and the interval as whiskers."""

    def upright(share: float, half: float, class_: str) -> Html:
        return tag("line", x1=x(share), x2=x(share), y1=6 - half, y2=6 + half, class_=class_)

    def x(share: float) -> float:
        return 2 + (_BAR - 4) * min(max(share, 0.0), 1.0)

    return tag(
        "svg",
        tag("line", x1=2, x2=_BAR - 2, y1=6, y2=6, class_="track"),
        tag("line", x1=x(low), x2=x(high), y1=6, y2=6, class_="whisker"),
        upright(low, 3, "whisker"),
        upright(high, 3, "whisker"),
        upright(value, 5, "mean"),
        width=_BAR,
        height=12,
        viewBox=f"0 0 {_BAR} 12",
        class_="interval",
        aria_hidden="true",
    )


def _last_cell(name: str) -> Callable[[Row], Html]:
    """pass@k or pass^k with k being all trials."""

    def cell(row: Row) -> Html:
        found = row.get("reliability")
        values = found[name] if found else {}
        last = str(found["trials"]) if found else ""
        if last not in values:
            return _number(UNKNOWN)
        return _number(join([score(values[last]), tag("small", f"k = {last}")]))

    return cell


def _tokens_cell(row: Row) -> Html:
    tokens = row.get("tokens") or {}
    parts = [known(tokens.get(kind)) for kind in ("prompt", "completion")]
    counts = [part for part in parts if part is not None]
    words = f"{count(parts[0])} prompt + {count(parts[1])} completion" if counts else None
    if words and tokens.get("reasoning"):
        words += f", {count(tokens['reasoning'])} of them reasoning"
    return tag("td", count(sum(counts) if counts else None), class_="number", title=words)


def _cost(row: Row) -> str:
    """Dollars; a `+` says that the price of some answers is unknown."""
    more = "+" if known(row.get("cost_usd")) is not None and row["priced"] < row["trials"] else ""
    return usd(row.get("cost_usd")) + more


def _reliability(models: Sequence[Row]) -> Html:
    """pass@k and pass^k for every k, when cases had several trials."""
    rows = [row for row in models if row.get("reliability")]
    ks = sorted({int(k) for row in rows for k in row["reliability"]["pass@k"]})
    if len(ks) < 2:
        return join([])
    head = tag(
        "tr",
        tag("th", "Model", scope="col"),
        tag("th", "Share of cases", scope="col"),
        *(tag("th", f"k = {k}", scope="col", class_="number") for k in ks),
    )
    lines = []
    for row in rows:
        for metric, meaning in (
            ("pass@k", "at least one of k trials passes"),
            ("pass^k", "all k trials pass"),
        ):
            values = row["reliability"][metric]
            lines.append(
                tag(
                    "tr",
                    tag("th", named(row["model"]), scope="row"),
                    tag("td", metric, tag("span", f" {meaning}", class_="muted")),
                    *(_number(score(values.get(str(k)))) for k in ks),
                )
            )
        cases = row["reliability"].get("cases") or {}
        if len(set(cases.values())) > 1:
            lines.append(
                tag(
                    "tr",
                    tag("th", named(row["model"]), scope="row"),
                    tag("td", "cases", tag("span", " that have k trials", class_="muted")),
                    *(_number(count(cases.get(str(k)))) for k in ks),
                )
            )
    table = tag("table", tag("thead", head), tag("tbody", *lines), class_="reliability")
    return join([tag("h3", "Reliability over trials"), scrolling("Reliability", table)])


def _remarks(models: Sequence[Row]) -> list[str]:
    """What the numbers alone would hide."""
    lines = []
    for row in models:
        name = row["model"] or "no model named"
        if row.get("fallbacks"):
            lines.append(f"{name}: {fallbacks_text(row['fallbacks'])}")
        if row.get("recovered"):
            lines.append(f"{name}: {row['recovered']:,} answers had calls written as text (recovered)")
        if row.get("surplus"):
            cases = counted(row["surplus"], "passed case")
            lines.append(f"{name}: {cases} made more calls than expected")
    return lines
