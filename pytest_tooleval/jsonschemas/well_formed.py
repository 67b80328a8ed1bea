"""Check that a JSON Schema (draft 2020-12) is valid, and that a tool's `parameters` are an object.

This does not use jsonschema, whose import would take longer than loading the suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..explain import describe, nearest, show
from ..findings import Finding, Findings, Loc
from ..record.calls import is_number
from .patterns import pattern_problem
from .subschemas import LISTED, NAMED, ONE, parts, ref_target, references

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


def schema_findings(parameters: dict[str, Any], loc: Loc) -> Findings:
    """Yield what is wrong with a tool's `parameters` at `loc`."""
    kind = parameters.get("type", "object")
    if kind != "object":
        message = f'the parameters of a tool are an object: expected "object", got {describe(kind)}'
        yield Finding((*loc, "type"), message)
    else:
        yield from json_schema_findings(parameters, loc)


def json_schema_findings(root: dict[str, Any] | bool, loc: Loc) -> Findings:
    """Yield what is wrong with the JSON Schema at `loc`."""
    for at, schema in parts(root):
        if isinstance(schema, dict):
            for key, value in schema.items():
                problem = _problem(key, value)
                if problem is not None:
                    yield Finding((*loc, *at, key), problem)
        elif not isinstance(schema, bool):
            expected = "a schema: an object, true or false"
            yield Finding((*loc, *at), f"expected {expected}, got {describe(schema)}")
    for at, target in references(root):
        if target.startswith("#/") and ref_target(root, target) is None:
            yield Finding((*loc, *at), f"{show(target)} does not exist in this schema")


def _problem(key: str, value: Any) -> str | None:
    """Return what is wrong with the value of a keyword; unknown keywords take any value."""
    if key in _KEYWORDS and not _KEYWORDS[key].takes(value):
        hint = _KEYWORDS[key].hint
        if key == "type" and isinstance(value, str):
            meant = _TYPE_NAMES.get(value.lower()) or nearest(value, TYPES)
            hint = f'; did you mean "{meant}"?' if meant else ""
        expected = _KEYWORDS[key].expected
        return f"not a valid JSON Schema: expected {expected}, got {describe(value)}{hint}"
    patterns = [value] if key == "pattern" else value if key == "patternProperties" else ()
    problems = (pattern_problem(pattern) for pattern in patterns if pattern)
    return next((problem for problem in problems if problem is not None), None)


def is_keyword(key: str) -> bool:
    """True for a keyword of JSON Schema, including annotations (`x-...`)."""
    return key in _KNOWN or key.startswith("x-")


def unknown_keywords(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the unknown keywords of a schema, subschemas apart, each with the one probably meant."""
    unknown = ((key, nearest(key, _KNOWN)) for key in schema if key not in _KNOWN)
    return [(key, near) for key, near in unknown if near and not key.startswith("x-")]


class _Keyword(NamedTuple):
    takes: Callable[[Any], bool]
    expected: str
    hint: str = ""


def is_type(value: Any) -> bool:
    """True if this is a valid value of `type`."""
    if isinstance(value, str):
        return value in TYPES
    return _is_names(value) and bool(value) and all(name in TYPES for name in value)


def _is_names(value: Any) -> bool:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return False
    return len(set(value)) == len(value)


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _is_names(names) for names in value.values() if isinstance(names, list)
    )


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_TEXTS = "$schema $id $ref $anchor $dynamicRef $dynamicAnchor $comment title description format".split()
_COUNTS = (
    "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains".split()
)
_FLAGS = "deprecated readOnly writeOnly uniqueItems nullable".split()
_NOT_A_FLAG = "; since draft 6 it is the limit, not a flag"
_KEYWORDS = {
    **dict.fromkeys(NAMED, _Keyword(_is(dict), "an object of names and schemas")),
    **dict.fromkeys(
        LISTED,
        _Keyword(lambda value: isinstance(value, list) and bool(value), "a non-empty list of schemas"),
    ),
    **dict.fromkeys(_TEXTS, _Keyword(_is(str), "a string")),
    **dict.fromkeys(
        _COUNTS,
        _Keyword(
            lambda value: is_number(value) and value >= 0 and value % 1 == 0,
            "a whole number of at least 0",
        ),
    ),
    **dict.fromkeys(_FLAGS, _Keyword(_is(bool), "true or false")),
    **dict.fromkeys(("enum", "examples"), _Keyword(_is(list), "a list of values")),
    **dict.fromkeys(("minimum", "maximum"), _Keyword(is_number, "a number")),
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"), _Keyword(is_number, "a number", _NOT_A_FLAG)
    ),
    "multipleOf": _Keyword(lambda value: is_number(value) and value > 0, "a number above 0"),
    "pattern": _Keyword(_is(str), "a string"),
    "type": _Keyword(is_type, f"one of {', '.join(map(show, TYPES))}, or a list of them"),
    "required": _Keyword(
        _is_names,
        "a list of different property names",
        '; list the names of required properties in "required", next to "properties"',
    ),
    "dependentRequired": _Keyword(
        lambda value: isinstance(value, dict) and all(map(_is_names, value.values())),
        "an object of names and lists of names",
    ),
    "dependencies": _Keyword(
        _is_dependencies, "an object of names, each with a list of names or a schema"
    ),
}
# Other drafts, OpenAPI and editors add some.
_OTHERS = (
    "const default $vocabulary contentEncoding contentMediaType $recursiveRef $recursiveAnchor id "
    "example discriminator xml externalDocs markdownDescription"
)
_KNOWN = (*_OTHERS.split(), *_KEYWORDS, *ONE)
_TYPE_NAMES = {
    "dict": "object", "map": "object", "float": "number", "double": "number", "decimal": "number",
    "int": "integer", "long": "integer", "bool": "boolean", "str": "string", "text": "string",
    "list": "array", "tuple": "array", "none": "null",
}  # fmt: skip
