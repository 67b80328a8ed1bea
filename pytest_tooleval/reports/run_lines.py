"""The end of a run as a person reads it: scores, notes, the verdict on each model, what changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..text import align_rows, printable
from .columns import table_lines
from .comparison import (
    MAX_LISTED,
    ListedCase,
    case_lists,
    change_text,
    compared_text,
    list_lines,
    listed_cases,
    metrics_table,
)
from .model_lines import VERDICTS, ModelLine, model_lines
from .notes import notes
from .tables import score_tables
from .variants import variant_lines

_COLOURS = {"forbidden": "red", "newly broken": "red", "newly right": "green", "better": "green"}


class Line(NamedTuple):
    """A line safe to print; a colour of pytest's terminal, or none."""

    text: str
    colour: str = ""
    bold: bool = False


def score_lines(
    document: RowsDocument, model: str | None = None, *, whole: bool = False
) -> Iterator[Line]:
    """The table of scores, as wide as the terminal, then notes on the run."""
    width = shutil.get_terminal_size((100, 24)).columns  # a file or a pipe has 100
    for index, (head, lines) in enumerate(score_tables(document, model, whole=whole, width=width)):
        yield from [Line("")] if index else []
        yield from (Line(line, bold=True) for line in head)
        yield from map(Line, lines)
    if model is None:
        yield from (Line(line, "yellow") for line in notes(document, whole=whole))


def verdict_lines(
    document: RowsDocument,
    model: str | None = None,
    *,
    whole: bool = False,
    listed: Callable[[CaseRow], bool],
) -> Iterator[Line]:
    """The verdict on each model, then what changed: each case once, the worst first.

    Cases that are `listed` have a line even if nothing changed.
    """
    for line in model_lines(document):
        if model in (None, line.model):
            yield from _verdict(line)
    comparison = document.baseline
    if comparison is not None:
        yield Line(compared_text(comparison), "red" if comparison.failed else "", bold=True)
        if whole:
            lines = [*table_lines(metrics_table(comparison)), *list_lines(case_lists(comparison))]
            yield from map(Line, lines)
    cases = [case for case in listed_cases(document, listed) if model in (None, case.row.model)]
    yield from _cases(cases, len(cases) if whole else MAX_LISTED)
    variants = [each for each in document.variants if model in (None, each.model)]
    if variants:
        yield from [Line(""), *map(Line, variant_lines(variants, document.shared_names, whole=whole))]


def _verdict(line: ModelLine) -> Iterator[Line]:
    _, colour = VERDICTS[line.verdict]
    colour = "red" if line.is_loud else colour
    yield Line(str(line), colour, bold=True)
    yield from (Line(f"  {printable(text)}", colour) for text in line.more)


def _cases(cases: Sequence[ListedCase], most: int) -> Iterator[Line]:
    table = [
        [
            group + (f" ({excuse})" if excuse else ""),
            change_text(move) if move else "",
            printable(row.nodeid) + (f" - {printable(row.reason)}" if row.reason else ""),
        ]
        for group, row, move, excuse in cases
    ]
    if not any(change for _, change, _ in table):
        table = [[word, name] for word, _, name in table]
    texts = align_rows(table, texts=(0, 1, 2)) if table else []
    for text, case in zip(texts[:most], cases, strict=False):
        yield Line(text, _COLOURS.get(case.group, "yellow"))
    if len(cases) > most:
        yield Line(f"and {len(cases) - most} more: tooleval show --failed")
