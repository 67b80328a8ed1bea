"""The state of a world as plain data, differences between two states, and paths into a state."""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import json
import logging
import math
import re
import sys
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, MutableSequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import ModuleType
from typing import Any
from uuid import UUID

from ..text import canonical, shorten

StatePath = tuple[str | int, ...]

# The method with which a class says itself what its state is.
STATE = "_tooleval_state"
_AS_TEXT = (dt.date, dt.time, dt.timedelta, UUID, PurePath)
_MAPPINGS = (dict, Mapping)
_LISTS = (list, tuple, deque, array, MutableSequence)
_SETS = (set, frozenset, AbstractSet)
_SCALARS = (type(None), bool, int, float, str)
# Their attributes are those of the process, or change by themselves.
_UNSEEN = (ModuleType, logging.Logger)
_LIBRARIES = {*sys.stdlib_module_names, "pydantic", "msgspec"} - {"__main__"}
# Two floats of which neither is whole are equal if they differ by at most this part.
_SAME_PART = 1e-9
_LONGEST_PYTHON = 100_000
# Python warns of these escapes.
_UNKNOWN_ESCAPE = re.compile(r"\\[^\\'\"abfnrtvxuUN0-7\n]")
_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[([0-9]+)\]|\.?([^.\[\]]+)')
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_TOO_DEEP = "maximum recursion depth exceeded"
# CPython adds what it did when the stack was full, which depends on the calls before.
_TOO_DEEP_WHERE = re.compile(
    rf"(?:{_TOO_DEEP}|Stack overflow \(used \d+ kB\))(?: (?:in|while|during)\b[\w ]*)?"
)
# Fields follow a dot, all other keys are in brackets.
_FIELD = re.compile(r"[a-z_][a-z0-9_]*")


ABSENT_VALUE = object()  # stands for a value that one of two states lacks


class Amount(str):
    """A Decimal as text; 40 and 40.00 do not differ."""

    @property
    def number(self) -> Decimal | str:
        number = Decimal(self)
        return number if number.is_finite() else str(self)


class Instant(str):
    """An aware datetime as text; the same instant in two time zones does not differ."""

    moment: dt.datetime

    def __new__(cls, moment: dt.datetime) -> Instant:
        instant = super().__new__(cls, moment)
        instant.moment = moment
        return instant


class OtherKey(str):
    """A key that is not a string, as text: 1 equals 1.0, but not "1"."""

    _same: Any

    def __new__(cls, key: object) -> OtherKey:
        text = super().__new__(cls, key)
        is_number = isinstance(key, (int, float, Decimal)) and not isinstance(key, bool)
        text._same = key if is_number else str(key)
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OtherKey) and bool(self._same == other._same)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._same)


def state_of(thing: object) -> Any:
    """Return the state of a world's object: what `_tooleval_state` returns, else its public attributes.

    All values of its class are part of the state, so that they are there from the start.
    """
    if (state_method := _own_state(thing)) is not None:
        return plain(state_method())
    values = {name: value for kind in kinds_of(thing) for name, value in _values(kind)}
    return _entries({**values, **_own_data(thing)}, frozenset({id(thing)}))


def attributes(thing: object) -> dict[str, Any]:
    """Return an object's public data attributes, with the containers in its class."""
    of_class = {
        name: value
        for kind in kinds_of(thing)
        for name, value in _values(kind)
        if isinstance(value, (dict, list, set, deque))
    }
    return {**of_class, **_own_data(thing)}


def kinds_of(thing: object) -> Iterator[type]:
    """Yield the classes of an object that users wrote, bases first."""
    return (kind for kind in reversed(type(thing).__mro__) if not _is_library(kind))


def _is_library(kind: type) -> bool:
    """True for classes of Python and pydantic, whose attributes are no state."""
    return kind.__module__.partition(".")[0] in _LIBRARIES


