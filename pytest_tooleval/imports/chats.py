"""Recorded answers of OpenAI-compatible APIs, in the forms in which people store them.

A record has a request and its answer (chat completions or the Responses API, as proxies and tracing
tools write them), or a conversation (as for fine-tuning) in which every message of the assistant is an
answer. Only messages, tools, tool_choice and calls are read; everything else, such as headers and keys,
is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from ..engine.protocols.builder import EXTENSIONS
from ..engine.protocols.reading import read_messages
from ..errors import Location, ModelError, Problem
from ..explain import describe, show
from ..record.calls import ToolCall, own_calls
from ..record.names import KnownTools
from ..record.status import APPROVED, status_word
from ..record.transcript import AGENT, INNER, Message, Usage, text_of
from ..record.untrusted import as_mapping, as_text, objects_in, values_in
from ..replies.call_like import UNREAD, is_call_like, may_be_call, type_of_item, unknown_calls
from ..replies.messages import transcript_of
from ..replies.outside_transcript import NO_NAME, OutsideTranscript, unread_text
from ..replies.recovery import read_calls
from ..suite.expectations import ANY_TOOL
from ..suite.tool_names import definition_of
from ..text import canonical
from .bodies import (
    ANSWER_KEYS,
    MAX_WRAPPERS,
    REQUEST_KEYS,
    WRAPPERS,
    answer_parts,
    body_of,
    choices_in,
    has_failed,
    is_chunk,
    request_parts,
)
from .error_texts import OPENAI_AGENTS, status_by
from .format import EachRecord, ReadSources
from .items import Exercise, Item, ToolUse, call_message
from .openai_tools import OfferedTools, as_type, offered_tools
from .records import Record, UnusableError, decode_text, looks_like, objects_of
from .tool_dialects import tool_values

_TOOLS = ("tools", "functions")
_SYSTEM = ("instructions",)
# Where other APIs have it. In logs of OpenAI's, `system` may mean anything.
OTHER_SYSTEM = ("system", "systemInstruction", "system_instruction")
_CUT_OFF = ("length", "content_filter", "max_tokens", "incomplete")
_CHUNK = "a chunk of a stream, without its request"
_NO_ANSWER = "no answer is recorded"
_ERROR = "the answer is an error from the provider"
_MALFORMED = "(arguments that could not be parsed)"  # of a call with Inspect's `parse_error`
# How Python shows the answers of libraries, which is no text of a model.
_REPR = re.compile(
    r"(?:response:\s*)?(?:GenerateContentResponse|\w*ChatCompletion|ModelResponse|AIMessage)\("
    r"|(?:Message|Response)\(id='(?:msg|resp)_"
)


class _Function(Struct):
    name: str
    arguments: Any = ""


class _Custom(Struct):
    """A call of a custom tool, whose only argument is a text."""

    name: str
    input: str = ""


class _ChatCall(Struct):
    id: str | None = None
    function: _Function | None = None
    custom: _Custom | None = None
    caller: dict[str, Any] | None = None
    namespace: str | None = None
    hosted: Any = None


class _Item(Struct):
    """A chat message, with the fields that `engine.protocols` adds."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] | None = None
    content: str | list[str | dict[str, Any]] | dict[str, Any] | None = None
    name: str | None = None
    tool_calls: list[_ChatCall] | None = None
    function_call: _Function | None = None
    tool_call_id: str | None = None
    weight: float = 1
    refusal: Any = None
    finish_reason: Any = None
    stop_reason: Any = None
    status: Any = None
    outcome: Any = None
    approved: Any = None
    is_error: Any = None
    is_error_of_mcp: Any = msgspec.field(default=None, name="isError")
    tool_searches: list[dict[str, Any]] = msgspec.field(default_factory=list)
    programs: list[dict[str, Any]] = msgspec.field(default_factory=list)
    unread: list[dict[str, Any]] = msgspec.field(default_factory=list)
    agent: Any = None
    inner: Any = None

    @property
    def calls(self) -> list[_ChatCall]:
        return self.tool_calls or []


_Count = Annotated[int, Meta(ge=0)]
_Amount = Annotated[float, Meta(ge=0)]


