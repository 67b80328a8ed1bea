"""Recorded answers of OpenAI-compatible APIs, in the forms in which people store them.

A record has a request and its answer (chat completions or the Responses API, as proxies and tracing
tools write them), or a conversation (as for fine-tuning) in which every message of the assistant is an
answer. Only messages, tools, tool_choice and calls are read; everything else, such as headers and keys,
is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec import field

from ..explain import describe
from ..explain import show
from ..record.calls import MAX_DEPTH
from ..record.calls import ToolCall
from ..record.calls import is_nested_deeper
from ..record.transcript import status_of
from ..record.untrusted import as_mapping
from .conversation import Conversation
from .openai_tools import UnusableError
from .openai_tools import tool_definitions
from .openai_tools import typed

Message = dict[str, Any]
Call = tuple[str, dict[str, Any]]  # the name of the tool, and the arguments

# The places of requests and answers in records of litellm, langfuse, VCR, OpenAI's batches and evals.
_REQUEST_KEYS = (
    "request", "request_body", "requestBody", "proxy_server_request", "body", "parsed_body", "json",
    "input", "inputs", "kwargs", "params", "model_parameters", "modelParameters", "optional_params",
    "invocation_params",
)  # fmt: skip
_ANSWER_KEYS = ("response", "response_body", "responseBody", "completion", "output", "outputs")
# `string` is the body of an answer in a cassette of VCR.
_WRAPPERS = ("body", "parsed_body", "json", "response", "output", "message", "string")
_MAX_DEPTH = 4
_CUT_OFF = ("length", "content_filter", "max_tokens", "incomplete")
_CHUNKS = ("chat.completion.chunk", "text_completion.chunk")
_STREAMED = "the answer is a stream of chunks; record the whole answer"
_NO_ANSWER = "no answer is recorded"


class _Function(Struct):
    name: str
    arguments: Any = ""


class _Call(Struct):
    function: _Function
    id: str | None = None


class _Item(Struct):
    """A chat message, or an item of the Responses API."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] | None = None
    content: str | list[str | dict[str, Any]] | dict[str, Any] | None = None
    name: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    weight: float = 1
    type: str | None = None
    call_id: str | None = None
    arguments: Any = ""
    output: str | list[str | dict[str, Any]] | dict[str, Any] | None = None
    refusal: Any = None
    finish_reason: Any = None
    stop_reason: Any = None
    status: Any = None
    outcome: Any = None
    is_error: Any = None
    is_error_of_mcp: Any = field(default=None, name="isError")

    @property
    def calls(self) -> list[_Call]:
        return self.tool_calls or []


class _Choice(Struct):
    """One of the answers of a chat completion."""

    message: dict[str, Any] | None = None
    delta: Any = None
    finish_reason: str | None = None


class _ToolChoice(Struct):
    """A choice of named tools."""

    name: str | None = None
    function: _ToolChoice | None = None
    tools: list[_ToolChoice] | None = None
    allowed_tools: _ToolChoice | None = None
    mode: str | None = None

    def names(self) -> Iterator[str]:
        if self.name is not None:
            yield self.name
        for inner in (self.function, self.allowed_tools, *(self.tools or ())):
            if inner is not None:
                yield from inner.names()


@dataclass(frozen=True)
class Answer:
    """A request and the calls in its answer.

    `messages` are chat messages. `tools` are in the chat API's format, None if they were not recorded.
    `tool_choice` is None if the request has none that a suite can express.
    """

    messages: list[Message]
    tools: list[dict[str, Any]] | None
    tool_choice: str | None
    calls: list[Call]


def recorded_answers(record: Any) -> tuple[list[Answer], list[str]]:
    """The answers in a record, and why others in it are unusable. UnusableError if all are."""
    if not isinstance(record, dict):
        raise UnusableError(f"expected an object with messages and an answer, got {describe(record)}")
    if _is_chunk(record):
        raise UnusableError(_STREAMED)
    parts = list(_request_parts(record))
    messages = _messages(parts)
    tools, choice = _tools(parts)
    found = _replies(record)
    pairs = list(_turns(messages)) if found is None else [(messages, calls) for calls in found]
    return _answers(pairs, tools, choice)


