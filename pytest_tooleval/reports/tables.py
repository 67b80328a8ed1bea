"""The table of scores as text, for pytest's terminal, `tooleval show` and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import structs

from ..record.document import RowsDocument
from ..record.identity import suite_names
from ..record.metrics import is_perfect
from ..record.summary import ModelSummary, SuiteSummary
from ..text import align_rows, printable
from .columns import Table, cell, rounding_bounds, table_of


def with_own_names(suites: Sequence[SuiteSummary]) -> list[SuiteSummary]:
    """The suites, with the file in the name if two files have suites of one name."""
    names = suite_names(row.identity for row in suites)
    return [structs.replace(row, suite=names[row.identity.of_suite]) for row in suites]


def score_tables(
    document: RowsDocument, model: str | None = None, *, whole: bool = False, width: int = 100
) -> Iterator[tuple[list[str], list[str]]]:
    """The lines of a header and those of each suite on each model, then of each model if there are
    several suites; of one model or of all. Nothing if nothing was evaluated.

    Only what decides has a column: pass rate, outcomes, and the metrics of `_deciding`; `whole` has all.
    Columns beyond `width` characters make further tables.
    """
    models = [row for row in document.models if row.model and model in (None, row.model)]
    suites = with_own_names([row for row in document.suites if row.model and model in (None, row.model)])
    groups: dict[str, list[ModelSummary]] = {}
    for row in suites:
        groups.setdefault(row.suite, []).append(row)
    if len(groups) > 1:
        groups["all suites"] = list(models)
    rows = [row for group in groups.values() for row in group]
    if not rows:
        return
    if document.run.shard is not None:  # nothing of it is judged yet
        rows = [structs.replace(row, tolerated=0, counted=0) for row in rows]
    table = model_table(document, rows, whole=whole)
    # A column of models or of suites; of both, suites are lines between.
    is_grouped = len(models) > 1 and len(groups) > 1
    by_model = is_grouped or len(groups) == 1
    names = [row.model for row in rows] if by_model else list(groups)
    indent = "  " if is_grouped else ""
    first = ["", "model" if by_model else "suite", *(indent + printable(name) for name in names)]
    scores = [
        [*_folded(column.heading), *(cell(record, column, table.limits) for record in table.records)]
        for column in table.columns
    ]
    for part in _fitting(scores, width - max(map(len, first))):
        above, below, *lines = align_rows(list(zip(first, *part, strict=True)), texts=(0,))
        yield [above, below] if above else [below], list(_below(groups, lines)) if is_grouped else lines


def model_table(document: RowsDocument, rows: Sequence[ModelSummary], *, whole: bool = False) -> Table:
    """The columns that decide: pass rate, outcomes, and the metrics of `_deciding`; `whole` has all."""
    limits = rounding_bounds(document)
    if whole:
        return table_of("scores", rows, limits=limits)
    return table_of("short", rows, _deciding(document), limits)


def _fitting(columns: Iterable[list[str]], width: int) -> Iterator[list[list[str]]]:
    """The columns in parts that are at most this wide, each at least one column."""
    part: list[list[str]] = []
    left = width
    for column in columns:
        needed = 2 + max(map(len, column))
        if part and needed > left:
            yield part
            part, left = [], width
        part.append(column)
        left -= needed
    yield part


def _below(groups: Mapping[str, Sequence[object]], lines: Iterable[str]) -> Iterator[str]:
    """The lines of each group below its name."""
    left = iter(lines)
    for name, rows in groups.items():
        yield printable(name)
        yield from islice(left, len(rows))


def _deciding(document: RowsDocument) -> set[str]:
    """`overall`, gates on trials, and the metrics on which some model or suite is not perfect."""
    judged = {gate.metric or "" for gate in document.gates if gate.kind == "fail_under"}
    of_trials = {metric for metric in judged if metric.startswith(("pass@", "pass^"))}
    imperfect = {
        metric
        for row in (*document.models, *document.suites)
        for metric, mean in row.metrics.items()
        if mean.mean is not None and not is_perfect(metric, mean.mean)
    }
    return {"overall", *imperfect, *of_trials}


def _folded(title: str) -> tuple[str, str]:
    """A title on two lines: names of metrics are longer than their numbers."""
    start, joint, end = title.rpartition("_" if "_" in title else " ")
    return start + joint.strip(), end
