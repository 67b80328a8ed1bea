"""Which tools were called in place of which."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec import Struct

from .summary import Mean


class Choice(Struct, frozen=True, kw_only=True, gc=False):
    """A tool that was expected against the one that was called."""

    expected: Annotated[
        str | None, Meta(description="The tool that should be called; null where none should.")
    ] = None
    called: Annotated[str | None, Meta(description="The tool that was called; null for none.")] = None
    hallucinated: Annotated[bool, Meta(description="Whether `called` was never offered.")] = False


class Cell(Choice, frozen=True, kw_only=True, gc=False):
    """A choice, and how often it was made; `called` is null, too, where it was never offered."""

    count: Annotated[int, Meta(ge=1, description="How often, over all trials.")]


class ToolFigures(Struct, frozen=True, kw_only=True, gc=False):
    """How well a model finds one tool."""

    tool: Annotated[str, Meta(description="The name of the tool.")]
    expected: Annotated[int, Meta(ge=0, description="How often it should be called, over all trials.")]
    called: Annotated[int, Meta(ge=0, description="How often it was called.")]
    right: Annotated[int, Meta(ge=0, description="How often it was called where it should be.")]
    precision: Annotated[
        Mean | None, Meta(description="right / called, over cases by weight; null if never called.")
    ]
    recall: Annotated[
        Mean | None, Meta(description="right / expected, over cases by weight; null if never expected.")
    ]
    f1: Annotated[Mean | None, Meta(description="2 right / (expected + called), over cases by weight.")]


class Confusion(Struct, frozen=True, kw_only=True, gc=False):
    """The tools that a model was to call against those that it called."""

    model: Annotated[str, Meta(description="The label of the model; empty when none was named.")]
    tools: Annotated[
        tuple[ToolFigures, ...], Meta(description="Every tool that was expected or called, by name.")
    ]
    cells: Annotated[
        tuple[Cell, ...], Meta(description="The cells of the matrix that are not 0, the largest first.")
    ]