class _Usage(Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class _About(Struct):
    """What the record of a conversation says of it."""

    case: str | int | None = None
    id: str | int | None = None
    usage: _Usage | None = None
    cost_usd: _Amount | None = None
    latency_s: _Amount | None = None
    finish_reason: str | None = None


# The fields of records, answers and choices that are read, or have what a person expects.
_READ = frozenset((
    *REQUEST_KEYS, *ANSWER_KEYS, *WRAPPERS, *_TOOLS, *OTHER_SYSTEM, "messages", "conversation",
    "contents", "prompt", "chosen", "values", "choices", "candidates", "content",
    "delta", "logprobs", "tool_choice", "toolChoice", "toolConfig", "function_call", "expected",
    "expected_tool", "expected_tools", "expected_tool_calls", "expected_calls", "expected_output",
    "expected_outputs", "reference", "references", "reference_output", "reference_outputs",
    "reference_trajectory", "reference_tool_calls", "ground_truth", "target", "ideal", "rejected",
))  # fmt: skip

_Said = list[Message]  # the messages of an answer


@dataclass(frozen=True)
class RecordedAnswer:
    """A request and the calls in its answer.

    `messages` are chat messages. `offered` is None if no tools were recorded. `tool_choice` is None if
    the request has none that a suite can express. `unread` has the types of items in the answer that are
    not known here. `draft` has the fields of a draft in place of what a case expects, which a person
    has to write. `said` has the messages of the answer itself. `is_expectation` if a person wrote what
    to call: then arguments may be None, which any will do, calls may have an order, and `more` has
    further fields of the case. `made_tools` are those that were made of the calls. `at` is its place, a
    problem without a message.
    """

    messages: list[Message]
    offered: OfferedTools | None
    tool_choice: str | None
    calls: list[ToolUse]
    unread: Sequence[str] = ()
    draft: Mapping[str, Any] | None = None
    said: Sequence[Message] = field(default=(), compare=False)
    is_expectation: bool = False
    is_ordered: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    made_tools: Sequence[Any] = field(default=(), compare=False)
    at: Location = field(default=Location("", 0, 0, ""), compare=False)

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The tools as a suite has them; None if they were not recorded."""
        return None if self.offered is None else self.offered.tools


def usable(at: Location, make: Callable[[], RecordedAnswer]) -> RecordedAnswer | Problem:
    """The answer that is made of what is at this place, or the problem with it."""
    try:
        answer = make()
        if not answer.calls and (not answer.tools or answer.tool_choice == "none"):
            unread = unread_text(answer.unread)
            raise UnusableError(f"{_nothing_to_test(answer)}{unread and f'; it has {unread}'}")
    except UnusableError as error:
        return at.problem(str(error))
    return replace(answer, at=at)


def _nothing_to_test(answer: RecordedAnswer) -> str:
    """Why an answer without calls says nothing about a model."""
    if answer.tools:
        return "the request forbids calls, so there is nothing to test"
    if answer.offered is None:
        return "no tools are recorded and the answer calls none, so there is nothing to test"
    if answer.offered.hosted:
        return "the request offers only tools that the provider runs itself, so there is nothing to test"
    return "the request offers no tools, so there is nothing to test"


def conversations(
    record: Record, value: Any, system: Sequence[str] = _SYSTEM, source: Any = None
) -> list[OutsideTranscript]:
    """The conversations in a value made of a record: one for each of several answers.

    `system` are the fields of a system prompt beside the messages. The value may be converted from a
    `source` with more fields. UnusableError if there is no conversation, or if it cannot be read.
    """
    if not isinstance(value, dict):
        raise UnusableError(f"expected an object with messages and an answer, got {describe(value)}")
    if is_chunk(value):
        raise UnusableError(_CHUNK)
    parts = list(request_parts(value))
    messages = _messages(parts, system)
    # An answer of the Responses API repeats the tools of its request.
    repeating = [part for part in answer_parts(value) if part.get("object") == "response"]
    tools = _field([*parts, *repeating], *_TOOLS)
    is_known = any(key in part for part in parts for key in _TOOLS)
    base = OutsideTranscript(
        record.location,
        messages,
        model=next(filter(None, (as_text(part.get("model")) for part in parts)), NO_NAME),
        tools=tool_values(tools) if tools is not None else [] if is_known else None,
        choice=_field(parts, "tool_choice", "function_call", "toolChoice"),
    )
    around = [as_mapping(source), value, *answer_parts(value)]
    replies = _replies(value)
    if replies is None:
        return [_with_others(_described(base, value), around, messages)]
    if not replies:
        raise UnusableError(_NO_ANSWER)
    first = len(messages)
    every = [*messages, *(message for reply in replies for message in reply)]
    return [
        _with_others(base._replace(messages=[*messages, *reply], answers_from=first), around, every)
        for reply in replies
    ]


def _with_others(
    conversation: OutsideTranscript, parts: Sequence[Mapping[str, Any]], messages_read: Sequence[Message]
) -> OutsideTranscript:
    """The conversation with what stands around it, in these parts, and may be a call not in it."""
    choices = [
        each for part in parts for key in ("choices", "candidates") for each in objects_in(part.get(key))
    ]
    unread: list[dict[str, Any]] = []
    for part in (*parts, *choices):
        others = {key: value for key, value in part.items() if key not in _READ}
        unread += (each for each in unknown_calls(others, messages_read) if each not in unread)
    messages = [*conversation.messages]
    last = next((n for n in reversed(range(len(messages))) if messages[n]["role"] == "assistant"), None)
    if unread and last is not None:
        reply = messages[last]
        messages[last] = {**reply, UNREAD: [*reply.get(UNREAD, ()), *unread]}
    return conversation._replace(messages=messages)


def conversation_reader(
    convert: Callable[[Any], Any] = lambda value: value, *, system: Sequence[str] = _SYSTEM
) -> ReadSources:
    """A format's `read` for records that, converted, are like OpenAI's or Anthropic's."""

    def read(record: Record) -> Iterator[Item]:
        value = record.value
        converted = convert(value) if isinstance(value, dict) else value
        yield from conversations(record, converted, system, value)

    return EachRecord(read)


def _described(conversation: OutsideTranscript, record: Mapping[str, Any]) -> OutsideTranscript:
    """The conversation with what its record says of it. UnusableError if a field has another type."""
    about = as_type(record, _About, "a conversation")
    tokens = structs.asdict(about.usage or _Usage())
    usage = Usage(**tokens, cost_usd=about.cost_usd, latency_s=about.latency_s)
    *before, last = conversation.messages
    if last["role"] == "assistant" and about.finish_reason:
        last = {"finish_reason": about.finish_reason, **last}
    return conversation._replace(
        messages=[*before, last],
        case="" if about.case is None else str(about.case),
        id="" if about.id is None else str(about.id),
        usage=usage,
    )


def answers_in(conversation: OutsideTranscript) -> Iterator[RecordedAnswer | Problem]:
    """The answers of a conversation, and the problems with others."""
    try:
        offered, choice = _tools(conversation)
        messages = chat_messages([each for each in conversation.messages if each.get(INNER) is not True])
    except UnusableError as error:
        yield conversation.at.problem(str(error))
        return
    turns = list(_turns(messages, conversation.answers_from))
    if not turns:
        yield conversation.at.problem(_NO_ANSWER)
    known = _known_in_import(offered.tools if offered else (), choice)
    for before, reply in turns:
        yield usable(conversation.at, partial(_answer, before, reply, offered, choice, known))


def expected_in(expected: Exercise) -> RecordedAnswer:
    """The prompt and the calls of an expectation."""
    offered = None if expected.tools is None else offered_tools(list(expected.tools))
    known = _known_in_import(offered.tools if offered else ())
    prompt = _prompt(chat_messages(list(expected.messages)), known)
    _require_user(prompt)
    return RecordedAnswer(
        prompt, offered, "auto" if offered and offered.tools else None, list(expected.calls),
        is_ordered=expected.is_ordered, is_expectation=True, more=expected.more,
    )  # fmt: skip


def draft_in(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None, choice: str | None, why: str
) -> RecordedAnswer:
    """The last turn of a conversation as a draft, whose skip reason begins with `why`."""
    said = chat_messages(list(messages))
    start = max((n for n, each in enumerate(said, 1) if each["role"] == "user"), default=0)
    offered = None if tools is None else offered_tools(list(tools))
    known = _known_in_import(offered.tools if offered else ())
    prompt = _prompt(said[:start], known)
    _require_user(prompt)
    replies = [each for each in said[start:] if each["role"] == "assistant"]
    every = (call for each in replies for call in read_calls(each, text_of(each), known).calls)
    calls = own_calls(every, known.names)
    called = [f"{call.name}({_arguments_text(call)})" for call in calls]
    draft = {
        "$comment": f"called: {', '.join(called) or 'no tool'}",
        "expected_tool": ANY_TOOL,
        "skip": why,
    }
    return RecordedAnswer(prompt, offered, choice, [(call.name, {}) for call in calls], draft=draft)


def _require_user(messages: Iterable[Message]) -> None:
    if not any(message["role"] == "user" for message in messages):
        raise UnusableError("no message from the user before the answer")


def _arguments_text(call: ToolCall) -> str:
    raw = call.raw_arguments
    return json.dumps(call.arguments, ensure_ascii=False) if raw is None else raw


def _known_in_import(tools: Iterable[Mapping[str, Any]], choice: str | None = None) -> KnownTools:
    definitions = (
        (definition["name"], tool.get("namespace"), as_mapping(definition.get("parameters")))
        for tool in tools
        for definition in [definition_of(tool)]
    )
    return KnownTools.of(definitions, in_text=choice != "none")


def _answer(
    before: Sequence[Message],
    reply: Sequence[Message],
    offered: OfferedTools | None,
    choice: str | None,
    known: KnownTools,
) -> RecordedAnswer:
    """An answer, as scoring reads it. UnusableError if a case cannot expect it."""
    if not reply:
        raise UnusableError(_NO_ANSWER)
    _decode(reply)
    unread = [part for message in reply for part in _unread(message, known)]
    calls = _calls(reply, before if unread else (), known)
    ended = next((each for message in reply if (each := message.get("finish_reason")) in _CUT_OFF), None)
    if ended is not None:
        raise UnusableError(f"the answer is not complete: its finish_reason is {show(ended)}")
    prompt = _prompt(before, known)
    _require_user(prompt)
    kinds = tuple(map(type_of_item, unread))
    return RecordedAnswer(prompt, offered, choice, calls, kinds, said=reply)


def _prompt(messages: Sequence[Message], known: KnownTools) -> list[Message]:
    """Messages as a model can be asked with them. UnusableError if a part of one is not known.

    Calls that the provider ran itself often have no answers, without which no model takes them.
    """
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    prompt = []
    for message in messages:
        unread = [each for each in _unread(message, known) if not _repeats(each, messages)]
        if unread:
            part = f"a part of the type {show(type_of_item(unread[0]))}"
            raise UnusableError(f"the prompt has {part}, which is not known here")
        calls = [
            {name: value for name, value in call.items() if name not in _OF_CALLS}
            for call in message.get("tool_calls", ())
            if not call.get("hosted") or call["id"] in answered
        ]
        if calls or message["content"] is not None or "tool_calls" not in message:
            fields = ("role", "content", "tool_call_id", "name")
            plain = {name: message[name] for name in fields if name in message}
            prompt.append(plain | ({"tool_calls": calls} if calls else {}))
    return prompt


def _unread(message: Message, known: KnownTools) -> list[dict[str, Any]]:
    """Its parts of unknown types, and the unknown fields that hold a call."""
    return [
        value
        for value in message.get(UNREAD, ())
        if "type" in value or not may_be_call(value) or is_call_like(value, known)
    ]


def _repeats(field: Mapping[str, Any], messages: Sequence[Message]) -> bool:
    """Whether a field that is not known only repeats calls of the messages."""
    return "type" not in field and may_be_call(field) and not unknown_calls(field, messages)


def _whole(item: _Item) -> Message:
    """A message with the fields of the chat API, and with all that scoring and importing look at."""
    chat: Message = {"role": item.role, **({} if item.weight else {"weight": 0})}
    if item.role in ("tool", "function"):
        chat |= {"role": "tool", "tool_call_id": item.tool_call_id}
        fields = {"status": item.status, "outcome": item.outcome, "is_error": item.is_error}
        answer = {**fields, "isError": item.is_error_of_mcp, "content": item.content}
        chat |= {"status": status_word(answer, text_of(answer)), APPROVED: item.approved is True}
    elif item.role == "assistant":
        chat |= {**_ending(item), AGENT: as_text(item.agent)}
    if item.role in ("tool", "assistant"):
        chat[INNER] = item.inner is True
    chat["tool_calls"] = [_sent(call) for call in item.calls]
    chat |= {name: getattr(item, name) for name in EXTENSIONS}
    chat = {name: value for name, value in chat.items() if value or name in ("weight", "tool_call_id")}
    if item.name is not None and chat["role"] != "tool":
        chat["name"] = item.name
    return chat | {"content": _content(item)}


def _ending(item: _Item) -> Message:
    """The refusal and the finish reason of a reply. Refusals are removed from its content."""
    refusal = item.refusal
    if isinstance(item.content, list):
        parts = [part for part in item.content if isinstance(part, dict)]
        refusals = [part for part in parts if part.get("type") == "refusal"]
        refusal = refusal or next((part.get("refusal") for part in refusals), None)
        item.content = [part for part in item.content if part not in refusals] or None
    # The Responses API has it as the status.
    stopped = item.status if item.status == "incomplete" else item.stop_reason
    ending = {"refusal": refusal, "finish_reason": item.finish_reason, "stop_reason": stopped}
    return {key: value for key, value in ending.items() if isinstance(value, str)}


def _field(parts: Sequence[Mapping[str, Any]], *names: str) -> Any:
    """The first value of one of these fields that is not empty."""
    values = (decode_text(part.get(name)) for name in names for part in parts)
    return next(filter(None, values), None)


def _messages(parts: Sequence[Mapping[str, Any]], system: Sequence[str]) -> list[Message]:
    items = _field(parts, "messages")
    if items is None:
        inputs = (decode_text(part.get("input")) for part in parts)
        items = next((value for value in inputs if value and isinstance(value, (str, list))), None)
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list):
        raise UnusableError('no messages: expected "messages", a list of chat messages')
    if _field(parts, "previous_response_id", "conversation"):
        raise UnusableError("the earlier messages are stored by the provider, not in the record")
    messages = chat_messages(items)
    if any(as_mapping(each).get("type") == "function_call_output" for each in items):
        # The Agents SDK keeps a run as items of the Responses API.
        for message in messages:
            if message["role"] == "tool" and (said := status_by(OPENAI_AGENTS, text_of(message))):
                message["status"] = said
    prompt = _field(parts, *system)  # a text, an object with one, or parts, perhaps in an object
    prompt = as_mapping(prompt).get("parts") or ([prompt] if isinstance(prompt, dict) else prompt)
    text = text_of({"content": prompt})
    has_system = bool(messages) and messages[0]["role"] == "system"
    return messages if has_system or not text else [{"role": "system", "content": text}, *messages]


