"""Cases with changed tools: in another order, renamed, or without descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ..record.names import meant, qualified
from ..suite.case import ResolvedCase, Turn
from ..suite.expectations import AnyOfCalls, ExpectedCall
from ..suite.model import Suite
from ..suite.name_patterns import is_pattern, with_fitting
from ..suite.policies import FROM, Policy, replaced
from ..suite.tools import AllowedTools, Choice, OneTool, Tool
from .variant import Condition

# Keywords of JSON Schema that contain schemas by name, and those that contain data.
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("enum", "const", "default", "examples", "required", "dependentRequired")


def shuffle(case: ResolvedCase, condition: Condition) -> ResolvedCase | None:
    """Return the case with its tools in another order."""
    if len(case.tools) < 2:
        return None
    names = [tool.name for tool in case.tools]
    condition.random(case).shuffle(names)
    if names == [tool.name for tool in case.tools]:
        names.append(names.pop(0))
    return with_tools(case, lambda tools: sorted(tools, key=lambda tool: names.index(tool.name)))


def bare(case: ResolvedCase, _: Condition) -> ResolvedCase | None:
    """Return the case without descriptions of tools, namespaces and parameters."""
    bared = with_tools(case, lambda tools: [_edited(tool, _undescribed) for tool in tools])
    return structs.replace(bared, namespaces=dict.fromkeys(case.namespaces, ""))


def rename(case: ResolvedCase, _: Condition) -> ResolvedCase | None:
    """Return the case with meaningless tool names.

    It does not apply to the tools of a world or a server, whose names are fixed there and may be
    mentioned in prompts.
    """
    if not case.tools or case.world is not None or case.live_tools:
        return None
    numbered = {tool.name: f"tool_{number}" for number, tool in enumerate(case.tools, 1)}
    names = {tool.name: qualified(numbered[tool.name], tool.namespace) for tool in case.tools}

    def renamed(tool: Tool) -> Tool:
        return _edited(tool, lambda function: {**function, "name": numbered[tool.name]})

    changed = with_tools(case, lambda tools: list(map(renamed, tools)))
    turns = tuple(structs.replace(each, turn=_with_names(each.turn, names)) for each in changed.turns)
    return structs.replace(
        changed,
        expected=_with_names(case.expected, names),
        valid_prerequisites=tuple(_name(each, names) for each in case.valid_prerequisites),
        mock_responses={_name(each, names): mock for each, mock in case.mock_responses.items()},
        approvals={_name(each, names): answer for each, answer in case.approvals.items()},
        turns=turns,
        tool_choice=_choice(case.tool_choice, names),
        forbidden_calls=tuple(_forbidden(case.forbidden_calls, names)),
        policies=tuple(_policy(each, names) for each in case.policies),
    )


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
    allowed = [name for name in choice.allowed_tools if meant(name, old) not in removed]
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
    found = {}
    for key, value in schema.items():
        if key in ("description", "title") and isinstance(value, str):
            continue
        if key in _NAMED and isinstance(value, dict):
            found[key] = {name: _without_descriptions(each) for name, each in value.items()}
        else:
            found[key] = value if key in _DATA else _without_descriptions(value)
    return found


def _with_names(part: Any, names: Mapping[str, str]) -> Any:
    """Return the expectations of a case or a turn with the new tool names."""
    update: dict[str, Any] = {}
    if part.expected_tool is not None:
        update["expected_tool"] = _names(part.expected_tool, names)
    if isinstance(part.expected_calls, AnyOfCalls):
        lists = [[_call(each, names) for each in calls] for calls in part.expected_calls.lists]
        update["expected_calls"] = part.expected_calls.model_copy(update={"lists": lists})
    elif part.expected_calls is not None:
        update["expected_calls"] = [_call(each, names) for each in part.expected_calls]
    if isinstance(part.forbidden_calls, list):
        update["forbidden_calls"] = _forbidden(part.forbidden_calls, names)
    if isinstance(part, Turn):
        update["new_tools"] = [_name(each, names) for each in part.new_tools]
    return part.model_copy(update=update)


def _policy(policy: Policy, names: Mapping[str, str]) -> Policy:
    """Return a policy with the new tool names, even in the other calls that it names."""
    others = {
        field: other.model_copy(update={"tool": _names(other.tool, names)})
        for field, other in policy.others
    }
    params = replaced(
        policy.expected_params,
        FROM,
        lambda operand: {FROM: {**operand, "tool": _names(operand["tool"], names)}},
    )
    update = {"tool": _names(policy.tool, names), **others, "expected_params": params}
    return policy.model_copy(update=update)


def _choice(choice: Choice, names: Mapping[str, str]) -> Choice:
    if isinstance(choice, OneTool):
        return choice.model_copy(update={"tool": _name(choice.tool, names)})
    if isinstance(choice, AllowedTools):
        allowed = [_name(each, names) for each in choice.allowed_tools]
        return choice.model_copy(update={"allowed_tools": allowed})
    return choice


def _call(call: str | ExpectedCall, names: Mapping[str, str]) -> Any:
    if isinstance(call, str):
        return _name(call, names)
    return call.model_copy(update={"tool": _names(call.tool, names)})


def _forbidden(calls: Iterable[str | ExpectedCall], names: Mapping[str, str]) -> list[Any]:
    found: list[str | ExpectedCall] = []
    for call in calls:
        found += with_fitting([call], names) if isinstance(call, str) else [call]
    return [_call(call, names) for call in found]


def _names(tools: Any, names: Mapping[str, str]) -> Any:
    if isinstance(tools, list):
        return [None if each is None else _name(each, names) for each in tools]
    if isinstance(tools, str) and is_pattern(tools):
        return [_name(each, names) for each in with_fitting([tools], names)]
    return None if tools is None else _name(tools, names)


def _name(tool: str, names: Mapping[str, str]) -> str:
    return names.get(meant(tool, list(names)) or "", tool)


def all_tools(suite: Suite) -> dict[str, Tool]:
    """Return the tools of a suite and its cases, by name."""
    own = (tool for case in suite.test_cases for tool in case.tools or ())
    return {tool.name: tool for tool in (*suite.tools, *own)}


def expected_tools(case: ResolvedCase) -> list[str]:
    """Return the expected tools' names as spelled in the case; empty if it expects no call."""
    found = (tool for part in case.parts for call in part.calls or () for tool in call.tools)
    return list(dict.fromkeys(found))
