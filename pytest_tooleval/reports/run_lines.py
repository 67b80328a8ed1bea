"""The end of a run as a person reads it: scores, notes, the verdict on each model, what changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..text import aligned, printable
from ..verdicts.words import tolerated_word
from .columns import table_lines
from .comparison import (
    MOST,
    case_lists,
    change_text,
    compared_text,
    list_lines,
    metrics_table,
    moved_cases,
)
from .model_lines import VERDICTS, ModelLine, model_lines
from .notes import notes
from .tables import score_tables
from .variants import variant_lines

_RANKS = ("forbidden", "newly broken", "worse", "failed", "error", "better")
_COLOURS = {"forbidden": "red", "newly broken": "red", "better": "green"}


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
    for place, (head, lines) in enumerate(score_tables(document, model, whole=whole, width=width)):
        yield from [Line("")] if place else []
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
    found = document.baseline
    if found is not None:
        yield Line(compared_text(found), "red" if found.failed else "", bold=True)
        if whole:
            lines = [*table_lines(metrics_table(found)), *list_lines(case_lists(found))]
            yield from map(Line, lines)
    rows = [row for row in document.unchanged if model in (None, row.model)]
    yield from _cases(document, rows, whole=whole, listed=listed)
    variants = [each for each in document.variants if model in (None, each.model)]
    if variants:
        yield from [Line(""), *map(Line, variant_lines(variants, document.shared_names, whole=whole))]


def _verdict(line: ModelLine) -> Iterator[Line]:
    _, colour = VERDICTS[line.verdict]
    colour = "red" if line.is_loud else colour
    yield Line(str(line), colour, bold=True)
    yield from (Line(f"  {printable(text)}", colour) for text in line.more)


def _cases(
    document: RowsDocument, rows: list[CaseRow], *, whole: bool, listed: Callable[[CaseRow], bool]
) -> Iterator[Line]:
    """A line for each case that changed, that is to be listed, or that made a forbidden call."""
    moved = moved_cases(document)
    found: list[tuple[int, int, str, list[str]]] = []
    for place, row in enumerate(rows):
        word, move = moved.get(row.identity, ("", None))
        if row.called_forbidden:
            word = "forbidden"
        elif word in ("", "better") and listed(row):
            word = row.outcome
        if word:
            is_allowed = row.tolerated and word in ("failed", "error")
            allowed = f" ({tolerated_word(row, document)})" if is_allowed else ""
            reason = f" - {printable(row.reason)}" if row.reason else ""
            change = change_text(move) if move else ""
            cells = [word + allowed, change, printable(row.nodeid) + reason]
            found.append((_RANKS.index(word), place, _COLOURS.get(word, "yellow"), cells))
    found.sort(key=lambda each: each[:2])
    table = [cells for *_, cells in found]
    if not any(change for _, change, _ in table):
        table = [[word, name] for word, _, name in table]
    texts = aligned(table, texts=(0, 1, 2)) if table else []
    most = len(found) if whole else MOST
    for text, (_, _, colour, _) in zip(texts[:most], found, strict=False):
        yield Line(text, colour)
    if len(found) > most:
        yield Line(f"and {len(found) - most} more: tooleval show --failed")
