"""Reads calls of models from spans, in each convention that libraries use.

- OpenTelemetry's semantic conventions for GenAI, 0.1.0 (1.37 to 1.41 of the general ones):
  `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.system_instructions`,
  `gen_ai.tool.definitions`, and spans of the operation `execute_tool`
- OpenInference: `llm.input_messages.N.message.role`, ...
- Vercel's AI SDK: `ai.prompt.messages`, `ai.response.toolCalls`, ...
- OpenLLMetry's former ones: `gen_ai.prompt.N.role`, `gen_ai.completion.N.content`, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ..engine.protocols.blocks import read_call_block, read_result_block
from ..engine.protocols.builder import ChatBuilder
from ..explain import show
from ..record.status import StatusWord, error_or_unknown, status_word
from ..record.transcript import Message, text_of
from ..record.untrusted import as_list, as_mapping
from ..record.untrusted import as_text as text_in
from ..text import canonical
from .chats import chat_messages
from .formats.vercel import chat_messages_of
from .records import UnusableError, decode_text, objects_of
from .spans import TraceSpan, first_of

_ASKING = ("chat", "text_completion", "generate_content", None)
_ROLES = {"model": "assistant", "ai": "assistant", "human": "user"}
_KINDS = ("openinference.span.kind", "traceloop.span.kind")
_VERCELS_CALLS = ("ai.response.toolCalls", "ai.result.toolCalls")
_TOOL_NAMES = ("gen_ai.tool.name", "ai.toolCall.name")
_TOOLS = "gen_ai.tool.definitions"
_ENDINGS = ("refusal", "finish_reason", "stop_reason")
_DEFERRED = "pydantic_ai.tool.deferral.name"  # why the tool did not run in its span
_MEDIA = frozenset(
    "blob file uri binary image audio video image-url audio-url video-url document-url".split()
)
_DEEPEST = 12  # parts of an attribute's name


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The messages given to a model and its answer, as chat messages; `tools` are None if unknown.

    `choice` is how to choose among them.
    """

    prompt: list[Message]
    said: list[Message]
    tools: Sequence[Any] | None
    choice: Any = None


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a tool did in a span. `call` is the id of the call, None if the span does not name it.

    `arguments` are empty and `answer` is None if unknown.
    """

    start: int
    call: str | None
    name: str
    arguments: str
    answer: str | None
    status: StatusWord | None


def tool_run_of(span: TraceSpan) -> ToolRun | None:
    """What a tool did in a span, if one ran there."""
    if not is_tool(span):
        return None
    attributes = span.attributes
    # OpenInference writes LangChain's message, unless the tool raised.
    message = as_mapping(as_mapping(decode_text(attributes.get("output.value"))).get("data"))
    call = first_of(attributes, "gen_ai.tool.call.id", "ai.toolCall.id") or message.get("tool_call_id")
    answer = first_of(attributes, "gen_ai.tool.call.result", "tool_response", "ai.toolCall.result")
    status = status_word(message, text_of(message))
    if _DEFERRED in attributes:
        status = "waiting" if attributes[_DEFERRED] == "ApprovalRequired" else None
    elif span.error is not None or "error.type" in attributes:
        status = error_or_unknown(f"{span.error} {attributes.get('error.type')}")
    return ToolRun(
        span.start,
        None if call is None else str(call),
        tool_name_of(span),
        arguments_text(
            first_of(attributes, "gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value")
        ),
        None if answer is None else as_sent(answer),
        status,
    )


def arguments_text(value: Any) -> str:
    """Arguments of a call as the same text wherever they stand; empty unless they are an object."""
    arguments = decode_text(value)
    return canonical(arguments) if isinstance(arguments, dict) else ""


def tool_name_of(span: TraceSpan) -> str:
    """The name of the tool that ran in this span."""
    return str(first_of(span.attributes, *_TOOL_NAMES, "tool.name"))


def is_tool(span: TraceSpan) -> bool:
    """Whether a tool ran in this span."""
    attributes = span.attributes
    return any(name in attributes for name in _TOOL_NAMES) or _kind(attributes) == "tool"


def _kind(attributes: Mapping[str, Any]) -> str:
    """The kind of a span in OpenInference or OpenLLMetry, where chains also have messages."""
    return str(first_of(attributes, *_KINDS) or "llm").lower()


def model_call(span: TraceSpan) -> ModelCall | None:
    """The call of a model in a span, if it is one and has messages. UnusableError if they are broken."""
    attributes = span.attributes
    if attributes.get("gen_ai.operation.name") not in _ASKING or _kind(attributes) != "llm":
        return None
    for read in (_conventions, _openinference, _openllmetry, _vercel):
        parts = read(attributes)
        if parts is not None:
            ended = _ended(attributes)
            replies = [{**each, **_filled(ended)} for each in objects_of(parts[1], "the answer")]
            call = ModelCall(_chat(parts[0]), _chat(replies)[:1], parts[2])
            return call if call.prompt or call.said else None
    return None


def _ended(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """How an answer ended, from attributes other than its message."""
    body = decode_text(attributes.get("output.value"))  # OpenInference: the provider's whole answer
    choice = _first(as_mapping(body).get("choices"))
    message = _first(body) or as_mapping(choice.get("message"))
    reasons = as_list(decode_text(attributes.get("gen_ai.response.finish_reasons")))
    reason = reasons[0] if reasons else attributes.get("llm.finish_reason")
    return {"refusal": message.get("refusal"), "stop_reason": reason or choice.get("finish_reason")}


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}


def _first(value: Any) -> Mapping[str, Any]:
    return as_mapping(next(iter(as_list(value)), None))


_Parts = tuple[list[Any], list[Any], "list[Any] | None"]


def _conventions(attributes: Mapping[str, Any]) -> _Parts | None:
    if "gen_ai.input.messages" not in attributes:
        return None
    instructions = _list(attributes, "gen_ai.system_instructions")
    system = [{"role": "system", "parts": instructions}] if instructions else []
    return (
        [*system, *_list(attributes, "gen_ai.input.messages")],
        _list(attributes, "gen_ai.output.messages"),
        _list(attributes, _TOOLS) if _TOOLS in attributes else None,
    )


def _openinference(attributes: Mapping[str, Any]) -> _Parts | None:
    prompt = [_unwrapped(each) for each in _nested(attributes, "llm.input_messages")]
    replies = [_unwrapped(each) for each in _nested(attributes, "llm.output_messages")]
    tools = [
        decode_text(_inner(tool, "tool").get("json_schema")) for tool in _nested(attributes, "llm.tools")
    ]
    return (prompt, replies, tools or None) if prompt or replies else None


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    message = dict(_inner(value, "message"))
    if "tool_calls" in message:
        message["tool_calls"] = [
            _inner(call, "tool_call") for call in objects_of(message.get("tool_calls"), "tool_calls")
        ]
    if "contents" in message:
        parts = objects_of(message.get("contents"), "contents")
        message["content"] = [_inner(each, "message_content") for each in parts]
    return message


def _inner(value: Any, name: str) -> Mapping[str, Any]:
    return as_mapping(as_mapping(value).get(name))


def _openllmetry(attributes: Mapping[str, Any]) -> _Parts | None:
    prompt, replies = _nested(attributes, "gen_ai.prompt"), _nested(attributes, "gen_ai.completion")
    tools = _nested(attributes, "llm.request.functions")
    for tool in tools:
        tool["parameters"] = decode_text(tool.get("parameters"))
    messages = ([_flat(each) for each in prompt], [_flat(each) for each in replies])
    return (*messages, tools or None) if prompt else None


def _vercel(attributes: Mapping[str, Any]) -> _Parts | None:
    """The spans `ai.*` of the AI SDK; those around them repeat the last answer."""
    if "ai.prompt.messages" not in attributes:
        return None
    name = next((name for name in _VERCELS_CALLS if name in attributes), "")
    parts = [{"type": "tool-call", **each} for each in objects_of(_list(attributes, name), name)]
    text = first_of(attributes, "ai.response.text", "ai.result.text")
    said = [{"type": "text", "text": text}, *parts] if text else parts
    reply = [{"role": "assistant", "content": said}] if said else []
    ending = {"stop_reason": as_sent(attributes.get("ai.response.finishReason") or "").replace("-", "_")}
    tools = attributes.get("ai.prompt.tools")
    return (
        [*chat_messages_of(_list(attributes, "ai.prompt.messages"))],
        [{**each, **ending} for each in chat_messages_of(reply)],
        tools if isinstance(tools, list) else None,
    )


def _flat(message: dict[str, Any]) -> dict[str, Any]:
    """The message with a function around the name and the arguments of each call."""
    calls = [
        {"id": call.get("id"), "function": call}
        for call in objects_of(message.get("tool_calls"), "tool_calls")
    ]
    return {"role": "assistant", **message, "tool_calls": calls or None}


def _chat(messages: Iterable[Any]) -> list[Message]:
    return chat_messages([each for message in messages for each in in_chat(message)])


def in_chat(message: Any) -> Iterator[dict[str, Any]]:
    """A message in the format of the chat API, which has a message for each answer of a tool."""
    if not isinstance(message, dict):
        raise UnusableError(f"expected messages that are objects, got {show(message)}")
    role = _ROLES.get(str(message.get("role")), message.get("role"))
    parts = message.get("parts")
    if not isinstance(parts, list):
        names = ("content", "tool_calls", "tool_call_id", "status", "is_error", *_ENDINGS)
        yield {"role": role, **{key: message[key] for key in names if message.get(key) is not None}}
        return
    refusal = message.get("refusal")
    texts: list[str] = []
    calls: list[dict[str, Any]] = []
    chat = ChatBuilder()
    for part in map(as_mapping, parts):
        kind = part.get("type")
        if kind == "tool_call":
            function = {"name": part.get("name"), "arguments": part.get("arguments")}
            calls.append({"id": part.get("id"), "function": function})
        elif kind == "tool_call_response":
            answer = as_sent(part.get("response", part.get("result")))
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": answer}
        elif kind == "refusal":
            refusal = refusal or part.get("refusal") or part.get("content")
        elif kind == "text":
            texts.append(as_sent(part.get("content")))
        elif kind == "server_tool_call":
            read_call_block(chat, {"type": "server_tool_use", **part, "input": _given_to_server(part)})
        elif kind == "server_tool_call_response":
            data = as_mapping(part.get(kind))
            tool = text_in(data.get("type")).removesuffix("_tool_result").removesuffix("_result")
            result = {"content": data.get("response", data), **data}
            read_result_block(chat, result, tool, part.get("id"))
        elif kind in _MEDIA:
            texts.append(f"[{kind}]")
        elif kind not in ("reasoning", "thinking", "compaction"):
            chat.keep(part)
    empty: dict[str, Any] = {}
    first, *answers = chat.messages or [empty]
    calls += first.get("tool_calls", ())
    if texts or calls or role == "assistant":
        content = None if calls and not texts else "\n".join(texts)
        ended = {**{key: message.get(key) for key in _ENDINGS}, "refusal": refusal}
        yield {**first, **ended, "role": role, "content": content, "tool_calls": calls or None}
    yield from answers


def _given_to_server(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call that the provider answers itself."""
    call = as_mapping(part.get("server_tool_call"))
    inputs = first_of(call, "input", "arguments", "action")
    return inputs if isinstance(inputs, Mapping) else {k: v for k, v in call.items() if k != "type"}


def as_sent(value: Any) -> str:
    """A tool's answer as the model got it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _list(attributes: Mapping[str, Any], name: str) -> list[Any]:
    value = attributes.get(name)
    values = decode_text(value)
    if value and not isinstance(values, list):
        raise UnusableError(
            f"{name}: expected a list as JSON, got {show(value)}; was it cut off by "
            "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT?"
        )
    return values or []


def _nested(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The list in attributes such as PREFIX.0.message.role, in order."""
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        path = key.removeprefix(f"{prefix}.").split(".")
        if not key.startswith(f"{prefix}.") or len(path) > _DEEPEST:
            continue
        inner = tree
        for part in path[:-1]:
            child = inner.setdefault(part, {})
            inner = child if isinstance(child, dict) else {}
        inner[path[-1]] = value
    lists = _as_lists(tree)
    return objects_of(lists, prefix) if isinstance(lists, list) else []


def _as_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_as_lists(value[key]) for key in sorted(value, key=lambda key: (len(key), key))]
    return {key: _as_lists(each) for key, each in value.items()}
