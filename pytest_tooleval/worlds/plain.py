"""The state of a world as plain data, differences between two states, and paths into a state."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

Path = tuple[str | int, ...]

_AS_TEXT = (dt.date, dt.time, dt.timedelta, UUID, PurePath)
_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[([0-9]+)\]|\.?([^.\[\]]+)')
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TOO_DEEP = "maximum recursion depth exceeded"
# CPython adds what it did when the stack was full, which depends on the calls before.
_TOO_DEEP_WHERE = re.compile(
    rf"(?:{_TOO_DEEP}|Stack overflow \(used \d+ kB\))(?: (?:in|while|during)\b[\w ]*)?"
)
# Fields follow a dot, all other keys are in brackets.
_FIELD = re.compile(r"[a-z_][a-z0-9_]*")


class Absent:
    """Stands for a value that one of two states lacks."""


ABSENT = Absent()


class Amount(str):
    """A Decimal as text; 40 and 40.00 do not differ."""

    @property
    def number(self) -> Decimal | str:
        number = Decimal(self)
        return number if number.is_finite() else str(self)


class OtherKey(str):
    """A key that is not a string, as text: 1 equals 1.0, but not "1"."""

    _same: Any

    def __new__(cls, key: object) -> OtherKey:
        made = super().__new__(cls, key)
        is_number = isinstance(key, (int, float, Decimal)) and not isinstance(key, bool)
        made._same = key if is_number else str(key)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OtherKey) and bool(self._same == other._same)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._same)


def attributes(thing: object, *, of_class: bool = False) -> dict[str, Any]:
    """Return an object's public data attributes; with `of_class`, also its class's containers."""
    found: dict[str, Any] = {}
    for kind in reversed(type(thing).__mro__[:-1]) if of_class else ():
        found.update({k: v for k, v in vars(kind).items() if isinstance(v, (dict, list, set))})
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        names = [slots] if isinstance(slots, str) else slots
        found.update({name: getattr(thing, name) for name in names if hasattr(thing, name)})
    found.update(getattr(thing, "__dict__", {}))
    return {k: v for k, v in found.items() if not k.startswith("_") and not callable(v)}


def plain(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    """Return a value as JSON types: objects as their public attributes, sets in a fixed order."""
    if isinstance(value, Enum):
        return plain(value.value, inside)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Decimal):
        return Amount(value)
    if isinstance(value, _AS_TEXT):
        return str(value)
    if id(value) in inside:
        return "(a part of itself)"
    inside |= {id(value)}
    if isinstance(value, dict):
        return {
            str(key) if isinstance(key, str) else OtherKey(key): plain(each, inside)
            for key, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(each, inside) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each, inside) for each in value), key=canonical)
    if hasattr(value, "__dict__") or hasattr(type(value), "__slots__"):
        return {name: plain(each, inside) for name, each in attributes(value).items()}
    return without_addresses(repr(value))


def without_addresses(text: str) -> str:
    """Remove the addresses of objects, as in `<Order object at 0x7f...>`."""
    return _ADDRESS.sub("", text)


def without_stack(text: str) -> str:
    """Remove from the text of a RecursionError what varies with the stack."""
    return _TOO_DEEP_WHERE.sub(_TOO_DEEP, text)


def canonical(value: Any) -> str:
    """Return a text that is equal for equal data."""
    return json.dumps(value, sort_keys=True)


def differences(expected: Any, actual: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield the innermost differences of two plain values: path, expected, actual (or ABSENT)."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*expected, *actual]):
            yield from differences(expected.get(key, ABSENT), actual.get(key, ABSENT), (*path, key))
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            wanted, got = (each[index : index + 1] or [ABSENT] for each in (expected, actual))
            yield from differences(wanted[0], got[0], (*path, index))
    elif isinstance(expected, Amount) and isinstance(actual, Amount):
        if expected.number != actual.number:
            yield path, expected, actual
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        yield path, expected, actual


def path_text(path: Path) -> str:
    """Return a path as text, such as `Desk.orders["A1"].refunded`."""
    text = ""
    for part in path:
        if isinstance(part, (int, OtherKey)):
            text += f"[{part}]"
        elif not text:
            text = part
        else:
            text += f".{part}" if _FIELD.fullmatch(part) else f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def read_path(text: str) -> Path | None:
    """Split `orders.A1.refunded` or `orders["A1"].refunded` into parts; None for an invalid path."""
    parts: list[str | int] = []
    at = 0
    while found := _PART.match(text, at):
        quoted, index, name = found.groups()
        parts.append(json.loads(f'"{quoted}"') if quoted is not None else int(index) if index else name)
        at = found.end()
    return tuple(parts) if parts and at == len(text) else None


def look_up(state: dict[str, Any], path: Path) -> tuple[Path, Any]:
    """Return the full path and the value at it; ABSENT if there is none.

    The first part is a class name, which may be omitted if there is only one object.
    """
    if path[0] not in state and len(state) == 1:
        path = (*state, *path)
    value: Any = state
    for part in path:
        if isinstance(value, dict):
            at = str(part)
            value = value.get(at, next((value[key] for key in value if str(key) == at), ABSENT))
        elif isinstance(value, list) and str(part).isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return path, ABSENT
    return path, _as_json(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    return str(value) if isinstance(value, str) else value