def answers_in(conversation: Conversation) -> tuple[list[Answer], list[str]]:
    """All answers of a conversation, as `recorded_answers`."""
    tools = None if conversation.tools is None else tool_definitions(list(conversation.tools))
    messages = _chat(list(conversation.messages), "messages")
    return _answers(list(_turns(messages)), tools, "auto" if tools else None)


def _answers(
    pairs: Sequence[tuple[Sequence[_Item], list[_Call]]],
    tools: list[dict[str, Any]] | None,
    choice: str | None,
) -> tuple[list[Answer], list[str]]:
    if not pairs:
        raise UnusableError(_NO_ANSWER)
    answers: list[Answer] = []
    reasons: list[str] = []
    for before, calls in pairs:
        try:
            made = [_call(call) for call in calls]
        except UnusableError as error:
            reasons.append(str(error))
            continue
        if any(message.role == "user" for message in before):
            answers.append(Answer([_message(message) for message in before], tools, choice, made))
        else:
            reasons.append("no message from the user before the answer")
    return answers, reasons


def chat_messages(values: list[Any]) -> list[Message]:
    """Chat messages, or items of the Responses API, with only the fields of the chat API.

    Replies also keep their refusal and finish reason, answers of tools what became of the call.
    UnusableError if they cannot be read.
    """
    items = _chat(_without_mcp(values), "messages")
    return [_ending(item) | _status(item) | _message(item) for item in items]


def _without_mcp(values: list[Any]) -> list[Any]:
    """Items of the Responses API, with calls of functions in place of those that OpenAI made itself.

    The answer to a request for an approval is that of the call, once there is one.
    """
    found: list[Any] = []
    asked: dict[str, dict[str, Any]] = {}
    for value in values:
        item = as_mapping(value)
        kind, about = item.get("type"), asked.get(str(item.get("approval_request_id")))
        if kind == "mcp_approval_response" and about is not None:
            status = "refused" if item.get("approve") is False else None
            about |= {"output": item.get("reason") or "", "status": status}
        elif kind in ("mcp_approval_request", "mcp_call"):
            answer = about
            if answer is None:
                call = {"call_id": item.get("id"), "type": "function_call"}
                answer = {**call, "type": "function_call_output", "output": ""}
                found += [{**item, **call}, answer]
            if kind == "mcp_approval_request":
                asked[str(item.get("id"))] = answer
                answer["status"] = "waiting"
            else:
                error = item.get("error")
                answer["output"] = error or item.get("output")
                answer["status"] = "failed" if error else item.get("status")
        elif kind not in ("mcp_approval_response", "mcp_list_tools"):
            found.append(value)
    return found


def _status(item: _Item) -> Message:
    """What became of a call, if a field of its answer says it."""
    fields = {"status": item.status, "outcome": item.outcome, "is_error": item.is_error}
    status = status_of({**fields, "isError": item.is_error_of_mcp})
    return {"status": status} if status and item.role in ("tool", "function") else {}


def _ending(item: _Item) -> Message:
    """The refusal and the finish reason of a reply. Refusals are removed from its content."""
    if item.role != "assistant":
        return {}
    refusal, stopped = item.refusal, item.stop_reason
    if isinstance(item.content, list):
        parts = [part for part in item.content if isinstance(part, dict)]
        refusals = [part for part in parts if part.get("type") == "refusal"]
        refusal = refusal or next((part.get("refusal") for part in refusals), None)
        item.content = [part for part in item.content if part not in refusals] or None
    if item.status == "incomplete":  # of the Responses API
        stopped = item.status
    ending = {"refusal": refusal, "finish_reason": item.finish_reason, "stop_reason": stopped}
    return {key: value for key, value in ending.items() if value and isinstance(value, str)}


def decoded(value: Any) -> Any:
    """The value, decoded if it is the JSON of an object or list as a string."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            found = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return value
        return value if is_nested_deeper(found, MAX_DEPTH) else found
    return value


def _request_parts(record: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The record and the objects in it that may have fields of the request, the outermost first."""
    yield record
    if depth < _MAX_DEPTH:
        for key in _REQUEST_KEYS:
            inner = decoded(record.get(key))
            if isinstance(inner, dict):
                yield from _request_parts(inner, depth + 1)


