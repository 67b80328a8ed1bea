"""Values that fit a JSON Schema: its own examples, defaults and options, or else plain ones by type.

The schema must be valid, as those of a suite's tools are. The values respect types, limits, `required`
and references, but not patterns, `not` and `if`. Time and size are limited, even for recursive schemas.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..errors import CannotCompare
from ..record.calls import is_nested_deeper
from .exact import exact
from .older import modern
from .subschemas import parts, ref_target
from .validation import is_valid

_MAX_DEPTH = 20
_MAX_STEPS = 1000  # schemas visited for one tool
_MAX_OWN = 2000  # characters of an example that is worth putting into a draft
_MAX_ITEMS = 20
_MAX_LENGTH = 200
_FORMATS = {
    "date": "2026-01-15",
    "date-time": "2026-01-15T09:30:00Z",
    "duration": "PT1H",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "09:30:00Z",
    "uri": "https://example.com",
    "uri-reference": "https://example.com",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
# A quoted example in a description, such as (e.g., 'America/New_York').
_EXAMPLE = re.compile(
    r"(?:\be\.g\.?|\bfor example|\bsuch as|\bexamples?:)[,:]?\s*"
    r"(?:\"([^\"]{1,100})\"|'([^']{1,100})'|`([^`]{1,100})`)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY = ("properties", "required")
NO_VALUE: Final[Any] = object()  # no value is known, as for a schema that is recursive or too large


def required_values(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each required parameter, in the order of the schema's properties."""
    values = _Values(schema)
    return values.members(values.flat(schema)[0], 0)


def example_value(schema: Any, name: str, root: Mapping[str, Any] | None = None) -> Any:
    """Return a value for a parameter's schema, preferably its own example; `NO_VALUE` if unknown."""
    wrapper = {**(root or {}), "properties": {name: schema}, "required": [name]}
    return required_values(wrapper).get(name, NO_VALUE)


