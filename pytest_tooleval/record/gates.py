"""A gate of a run and its verdict."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from msgspec import Meta
from msgspec import Struct


class Gate(Struct, frozen=True, kw_only=True, gc=False):
    """A gate over many cases, and whether it passed."""

    kind: Annotated[Literal["fail_under", "errors"], Meta(description="The kind of gate.")]
    name: Annotated[str, Meta(description="A short name.")]
    passed: Annotated[bool, Meta(description="Whether the gate passed.")]
    message: Annotated[str, Meta(description="All of it in one line.")]
    model: Annotated[str | None, Meta(description="The model judged; null for all.")] = None
    suite: Annotated[str | None, Meta(description="The suite judged; null for all.")] = None
    tag: Annotated[str | None, Meta(description="The tag judged; null for all cases.")] = None
    metric: Annotated[str | None, Meta(description="The metric judged.")] = None
    needed: Annotated[float | None, Meta(description="The value that passes.")] = None
    value: Annotated[float | None, Meta(description="The value reached.")] = None
    low: Annotated[float | None, Meta(description="The lower bound of its interval.")] = None
    high: Annotated[float | None, Meta(description="The upper bound of its interval.")] = None
    confidence: Annotated[float | None, Meta(description="The value of --tooleval-confidence.")] = None
    cases: Annotated[int, Meta(ge=0, description="The cases judged.")] = 0
    errors: Annotated[int, Meta(ge=0, description="The cases among them without an answer.")] = 0
