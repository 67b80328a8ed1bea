"""Whether the `parameters` of a tool are a JSON Schema (draft 2020-12) of an object.

Nearly every tool uses the same dozen keywords in the ordinary way. Those are judged here; jsonschema
is imported only for a schema that uses others, or uses these in a way that needs a second opinion.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

from ..record.calls import is_number
from .explain import describe
from .explain import nearest
from .explain import show
from .matchers import pattern_problem
from .matchers import schema_problems
from .source import Finding
from .source import Loc

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


class ToolSchemas:
    """Checks the schemas of one suite, each different one once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Loc, str], ...]] = {}

    def findings(self, parameters: dict[str, Any], loc: Loc) -> Iterator[Finding]:
        """What is wrong with a tool's `parameters`, which stand at `loc`."""
        root = parameters.get("type", "object")
        if root != "object":
            message = f'the parameters of a tool are an object: expected "object", got {describe(root)}'
            yield Finding((*loc, "type"), message)
            return
        # Looking for the text first is much cheaper than walking every schema once more.
        if _is_plain(parameters) and "$ref" not in str(parameters):
            return
        key = json.dumps(parameters, sort_keys=True)
        if key not in self._known:
            self._known[key] = tuple(_problems(parameters))
        for inside, message in self._known[key]:
            yield Finding((*loc, *inside), message)


def _is_plain(schema: Any) -> bool:
    """Whether every keyword is an ordinary one in ordinary use; False says nothing either way."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    for key, value in schema.items():
        if key in _PLAIN:
            if not _PLAIN[key](value):
                return False
        elif key in _OTHERS:
            return False
    return True


def _is_type(value: Any) -> bool:
    if isinstance(value, str):
        return value in TYPES
    return _is_names(value) and bool(value) and all(name in TYPES for name in value)


def _is_names(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return False
    return len(set(value)) == len(value)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_plain(schema) for schema in value.values())


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_plain(schema) for schema in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and (not value or pattern_problem(value) is None)


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("#/") and value.isascii() and " " not in value


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "$schema": _is_text,
    "$comment": _is_text,
    "deprecated": _is_flag,
    "readOnly": _is_flag,
    "writeOnly": _is_flag,
    "type": _is_type,
    "properties": _is_schemas,
    "required": _is_names,
    "description": _is_text,
    "title": _is_text,
    "enum": _is_list,
    "pattern": _is_pattern,
    "uniqueItems": _is_flag,
    "prefixItems": _is_choice,
    "not": _is_plain,
    "$ref": _is_reference,
    "$defs": _is_schemas,
    "definitions": _is_schemas,
    "examples": _is_list,
    "items": _is_plain,
    "additionalProperties": _is_plain,
    "anyOf": _is_choice,
    "oneOf": _is_choice,
    "allOf": _is_choice,
    "format": _is_text,
    "minimum": is_number,
    "maximum": is_number,
    "exclusiveMinimum": is_number,
    "exclusiveMaximum": is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minItems": _is_count,
    "maxItems": _is_count,
    "minProperties": _is_count,
    "maxProperties": _is_count,
}

# All other keywords of draft 2020-12 that restrict what may stand behind them. What is in neither
# table (const, default, x-...) takes any value.
_OTHERS = frozenset(
    (
        "$anchor",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$recursiveAnchor",
        "$recursiveRef",
        "$vocabulary",
        "contains",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "else",
        "if",
        "maxContains",
        "minContains",
        "multipleOf",
        "patternProperties",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)

_SCHEMA = "a schema: an object, true or false"
_SCHEMAS = "an object of names and schemas"
_COUNT = "a whole number of at least 0"
_EXPECTED = {
    "type": "one of " + ", ".join(f'"{name}"' for name in TYPES) + ", or a list of them",
    "properties": _SCHEMAS,
    "patternProperties": _SCHEMAS,
    "$defs": _SCHEMAS,
    "definitions": _SCHEMAS,
    "required": "a list of different property names",
    "description": "a string",
    "title": "a string",
    "enum": "a list of values",
    "items": _SCHEMA,
    "additionalProperties": _SCHEMA,
    "not": _SCHEMA,
    "anyOf": "a non-empty list of schemas",
    "oneOf": "a non-empty list of schemas",
    "allOf": "a non-empty list of schemas",
    "prefixItems": "a non-empty list of schemas",
    "format": "a string",
    "minimum": "a number",
    "maximum": "a number",
    "exclusiveMinimum": "a number",
    "exclusiveMaximum": "a number",
    "multipleOf": "a number above 0",
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "minProperties": _COUNT,
    "maxProperties": _COUNT,
    "uniqueItems": "true or false",
}
_HINTS = {
    "required": "; the names of required properties stand in a list beside properties",
    "items": "; for a list of schemas, one for each place, write prefixItems",
    "exclusiveMinimum": "; since draft 6 it is the limit itself and not a flag",
    "exclusiveMaximum": "; since draft 6 it is the limit itself and not a flag",
}
_DATA = ("enum", "const", "default", "examples")  # what these hold is no schema
_TYPE_NAMES = {
    "dict": "object", "map": "object", "float": "number", "double": "number", "decimal": "number",
    "int": "integer", "long": "integer", "bool": "boolean", "str": "string", "text": "string",
    "list": "array", "tuple": "array", "none": "null",
}  # fmt: skip


def _problems(schema: dict[str, Any]) -> Iterator[tuple[Loc, str]]:
    seen: set[Loc] = set()
    for inside, message in () if _is_plain(schema) else schema_problems(schema):
        if inside in seen:
            continue
        seen.add(inside)
        yield inside, _in_words(schema, inside) or message
    if not seen:
        yield from _broken_references(schema)


def _in_words(schema: dict[str, Any], inside: Loc) -> str | None:
    """A message for a keyword with a wrong value; None where jsonschema's own has to do."""
    value: Any = schema
    for part in inside:
        value = value[part]
    keyword = _keyword(inside)
    if keyword == "pattern" and isinstance(value, str):
        return pattern_problem(value)
    if keyword not in _EXPECTED:
        if inside and (
            len(inside) < 2 or _keyword(inside[:-1]) in ("properties", "patternProperties", "$defs")
        ):
            return f"expected {_SCHEMA}, got {describe(value)}"
        return None
    hint = _HINTS.get(keyword, "")
    if keyword == "type" and isinstance(value, str):
        meant = _TYPE_NAMES.get(value.lower()) or nearest(value, TYPES)
        hint = f'; did you mean "{meant}"?' if meant else ""
    return f"not a valid JSON Schema: expected {_EXPECTED[keyword]}, got {describe(value)}{hint}"


