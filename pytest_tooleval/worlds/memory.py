"""What the worlds of a run have shown so far: reveals worlds that are not deterministic."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_MOST_PLAYS = 64

_T = TypeVar("_T")


class Memory:
    """Shared by all worlds of a suite or of a run.

    `begun` has the state in which the first world of each kind began, and `answered` the hash of the
    first answer to a call, by the digest of all calls up to it.
    """

    def __init__(self) -> None:
        self.begun: dict[Hashable, dict[str, Any]] = {}
        self.answered: dict[bytes, int] = {}
        self._made: dict[Hashable, Any] = {}
        self._plays: OrderedDict[Hashable, Any] = OrderedDict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory)  # it is no part of what a suite says

    __hash__ = object.__hash__

    def played(self, key: Hashable, play: Callable[[], _T]) -> _T:
        """Return the play with this key, one of the last few that were made, else make it."""
        if key not in self._plays:
            self._plays[key] = play()
            while len(self._plays) > _MOST_PLAYS:
                self._plays.popitem(last=False)
        found: _T = self._plays[key]
        return found

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what was made for this key, or make it."""
        if key not in self._made:
            self._made[key] = make()
        found: _T = self._made[key]
        return found
