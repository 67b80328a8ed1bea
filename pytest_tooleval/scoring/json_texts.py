"""A message whose whole text is JSON, compared with an expected value: `$json`."""

from __future__ import annotations

import json
import re
from typing import Any

from ..errors import CannotCompare
from ..jsonschemas.values import NO_VALUE
from ..matchers.compare import mismatch, with_keys_of
from ..matchers.matcher import is_optional, matcher_key
from ..matchers.modes import Mode
from ..record.calls import JSON_DEPTH, is_nested_deeper
from ..record.repeated_keys import refuse_constant, refuse_repeated
from ..text import printable

NOT_JSON = "its whole text is not JSON"
_FENCED = re.compile(r"\s*```\w*[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_DECODER = json.JSONDecoder(object_pairs_hook=refuse_repeated, parse_constant=refuse_constant)


def json_of(text: str) -> Any:
    """Return the JSON that a text is, perhaps in a code fence; `NO_VALUE` if it is anything else."""
    fenced = _FENCED.fullmatch(text)
    try:
        value = _DECODER.decode((fenced[1] if fenced else text).strip())
    except (ValueError, RecursionError):
        return NO_VALUE
    return NO_VALUE if is_nested_deeper(value, JSON_DEPTH) else value


def json_flaw(expected: Any, text: str, rules: Mode) -> str:
    """Return why a text is not the expected JSON; empty if it is. Raises CannotCompare.

    Keys of an object that `expected` does not name are not compared, as in a tool's answer.
    """
    actual = json_of(text)
    if actual is NO_VALUE:
        return NOT_JSON
    if not isinstance(expected, dict) or matcher_key(expected) or not isinstance(actual, dict):
        why = mismatch(expected, actual, rules)
        return why() if why else ""
    members = with_keys_of(expected, actual, rules)
    for name, value in expected.items():
        if name not in members:
            if not is_optional(value):
                return f"{printable(name)} is missing"
            continue
        try:
            why = mismatch(value, members[name], rules)
        except CannotCompare as error:
            raise error.within(name) from None
        if why is not None:
            return f"{printable(name)}: {why()}"
    return ""