def _keyword(inside: Loc) -> str | None:
    """The keyword at the end of a path in a schema; None where the end is a name or an index."""
    named = False  # whether the next part is a name of the user's, as under `properties`
    keyword: str | None = None
    for part in inside:
        if named or isinstance(part, int):
            keyword, named = None, False
        else:
            keyword = part
            named = part in (
                "properties",
                "patternProperties",
                "$defs",
                "definitions",
                "dependentSchemas",
            )
    return keyword


def _broken_references(schema: dict[str, Any]) -> Iterator[tuple[Loc, str]]:
    for inside, target in references(schema):
        if target.startswith("#/") and not _resolves(schema, target):
            yield inside, f"{show(target)} refers to nothing in this schema"


def references(schema: dict[str, Any]) -> Iterator[tuple[Loc, str]]:
    """Every `$ref` of a schema, as its path and its target.

    What stands under an `$id` is left out: there, references are relative to another document.
    """
    waiting: list[tuple[Loc, Any]] = [((), schema)]
    while waiting:
        inside, value = waiting.pop()
        if isinstance(value, list):
            waiting += [((*inside, index), member) for index, member in enumerate(value)]
        elif isinstance(value, dict) and "$id" not in value:
            target = value.get("$ref")
            if isinstance(target, str) and _keyword((*inside, "$ref")) == "$ref":
                yield (*inside, "$ref"), target
            waiting += [((*inside, key), member) for key, member in value.items() if key not in _DATA]


def _resolves(schema: Any, target: str) -> bool:
    from urllib.parse import unquote

    value = schema
    for part in unquote(target[2:]).split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return False
    return True
