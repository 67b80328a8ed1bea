"""Cases with changed tools: in another order, or without descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ..record.names import meaning
from ..suite.case import ResolvedCase
from ..suite.model import Suite
from ..suite.tools import AllowedTools, Choice, Tool
from .variant import VariantContext

# Keywords of JSON Schema that contain schemas by name, and those that contain data.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples", "required", "dependentRequired")


def shuffle(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
    """Return the case with its tools in another order."""
    if len(case.tools) < 2:
        return None
    names = [tool.name for tool in case.tools]
    condition.random(case).shuffle(names)
    if names == [tool.name for tool in case.tools]:
        names.append(names.pop(0))
    return with_tools(case, lambda tools: sorted(tools, key=lambda tool: names.index(tool.name)))


def bare(case: ResolvedCase, _: VariantContext) -> ResolvedCase | None:
    """Return the case without descriptions of tools, namespaces and parameters."""
    bared = with_tools(case, lambda tools: [_edited(tool, _undescribed) for tool in tools])
    return structs.replace(bared, namespaces=dict.fromkeys(case.namespaces, ""))


def with_tools(
    case: ResolvedCase,
    change: Callable[[Sequence[Tool]], Sequence[Tool]],
    namespaces: Mapping[str, str] | None = None,
) -> ResolvedCase:
    """Return the case with changed tools, including those of each turn.

    `namespaces` describes the namespaces of added tools. A `tool_choice` of allowed tools also allows
    added ones and drops removed ones. One that forces a single tool stays, so that no added tool can be
    called.
    """
    tools = tuple(change(case.tools))
    return structs.replace(
        case,
        tools=tools,
        turns=tuple(structs.replace(turn, tools=tuple(change(turn.tools))) for turn in case.turns),
        tool_choice=_choice_among(case.tool_choice, case.tools, tools),
        namespaces={**(namespaces or {}), **case.namespaces},
    )


def _choice_among(choice: Choice, before: Sequence[Tool], now: Sequence[Tool]) -> Choice:
    if not isinstance(choice, AllowedTools):
        return choice
    old, new = [tool.name for tool in before], [tool.name for tool in now]
    removed = set(old) - set(new)
    allowed = [name for name in choice.allowed_tools if meaning(name, old) not in removed]
    allowed += [name for name in new if name not in old]
    return choice.model_copy(update={"allowed_tools": allowed})


def _edited(tool: Tool, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Tool:
    # Not a copy, which would keep cached properties.
    return Tool.model_validate({**tool.wire, tool.type: edit(tool.definition_wire)})


def _undescribed(function: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in function.items() if name != "description"}
    if isinstance(kept.get("parameters"), dict):
        kept["parameters"] = _without_descriptions(kept["parameters"])
    return kept


def _without_descriptions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_descriptions(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {}
    for key, value in schema.items():
        if key in ("description", "title") and isinstance(value, str):
            continue
        if key in _NAMED and isinstance(value, dict):
            plain[key] = {name: _without_descriptions(each) for name, each in value.items()}
        else:
            plain[key] = value if key in _DATA else _without_descriptions(value)
    return plain


def all_tools(suite: Suite) -> dict[str, Tool]:
    """Return the tools of a suite and its cases, by name."""
    case_tools = (tool for case in suite.test_cases for tool in case.tools or ())
    return {tool.name: tool for tool in (*suite.tools, *case_tools)}


def expected_tools(case: ResolvedCase) -> list[str]:
    """Return the expected tools' names as spelled in the case; empty if it expects no call."""
    tools = (tool for part in case.expectations for call in part.calls or () for tool in call.tools)
    return list(dict.fromkeys(tools))
