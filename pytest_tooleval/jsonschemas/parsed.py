"""Arguments as a lenient tool reads them: `"9000"` is 9000 where the schema takes only numbers."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import CannotCompare
from .validation import rejected_texts, types_of

_MOST_DIGITS = 4000  # Python converts no more than 4300
_MOST_PASSES = 3  # a text may contain texts


def as_parsed(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments with texts parsed where the schema takes no text, but what they say.

    Such a text is rejected by the schema, and is JSON of a type that the schema takes in its place. If
    the schema is unusable, every argument that can be parsed is.
    """
    for _ in range(_MOST_PASSES):
        try:
            found = [
                (path, value)
                for path, text, types in rejected_texts(schema, arguments)
                if (value := _parsed(text)) is not None and not types.isdisjoint(types_of(value[0]))
            ]
        except CannotCompare:
            texts = ((name, _parsed(text)) for name, text in arguments.items() if isinstance(text, str))
            return {**arguments, **{name: value[0] for name, value in texts if value is not None}}
        if not found:
            break
        arguments = copy.deepcopy(dict(arguments))
        for path, (value,) in found:
            inside: Any = arguments
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = value
    return arguments


def _parsed(text: str) -> tuple[Any] | None:
    """Return the value of a JSON text, in a tuple; None if it is no JSON."""
    try:
        return (json.loads(text, parse_int=_integer, parse_constant=_refuse),)
    except (ValueError, RecursionError):
        return None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
