"""Calls in fields and items that are not known here: never "nothing happened".

Whatever it is called, a value holds a call if somewhere inside it, even behind one level of JSON text,
an object names something and gives it arguments. The words within a field's name decide nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..record.calls import ToolCall, native_calls
from ..record.names import NO_TOOLS, KnownTools
from ..record.unread import Unread
from ..record.untrusted import as_mapping, as_text, objects_in
from ..text import json_text

# The field of a message with items of unknown types.
UNREAD = "unread"

# The keys of a call's name and of its arguments. Spans, prompts and settings also have vague ones,
# which count only with the name of an offered tool.
_NAMES = {
    "clear": (
        "tool toolName tool_name function_name functionName recipient_name recipientName tool_id toolId"
    ).split(),
    "vague": (
        "name function action action_name actionName method command api_name call called_tool"
    ).split(),
}
_ARGUMENTS = {
    "clear": (
        "arguments args argument tool_input toolInput tool_args toolArgs tool_arguments toolArguments "
        "tool_params toolParams tool_parameters toolParameters function_args functionArgs "
        "function_arguments functionArguments action_input actionInput arguments_json argumentsJson "
        "input_json inputJson raw_arguments rawArguments"
    ).split(),
    "vague": ("input inputs params parameters kwargs payload rawInput raw_input action_args").split(),
}
# The keys of lists of calls, under which the bare name of an offered tool counts.
_CALLS = frozenset(
    (
        "trajectory",
        *"tool_calls toolCalls tool_call toolCall tool_uses toolUses tool_use toolUse function_calls "
        "functionCalls function_call functionCall calls tool_invocations toolInvocations "
        "tool_invocation toolInvocation invocations actions steps intermediate_steps intermediateSteps "
        "tools_used toolsUsed tools_called toolsCalled used_tools usedTools called_tools calledTools "
        "executed_tools executedTools tool_requests toolRequests".split(),
    )
)
# The keys of a tool's schema, by which an object is its definition, and no call.
_SCHEMAS = (
    "parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema",
    "args_schema",
)  # fmt: skip
# The fields of a reply, and of other messages, that other modules read.
_READ = frozenset(
    "role content tool_call_id refusal logprobs tool_searches programs unread tool_calls "
    "function_call".split()
)
_READ_OF_OTHERS = _READ - {"tool_calls", "function_call"}
# Texts of the model, which are read or are thoughts: fields, and those of an object of these types.
_THOUGHTS = ("reasoning", "reasoning_content", "thinking")
_TEXTS = ("text", "thinking", "refusal", "summary")
_TEXT_TYPES = frozenset(
    "text input_text output_text summary_text reasoning_text refusal thinking reasoning "
    "reasoning.text reasoning.summary".split()
)
_PART = "tool-"  # before a name, in the type of a part of the AI SDK
_UNPLACED = "piece of a stream that fits nowhere"
_ORPHAN = "tool result without its call"


class _LikelyCall(NamedTuple):
    """What may be a call.

    It has one of the `names`; if it `is_vague`, then only an offered tool's. `arguments` is None if they
    are not an object, or if there are none.
    """

    names: Sequence[str]
    arguments: Mapping[str, Any] | None
    is_vague: bool


def unplaced_item(piece: object) -> dict[str, Any]:
    """A piece of a stream that fits nowhere, as an item of a type that is not known."""
    return {"type": _UNPLACED, "piece": piece}


def orphan(id: object, content: object) -> dict[str, Any]:
    """A tool's answer whose call is unknown, as an item of a type that is not known."""
    return {"type": _ORPHAN, "tool_call_id": id, "content": content}


def type_of_item(item: Mapping[str, Any]) -> str:
    """The type of an item, or the first field of a Gemini part, which has no type."""
    return str(item.get("type") or next(iter(item), ""))


def may_be_call(item: Mapping[str, Any]) -> bool:
    """True if an item of an unknown type may hold a call, whatever the tools."""
    return item.get("type") in (_UNPLACED, _ORPHAN) or next(_calls_in(item), None) is not None


