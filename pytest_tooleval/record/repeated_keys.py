"""JSON that parsers read differently: objects in which a key appears twice, and NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice, product
from typing import Any, NoReturn

_MOST_READINGS = 64  # of one value: a hostile text has millions

Pairs = list[tuple[str, Any]]


class RepeatedKeyError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


class Ambiguous(dict[str, Any]):
    """An object with a key twice: look-ups give the last value, `items` and JSON all of them."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> Any:
        return self._pairs


def refuse_repeated(pairs: Pairs) -> dict[str, Any]:
    """Reject repeated keys, as `object_pairs_hook` of `json`. Raises RepeatedKeyError."""
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return members


def keep_repeated(pairs: Pairs) -> dict[str, Any]:
    """Keep repeated keys as `Ambiguous`, as `object_pairs_hook` of `json`."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else Ambiguous(pairs)


def refuse_constant(name: str) -> NoReturn:
    """Refuse `NaN` and the infinities, which Python's parser takes for JSON."""
    raise ValueError(f"{name} is not JSON")


def members_of(value: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the values that each member may have. Raises ValueError if there are too many."""
    members: dict[str, list[Any]] = {}
    for key, member in value.items():
        values = members.setdefault(key, [])
        values += _readings(member)
        _check(values)
    return members


def _readings(value: Any) -> Sequence[Any]:
    """Return the possible readings of a value."""
    if isinstance(value, dict):
        members = members_of(value)
        return _few(dict(zip(members, each, strict=True)) for each in product(*members.values()))
    if isinstance(value, list):
        return _few(map(list, product(*map(_readings, value))))
    return (value,)


def _few(readings: Iterable[Any]) -> list[Any]:
    return _check(list(islice(readings, _MOST_READINGS + 1)))


def _check(readings: list[Any]) -> list[Any]:
    if len(readings) > _MOST_READINGS:
        raise ValueError("too many readings")
    return readings
