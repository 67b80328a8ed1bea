"""Tools of OpenAI's APIs, in the format of the chat API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from ..explain import describe, show
from ..record.encoding import without_surrogates
from ..suite.tool_names import name_in_suite
from ..text import canonical
from .records import UnusableError
from .tool_dialects import SCHEMAS, schema_in, tool_values

_FIELDS = (
    "name description parameters strict defer_loading allowed_callers input_examples output_schema"
).split()
_OF_CUSTOM = "name description format defer_loading allowed_callers".split()
_OF_RECORDS = ("messages", "role", "choices", "request", "response", "input", "output")
_HOSTED = re.compile(
    r"(web_search|file_search|code_interpreter|computer|image_generation|mcp|shell|local_shell"
    r"|apply_patch|tool_search|programmatic_tool_calling)(_use)?(_preview)?(_[0-9_]+)?"
)
# Anthropic's own tools have a date in their types.
HOSTED_BY_ANTHROPIC = re.compile(r"[a-z_]+_20\d{6}")

_T = TypeVar("_T")
ToolFields = dict[str, Any]


class OfferedTools(NamedTuple):
    """The tools that a request offers: those of a suite, the provider's own, and their namespaces."""

    tools: list[ToolFields]
    hosted: Sequence[ToolFields] = ()
    namespaces: Sequence[tuple[str, str]] = ()


def as_type(value: Any, type: type[_T], what: str) -> _T:
    """The value as this type. UnusableError if it does not fit."""
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        message, _, path = str(error).replace("`", "").partition(" - at $")
        raise UnusableError(f"{what}{path}: {message[:1].lower()}{message[1:]}") from None
    except UnicodeEncodeError:  # msgspec does not take half of a surrogate pair
        return as_type(without_surrogates(value), type, what)


def looks_like_a_tool(value: Any) -> bool:
    """Whether a record of a file defines a tool, which may be unusable."""
    if not isinstance(value, dict) or any(key in value for key in _OF_RECORDS):
        return False
    if isinstance(value.get("function"), dict) or value.get("type") == "function":
        return True
    schema = any(key in value for key in ("parameters", *SCHEMAS))
    return isinstance(value.get("name"), str) and schema


def is_hosted(value: Any) -> bool:
    """Whether its type is that of a tool that OpenAI or Anthropic runs itself."""
    kind = value.get("type") if isinstance(value, dict) else None
    hosts = (_HOSTED, HOSTED_BY_ANTHROPIC)
    return isinstance(kind, str) and any(each.fullmatch(kind) for each in hosts)


def tool_definition(value: Any) -> dict[str, Any]:
    """A tool in the format of the chat API, whatever the API it was written for.

    Fields that a suite does not have are dropped. UnusableError if only its provider can run it.
    """
    if not isinstance(value, dict):
        raise UnusableError(f"expected a tool, got {describe(value)}")
    function = value.get("function", value)
    kind = value.get("type", "function")
    if kind == "custom" and "input_schema" not in value:  # which is Anthropic's
        return _custom(value.get("custom", value))
    if kind != "function" and not looks_like_a_tool(value):
        raise UnusableError(f"a tool of the type {show(kind)}, which only its provider can run")
    if len(value) == 1 and isinstance(next(iter(value.values())), dict) and function is value:
        raise UnusableError(f"the tool {show(next(iter(value)))}, which only its provider can run")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise UnusableError(f'expected a function with a "name", got {describe(function)}')
    definition = {key: function[key] for key in _FIELDS if function.get(key) is not None}
    if (schema := schema_in(function)) is not None:
        definition["parameters"] = schema
    return {"type": "function", "function": definition}


def _custom(custom: Any) -> ToolFields:
    """A custom tool, whose grammar is flat in the Responses API."""
    if not isinstance(custom, dict) or not isinstance(custom.get("name"), str):
        raise UnusableError(f'expected a custom tool with a "name", got {describe(custom)}')
    definition = {key: custom[key] for key in _OF_CUSTOM if custom.get(key) is not None}
    form = definition.get("format")
    if isinstance(form, dict) and form.get("type") == "grammar" and "grammar" not in form:
        grammar = {key: value for key, value in form.items() if key != "type"}
        definition["format"] = {"type": "grammar", "grammar": grammar}
    return {"type": "custom", "custom": definition}


def tool_definitions(values: Any) -> list[ToolFields]:
    """A list of tools without duplicates. UnusableError if one is unusable or two share a name."""
    return _distinct(map(tool_definition, tool_values(values)))


def offered_tools(values: Any) -> OfferedTools:
    """The tools of a request. UnusableError if one of them is of no known type."""
    tools: list[ToolFields] = []
    hosted: list[ToolFields] = []
    namespaces: dict[str, str] = {}
    for value in tool_values(values):
        name = value.get("name") if isinstance(value, dict) else None
        if isinstance(name, str) and value.get("type") == "namespace":
            namespaces[name] = str(value.get("description") or "")
            inner = tool_values(value.get("tools"))
            tools += ({**tool_definition(each), "namespace": name} for each in inner)
        elif is_hosted(value):
            hosted.append(_without_secrets(value))
        else:
            tools.append(tool_definition(value))
    return OfferedTools(_distinct(tools), tuple(hosted), tuple(namespaces.items()))


def _distinct(tools: Iterable[ToolFields]) -> list[ToolFields]:
    by_name: dict[str, ToolFields] = {}
    for tool in tools:
        first = by_name.setdefault(name_in_suite(tool), tool)
        if canonical(first) != canonical(tool):
            raise UnusableError(f"two different tools named {show(name_in_suite(tool))}")
    return list(by_name.values())


def _without_secrets(tool: ToolFields) -> ToolFields:
    """A provider's tool with names of variables in place of its secrets."""
    definition = {name: value for name, value in tool.items() if value is not None}
    label = re.sub(r"\W", "_", str(tool.get("server_label", tool["type"]))).upper()
    if "authorization" in definition:
        definition["authorization"] = f"{label}_TOKEN"
    if isinstance(definition.get("headers"), dict):
        definition["headers"] = {
            name: re.sub(r"\W", "_", f"{label}_{name}").upper() for name in definition["headers"]
        }
    return definition