def chat_messages(values: list[Any], what: str = "messages") -> list[Message]:
    """Chat messages, or what other APIs have in their place, with only the fields of the chat API.

    Replies also keep their refusal and finish reason, the callers of calls, and the fields of
    `engine.protocols`; answers of tools what became of the call. UnusableError if they cannot be read.
    """
    messages = as_type(list(map(_with_functions, read_messages(values).messages)), list[_Item], what)
    for item in messages:
        if item.role is None:
            raise UnusableError(f"{what}: expected chat messages, got an object without a role")
        old = item.function_call
        if old and not any(call.function and _is_same(call.function, old) for call in item.calls):
            item.tool_calls = [*item.calls, _ChatCall(function=old)]
        if any(call.function is None and call.custom is None for call in item.calls):
            raise UnusableError(f"{what}: a call of neither a function nor a custom tool")
        if isinstance(item.content, list):
            unread = [part for part in item.content if isinstance(part, dict) and not _is_known(part)]
            item.content = [part for part in item.content if part not in unread] or None
            item.unread += unread
    last = "call_0"
    for number, message in enumerate(messages):
        for call in message.calls:
            last = call.id = call.id or f"call_{number}"
        # A message with the old role `function` answers the last call.
        message.tool_call_id = message.tool_call_id or last
    return [_whole(item) for item in messages]


