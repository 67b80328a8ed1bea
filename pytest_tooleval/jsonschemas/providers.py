"""The parts of a tool that some providers reject or hide from the model.

Hidden parts are removed before sending: by our client for Anthropic, which rejects them, and by litellm
(1.106.2) for Bedrock and Vertex AI, whose rules apply to all Gemini models called through litellm.
Descriptions, defaults and formats are ignored, as scoring does not use them either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from ..explain import listing, show
from ..findings import Loc
from ..record.untrusted import as_list, as_mapping
from .subschemas import COMBINED, subschemas

Rules = Literal["OpenAI", "Anthropic", "Gemini", "Vertex AI", "Bedrock"]


class Trouble(NamedTuple):
    """A part of a tool that some providers reject (`refused`) or hide from the model (`hidden`).

    `at` is its path in the tool's function; `safe` says what is accepted instead.
    """

    at: Loc
    what: str
    safe: str = ""
    refused: tuple[Rules, ...] = ()
    hidden: tuple[Rules, ...] = ()

    def without(self, rules: Rules) -> Trouble | None:
        """The trouble with all providers but this one; None if there is none."""
        refused = tuple(each for each in self.refused if each != rules)
        hidden = tuple(each for each in self.hidden if each != rules)
        return self._replace(refused=refused, hidden=hidden) if refused or hidden else None

    def __str__(self) -> str:
        parts = []
        if self.refused:
            verb = "refuses" if len(self.refused) == 1 else "refuse"
            parts.append(f"{_all(self.refused)} {verb} {self.what}")
        if self.hidden:
            parts.append(f"{_all(self.hidden)} models do not see {'it' if parts else self.what}")
        return "; ".join(parts) + (f"; {self.safe}" if self.safe else "")


def _all(providers: tuple[Rules, ...]) -> str:
    *first, last = providers
    return f"{', '.join(first)} and {last}" if first else last


def troubles(function: Mapping[str, Any]) -> Iterator[Trouble]:
    """Yield what is wrong with a tool's function, in the order of its fields."""
    yield from _name(function["name"])
    parameters = function.get("parameters")
    if not isinstance(parameters, dict):
        return
    if "type" not in parameters:
        what = 'parameters without "type"'
        yield Trouble(("parameters",), what, 'write "type": "object"', ("OpenAI",))
    yield from _top(parameters)
    yield from _inside(parameters, ("parameters",), bool(function.get("strict")))


def _name(name: str) -> Iterator[Trouble]:
    refused: list[Rules] = []
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        refused.append("OpenAI")
    if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", name):
        refused.append("Gemini")
    if len(name) > 64:
        refused.append("Bedrock")
    if refused:
        safe = "all accept up to 64 letters, digits, _ and -, beginning with a letter or _"
        yield Trouble(("name",), f"the name {show(name)}", safe, tuple(refused))


def _top(parameters: Mapping[str, Any]) -> Iterator[Trouble]:
    for key in (*COMBINED, "enum", "not"):
        if key in parameters:
            hidden: tuple[Rules, ...] = ("Anthropic", "Bedrock") if key in COMBINED else ()
            if key != "anyOf":
                hidden = (*hidden, "Vertex AI")
            what = f"{show(key)} at the top of the parameters"
            yield Trouble(("parameters", key), what, "", ("OpenAI",), hidden)
    for name in as_mapping(parameters.get("properties")):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            safe = "it accepts up to 64 letters, digits, _, . and -"
            at = ("parameters", "properties", name)
            yield Trouble(at, f"the parameter {show(name)}", safe, ("Anthropic",))


_HIDDEN = frozenset(
    "const oneOf allOf not prefixItems exclusiveMinimum exclusiveMaximum multipleOf uniqueItems "
    "patternProperties propertyNames contains if dependentRequired dependentSchemas".split()
)
_HIDDEN_INSIDE = _HIDDEN | {"additionalProperties", "then", "else"}  # schemas in these are also hidden
_SAYS_TYPE = _HIDDEN | {"type", "enum", "$ref", "anyOf", "properties", "required", "items"}
_BESIDE_ANY_OF = frozenset("properties required items enum pattern minimum maximum".split())


def _inside(schema: Any, at: Loc, strict: bool, hidden: bool = False) -> Iterator[Trouble]:
    """Yield what is wrong with a schema and its subschemas; `hidden` means hidden on Vertex AI."""
    if isinstance(schema, bool):
        if not hidden:
            yield Trouble(at, f"{show(schema)} in place of a schema", "write {}", ("Vertex AI",))
        return
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "array" and "items" not in schema:
        yield Trouble(at, 'an array without "items"', "", ("OpenAI",))
    if strict and kind == "object":
        yield from _strict(schema, at)
    if not hidden:
        yield from _hidden(schema, at)
    for inside, inner in subschemas(schema):
        if inside == ("additionalProperties",) and isinstance(inner, bool):
            continue
        yield from _inside(inner, (*at, *inside), strict, hidden or inside[0] in _HIDDEN_INSIDE)


def _hidden(schema: Mapping[str, Any], at: Loc) -> Iterator[Trouble]:
    """Yield the parts of a schema hidden from models on Vertex AI, except those `_top` reports."""
    top = len(at) == 1
    for key in schema:
        if key in _HIDDEN and not (top and key in ("oneOf", "allOf", "not")):
            yield Trouble((*at, key), show(key), "", (), ("Vertex AI",))
    if "enum" in schema and schema.get("type") != "string" and not top:
        what = '"enum" without "type": "string"'
        yield Trouble((*at, "enum"), what, "", (), ("Vertex AI",))
    if not top and not _SAYS_TYPE.intersection(schema):
        yield Trouble(at, "that any type will do", "", (), ("Vertex AI",))
    if isinstance(schema.get("additionalProperties"), dict):
        yield Trouble(
            (*at, "additionalProperties"), show("additionalProperties"), "", (), ("Vertex AI",)
        )
    beside = [key for key in schema if key in _BESIDE_ANY_OF]
    if "anyOf" in schema and beside:
        what = f'{listing(beside)} next to "anyOf"'
        # Only the alternatives are sent, and Google rejects any that require the schema's properties.
        refused: tuple[Rules, ...] = ("Vertex AI",) if _require_others(schema["anyOf"]) else ()
        yield Trouble((*at, beside[0]), what, "", refused, () if refused else ("Vertex AI",))


def _require_others(alternatives: Any) -> bool:
    """True if an alternative requires properties that it does not have itself."""
    objects = [one for one in alternatives if isinstance(one, dict)]
    return any({*one.get("required", ())} - {*one.get("properties", ())} for one in objects)


def _strict(schema: Mapping[str, Any], at: Loc) -> Iterator[Trouble]:
    """Yield where an object breaks the rules of OpenAI's `strict`."""
    if schema.get("additionalProperties") is not False:
        what = 'an object without "additionalProperties": false under "strict": true'
        yield Trouble(at, what, "", ("OpenAI",))
    required = {*as_list(schema.get("required"))}
    missing = [name for name in as_mapping(schema.get("properties")) if name not in required]
    if missing:
        what = f'parameters that are not required ({listing(missing)}) under "strict": true'
        yield Trouble((*at, "properties"), what, "", ("OpenAI",))
