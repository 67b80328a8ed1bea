"""The table of scores as text, for pytest's terminal, `tooleval show` and Markdown."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence

from msgspec import structs

from ..record.document import RowsDocument
from ..record.metrics import BUILT_IN
from ..record.metrics import is_perfect
from ..record.metrics import ordered_metrics
from ..record.summary import Mean
from ..record.summary import ModelSummary
from ..record.summary import SuiteSummary
from ..text import printable
from ..text import score_text


def aligned(rows: Sequence[Sequence[str]], texts: Iterable[int] = ()) -> list[str]:
    """Rows of equal length as lines; the columns `texts` are aligned left, others right."""
    left = set(texts)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def told_apart(suites: Sequence[SuiteSummary]) -> list[SuiteSummary]:
    """The suites, with the file in the name if two files have suites of one name."""
    names = list({row.file: row.suite for row in suites}.values())
    return [
        structs.replace(row, suite=f"{row.suite} ({row.file})") if names.count(row.suite) > 1 else row
        for row in suites
    ]


def score_table(document: RowsDocument, model: str | None = None) -> tuple[list[str], list[str]]:
    """The lines of a header and those of each suite on each model, then of each model if there are
    several suites; of one model or of all. Both are empty when nothing was evaluated.
    """
    suites = told_apart([row for row in document.suites if row.model and model in (None, row.model)])
    rows: list[tuple[str, ModelSummary]] = [(row.suite, row) for row in suites]
    if len({row.file for row in suites}) > 1:
        models = [row for row in document.models if row.model and model in (None, row.model)]
        rows += [("all suites", row) for row in models]
    if document.run.shard is not None:  # nothing of it is judged yet
        rows = [(name, structs.replace(row, tolerated=0)) for name, row in rows]
    return _table(rows) if rows else ([], [])


def _table(named: Sequence[tuple[str, ModelSummary]]) -> tuple[list[str], list[str]]:
    rows = [row for _, row in named]
    columns = [
        ("model", [printable(row.model) for row in rows]),
        ("suite", [printable(suite) for suite, _ in named]),
        *score_columns(rows),
    ]
    cells = zip(*([*_folded(title), *cells] for title, cells in columns), strict=True)
    first, second, *lines = aligned([list(line) for line in cells], texts=(0, 1))
    return [first, second] if first else [second], lines


def _folded(title: str) -> tuple[str, str]:
    """A title on two lines: names of metrics are longer than their numbers."""
    start, joint, end = title.rpartition("_")
    return start + joint, end


def score_columns(
    rows: Sequence[ModelSummary], quote: Callable[[str], str] = str, *, intervals: bool = False
) -> list[tuple[str, list[str]]]:
    """Titles and cells, without columns that have no value and built-in metrics that are perfect in all.

    `quote` is for names of metrics. With `intervals`, the pass rate has its own: all would be too many.
    """
    metrics = ordered_metrics(
        metric
        for row in rows
        for metric, found in row.metrics.items()
        if metric not in BUILT_IN or not is_perfect(metric, found.mean)
    )
    trials = most_trials(rows)
    counts = [
        name for name in ("errors", "tolerated", "skipped") if any(getattr(row, name) for row in rows)
    ]
    columns = [
        ("pass rate", [_mean(row.pass_rate, intervals) for row in rows]),
        *(
            (name, [str(getattr(row, name)) for row in rows])
            for name in ("cases", "passed", "failed", *counts)
        ),
        *((quote(name), [_mean(row.metrics.get(name), False) for row in rows]) for name in metrics),
        (quote(f"pass@{trials}"), [_reliability(row, "@", trials) for row in rows]),
        (quote(f"pass^{trials}"), [_reliability(row, "^", trials) for row in rows]),
        ("tokens", [_tokens(row) for row in rows]),
        ("reasoning", [_reasoning(row) for row in rows]),
        ("cost (USD)", [_cost(row) for row in rows]),
        ("latency (s)", [score_text(row.latency_s) for row in rows]),
    ]
    return [(title, cells) for title, cells in columns if set(cells) != {"-"}]


def most_trials(rows: Iterable[ModelSummary]) -> int:
    """The k of pass@k and pass^k: the most trials of a case; 0 with one trial each."""
    return max((row.reliability.trials for row in rows if row.reliability), default=0)


def _mean(found: Mean | None, intervals: bool) -> str:
    """`0.85`, or `0.85 (0.80 to 0.90)`."""
    if found is None:
        return "-"
    return interval_text(found) if intervals else f"{found.mean:.2f}"


def interval_text(found: Mean | None) -> str:
    """`0.85 (0.80 to 0.90)`, or what is known of it."""
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.mean:.2f}"
    return f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"


def _reliability(row: ModelSummary, sign: str, k: int) -> str:
    if row.reliability is None:
        return "-"
    values = row.reliability.pass_at if sign == "@" else row.reliability.pass_hat
    return score_text(values.get(str(k)))


def _tokens(row: ModelSummary) -> str:
    return "-" if row.tokens.total is None else f"{row.tokens.total:,}"


def _reasoning(row: ModelSummary) -> str:
    """The reasoning tokens, if any."""
    return f"{row.tokens.reasoning:,}" if row.tokens.reasoning else "-"


def _cost(row: ModelSummary) -> str:
    """A `+` means that the price of some answers is unknown."""
    if row.cost_usd is None:
        return "-"
    return f"{row.cost_usd:.4f}" + ("+" if row.priced < row.trials else "")