def _with_functions(message: Any) -> Any:
    """The message with a function around the name and the arguments of each call."""
    if not isinstance(as_mapping(message).get("tool_calls"), list):
        return message
    return {**message, "tool_calls": [_nested(call) for call in message["tool_calls"]]}


def _nested(call: Any) -> Any:
    fields = as_mapping(call)
    names = (fields.get(key) for key in ("function", "name", "tool_name", "function_name"))
    name = next((each for each in names if each is not None), None)
    if not isinstance(name, str) or "custom" in fields:
        return call
    keys = ("arguments", "args", "input", "parameters", "kwargs")
    arguments: Any = next((fields[key] for key in keys if fields.get(key) is not None), {})
    arguments = _MALFORMED if fields.get("parse_error") else arguments
    id = next((fields[key] for key in ("id", "call_id", "tool_call_id") if fields.get(key)), None)
    return call_message(id, name, arguments)


def _is_same(one: _Function, other: _Function) -> bool:
    first, second = (ToolCall.parse(each.name, each.arguments) for each in (one, other))
    return first.is_same(second)


def _content(item: _Item) -> Any:
    if isinstance(item.content, list):
        parts = [block for part in item.content if (block := _part(part))]
        return parts[0]["text"] if [each["type"] for each in parts] == ["text"] else parts
    if isinstance(item.content, dict):
        return json.dumps(item.content, ensure_ascii=False)
    is_silent = item.role == "assistant" and item.content is None and not item.calls
    return "" if is_silent else item.content