def unread_fields(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a chat message that are not known, and that may hold a call."""
    return [field for field in _fields(message) if may_be_call(field)]


def unknown_calls(
    fields: Mapping[str, Any], conversation: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the fields around a conversation that may hold a call which is not in it."""
    items = [{name: value} for name, value in fields.items()]
    if not (items := [item for item in items if may_be_call(item)]):
        return []
    calls = [call for each in conversation for call in calls_of(each)]
    return [
        item for item in items if not all(_is_known(call, NO_TOOLS, calls) for call in _calls_in(item))
    ]


def unread_in(
    message: Mapping[str, Any],
    offered: KnownTools = NO_TOOLS,
    conversation: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Unread]:
    """Yield the parts of a message that are not known here, and that hold a call.

    What repeats a call of the message or of its `conversation` holds none.
    """
    items = chain(_fields(message), objects_in(message.get(UNREAD)))
    candidates = [item for item in items if may_be_call(item)]
    if not candidates:
        return
    calls = [call for each in (message, *conversation) for call in calls_of(each)]
    for item in candidates:
        if item.get("type") in (_UNPLACED, _ORPHAN) or _holds_call(item, offered, calls):
            why = "an item of a kind that is not known here, and that may be a call"
            yield Unread.at(type_of_item(item), json_text(item, 400), why, "other")


def calls_of(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the calls in the fields of a reply that the chat API has for them, each once."""
    if message.get("role", "assistant") != "assistant":
        return []
    return [ToolCall.coerce(call) for call in objects_in(native_calls(message))]


def is_call_like(item: Mapping[str, Any], offered: KnownTools) -> bool:
    """True if an item of an unknown type holds a call, given the offered tools."""
    return item.get("type") in (_UNPLACED, _ORPHAN) or _holds_call(item, offered, ())


def _holds_call(item: Mapping[str, Any], offered: KnownTools, calls: Sequence[ToolCall]) -> bool:
    return any(
        (not call.is_vague or any(map(offered.has, call.names))) and not _is_known(call, offered, calls)
        for call in _calls_in(item)
    )


def _is_known(call: _LikelyCall, offered: KnownTools, calls: Sequence[ToolCall]) -> bool:
    names = {offered.canonical_name(name) for name in call.names}
    same = (one for one in calls if offered.canonical_name(one.name) in names)
    return any(call.arguments is None or one.arguments == call.arguments for one in same)


def _fields(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the fields of a message that are read nowhere else, and the parts of its content."""
    role = message.get("role")
    read = _READ if role == "assistant" or role is None else _READ_OF_OTHERS
    rest = {
        name: value
        for name, value in message.items()
        if name not in read and not (name in _THOUGHTS and isinstance(value, str))
    }
    yield from ({name: value} for name, value in rest.items())
    if "name" in rest:  # of what speaks, unless it gives arguments
        keys = (key for keys in _ARGUMENTS.values() for key in keys if key != "payload")
        yield {"name": rest["name"], **{key: rest[key] for key in keys if key in rest}}
    if role != "tool":  # whose content is data
        content = message.get("content")
        for part in objects_in([content] if isinstance(content, dict) else content):
            yield dict(part)


def _calls_in(value: object) -> Iterator[_LikelyCall]:
    """Yield what may be calls in a value, at any depth."""
    # Each with whether a key of calls is around it, and whether it was decoded from a text.
    inside: list[tuple[object, bool, bool]] = [(value, False, False)]
    while inside:
        part, in_calls, decoded = inside.pop()
        if isinstance(part, str):
            if in_calls and part:
                yield _LikelyCall((part,), None, is_vague=True)
            if not decoded and (document := _json_in(part)) is not None:
                inside.append((document, in_calls, True))
        elif isinstance(part, list):
            inside += [(inner, in_calls, decoded) for inner in part]
        elif isinstance(part, Mapping):
            if _is_definition(part):
                continue
            yield from _called(part, in_calls)
            is_text = as_text(part.get("type", "text")) in _TEXT_TYPES
            for key, inner in part.items():
                if is_text and key in _TEXTS and isinstance(inner, str):
                    continue
                below = key in _CALLS or (in_calls and isinstance(inner, (dict, list)))
                inside.append((inner, below, decoded))


def _called(value: Mapping[str, Any], in_calls: bool) -> Iterator[_LikelyCall]:
    """Yield the call that an object may be."""
    clear, vague = (
        [name for key in _NAMES[strength] if (name := _name_in(value.get(key)))]
        for strength in ("clear", "vague")
    )
    named = (*clear, *vague)
    kind = as_text(value.get("type"))
    by_type = (kind.removeprefix(_PART),) if kind and (kind.startswith(_PART) or not named) else ()
    likely = _arguments(value, is_clear=bool(clear))
    if likely is not None and (named or by_type):
        yield _LikelyCall((*named, *by_type), likely.arguments, likely.is_vague or not named)
    elif in_calls and named:
        yield _LikelyCall(named, None, is_vague=True)


def _name_in(value: object) -> str:
    """A name, or that of an object in its place."""
    return as_text(value) or as_text(as_mapping(value).get("name"))


class _Arguments(NamedTuple):
    """Arguments, and whether they are only those of an offered tool."""

    arguments: Mapping[str, Any] | None
    is_vague: bool


def _arguments(value: Mapping[str, Any], *, is_clear: bool) -> _Arguments | None:
    """The arguments in an object under a clear name; None if there are none."""
    choices: list[_Arguments] = []
    for strength, keys in _ARGUMENTS.items():
        for key in keys:
            if key not in value or isinstance(value[key], (bool, int, float)):
                continue
            member = value[key]
            if member is None and strength != "clear":
                continue
            item = member if isinstance(member, Mapping) else _json_in(member)
            if item == {} and key == "parameters":
                continue  # also how a tool without parameters is defined
            if isinstance(item, Mapping):
                choices.append(_Arguments(item, not is_clear and strength != "clear"))
            else:
                choices.append(_Arguments(None, not (is_clear and strength == "clear")))
    return min(choices, key=lambda one: (one.is_vague, one.arguments is None), default=None)


def _is_definition(value: Mapping[str, Any]) -> bool:
    """True if an object defines a tool: it has a JSON Schema, and no arguments."""
    schemas = [key for key in _SCHEMAS if _is_schema(value.get(key))]
    described = [value.get("args"), value.get("arguments")] if "description" in value else []
    others = {key: each for key, each in value.items() if key not in schemas}
    return any(map(_is_properties, described)) or (
        bool(schemas) and _arguments(others, is_clear=True) is None
    )


def _is_schema(value: object) -> bool:
    schema = as_mapping(value)
    held = as_mapping(schema.get("json")) or schema  # Bedrock's
    kind = as_text(held.get("type")).lower()
    words = ("$schema", "$ref", "anyOf", "oneOf", "allOf")
    return (
        kind == "object" or isinstance(held.get("properties"), Mapping) or any(w in held for w in words)
    )


def _is_properties(value: object) -> bool:
    properties = as_mapping(value)
    return bool(properties) and all("type" in as_mapping(each) for each in properties.values())


def _json_in(text: object) -> object:
    """The object or list in a JSON text; None if it is none."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