class _Values:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.schemas = {id(part) for _, part in parts(root)}
        self.steps = _MAX_STEPS
        self.numbers = 0  # used so far; all differ, so that swapped arguments are noticed
        self.open: list[str] = []  # the references being followed

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """Return a value for the schema of the parameter `name`."""
        flat, refs = self.flat(schema)
        if schema is False or self.steps <= 0 or depth > _MAX_DEPTH or not refs.isdisjoint(self.open):
            return NO_VALUE
        self.open += refs
        try:
            return self.flat_value(flat, name, depth)
        finally:
            del self.open[len(self.open) - len(refs) :]

    def flat_value(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        value = next(_own_values(schema), NO_VALUE)
        if value is not NO_VALUE:
            return value
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self.first_choice(schema, keyword, name, depth)
        kind = _kind(schema)
        if kind == "object":
            return self.members(schema, depth)
        if kind == "array":
            return self.items(schema, name, depth)
        if kind in ("integer", "number"):
            self.numbers += 1
            return _number(schema, self.numbers, whole=kind == "integer")
        if kind in ("boolean", "null"):
            return True if kind == "boolean" else None
        return _FORMATS.get(schema.get("format", "")) or _fitted(_words(name), schema)

    def first_choice(self, schema: Mapping[str, Any], keyword: str, name: str, depth: int) -> Any:
        """Return a value for the first choice that has one; null comes last."""
        rest = {key: value for key, value in schema.items() if key != keyword}
        for choice in sorted(schema[keyword], key=lambda choice: choice == {"type": "null"}):
            value = self.value({"allOf": [choice, rest]}, name, depth + 1)
            if value is not NO_VALUE:
                return value
        return NO_VALUE

    def members(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return the required properties, and as many others as `minProperties` requires."""
        properties, required = schema.get("properties", {}), dict.fromkeys(schema.get("required", ()))
        others = [name for name in properties if name not in required]
        names = [name for name in properties if name in required]
        names += [name for name in required if name not in properties]
        names += others[: max(0, _count(schema, "minProperties") - len(names))]
        values = {name: self.value(properties.get(name, True), name, depth + 1) for name in names}
        return {name: value for name, value in values.items() if value is not NO_VALUE}

    def items(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        """Return one item, or as many as the limits require, with different texts."""
        first = schema.get("prefixItems", [])
        number = max(_count(schema, "minItems"), len(first), 1)
        items: list[Any] = []
        for index in range(min(number, _count(schema, "maxItems", number), _MAX_ITEMS)):
            inside = first[index] if index < len(first) else schema.get("items", True)
            value = self.value(inside, f"{name} {index + 1}" if index else name, depth + 1)
            if value is NO_VALUE:
                break
            items.append(value)
        return items

    def flat(self, schema: Any) -> tuple[Mapping[str, Any], set[str]]:
        """Merge a schema with its top-level `$ref` and `allOf`; also return the references followed."""
        parts: list[Mapping[str, Any]] = []
        followed: set[str] = set()
        waiting = [schema]
        while waiting and self.steps > 0:
            self.steps -= 1
            part = waiting.pop()
            if not isinstance(part, dict):
                continue
            part = modern(part)
            waiting += reversed(part.get("allOf", []))
            reference = part.get("$ref")
            if reference is not None and reference not in followed:
                followed.add(reference)
                waiting.append(self.target(reference))
            parts.append(part)
        flat: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        required: list[str] = []
        for part in reversed(parts):  # the first part takes precedence
            flat |= {key: value for key, value in part.items() if key not in ("allOf", "$ref")}
            properties |= part.get("properties", {})
            required += part.get("required", ())
        flat |= {"properties": properties, "required": required}
        return {key: value for key, value in flat.items() if value or key not in _EMPTY}, followed

    def target(self, reference: str) -> Any:
        """Return the target of a reference into this schema; an empty schema for any other."""
        schema = ref_target(self.root, reference)
        return schema if id(schema) in self.schemas else {}


def _own_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the schema's own values that fit it, best first."""
    values = [schema["const"]] if "const" in schema else []
    values += schema.get("examples", [])
    values += [schema[key] for key in ("example", "default") if schema.get(key) is not None]
    values += schema.get("enum", [])
    match = _EXAMPLE.search(schema.get("description", "")[:4000])
    if match and "format" not in schema:
        values += filter(None, match.groups())
    for value in values:
        is_small = not is_nested_deeper(value, _MAX_DEPTH) and len(json.dumps(value)) <= _MAX_OWN
        if is_small and may_fit(schema, value):
            yield value


def may_fit(schema: Any, value: Any) -> bool:
    """True if a value is valid, or if the schema alone cannot decide that."""
    if not isinstance(schema, Mapping):
        return True
    try:
        return is_valid(schema, value)
    except CannotCompare:  # for example, a reference leads out of this part of the schema
        return True


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    if kinds is not None:
        return str(kinds)
    if any(key in schema for key in ("properties", "required", "additionalProperties")):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    limits = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    return "number" if any(key in schema for key in limits) else "string"


def _words(name: str) -> str:
    """Return a readable text that is clearly made up: `example repo path` for `repo_path`."""
    words = _CAMEL.sub(" ", name[:50]).replace("_", " ").replace("-", " ").split()
    return " ".join(["example", *(word.lower() for word in words)])


def _count(schema: Mapping[str, Any], keyword: str, otherwise: int = 0) -> int:
    return int(schema.get(keyword, otherwise))  # 2.0 is a valid count


def _fitted(text: str, schema: Mapping[str, Any]) -> str:
    least = min(_count(schema, "minLength"), _MAX_LENGTH)
    while len(text) < least:
        text = f"{text} {text}"
    return text[: min(_count(schema, "maxLength", _MAX_LENGTH), _MAX_LENGTH)]


def _number(schema: Mapping[str, Any], preferred: float, *, whole: bool) -> float:
    """Return the preferred number, or the nearest one within the limits."""

    def limit(keyword: str, otherwise: float) -> float:
        value: float = schema.get(keyword, otherwise)
        return value if abs(value) < 1e15 else otherwise

    above, below = limit("exclusiveMinimum", -math.inf), limit("exclusiveMaximum", math.inf)
    # Just inside an exclusive limit; halfway between two close ones.
    room = 1 if whole else min(1.0, (below - above) / 2)
    least, most = (
        max(limit("minimum", preferred), above + room),
        min(limit("maximum", math.inf), below - room),
    )
    value = min(max(preferred, least), most)
    step = limit("multipleOf", 0)
    if step:
        value = float(math.ceil(exact(value) / exact(step)) * exact(step))
    return math.ceil(value) if whole or value == math.ceil(value) else value