_CHAT_PARTS = ("image_url", "input_audio", "video_url", "file")
_TEXT_PARTS = ("text", "input_text", "output_text")
_OF_CALLS = ("caller", "namespace", "hosted")  # what the chat API has no field for


def _is_known(part: dict[str, Any]) -> bool:
    return part.get("type") == "refusal" or _part(part) is not None


def _part(part: str | dict[str, Any]) -> dict[str, Any] | None:
    """A content part as in the chat API; None if it has no such part."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type")
    if kind in _TEXT_PARTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind in ("image", "document") and (
        url := _address_of(as_mapping(part.get("source")))
    ):  # Anthropic's
        if kind == "image":
            return {"type": "image_url", "image_url": {"url": url}}
        file = {"file_data": url, "filename": as_text(part.get("title")) or "file"}
        return {"type": "file", "file": file} if url.startswith("data:") else None
    if kind == "input_file" and ("file_data" in part or "file_id" in part):
        file = {key: part[key] for key in ("file_data", "file_id", "filename") if part.get(key)}
        return {"type": "file", "file": file}
    if kind in _CHAT_PARTS and isinstance(part.get(kind), dict):
        return {"type": kind, kind: part[kind]}
    return None


def _address_of(source: Mapping[str, Any]) -> str:
    """The URL of an image or a document of Anthropic's; empty for one with another source."""
    kind, data = as_text(source.get("media_type")), as_text(source.get("data"))
    if source.get("type") == "base64" and data:
        return f"data:{kind};base64,{data}"
    return as_text(source.get("url")) if source.get("type") == "url" else ""


