"""Tools of OpenAI's APIs, in the format of the chat API."""

from __future__ import annotations

import json
import re
from typing import Any
from typing import TypeVar

import msgspec

from ..explain import describe
from ..explain import show

_FIELDS = ("name", "description", "parameters", "strict")
_OF_RECORDS = ("messages", "role", "choices", "request", "response", "input", "output")
_HOSTED = re.compile(
    r"(web_search|file_search|code_interpreter|computer|image_generation|mcp|shell|local_shell"
    r"|apply_patch|tool_search)(_use)?(_preview)?(_[0-9_]+)?"
)
_FORMATS = {"input_schema": "Anthropic's", "inputSchema": "MCP's"}

_T = TypeVar("_T")


class UnusableError(Exception):
    """Something that cannot be imported; says why."""


def typed(value: Any, type: type[_T], what: str) -> _T:
    """The value as this type. UnusableError if it does not fit."""
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        raise UnusableError(f"{what}{place}: {message[:1].lower()}{message[1:]}") from None


def looks_like_a_tool(value: Any) -> bool:
    """Whether a record of a file defines a tool, which may be unusable."""
    if not isinstance(value, dict) or any(key in value for key in _OF_RECORDS):
        return False
    if isinstance(value.get("function"), dict) or value.get("type") == "function":
        return True
    schema = any(key in value for key in ("parameters", *_FORMATS))
    return isinstance(value.get("name"), str) and schema


def is_hosted(value: Any) -> bool:
    """Whether its type is that of a tool that OpenAI runs itself."""
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and _HOSTED.fullmatch(kind) is not None


def tool_definition(value: Any) -> dict[str, Any]:
    """A tool of the chat API, of the Responses API (flat), or a bare function, in the chat format.

    Fields that the chat API does not have are dropped. UnusableError if it is not a function.
    """
    if not isinstance(value, dict):
        raise UnusableError(f"expected a tool, got {describe(value)}")
    function = value.get("function", value)
    kind = value.get("type", "function")
    if kind != "function":
        raise UnusableError(f"a tool of the type {show(kind)}, which only its provider can run")
    for key, origin in _FORMATS.items():
        if key in value and "parameters" not in value:
            raise UnusableError(f"a tool in {origin} format; write its {key} as parameters")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise UnusableError(f'expected a function with a "name", got {describe(function)}')
    made = {key: function[key] for key in _FIELDS if function.get(key) is not None}
    return {"type": "function", "function": made}


def tool_definitions(values: Any) -> list[dict[str, Any]]:
    """A list of tools without duplicates. UnusableError if one is unusable or two share a name."""
    if not isinstance(values, list):
        raise UnusableError(f'"tools": expected a list of tools, got {describe(values)}')
    tools: dict[str, dict[str, Any]] = {}
    for value in values:
        tool = tool_definition(value)
        first = tools.setdefault(tool["function"]["name"], tool)
        if canonical(first) != canonical(tool):
            raise UnusableError(f"two different tools named {show(tool['function']['name'])}")
    return list(tools.values())


def canonical(value: Any) -> str:
    """A text that is the same for equal JSON values, whatever the order of keys."""
    return json.dumps(value, sort_keys=True)
