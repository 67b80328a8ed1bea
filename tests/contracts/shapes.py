"""Checks JSON against the TypedDicts by which an SDK describes what may be sent."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import typing_extensions

Path = tuple[str | int, ...]


class Tag(str):
    """The member of a union that was meant; some providers name it in the path."""

    __slots__ = ()


@dataclass(frozen=True)
class Problem:
    """What is wrong at a place: a field that is `unknown` or `missing`, a `type` or a `value`."""

    path: Path
    kind: Literal["unknown", "missing", "type", "value"]
    expected: str
    got: object = None


@functools.cache
def fields_of(shape: Any) -> Mapping[str, tuple[Any, bool]]:
    """The fields of a TypedDict: their types, and whether they must be there."""
    hints = typing_extensions.get_type_hints(shape, include_extras=True)
    return {name: _field(hint, shape.__total__) for name, hint in hints.items()}


def _field(hint: Any, required: bool) -> tuple[Any, bool]:
    while True:
        origin = typing_extensions.get_origin(hint)
        if origin is typing_extensions.Required:
            required = True
        elif origin is typing_extensions.NotRequired:
            required = False
        elif origin is not typing.Annotated:
            return hint, required
        hint = typing_extensions.get_args(hint)[0]


def problem(value: object, shape: Any, path: Path = ()) -> Problem | None:
    """The first thing about `value` that `shape` does not allow."""
    origin, arguments = typing_extensions.get_origin(shape), typing_extensions.get_args(shape)
    if origin is typing.Annotated:
        return problem(value, arguments[0], path)
    if origin in (typing.Union, types.UnionType):
        return _union_problem(value, arguments, path)
    if origin is Literal:
        if any(value == allowed and type(value) is type(allowed) for allowed in arguments):
            return None
        return Problem(path, "value", " or ".join(f"'{allowed}'" for allowed in arguments), value)
    if typing_extensions.is_typeddict(shape):
        return _object_problem(value, shape, path)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_problem(value, arguments, path)
    if origin is not None:
        return _list_problem(value, arguments[0], path)
    return None if _is(value, shape) else Problem(path, "type", _name(shape), value)


def _is(value: object, shape: Any) -> bool:
    if shape is object or shape is Any:
        return True
    if shape in (None, type(None)):
        return value is None
    if shape is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    # Files and the like cannot stand in JSON.
    return shape in (str, bool) and isinstance(value, shape)


def _name(shape: Any) -> str:
    names = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
    return names.get(shape) or ("array" if shape is list else "null")


def _object_problem(value: object, shape: Any, path: Path) -> Problem | None:
    if not isinstance(value, dict):
        return Problem(path, "type", "object", value)
    fields = fields_of(shape)
    for name, member in value.items():
        if name not in fields:
            if getattr(shape, "__pydantic_config__", {}).get("extra") == "allow":
                continue
            return Problem((*path, name), "unknown", "", member)
        found = problem(member, fields[name][0], (*path, name))
        if found is not None:
            return found
    missing = next((name for name, (_, must) in fields.items() if must and name not in value), None)
    return None if missing is None else Problem((*path, missing), "missing", "")


def _mapping_problem(value: object, arguments: tuple[Any, ...], path: Path) -> Problem | None:
    if not isinstance(value, dict):
        return Problem(path, "type", "object", value)
    found = (problem(member, arguments[1], (*path, name)) for name, member in value.items())
    return next((one for one in found if one is not None), None)


def _list_problem(value: object, member: Any, path: Path) -> Problem | None:
    if not isinstance(value, list):
        return Problem(path, "type", "array", value)
    found = (problem(one, member, (*path, number)) for number, one in enumerate(value))
    return next((one for one in found if one is not None), None)


def _union_problem(value: object, members: tuple[Any, ...], path: Path) -> Problem | None:
    """None if a member fits, else the problem with the member that was meant."""
    found = []
    for member in _flat(members):
        one = problem(value, member, path)
        if one is None:
            return None
        found.append((_meant(value, member), member, one))
    meant = [(tag, one) for tag, _, one in found if tag is not None]
    if meant:
        # Of several with the same tag, the one whose problem is the deepest was meant.
        tag, one = max(meant, key=lambda pair: len(pair[1].path))
        return _tagged(one, tag, len(path)) if tag and len(meant) < len(found) else one
    if isinstance(value, dict):
        tags = sorted({tag for _, member, _ in found for tag in _tags(member)})
        if tags and "type" in value:
            return Problem(
                (*path, "type"), "value", " or ".join(f"'{tag}'" for tag in tags), value["type"]
            )
    return max((one for *_, one in found), key=lambda one: len(one.path))


def _tagged(problem: Problem, tag: str, at: int) -> Problem:
    path = (*problem.path[:at], Tag(tag), *problem.path[at:])
    return Problem(path, problem.kind, problem.expected, problem.got)


def _flat(members: tuple[Any, ...]) -> Iterator[Any]:
    for member in members:
        if typing_extensions.get_origin(member) in (typing.Union, types.UnionType):
            yield from _flat(typing_extensions.get_args(member))
        else:
            yield member


def _tags(shape: Any) -> tuple[str, ...]:
    """The values of `type` (or `role`) by which a member of a union is known."""
    if not typing_extensions.is_typeddict(shape):
        return ()
    fields = fields_of(shape)
    hint = fields.get("type", fields.get("role", (None, False)))[0]
    literals = [one for one in _flat((hint,)) if typing_extensions.get_origin(one) is Literal]
    return tuple(tag for one in literals for tag in typing_extensions.get_args(one))


def _meant(value: object, shape: Any) -> str | None:
    """The tag of `shape` if `value` claims to be one, "" if the shape has none, None if it is not."""
    origin = typing_extensions.get_origin(shape)
    if isinstance(origin, type) and not issubclass(origin, Mapping):
        return "" if isinstance(value, list) else None
    if not isinstance(value, dict) or not typing_extensions.is_typeddict(shape):
        return None
    tags = _tags(shape)
    if not tags:
        return None
    fields = fields_of(shape)
    if "type" not in fields:
        return "" if value.get("role") in tags else None
    told = value.get("type")
    if told is None and not fields["type"][1]:
        return tags[0]
    return str(told) if told in tags else None