def _field(parts: Sequence[Mapping[str, Any]], *names: str) -> Any:
    """The first value of one of these fields that is not empty."""
    found = (decoded(part.get(name)) for name in names for part in parts)
    return next(filter(None, found), None)


def _messages(parts: Sequence[Mapping[str, Any]]) -> list[_Item]:
    given = _field(parts, "messages")
    if given is None:
        inputs = (decoded(part.get("input")) for part in parts)
        given = next((value for value in inputs if value and isinstance(value, (str, list))), None)
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise UnusableError('no messages: expected "messages", a list of chat messages')
    if _field(parts, "previous_response_id", "conversation"):
        raise UnusableError("the earlier messages are stored by the provider, not in the record")
    instructions = _field(parts, "instructions")
    system = [_Item("system", instructions)] if isinstance(instructions, str) else []
    return system + _chat(given, "messages")


def _chat(values: list[Any], what: str) -> list[_Item]:
    """Chat messages, or the items of the Responses API, as chat messages."""
    messages: list[_Item] = []
    for item in typed(values, list[_Item], what):
        if item.type == "function_call":
            if not messages or messages[-1].role != "assistant":
                messages.append(_Item("assistant"))
            call = _Call(_Function(item.name or "", item.arguments), item.call_id)
            messages[-1].tool_calls = [*messages[-1].calls, call]
        elif item.type == "function_call_output":
            answer = _Item("tool", item.output, tool_call_id=item.call_id, status=item.status)
            messages.append(answer)
        elif item.role is not None:
            if item.function_call and not item.tool_calls:  # the old form
                item.tool_calls = [_Call(item.function_call)]
            messages.append(item)
        elif item.type != "reasoning":  # the chat API does not accept it
            raise UnusableError(
                f"expected a chat message, got an item of the type {show(item.type)} without a role"
            )
    last = "call_0"
    for number, message in enumerate(messages):
        for call in message.calls:
            last = call.id = call.id or f"call_{number}"
        # A message with the old role `function` answers the last call.
        message.tool_call_id = message.tool_call_id or last
    return messages


def _message(item: _Item) -> Message:
    """The fields of a message that the chat API accepts."""
    message: Message = {"role": item.role, "content": item.content}
    if isinstance(item.content, list):
        parts = [_part(part) for part in item.content]
        is_text = len(parts) == 1 and parts[0]["type"] == "text"
        message["content"] = parts[0]["text"] if is_text else parts
    elif isinstance(item.content, dict):
        message["content"] = json.dumps(item.content, ensure_ascii=False)
    if item.role in ("tool", "function"):
        message |= {"role": "tool", "tool_call_id": item.tool_call_id}
    elif item.name is not None:
        message["name"] = item.name
    if item.calls:
        message["tool_calls"] = [_sent(call) for call in item.calls]
    elif item.role == "assistant" and item.content is None:
        message["content"] = ""
    return message


_CHAT_PARTS = ("image_url", "input_audio", "video_url", "file")
_TEXT_PARTS = ("text", "input_text", "output_text")


def _part(part: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type")
    if kind in _TEXT_PARTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and ("file_data" in part or "file_id" in part):
        file = {key: part[key] for key in ("file_data", "file_id", "filename") if part.get(key)}
        return {"type": "file", "file": file}
    if kind in _CHAT_PARTS and isinstance(part.get(kind), dict):
        return {"type": kind, kind: part[kind]}
    raise UnusableError(f"a content part of the type {show(kind)}, which the chat API does not have")


def _sent(call: _Call) -> dict[str, Any]:
    """A call in a message of the prompt."""
    given = call.function.arguments
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.function.name, "arguments": text},
    }


