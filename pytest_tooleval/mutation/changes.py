"""The ways in which models get a value wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..jsonschemas.parameters import allows_others
from ..matchers.examples import inside
from ..record.calls import is_number
from .results import MutantKind

ChangedValue = tuple[MutantKind, Any]

INVENTED = "made_up"
_OTHER_TEXT = "something else"
_LAST_NUMBER = re.compile(r"\d+(?=\D*$)")


def changes(value: Any, schema: Any) -> Iterator[ChangedValue]:
    """Yield the value changed in each applicable way; some results may be equal."""
    options = schema.get("enum") if isinstance(schema, dict) else None
    if isinstance(options, list) and value in options:
        yield "enum_neighbour", options[(options.index(value) + 1) % len(options)]
    if isinstance(value, str):
        yield from _text_changes(value)
    elif isinstance(value, bool):
        yield "wrong_value", not value
        yield "as_text", json.dumps(value)
    elif is_number(value):
        yield "wrong_value", value * 2 + 7
        yield from (("off_by_one", value + 1), ("off_by_one", value - 1))
        yield "as_text", json.dumps(value)
    elif isinstance(value, list):
        yield from _list_changes(value, schema)
    elif isinstance(value, dict):
        yield from _object_changes(value, schema)
    else:
        yield "wrong_value", _OTHER_TEXT


def _text_changes(value: str) -> Iterator[ChangedValue]:
    yield "wrong_value", _OTHER_TEXT
    yield "spelling", value.lower() if value.isupper() else value.upper()
    yield "spelling", f" {value} "
    yield from (("off_by_one", near_text(value, step)) for step in (1, -1))


def near_text(text: str, step: int = 1) -> str:
    """Return the text with another last number, or as it is if it has none."""
    return _LAST_NUMBER.sub(lambda match: _stepped(match[0], step), text)


def _stepped(digits: str, step: int) -> str:
    """Add a step and keep leading zeros: `06` for `05`."""
    return str(max(0, int(digits) + step)).zfill(len(digits))


def _list_changes(value: list[Any], schema: Any) -> Iterator[ChangedValue]:
    yield "as_text", json.dumps(value, ensure_ascii=False)
    if not value:
        return
    yield "wrong_list", value[:-1]
    yield "wrong_list", [*value, value[-1]]
    yield "wrong_list", value[::-1]
    for kind, changed in changes(value[0], inside(schema, None)):
        yield kind, [changed, *value[1:]]


def _object_changes(value: dict[str, Any], schema: Any) -> Iterator[ChangedValue]:
    yield "as_text", json.dumps(value, ensure_ascii=False)
    if not (isinstance(schema, dict) and allows_others(schema)):
        yield "invented_argument", {**value, INVENTED: 1}
    for name, member in value.items():
        yield "dropped_argument", {key: each for key, each in value.items() if key != name}
        for kind, changed in changes(member, inside(schema, name)):
            yield kind, {**value, name: changed}
