"""A confusion matrix as a block, and as a text table for terminals and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ..record.confusion import Cell, Choice, Confusion
from ..text import aligned, counted, printable
from .columns import Table, cell, table_of

MOST = 15  # tools, which is what a text table has room for
_HALLUCINATED = "hallucinated"  # one column for all such names
_NOT_FOUND = "not found"  # whatever was called instead
_NONE = "none"


class Matrix(Struct, frozen=True):
    """How often which tool was called for which; empty if nothing was confused.

    A row is an expected tool, null for none; a column says what was called. `figures` are of all tools.
    """

    model: str
    title: str
    notes: list[str]
    rows: list[str | None]
    columns: list[Choice]
    counts: list[list[int]]
    figures: Table


def matrix_of(confusion: Confusion, most: int = MOST) -> Matrix:
    """The matrix of all tools, or of the `most` that were confused most."""
    wrong = [each for each in confusion.cells if not _is_right(each)]
    tools = [each.tool for each in confusion.tools]
    involved = dict.fromkeys(
        name for each in wrong for name in (each.expected, each.called) if name in tools
    )
    names = tools if len(tools) <= most else sorted(list(involved)[:most])
    names = names if wrong else []
    counts = {_place(each): each.count for each in confusion.cells}
    rows: list[str | None] = [*names]
    if wrong and any(each.expected is None for each in confusion.cells):
        rows.append(None)
    named = (Choice(called=name) for name in names)
    columns = [*named, Choice(), Choice(called="", hallucinated=True), Choice(not_found=True)]
    columns = [each for each in columns if any((row, _column(each)) in counts for row in rows)]
    total, missed = (sum(each.count for each in cells) for cells in (confusion.cells, wrong))
    return Matrix(
        model=confusion.model,
        title=f"{total - missed} of {total} choices right, {counted(len(tools), 'tool')}",
        notes=_notes(tools, names, set(involved)),
        rows=rows,
        columns=columns,
        counts=[[counts.get((row, _column(each)), 0) for each in columns] for row in rows],
        figures=table_of("tools", confusion.tools),
    )


def _notes(tools: list[str], names: list[str], involved: set[str]) -> list[str]:
    """About the tools that are not in the table."""
    right, hidden = len(set(tools) - involved - set(names)), len(involved - set(names))
    found = [f"{counted(right, 'other tool' if names else 'tool')} always right"] if right else []
    return [*found, f"{hidden} more were confused; see the JSON report"] if hidden else found


def _is_right(choice: Choice) -> bool:
    return choice.expected == choice.called and not choice.hallucinated and not choice.not_found


def _place(each: Cell) -> tuple[str | None, str | bool | None]:
    return each.expected, _column(each)


def _column(choice: Choice) -> str | bool | None:
    """What tells a column from others."""
    return choice.not_found or ("" if choice.hallucinated else choice.called)


def matrix_rows(matrix: Matrix, quote: Callable[[str], str]) -> list[list[str]]:
    """The rows with their figures below a header, columns by the numbers of the rows.

    Empty if nothing was confused. `quote` is applied to tool names.
    """
    if not matrix.rows:
        return []
    numbers = {name: str(number) for number, name in enumerate(matrix.rows, 1) if name is not None}
    figures = [each for each in matrix.figures.columns if each.format == "interval"]
    records = {each["tool"]: each for each in matrix.figures.records}
    heads = [_heading(each, numbers) for each in matrix.columns]
    table = [["expected", *heads, *(each.heading for each in figures)]]
    for name, counts in zip(matrix.rows, matrix.counts, strict=True):
        shown = _NONE if name is None else f"{numbers[name]} {quote(name)}"
        of_tool = ["-" if name is None else cell(records[name], each) for each in figures]
        table.append([shown, *(str(count or ".") for count in counts), *of_tool])
    return table


def _heading(column: Choice, numbers: Mapping[str, str]) -> str:
    if column.not_found:
        return _NOT_FOUND
    if column.hallucinated:
        return _HALLUCINATED
    return _NONE if column.called is None else numbers[column.called]


def confusion_text(confusion: Confusion) -> list[str]:
    """The matrix for a terminal."""
    matrix = matrix_of(confusion)
    rows = matrix_rows(matrix, printable)
    table = [f"  {line}" for line in aligned(rows, texts=(0,))] if rows else []
    title = printable(f"{matrix.model}: {matrix.title}")
    return [title, *table, *(f"  {note}" for note in matrix.notes)]