def _tools(parts: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The tools and the tool_choice of a request."""
    given = _field(parts, "tools", "functions")
    recorded = any("tools" in part or "functions" in part for part in parts)
    tools = tool_definitions(given) if given is not None else ([] if recorded else None)
    choice = _field(parts, "tool_choice", "function_call")
    if choice is None and tools:
        return tools, "auto"  # the default of the API
    if isinstance(choice, str):
        choice = "required" if choice == "any" else choice
        return tools, choice if choice in ("auto", "required", "none") else None
    if not tools or not isinstance(choice, dict):
        return tools, None
    # Offer only the tools that the choice names.
    named = typed(choice, _ToolChoice, "tool_choice")
    names = set(named.names())
    if not names:
        return tools, None
    mode = named.mode or (named.allowed_tools and named.allowed_tools.mode)
    tools = [tool for tool in tools if tool["function"]["name"] in names]
    return tools, "auto" if mode == "auto" else "required"


def _turns(messages: Sequence[_Item]) -> Iterator[tuple[Sequence[_Item], list[_Call]]]:
    """The calls of each message of the assistant in a conversation, with the messages before it.

    Messages with the weight 0 are left out (OpenAI's format for fine-tuning).
    """
    for index, message in enumerate(messages):
        if message.role == "assistant" and message.weight != 0:
            yield messages[:index], message.calls


def _replies(record: Mapping[str, Any]) -> list[list[_Call]] | None:
    """The calls of each answer in a record; None if the record is a conversation."""
    if "choices" in record or record.get("object") == "response":
        return _replies_in(record)
    values = [record[key] for key in _ANSWER_KEYS if key in record]
    if not values:
        inner = decoded(record.get("body"))  # langfuse's events
        return _replies(inner) if isinstance(inner, dict) else None
    return next(filter(None, (_replies_in(decoded(value)) for value in values)), [])


def _replies_in(value: Any, depth: int = 0) -> list[list[_Call]]:
    """The calls of each answer in the value of an answer field; empty if there is none."""
    if isinstance(value, str):
        if value.startswith(("data:", "event:")):
            raise UnusableError(_STREAMED)
        return [[]] if value.strip() else []
    if isinstance(value, list):
        return _output(value)
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("choices"), list):
        return [_chosen(choice) for choice in typed(value["choices"], list[_Choice], "choices")]
    if value.get("role") == "assistant":
        return _output([value])
    if value.get("error"):
        raise UnusableError("the answer is an error from the provider")
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        status = value.get("status", "completed")
        if status not in ("completed", "complete"):
            raise UnusableError(f"the answer is not complete: its status is {show(status)}")
        return _output(value["output"])
    if depth == _MAX_DEPTH:
        return []
    inner = (_replies_in(decoded(value.get(key)), depth + 1) for key in _WRAPPERS)
    return next(filter(None, inner), [])


def _chosen(choice: _Choice) -> list[_Call]:
    if choice.message is None:
        raise UnusableError(_STREAMED if choice.delta is not None else _NO_ANSWER)
    if choice.finish_reason in _CUT_OFF:
        reason = show(choice.finish_reason)
        raise UnusableError(f"the answer is not complete: its finish_reason is {reason}")
    return next(iter(_output([choice.message])), [])


def _is_chunk(value: Mapping[str, Any]) -> bool:
    """Whether it is a chunk of a streamed answer, of either API."""
    choices = value.get("choices")
    return (
        value.get("object") in _CHUNKS
        or str(value.get("type")).startswith("response.")
        or (isinstance(choices, list) and any(isinstance(c, dict) and "delta" in c for c in choices))
    )


def _output(items: list[Any]) -> list[list[_Call]]:
    """The calls of the last answer in the items of a Responses output, or in a list of messages."""
    if any(isinstance(item, dict) and ("delta" in item or _is_chunk(item)) for item in items):
        raise UnusableError(_STREAMED)
    messages = _chat(items, "output")
    spoken = [message for message in messages if message.role == "assistant"]
    if not spoken:
        return []
    answer = spoken if len(spoken) == len(messages) else spoken[-1:]
    return [[call for message in answer for call in message.calls]]


def _call(call: _Call) -> Call:
    name, given = call.function.name, call.function.arguments
    read = ToolCall.parse(name, _once(given))
    if read.arguments is None:
        raise UnusableError(f"a call of {show(name)}: {read.why_malformed}: {show(given)}")
    return name, read.arguments


def _once(arguments: Any) -> Any:
    """The arguments, which some tools encode twice, or leave empty."""
    try:
        text = msgspec.json.decode(arguments, type=str)
    except (TypeError, ValueError):
        text = arguments
    return {} if isinstance(text, str) and not text.strip() else text
