"""Values that fit a JSON Schema: its own examples, defaults and options, else plain ones by type.

The result is valid under the schema wherever types, limits, `required` and references decide that;
patterns, `not` and `if` are not looked at. Work and size are bounded, also for a schema that
refers to itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from ..record.calls import is_nested_deeper
from ..scoring.json_schema import is_valid
from ..scoring.problems import CannotCompare

_MAX_DEPTH = 20
_MAX_STEPS = 1000  # schemas looked at for one tool
_MAX_OWN = 2000  # characters of an example that is worth a place in a draft
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
# What a description gives as an example, in quotes: (e.g., 'America/New_York').
_EXAMPLE = re.compile(
    r"(?:\be\.g\.?|\bfor example|\bsuch as|\bexamples?:)[,:]?\s*"
    r"(?:\"([^\"]{1,100})\"|'([^']{1,100})'|`([^`]{1,100})`)",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOTHING: Any = object()  # no value can be given: the schema leads back to itself, or work ran out


def required_values(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A value for each required parameter, in the order in which the schema lists its properties."""
    values = _Values(schema)
    return values.members(values.flat(schema), 0)


class _Values:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.steps = _MAX_STEPS
        self.numbers = 0  # given so far: each is another one, so that a mix-up shows
        self.open: list[str] = []  # references that are being followed

    def value(self, schema: Any, name: str, depth: int) -> Any:
        """A value for a schema; `name` is that of the parameter."""
        self.steps -= 1
        if self.steps < 0 or depth > _MAX_DEPTH or schema is False:
            return _NOTHING
        if not isinstance(schema, Mapping):
            return _words(name)
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return self.flat_value(self.flat(schema), name, depth)
        if reference in self.open:
            return _NOTHING
        self.open.append(reference)
        try:
            target = self.target(reference)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self.value(_merged(target, rest), name, depth)
        finally:
            self.open.pop()

    def flat_value(self, schema: Mapping[str, Any], name: str, depth: int) -> Any:
        own = next(_own_values(schema), _NOTHING)
        if own is not _NOTHING:
            return own
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                return self.first_choice(schema, keyword, name, depth)
        kind = _kind(schema)
        if kind == "object":
            return self.members(schema, depth)
        if kind == "array":
            return self.items(schema, name, depth)
        if kind in ("integer", "number"):
            self.numbers += 1
            return _number(schema, self.numbers, whole=kind == "integer")
        return _plain(kind, schema, name)

    def first_choice(self, schema: Mapping[str, Any], keyword: str, name: str, depth: int) -> Any:
        """A value for the first choice that has one; null only when there is no other."""
        rest = {key: value for key, value in schema.items() if key != keyword}
        choices = sorted(schema[keyword], key=_is_null)
        for choice in choices:
            value = self.value(_merged(rest, choice), name, depth + 1)
            if value is not _NOTHING:
                return value
        return _NOTHING

    def members(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """The required properties, and as many others as `minProperties` asks for."""
        properties = _mapping(schema.get("properties"))
        required = dict.fromkeys(name for name in _list(schema.get("required")) if isinstance(name, str))
        names = [name for name in properties if name in required]
        names += [name for name in required if name not in properties]
        least = _count(schema, "minProperties", 0)
        names += [name for name in properties if name not in required][: max(0, least - len(names))]
        made = {}
        for name in names:
            value = self.value(properties.get(name, True), name, depth + 1)
            if value is not _NOTHING:
                made[name] = value
        return made

    def items(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        """One item, or as many as the limits ask for."""
        first = _list(schema.get("prefixItems"))
        most = _count(schema, "maxItems", _MAX_ITEMS)
        number = min(max(_count(schema, "minItems", 0), len(first), 1), most, _MAX_ITEMS)
        items = []
        for index in range(number):
            inside = first[index] if index < len(first) else schema.get("items", True)
            value = self.value(inside, _singular(name), depth + 1)
            if value is _NOTHING:
                break
            if schema.get("uniqueItems") is True and value in items:
                value = _another(value, inside, index)
            items.append(value)
        return items

    def flat(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema with what `$ref` at its top and `allOf` bring in."""
        if "allOf" not in schema and "$ref" not in schema:
            return schema
        flat: dict[str, Any] = {}
        followed: set[str] = set()
        waiting: list[Any] = [schema]
        while waiting and self.steps > 0:
            self.steps -= 1
            part = _mapping(waiting.pop())
            waiting += reversed(_list(part.get("allOf")))
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in followed:
                followed.add(reference)
                waiting.append(self.target(reference))
            own = {key: value for key, value in part.items() if key not in ("allOf", "$ref")}
            flat = _merged(own, flat)
        return flat

    def target(self, reference: str) -> Any:
        """What a reference into this schema leads to; an empty schema when it leads elsewhere."""
        if not reference.startswith("#"):
            return {}
        found: Any = self.root
        for part in unquote(reference[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return {}
        return found


def _merged(first: Any, second: Any) -> dict[str, Any]:
    """Two schemas that both hold, as one; the second wins where one value is possible."""
    merged = {**_mapping(first), **_mapping(second)}
    for keyword in ("properties", "required", "allOf"):
        one, two = _mapping(first).get(keyword), _mapping(second).get(keyword)
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            merged[keyword] = {**one, **two}
        elif isinstance(one, list) and isinstance(two, list):
            merged[keyword] = [*one, *two]
    return merged


def _own_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Values that the schema itself gives and that fit it, the best first."""
    own = [schema["const"]] if "const" in schema else []
    own += _list(schema.get("examples"))
    own += [schema[key] for key in ("example", "default") if schema.get(key) is not None]
    own += _list(schema.get("enum"))
    yield from (value for value in own if _is_small(value) and _fits(value, schema))
    description = schema.get("description")
    if isinstance(description, str) and _kind(schema) == "string" and "format" not in schema:
        match = _EXAMPLE.search(description[:4000])
        text = next(filter(None, match.groups()), "") if match else ""
        if text and _fitted(text, schema) == text and "pattern" not in schema:
            yield text


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    try:
        return is_valid(schema, value)
    except CannotCompare:  # its references lead out of this part of the schema
        return True


def _is_small(value: Any) -> bool:
    try:
        return (
            not is_nested_deeper(value, _MAX_DEPTH)
            and len(json.dumps(value, allow_nan=False)) <= _MAX_OWN
        )
    except (ValueError, TypeError, RecursionError):
        return False


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "null")
    if isinstance(kinds, str):
        return kinds
    if any(key in schema for key in ("properties", "required", "additionalProperties")):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    limits = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    return "number" if any(key in schema for key in limits) else "string"


def _plain(kind: str, schema: Mapping[str, Any], name: str) -> Any:
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    known = _FORMATS.get(str(schema.get("format")))
    return known if known is not None else _fitted(_words(name), schema)


def _words(name: str) -> str:
    """`example repo path` for `repo_path`: plainly a stand-in, and still a text that fits."""
    words = _CAMEL.sub(" ", name[:50]).replace("_", " ").replace("-", " ").split()
    return " ".join(["example", *(word.lower() for word in words)])


def _singular(name: str) -> str:
    """`entity` for `entities`, as a name for one item of a list."""
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _fitted(text: str, schema: Mapping[str, Any]) -> str:
    least = min(_count(schema, "minLength", 0), _MAX_LENGTH)
    most = _count(schema, "maxLength", _MAX_LENGTH)
    while len(text) < least:
        text = f"{text} {text}" if text else "x" * least
    return text[:most] if len(text) > most else text


def _number(schema: Mapping[str, Any], wanted: float, *, whole: bool) -> float:
    """The wanted number, or the nearest one within the limits."""
    low, high = _limit(schema, "minimum"), _limit(schema, "maximum")
    above, below = _limit(schema, "exclusiveMinimum"), _limit(schema, "exclusiveMaximum")
    if whole:
        lows = [low and math.ceil(low), None if above is None else math.floor(above) + 1]
        highs = [high and math.floor(high), None if below is None else math.ceil(below) - 1]
    else:
        # Just inside an open limit; halfway where both ends are open.
        room = 1.0 if above is None or below is None else (below - above) / 2
        lows = [low, None if above is None else above + room]
        highs = [high, None if below is None else below - room]
    value = max([wanted, *(limit for limit in lows if limit is not None)])
    value = min([value, *(limit for limit in highs if limit is not None)])
    step = _limit(schema, "multipleOf")
    if step is not None and step > 0:
        value = math.ceil(value / step) * step
    return int(value) if whole or (isinstance(value, float) and value.is_integer()) else value


def _limit(schema: Mapping[str, Any], keyword: str) -> float | None:
    value = schema.get(keyword)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if abs(value) < 1e15 else None


def _another(value: Any, schema: Any, index: int) -> Any:
    """A second value for a list whose items must differ."""
    options = _list(_mapping(schema).get("enum"))
    if index < len(options):
        return options[index]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value} {index + 1}"
    return value + index if isinstance(value, (int, float)) else value


def _count(schema: Mapping[str, Any], keyword: str, otherwise: int) -> int:
    value = schema.get(keyword)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else otherwise


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