def _values(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public data of a class: no methods, properties, slots or classes."""
    for name, value in vars(kind).items():
        if not (name.startswith("_") or callable(value) or hasattr(type(value), "__get__")):
            yield name, value


def _own_data(thing: object) -> dict[str, Any]:
    """Return the public data that the object itself has, of a pydantic model also extra fields."""
    data = {name: getattr(thing, name) for name in _slots(thing) if hasattr(thing, name)}
    data.update(getattr(thing, "__dict__", {}))
    data.update(getattr(thing, "__pydantic_extra__", None) or {})
    return {k: v for k, v in data.items() if not k.startswith("_") and not callable(v)}


def _slots(thing: object) -> list[str]:
    names: list[str] = [*getattr(thing, "__struct_fields__", ())]  # of msgspec
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return names


def _own_state(thing: object) -> Callable[[], Any] | None:
    """Return the method with which a class says what its state is; it is looked up on the type."""
    hook = getattr(type(thing), STATE, None)
    if hook is None or isinstance(thing, type):
        return None
    if not callable(hook) or inspect.iscoroutinefunction(hook) or inspect.isgeneratorfunction(hook):
        raise TypeError(f"{STATE} must be a method that returns the state itself")
    return partial(hook, thing)


class Unseen(str):
    """Stands for a value in which there is nothing to look at, such as a connection; all are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unseen)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def plain(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    """Return a value as JSON types: objects as their public attributes, sets in a fixed order.

    Raises TypeError if an object is a key of a dict.
    """
    if isinstance(value, Enum):
        return plain(value.value, inside)
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, Decimal):
        return Amount(value)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return Instant(value)
    if isinstance(value, _AS_TEXT):
        return str(value)
    if id(value) in inside:
        return "(a part of itself)"
    inside |= {id(value)}
    if type(value) is dict:
        return _entries(value, inside)
    if type(value) is list:
        return [plain(each, inside) for each in value]
    if (state_method := _own_state(value)) is not None:
        return plain(state_method(), inside)
    if isinstance(value, (*_MAPPINGS, *_LISTS, *_SETS)):
        return _contents(value, inside)
    if isinstance(value, _UNSEEN):
        return Unseen(f"a {_class_name(value)}")
    is_object = hasattr(value, "__dict__") or hasattr(type(value), "__slots__")
    if is_object and (data := attributes(value)):
        return _entries(data, inside)
    # A fraction, an address or an exception says what it is in its repr alone.
    text = repr(value)
    if not _ADDRESS.search(text):
        return text
    return {} if is_object else Unseen(f"a {_class_name(value)}")


def _contents(value: Any, inside: frozenset[int]) -> Any:
    """Return a container as a dict or list; as a dict if its class also gives it attributes."""
    items: Any
    if isinstance(value, _MAPPINGS):
        items = _entries(value, inside)
    elif isinstance(value, _LISTS):
        items = [plain(each, inside) for each in value]
    else:
        items = sorted((plain(each, inside) for each in value), key=canonical)
    if _is_library(type(value)) or not (more := attributes(value)):
        return items
    items = items if isinstance(items, dict) else {OtherKey(i): each for i, each in enumerate(items)}
    return {**_entries(more, inside), **items}


def _entries(value: Any, inside: frozenset[int]) -> dict[Any, Any]:
    return {_key(key): plain(each, inside) for key, each in value.items()}


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    text = OtherKey(key)
    if _ADDRESS.search(text):
        raise TypeError(f"an object is a key, a {_class_name(key)}; use its id or name instead")
    return text


def _class_name(value: Any) -> str:
    kind = type(value)
    module = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}".removeprefix("_thread.")


class Connection(str):
    """Stands for an object that can be closed, behind which nobody can look."""


