"""Expected tools against called tools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from .fields import doc
from .summary import Mean


class Choice(Struct, frozen=True, kw_only=True, gc=False):
    """The expected tool and the called one."""

    expected: Annotated[str | None, doc("The tool that should be called; null for none.")] = None
    called: Annotated[str | None, doc("The tool that was called; null for none.")] = None
    hallucinated: Annotated[bool, doc("Whether `called` was never offered.")] = False
    not_found: Annotated[
        bool, doc("Whether no search of the model returned the expected tool, which was not called.")
    ] = False


class Cell(Choice, frozen=True, kw_only=True, gc=False):
    """A choice and how often it was made.

    `called` is also null if the called tool was never offered, or if the expected tool was not found.
    """

    count: Annotated[int, doc("How often, over all trials.", ge=1)]


class ToolFigures(Struct, frozen=True, kw_only=True, gc=False):
    """How well a model chooses one tool."""

    tool: Annotated[str, doc("The tool's name.")]
    expected: Annotated[int, doc("How often it should be called, over all trials.", ge=0)]
    called: Annotated[int, doc("How often it was called.", ge=0)]
    right: Annotated[int, doc("How often it was called where it should be.", ge=0)]
    precision: Annotated[Mean | None, doc("right / called, over cases by weight; null: never called.")]
    recall: Annotated[Mean | None, doc("right / expected, over cases by weight; null: never expected.")]
    f1: Annotated[Mean | None, doc("2 right / (expected + called), over cases by weight.")]


class Confusion(Struct, frozen=True, kw_only=True, gc=False):
    """The tools that a model should have called against those that it did call."""

    model: Annotated[str, doc("The model's label; empty when none was named.")]
    tools: Annotated[tuple[ToolFigures, ...], doc("Every tool that was expected or called, by name.")]
    cells: Annotated[tuple[Cell, ...], doc("The cells of the matrix that are not 0, the largest first.")]
