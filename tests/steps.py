"""Counts what a call does, as a time would depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class Name(str):
    """A text whose comparisons count as steps, too: those of a list that is searched for it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def growth(work: Callable[[int], object], size: int = 600) -> float:
    """How many times as many steps of the interpreter are needed for twice the size."""
    return _steps(lambda: work(2 * size)) / _steps(lambda: work(size))


def _steps(call: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
