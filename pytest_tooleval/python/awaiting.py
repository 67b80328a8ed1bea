"""Coroutines that a test must await: one that never starts does nothing, and nobody notices."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class Coroutines:
    """The coroutines that a test got, by the name of the method that made them."""

    def __init__(self) -> None:
        self._named: list[tuple[str, Coroutine[Any, Any, Any]]] = []

    def note(self, name: str, coroutine: Coroutine[Any, Any, _T]) -> Coroutine[Any, Any, _T]:
        """Note a coroutine, and return it."""
        self._named.append((name, coroutine))
        return coroutine

    def not_awaited(self) -> str | None:
        """The name of the first one that never started. Closes these, so that Python does not warn."""
        left = [
            each for each in self._named if inspect.getcoroutinestate(each[1]) == inspect.CORO_CREATED
        ]
        for _, coroutine in left:
            coroutine.close()
        return left[0][0] if left else None
