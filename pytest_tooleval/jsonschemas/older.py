"""Keywords of older drafts and of OpenAPI 3.0, which mean nothing else in draft 2020-12."""

from __future__ import annotations

from typing import Any

from ..record.untrusted import as_mapping

# Each with what to write today.
TODAY = {
    "dependencies": '"dependentRequired" for lists of names, "dependentSchemas" for schemas',
    "items": '"prefixItems" for a list of schemas, one for each item',
    "additionalItems": '"items", beside "prefixItems"',
    "nullable": '"null" among the types: "type": ["string", "null"]',
}

# A reference may lead into these, so they stay where they are.
_OUTSIDE = ("$schema", "$id", "$defs", "definitions")


def older_keywords(schema: dict[str, Any]) -> list[str]:
    """Return the keywords of a schema, subschemas apart, that `modern` replaces."""
    is_tuple = isinstance(schema.get("items"), list) and "prefixItems" not in schema
    used = {
        "dependencies": "dependencies" in schema,
        "items": is_tuple,
        "additionalItems": is_tuple and "additionalItems" in schema,
        "nullable": schema.get("nullable") is True,
    }
    return [key for key, is_used in used.items() if is_used]


def modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with today's keywords; subschemas stay as they are."""
    keywords = older_keywords(schema)
    if not keywords:
        return schema
    changed = dict(schema)
    if "dependencies" in keywords:
        dependencies = as_mapping(changed.pop("dependencies"))
        names = {name: needs for name, needs in dependencies.items() if isinstance(needs, list)}
        schemas = {name: needs for name, needs in dependencies.items() if name not in names}
        for key, members in (("dependentRequired", names), ("dependentSchemas", schemas)):
            if members:
                changed[key] = {**members, **as_mapping(schema.get(key))}
    if "items" in keywords:
        first = changed.pop("items")
        if first:
            changed["prefixItems"] = first
    if "additionalItems" in keywords:
        changed["items"] = changed.pop("additionalItems")
    return _with_null(changed) if "nullable" in keywords else changed


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a `nullable` schema as one that takes null."""
    rest = {key: value for key, value in schema.items() if key != "nullable"}
    kinds = rest.get("type")
    if not isinstance(kinds, (str, list)) or "const" in rest:
        outside = {key: rest.pop(key) for key in _OUTSIDE if key in rest}
        return {**outside, "anyOf": [rest, {"type": "null"}]}
    rest["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    if isinstance(rest.get("enum"), list):
        rest["enum"] = [*rest["enum"], None]
    return rest
