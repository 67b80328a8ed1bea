"""Expected tools against called tools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from .fields import doc


class CallPair(Struct, frozen=True, kw_only=True, gc=False):
    """The expected tool and the called one."""

    expected: Annotated[str | None, doc("The tool that should be called; null for none.")] = None
    called: Annotated[str | None, doc("The tool that was called; null for none.")] = None
    hallucinated: Annotated[bool, doc("Whether `called` was never offered.")] = False
    not_found: Annotated[
        bool, doc("Whether no search of the model returned the expected tool, which was not called.")
    ] = False

    @property
    def text(self) -> str:
        """`expected -> called`; names that were never offered are all `hallucinated`."""
        called = "not found" if self.not_found else "hallucinated" if self.hallucinated else self.called
        return f"{self.expected or 'none'} -> {called or 'none'}"

    @property
    def is_right(self) -> bool:
        return self.expected == self.called and not (self.hallucinated or self.not_found)