def everything(value: Any, modules: Collection[str], seen: set[int]) -> Any:
    """Return a value with all that a state may leave out, to see whether anything changes.

    For objects whose classes are in the `modules`, that includes their private data, whatever a
    class calls its state. A `Connection` stands for those that do not count their changes.
    """
    if type(value) in _SCALARS:
        return value
    if inspect.isroutine(value) or isinstance(value, (type, *_UNSEEN)):
        return None
    is_container = isinstance(value, (*_MAPPINGS, *_LISTS, *_SETS)) and not isinstance(value, str)
    is_own = type(value).__module__ in modules and not isinstance(value, Enum)
    if not (is_container or is_own):
        changes = getattr(value, "total_changes", None)  # of SQLite
        if isinstance(changes, int):
            return changes
        return Connection() if hasattr(type(value), "close") else _shown(value)
    if id(value) in seen:
        return None
    seen.add(id(value))
    members: dict[Any, Any] = {}
    if isinstance(value, _MAPPINGS):
        members = {without_addresses(str(key)): each for key, each in value.items()}
    elif is_container:
        parts = sorted(value, key=repr) if isinstance(value, _SETS) else value
        members = {OtherKey(index): each for index, each in enumerate(parts)}
    if is_own:
        members |= {
            name: member
            for kind in kinds_of(value)
            for name, member in vars(kind).items()
            if isinstance(member, (dict, list, set, deque, *_SCALARS)) and not name.startswith("__")
        }
        members |= {name: getattr(value, name) for name in _slots(value) if hasattr(value, name)}
        members |= getattr(value, "__dict__", {})
    return {name: everything(each, modules, seen) for name, each in members.items()}


def _shown(value: Any) -> Any:
    try:
        return plain(value)
    except TypeError:  # an object is a key
        return None


def unseen(thing: object) -> list[str]:
    """Return what the state of a world's object leaves out: `_balance is private`, `db is a ...`."""
    if (state_method := _own_state(thing)) is not None:
        return [f"{STATE} returns {shorten(without_addresses(repr(state_method())), 60)}"]
    closed, private = [], []
    for name, value in getattr(thing, "__dict__", {}).items():
        if name.startswith("_"):
            private.append(f"{name} is private")
            continue
        shown = Unseen("") if callable(value) else plain(value)
        if isinstance(shown, Unseen):
            closed.append(f"{name} is a {_class_name(value)}, which is not compared")
        elif shown == {} and not isinstance(value, _MAPPINGS):
            closed.append(f"{name} is a {_class_name(value)} without public attributes")
    return [*closed, *private]


def in_order(built: Any, original: Any) -> Any:
    """Return the JSON built of a value with sorted lists for its sets, the same in every process."""
    if isinstance(original, (set, frozenset)):
        return sorted(built, key=canonical)
    if isinstance(built, dict):
        of_object = (getattr(original, key, None) for key in built)
        parts = original.values() if isinstance(original, dict) else of_object
        pairs = zip(built.items(), parts, strict=True)
        return {key: in_order(each, part) for (key, each), part in pairs}
    if isinstance(built, list) and isinstance(original, (list, tuple)):
        return [in_order(each, part) for each, part in zip(built, original, strict=True)]
    return built


def without_addresses(text: str) -> str:
    """Remove the addresses of objects, as in `<Order object at 0x7f...>`."""
    return _ADDRESS.sub("", text)


def without_stack(text: str) -> str:
    """Remove from the text of a RecursionError what varies with the stack."""
    return _TOO_DEEP_WHERE.sub(_TOO_DEEP, text)