def _sent(call: _ChatCall) -> dict[str, Any]:
    """A call as in the chat API, and with what that has no field for."""
    extras = {name: value for name in _OF_CALLS if (value := getattr(call, name))}
    if call.custom is not None:
        custom = {"name": call.custom.name, "input": call.custom.input}
        return {"id": call.id, "type": "custom", "custom": custom, **extras}
    function = call.function or _Function("")
    arguments = function.arguments
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {**call_message(call.id, function.name, text), **extras}


@lru_cache(maxsize=64)
def _offered(tools: str) -> OfferedTools:
    """The tools in a JSON text, as many records offer the same."""
    return offered_tools(json.loads(tools))


def _tools(conversation: OutsideTranscript) -> tuple[OfferedTools | None, str | None]:
    """The tools and the tool_choice of a request."""
    recorded, choice = conversation.tools, conversation.choice
    offered = None if recorded is None else _offered(canonical(recorded))
    if offered is None or not offered.tools:
        return offered, choice if choice in ("auto", "required", "none") else None
    if choice is None:
        return offered, "auto"  # the default of the API
    if isinstance(choice, dict) and choice.get("type") in ("auto", "any", "none"):  # Anthropic's
        choice = choice["type"]
    if isinstance(choice, str):
        choice = "required" if choice == "any" else choice
        return offered, choice if choice in ("auto", "required", "none") else None
    if not isinstance(choice, dict):
        return offered, None
    # Offer only the tools that the choice names.
    names = {as_text(as_mapping(each).get("name")) for each in values_in(choice)} - {""}
    if not names:
        return offered, None
    mode = choice.get("mode") or as_mapping(choice.get("allowed_tools")).get("mode")
    tools = [tool for tool in offered.tools if definition_of(tool)["name"] in names]
    return offered._replace(tools=tools), "auto" if mode == "auto" else "required"


def _turns(messages: Sequence[Message], first: int) -> Iterator[tuple[Sequence[Message], _Said]]:
    """Each message of the assistant from the first one on, with the messages before it.

    Messages with the weight 0 are left out (OpenAI's format for fine-tuning). What a provider answered
    its own calls belongs to the answer.
    """
    if first:
        yield messages[:first], list(messages[first:])
        return
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("weight") != 0:
            yield messages[:index], [message]


