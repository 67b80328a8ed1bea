"""A confusion matrix as a text table, for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable

from ..record.confusion import Cell
from ..record.confusion import Confusion
from ..text import counted
from ..text import printable
from .columns import interval_text
from .columns import records_of
from .tables import aligned

_MOST = 15  # tools, which is what a text table has room for
_HALLUCINATED = "\0"  # the column for all hallucinated names; no tool has this one
_FIGURES = ("precision", "recall", "F1")


def heading(confusion: Confusion) -> str:
    """How many choices were right."""
    total, wrong = (sum(cell.count for cell in each) for each in (confusion.cells, _wrong(confusion)))
    return f"{total - wrong} of {total} choices right, {counted(len(confusion.tools), 'tool')}"


def matrix_rows(confusion: Confusion, quote: Callable[[str], str]) -> list[list[str]]:
    """Expected tools as rows, called ones as columns with the rows' numbers; only the most confused.

    The header comes first. Empty if nothing was confused. `quote` is applied to tool names.
    """
    if not _wrong(confusion):
        return []
    names = _shown(confusion)
    counts = {_place(cell): cell.count for cell in confusion.cells}
    numbers = [str(number) for number in range(1, len(names) + 1)]
    columns = [*zip(numbers, names, strict=True), ("none", None), ("hallucinated", _HALLUCINATED)]
    rows: list[str | None] = [*names]
    if any(cell.expected is None for cell in confusion.cells):
        rows.append(None)
    columns = [
        (title, called) for title, called in columns if any((row, called) in counts for row in rows)
    ]
    figures = {each["tool"]: each for each in records_of(confusion.tools)}
    table = [["expected", *(title for title, _ in columns), *_FIGURES]]
    for number, name in zip([*numbers, ""], rows, strict=False):
        shown = "none" if name is None else f"{number} {quote(name)}"
        means = ["-"] * len(_FIGURES)
        if name is not None:
            found = figures[name]
            means = [interval_text(found[each.lower()]) for each in _FIGURES]
        table.append([shown, *(str(counts.get((name, called), ".")) for _, called in columns), *means])
    return table


def notes(confusion: Confusion) -> list[str]:
    """About the tools that are not in the table."""
    tools = {each.tool for each in confusion.tools}
    involved = {name for cell in _wrong(confusion) for name in (cell.expected, cell.called)}
    shown = set(_shown(confusion)) if involved else set()
    right, hidden = len(tools - involved - shown), len((involved & tools) - shown)
    found = [f"{counted(right, 'other tool' if shown else 'tool')} always right"] if right else []
    return [*found, f"{hidden} more were confused; see the JSON report"] if hidden else found


def confusion_text(confusion: Confusion) -> list[str]:
    """The matrix for a terminal."""
    rows = matrix_rows(confusion, printable)
    table = [f"  {line}" for line in aligned(rows, texts=(0,))] if rows else []
    title = printable(f"{confusion.model}: {heading(confusion)}")
    return [title, *table, *(f"  {note}" for note in notes(confusion))]


def _place(cell: Cell) -> tuple[str | None, str | None]:
    return cell.expected, _HALLUCINATED if cell.hallucinated else cell.called


def _wrong(confusion: Confusion) -> list[Cell]:
    return [cell for cell in confusion.cells if cell.hallucinated or cell.expected != cell.called]


def _shown(confusion: Confusion) -> list[str]:
    """All tools, or if there are many those of the largest wrong cells, sorted."""
    if len(confusion.tools) <= _MOST:
        return [each.tool for each in confusion.tools]
    names: dict[str, None] = {}
    for cell in _wrong(confusion):
        names.update({name: None for name in (cell.expected, cell.called) if name is not None})
    return sorted(list(names)[:_MOST])