def differences(
    expected: Any, actual: Any, path: StatePath = (), *, is_exact: bool = False
) -> Iterator[tuple[StatePath, Any, Any]]:
    """Yield the innermost differences of two plain values: path, expected, actual (or ABSENT_VALUE).

    Unless `is_exact`, numbers are equal by value (40 and 40.0, floats within a part of 1e-9), datetimes
    by instant, and texts that are JSON by what they say.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*expected, *actual]):
            wanted, got = expected.get(key, ABSENT_VALUE), actual.get(key, ABSENT_VALUE)
            if wanted is not got:
                yield from differences(wanted, got, (*path, key), is_exact=is_exact)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            wanted, got = (
                each[index] if index < len(each) else ABSENT_VALUE for each in (expected, actual)
            )
            if wanted is not got:
                yield from differences(wanted, got, (*path, index), is_exact=is_exact)
    elif not _equal(expected, actual) and (is_exact or not _means_same(expected, actual)):
        yield path, expected, actual


def _equal(one: Any, other: Any) -> bool:
    """Whether two values, which are no containers, are the same: NaN is NaN, and true is not 1."""
    if isinstance(one, Amount) and isinstance(other, Amount):
        return one.number == other.number
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _means_same(one: Any, other: Any) -> bool:
    if isinstance(one, Instant) and isinstance(other, Instant):
        return one.moment == other.moment
    numbers = [_number(each) for each in (one, other)]
    if None not in numbers:
        return _same_number(*numbers)
    return isinstance(one, str) and isinstance(other, str) and _same_json(one, other)


def _number(value: Any) -> Any:
    if isinstance(value, Amount):
        return value.number if isinstance(value.number, Decimal) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _same_number(one: Any, other: Any) -> bool:
    if one == other:
        return True
    if isinstance(one, Decimal) != isinstance(other, Decimal):  # 0.1 is not the float nearest to it
        one, other = (Decimal(str(each)) for each in (one, other))
        return bool(one == other)
    floats = isinstance(one, float) and isinstance(other, float)
    if not floats or one.is_integer() or other.is_integer():
        return False
    return math.isclose(one, other, rel_tol=_SAME_PART, abs_tol=0.0)


def _same_json(one: str, other: str) -> bool:
    """Whether two texts are JSON objects or lists, as lines of a log are, and equal by value."""
    values = [read_json(each) if each.lstrip().startswith(("{", "[")) else each for each in (one, other)]
    return not any(isinstance(each, str) for each in values) and _are_equal(*values)


def same_value(one: str, other: str) -> bool:
    """Whether two answers are the same text, or JSON and equal by value."""
    if one == other:
        return True
    values = [read_json(each) for each in (one, other)]
    return values != [one, other] and _are_equal(*values)


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return next(differences(one, other), None) is None
    except RecursionError:  # a model may write this
        return False


def read_json(text: str) -> Any:
    """Return the JSON in a text, or the Python value that libraries write instead; else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text[:1] not in ("{", "[") or len(text) > _LONGEST_PYTHON or _UNKNOWN_ESCAPE.search(text):
        return text
    try:
        return json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def path_text(path: StatePath) -> str:
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


def read_path(text: str) -> StatePath | None:
    """Split `orders.A1.refunded` or `orders["A1"].refunded` into parts; None for an invalid path."""
    parts: list[str | int] = []
    at = 0
    while match := _PART.match(text, at):
        quoted, index, name = match.groups()
        parts.append(json.loads(f'"{quoted}"') if quoted is not None else int(index) if index else name)
        at = match.end()
    return tuple(parts) if parts and at == len(text) else None


def look_up(state: dict[str, Any], path: StatePath) -> tuple[StatePath, Any]:
    """Return the full path and the plain value at it; ABSENT if there is none.

    The first part is a class name, which may be omitted if there is only one object.
    """
    if path[0] not in state and len(state) == 1:
        path = (*state, *path)
    value: Any = state
    for part in path:
        if isinstance(value, dict):
            at = str(part)
            value = value.get(at, next((value[key] for key in value if str(key) == at), ABSENT_VALUE))
        elif isinstance(value, list) and str(part).isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return path, ABSENT_VALUE
    return path, value


def json_like(value: Any, wanted: Any = None) -> Any:
    """Return a plain value as JSON, to compare it with the wanted one.

    A Decimal is a number unless a text is wanted, and a time is the wanted text if that is the same
    instant.
    """
    inside = wanted if isinstance(wanted, dict) else {}
    if isinstance(value, dict):
        return {str(key): json_like(each, inside.get(str(key))) for key, each in value.items()}
    if isinstance(value, list):
        others = wanted if isinstance(wanted, list) else []
        padded = [*others, *[None] * (len(value) - len(others))]
        return [json_like(each, other) for each, other in zip(value, padded, strict=False)]
    if isinstance(value, Amount) and not isinstance(wanted, str) and isinstance(value.number, Decimal):
        number = value.number
        return int(number) if number == number.to_integral_value() else float(number)
    if isinstance(value, Instant) and isinstance(wanted, str) and _moment(wanted) == value.moment:
        return wanted
    return str(value) if isinstance(value, str) else value


def _moment(text: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