def _replies(record: Mapping[str, Any]) -> list[_Said] | None:
    """Each answer in a record; None if the record is a conversation."""
    if {"choices", "candidates"} & {*record} or record.get("object") == "response":
        return _replies_in(record)
    values = [record[key] for key in ANSWER_KEYS if key in record]
    if not values:
        inner = decode_text(record.get("body"))  # langfuse's events
        return _replies(inner) if isinstance(inner, dict) else None
    if has_failed(record):
        raise UnusableError(_ERROR)
    replies = next(filter(None, map(_replies_in, values)), [])
    unknown = next(filter(None, values), None)
    if not replies and unknown is not None:
        what = looks_like(body_of(unknown))
        raise UnusableError(f"the answer is of a kind that is not known here: {what}")
    return replies


def _replies_in(value: Any, depth: int = 0) -> list[_Said]:
    """Each answer in the value of an answer field; empty if there is none."""
    value = body_of(value)
    if isinstance(value, str):
        if _REPR.match(value):
            raise UnusableError("the answer is what Python prints of an object, which is not read")
        return [[{"role": "assistant", "content": value}]] if value.strip() else []
    if isinstance(value, list):
        return _output(value)
    if not isinstance(value, dict):
        return []
    if value.get("error") or has_failed(value):
        raise UnusableError(_ERROR)
    choices = choices_in(value)
    if choices is not None:
        return [_chosen(choice) for choice in objects_of(choices, "choices")]
    if value.get("role") == "assistant":
        return _output([value])
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        status = value.get("status", "completed")
        if status not in ("completed", "complete"):
            raise UnusableError(f"the answer is not complete: its status is {show(status)}")
        return _output(value["output"])
    if depth == MAX_WRAPPERS:
        return []
    inner = (_replies_in(value.get(key), depth + 1) for key in WRAPPERS)
    return next(filter(None, inner), [])


def _chosen(choice: Mapping[str, Any]) -> _Said:
    message, ended = as_mapping(choice.get("message")), choice.get("finish_reason")
    answers = _output([{**message, "finish_reason": ended}]) if message else []
    if not answers:
        raise UnusableError(_NO_ANSWER)
    *before, last = answers[0]  # only messages of OpenAI keep how they ended
    return [*before, {"finish_reason": ended, **last} if ended and last["role"] == "assistant" else last]


def _output(items: list[Any]) -> list[_Said]:
    """The last answer in the items of a Responses output, or in a list of messages."""
    last = max((index for index, item in enumerate(items) if not _is_said(item)), default=-1)
    answer = chat_messages(items[last + 1 :], "output")
    return [answer] if any(message["role"] == "assistant" for message in answer) else []


def _is_said(item: Any) -> bool:
    """Whether an item came from the provider, including answers to calls that the provider ran."""
    fields = as_mapping(item)
    return fields.get("role", "assistant") in _SPEAKERS and fields.get("type") not in _FROM_CLIENTS


_SPEAKERS = ("assistant", "model")
_FROM_CLIENTS = ("function_call_output", "custom_tool_call_output")


def _calls(messages: Sequence[Message], before: Sequence[Message], offered: KnownTools) -> list[ToolUse]:
    """The calls of an answer, read as scoring reads it. UnusableError if a case cannot expect them."""
    try:
        transcript = transcript_of(messages, before, [offered])
    except ModelError as error:
        raise UnusableError(str(error)) from None
    calls: list[ToolUse] = []
    for call in own_calls(transcript.calls, offered.names):
        if call.arguments is None:
            shown = f"{show(call.name)}: {call.why_malformed}: {show(call.raw_arguments)}"
            raise UnusableError(f"a call of {shown}")
        calls.append((call.name, call.arguments))
    if transcript.unread is not None:
        raise UnusableError(f"the answer has {transcript.unread}")
    if transcript.no_answer is not None:
        raise UnusableError(f"no usable answer: {transcript.no_answer}")
    return calls


def _decode(messages: Iterable[Message]) -> None:
    """Make the arguments of their calls what the model wrote. Some tools for logs encode them twice."""
    calls = (call for message in messages for call in message.get("tool_calls", ()))
    for function in (call["function"] for call in calls if "function" in call):
        with suppress(ValueError):
            function["arguments"] = msgspec.json.decode(function["arguments"], type=str)
