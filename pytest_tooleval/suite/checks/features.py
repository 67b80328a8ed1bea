"""Errors in tool features: conflicts that providers document, and providers' own tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...explain import describe, show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.subschemas import recursion
from ...jsonschemas.well_formed import json_schema_findings
from ..case import TestCase
from ..expectations import ANY_TOOL
from ..model import Suite
from ..tools import AllowedTools, OneTool, ProviderTools, Tool
from .scope import ScopeTools

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS = (
    'expected {"type": "text"}, or {"type": "grammar", "grammar": {"syntax": "lark" or "regex", '
    '"definition": "..."}}'
)


def feature_errors(holder: Suite | TestCase, suite: Suite, at: Loc) -> Findings:
    """Fields of tools that no provider can take."""
    for index, tool in enumerate(holder.tools or ()):
        if tool.name:
            yield from _tool_errors(tool, suite, (*at, "tools", index))


def feature_warnings(tools: Sequence[Tool], at: Loc) -> Findings:
    """Combinations of features that a provider refuses, whose models get the plainer form."""
    searched = any(tool.definition.defer_loading for tool in tools)
    for index, tool in enumerate(tools):
        inner, inside = tool.definition, (*at, "tools", index, tool.type)
        if searched and inner.input_examples:
            message = "Anthropic refuses examples beside deferred tools; its models get no examples"
            yield Finding((*inside, "input_examples"), message, at_key=True)
        if "programmatic" in (inner.allowed_callers or ()):
            if inner.strict:
                message = "programs cannot call a strict tool; models call it directly"
                yield Finding((*inside, "strict"), message, at_key=True)
            if loop := recursion(tool.parameters):
                message = (
                    "programs cannot call a tool whose schema refers to itself; models call it directly"
                )
                yield Finding((*inside, "parameters", *loop), message)


def _tool_errors(tool: Tool, suite: Suite, at: Loc) -> Findings:
    inside = (*at, tool.type)
    if tool.namespace is not None and tool.namespace not in suite.namespaces:
        entry = f'"namespaces": {{{show(tool.namespace)}: "..."}}'
        message = f"the namespace {show(tool.namespace)} has no description; add {entry} to the suite"
        yield Finding((*at, "namespace"), message)
    if tool.function is not None and tool.function.output_schema is not None:
        yield from json_schema_findings(tool.function.output_schema, (*inside, "output_schema"))
    if tool.custom is not None and tool.custom.format is not None and not _is_form(tool.custom.format):
        yield Finding((*inside, "format"), f"{_FORMS}, got {describe(tool.custom.format)}")


def _is_form(form: Mapping[str, Any]) -> bool:
    if form.keys() == {"type"}:
        return bool(form["type"] == "text")
    grammar = form.get("grammar")
    if form.get("type") != "grammar" or form.keys() != {"type", "grammar"}:
        return False
    if not isinstance(grammar, dict) or grammar.keys() != {"syntax", "definition"}:
        return False
    return grammar["syntax"] in ("lark", "regex") and isinstance(grammar["definition"], str)


def undefined_choice_errors(holder: Suite | TestCase, at: Loc, offered: ScopeTools) -> Findings:
    """Undefined tools in a `tool_choice`."""
    choice = holder.tool_choice
    if isinstance(choice, OneTool):
        if choice.tool == ANY_TOOL or offered.lacks(choice.tool):
            yield Finding((*at, "tool_choice", "tool"), offered.complaint(choice.tool))
    elif isinstance(choice, AllowedTools):
        yield from offered.find_undefined(choice.allowed_tools, (*at, "tool_choice", "allowed_tools"))


def provider_errors(suite: Suite) -> Findings:
    """Provider tools without a type, and secrets written into the suite."""
    for provider in ProviderTools.model_fields:
        for index, tool in enumerate(getattr(suite.provider_tools, provider)):
            at = ("provider_tools", provider, index)
            if not isinstance(tool.get("type"), str):
                yield Finding(at, 'missing "type"; expected a tool such as {"type": "tool_search"}')
            # Anthropic rejects a list in which all tools are deferred. Every list with deferred tools
            # contains the search, so it suffices that the search is not deferred: the documented cause
            # is to defer "ALL tools including the search tool".
            elif tool["type"].startswith("tool_search_tool") and tool.get("defer_loading"):
                message = "Anthropic refuses a search that is itself deferred; remove defer_loading"
                yield Finding((*at, "defer_loading"), message)
            yield from _of_other_types(tool, at)
            yield from _secret(tool.get("authorization"), (*at, "authorization"))
            headers = tool.get("headers")
            if headers is not None and not isinstance(headers, dict):
                yield Finding((*at, "headers"), f"expected an object, got {describe(headers)}")
                continue
            for name, value in (headers or {}).items():
                yield from _secret(value, (*at, "headers", name))


def _of_other_types(tool: Mapping[str, Any], at: Loc) -> Findings:
    """Values of the wrong type in fields that tool permissions depend on."""
    for field in ("server_label", "name"):
        if not isinstance(tool.get(field, ""), str):
            yield Finding((*at, field), f"expected a text, got {describe(tool[field])}")
    container = tool.get("container") or {}
    if not isinstance(container, (str, dict)):
        message = f'expected an object such as {{"type": "auto"}}, or an id, got {describe(container)}'
        yield Finding((*at, "container"), message)
    elif isinstance(container, dict) and not isinstance(container.get("network_policy") or {}, dict):
        got = describe(container["network_policy"])
        message = f'expected an object such as {{"type": "disabled"}}, got {got}'
        yield Finding((*at, "container", "network_policy"), message)


def _secret(value: Any, at: Loc) -> Findings:
    if value is not None and not (isinstance(value, str) and _VARIABLE.fullmatch(value)):
        got = "another text" if isinstance(value, str) else describe(value)
        yield Finding(at, f"expected the name of an environment variable, such as MY_TOKEN, got {got}")
