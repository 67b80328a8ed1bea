"""Recorded answers of OpenAI-compatible APIs, in the shapes in which people keep them.

A record holds a request and its answer (as proxies and tracing tools write them, chat completions
or the Responses API), or a conversation (as for fine-tuning) in which every message of the assistant
is an answer. Only messages, tools, tool_choice and calls are read: headers, keys and whatever else
stands beside them never leave this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import NoReturn

from ..suite.explain import describe
from ..suite.explain import show
from .openai_tools import UnusableError
from .openai_tools import tool_definitions

Message = dict[str, Any]
Call = tuple[str, dict[str, Any]]  # the name of the tool, and the arguments

# Where the parts of a record stand: litellm, langfuse, VCR, OpenAI's batches and evals.
_REQUEST_KEYS = (
    "request", "request_body", "requestBody", "proxy_server_request", "body", "parsed_body", "json",
    "input", "inputs", "kwargs", "params", "model_parameters", "modelParameters", "optional_params",
    "invocation_params",
)  # fmt: skip
_ANSWER_KEYS = ("response", "response_body", "responseBody", "completion", "output", "outputs")
_WRAPPERS = ("body", "parsed_body", "json", "response", "output", "message")
_MAX_DEPTH = 4
_ROLES = ("system", "developer", "user", "assistant", "tool")
_CUT_OFF = ("length", "content_filter", "max_tokens", "incomplete")
_STREAMED = "the answer is a stream in pieces; record it assembled"
_NO_ANSWER = "no answer is recorded"


@dataclass(frozen=True)
class Answer:
    """What a model was asked, and what it called.

    `messages` are chat messages, `tools` are in the chat API's format, None when they were not
    recorded; `tool_choice` is None when the request has none that a suite can say.
    """

    messages: list[Message]
    tools: list[dict[str, Any]] | None
    tool_choice: str | None
    calls: list[Call]


def recorded_answers(record: Any) -> tuple[list[Answer], list[str]]:
    """The answers in a record, and why others in it cannot be used.

    UnusableError when none can be.
    """
    if not isinstance(record, dict):
        raise UnusableError(f"expected an object with messages and an answer, got {describe(record)}")
    if _is_chunk(record):
        raise UnusableError(_STREAMED)
    parts = list(_request_parts(record))
    messages = _messages(parts)
    tools, choice = _tools(parts)
    answers: list[Answer] = []
    reasons: list[str] = []
    found = _replies(record)
    if found is None:
        pairs = list(_turns(messages))
        if not pairs:
            raise UnusableError(_NO_ANSWER)
    else:
        pairs = [(messages, reply) for reply in found]
    for before, reply in pairs:
        try:
            calls = _calls(reply)
        except UnusableError as error:
            reasons.append(str(error))
            continue
        if any(message["role"] == "user" for message in before):
            answers.append(Answer([_without_weight(m) for m in before], tools, choice, calls))
        else:
            reasons.append("there is no message from the user before the answer")
    return answers, reasons


def _decoded(value: Any) -> Any:
    """A value that some tools keep as JSON text inside JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _request_parts(record: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The record and the objects in it that may hold fields of the request, the outermost first."""
    yield record
    if depth < _MAX_DEPTH:
        for key in _REQUEST_KEYS:
            inner = _decoded(record.get(key))
            if isinstance(inner, dict):
                yield from _request_parts(inner, depth + 1)


def _field(parts: Sequence[Mapping[str, Any]], *names: str) -> Any:
    """The first value of one of these fields that is not empty."""
    for name in names:
        for part in parts:
            value = _decoded(part.get(name))
            if value:
                return value
    return None


def _messages(parts: Sequence[Mapping[str, Any]]) -> list[Message]:
    given = _field(parts, "messages")
    if given is None:
        inputs = [_decoded(part.get("input")) for part in parts]
        given = next((value for value in inputs if value and isinstance(value, (str, list))), None)
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise UnusableError('no messages: expected "messages", a list of chat messages')
    if _field(parts, "previous_response_id", "conversation"):
        raise UnusableError("the messages before this one are kept at the provider, not in the record")
    instructions = _field(parts, "instructions")
    system = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    return system + chat_messages(given)


def chat_messages(items: Sequence[Any]) -> list[Message]:
    """Chat messages, or the items of the Responses API, as chat messages."""
    messages: list[Message] = []
    for item in items:
        if not isinstance(item, dict):
            raise UnusableError(f"expected a chat message, got {describe(item)}")
        kind = item.get("type", "message")
        if kind == "function_call":
            call = {"id": item.get("call_id"), "function": item}
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(_sent_call(call, len(messages)))
        elif kind == "function_call_output":
            content = item.get("output")
            message = {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
            messages.append(_message(message, messages))
        elif kind == "message" or "role" in item:
            messages.append(_message(item, messages))
        elif kind != "reasoning":  # which the chat API does not take back
            raise UnusableError(f"an item of the type {show(kind)}, which the chat API does not have")
    return messages


def _message(item: Mapping[str, Any], before: Sequence[Message]) -> Message:
    """The fields of a message that the chat API takes, and no others."""
    role = item.get("role")
    if role not in (*_ROLES, "function"):
        raise UnusableError(f"a message of the role {show(role)}")
    message: Message = {"role": role, "content": _content(item.get("content"), role)}
    if role in ("tool", "function"):
        message["role"] = "tool"
        message["tool_call_id"] = item.get("tool_call_id") or _last_call_id(before)
    elif isinstance(item.get("name"), str):
        message["name"] = item["name"]
    if role == "assistant":
        calls = _tool_calls(item)
        if calls:
            message["tool_calls"] = [_sent_call(call, len(before)) for call in calls]
        elif message["content"] is None:
            message["content"] = ""
        if item.get("weight") == 0:
            message["weight"] = 0
    return message


def _without_weight(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "weight"}


def _last_call_id(before: Sequence[Message]) -> str:
    """The id of the call that a message of the old role `function` answers."""
    calls = before[-1].get("tool_calls") if before else None
    return str(calls[-1]["id"]) if calls else "call_0"


_CHAT_PARTS = ("image_url", "input_audio", "video_url", "file")
_TEXT_PARTS = ("text", "input_text", "output_text")


def _content(content: Any, role: Any) -> Any:
    if isinstance(content, list):
        parts = [_part(part) for part in content]
        if len(parts) == 1 and parts[0].get("type") == "text":
            return parts[0]["text"]
        return parts
    if role in ("tool", "function") and isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    return content


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict):
        raise UnusableError(f"expected a content part, got {describe(part)}")
    kind = part.get("type")
    if kind in _TEXT_PARTS:
        if not isinstance(part.get("text"), str):
            raise UnusableError(f"a content part without its text: {show(part)}")
        return {"type": "text", "text": part["text"]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and ("file_data" in part or "file_id" in part):
        file = {key: part[key] for key in ("file_data", "file_id", "filename") if part.get(key)}
        return {"type": "file", "file": file}
    if kind in _CHAT_PARTS and isinstance(part.get(kind), dict):
        return {"type": kind, kind: part[kind]}
    raise UnusableError(f"a content part of the type {show(kind)}, which the chat API does not have")


def _tool_calls(message: Mapping[str, Any]) -> list[Any]:
    calls = message.get("tool_calls")
    if calls and not isinstance(calls, list):
        raise UnusableError(f'"tool_calls": expected a list of calls, got {describe(calls)}')
    if not calls and message.get("function_call"):
        return [{"function": message["function_call"]}]
    return calls or []


def _sent_call(call: Any, number: int) -> dict[str, Any]:
    """A call in a message of the prompt, with an id."""
    name, arguments = _name_and_arguments(call)
    id = call.get("id")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {
        "id": id if isinstance(id, str) and id else f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": text},
    }


def _name_and_arguments(call: Any) -> tuple[str, Any]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        kind = call.get("type") if isinstance(call, dict) else None
        what = f"a call of the type {show(kind)}" if kind not in (None, "function") else show(call)
        raise UnusableError(f"expected the call of a function, got {what}")
    return function["name"], function.get("arguments", "")


def _tools(parts: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The tools that were offered, and the choice that was left."""
    given = _field(parts, "tools", "functions")
    recorded = any("tools" in part or "functions" in part for part in parts)
    tools = tool_definitions(given) if given is not None else ([] if recorded else None)
    choice = _field(parts, "tool_choice", "function_call")
    if choice is None and tools:
        return tools, "auto"  # what the API takes it for
    if isinstance(choice, str):
        return tools, {"any": "required"}.get(choice, choice if choice in _CHOICES else None)
    named = set(_chosen_names(choice))
    if tools and named:
        # A choice of named tools is the choice among these alone.
        mode = choice.get("mode") or (_mapping(choice.get("allowed_tools")).get("mode"))
        tools = [tool for tool in tools if tool["function"]["name"] in named]
        return tools, "auto" if mode == "auto" else "required"
    return tools, None


_CHOICES = ("auto", "required", "none")


def _chosen_names(choice: Any) -> Iterator[str]:
    choice = _mapping(choice)
    for named in (choice, _mapping(choice.get("function"))):
        if isinstance(named.get("name"), str):
            yield named["name"]
    allowed = choice.get("tools") or _mapping(choice.get("allowed_tools")).get("tools")
    for inner in allowed if isinstance(allowed, list) else ():
        yield from _chosen_names(inner)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _turns(messages: Sequence[Message]) -> Iterator[tuple[Sequence[Message], Message]]:
    """Each message of the assistant in a conversation, with the messages before it.

    Those of weight 0 are no examples to learn from (OpenAI's format for fine-tuning).
    """
    for index, message in enumerate(messages):
        if message["role"] == "assistant" and message.get("weight") != 0:
            yield messages[:index], message


def _replies(record: Mapping[str, Any]) -> list[Message] | None:
    """The answers that stand beside the messages; None when the record is a conversation."""
    if "choices" in record or record.get("object") == "response":
        return _replies_in(record)
    values = [record[key] for key in _ANSWER_KEYS if key in record]
    if not values:
        inner = _mapping(_decoded(record.get("body")))  # langfuse's events
        return _replies(inner) if inner else None
    for value in values:
        found = _replies_in(_decoded(value))
        if found:
            return found
    raise UnusableError(_NO_ANSWER)


def _replies_in(value: Any, depth: int = 0) -> list[Message]:
    """The messages of the assistant in what stands where an answer is; empty when there is none."""
    if isinstance(value, str):
        if value.startswith(("data:", "event:")):
            raise UnusableError(_STREAMED)
        return [{"role": "assistant", "content": value}] if value.strip() else []
    if isinstance(value, list):
        return _output(value)
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("choices"), list):
        return [_choice(choice) for choice in value["choices"]]
    if value.get("role") == "assistant":
        return [value]
    if value.get("error"):
        raise UnusableError("the answer is an error of the provider")
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        status = value.get("status", "completed")
        if status not in ("completed", "complete"):
            raise UnusableError(f"the answer is not complete: its status is {show(status)}")
        return _output(value["output"])
    if depth < _MAX_DEPTH:
        for key in _WRAPPERS:
            found = _replies_in(_decoded(value[key]), depth + 1) if key in value else []
            if found:
                return found
        if isinstance(value.get("string"), str):  # the body of an answer in a VCR cassette
            return _replies_in(_decoded(value["string"]), depth + 1)
    return []


def _choice(choice: Any) -> Message:
    choice = _mapping(choice)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise UnusableError(_STREAMED if "delta" in choice else _NO_ANSWER)
    if choice.get("finish_reason") in _CUT_OFF:
        reason = show(choice["finish_reason"])
        raise UnusableError(f"the answer is not complete: its finish_reason is {reason}")
    return message


def _is_chunk(value: Mapping[str, Any]) -> bool:
    """Whether it is a piece of a streamed answer, of either API."""
    choices = value.get("choices")
    return (
        value.get("object") in _CHUNKS
        or str(value.get("type")).startswith("response.")
        or (isinstance(choices, list) and any("delta" in _mapping(choice) for choice in choices))
    )


_CHUNKS = ("chat.completion.chunk", "text_completion.chunk")


def _output(items: list[Any]) -> list[Message]:
    """The answer that the items of a Responses output, or a list of messages, end in."""
    if any(isinstance(item, dict) and ("delta" in item or _is_chunk(item)) for item in items):
        raise UnusableError(_STREAMED)
    messages = chat_messages(items)
    spoken = [message for message in messages if message["role"] == "assistant"]
    if len(spoken) == len(messages) and spoken:
        calls = [call for message in spoken for call in message.get("tool_calls", ())]
        return [{**spoken[-1], "tool_calls": calls}]
    return spoken[-1:]


def _calls(message: Mapping[str, Any]) -> list[Call]:
    return [_call(call) for call in _tool_calls(message)]


def _call(call: Any) -> Call:
    name, given = _name_and_arguments(call)
    arguments = given
    for _ in range(2):  # some data holds the text of the arguments as JSON once more
        if isinstance(arguments, str):
            arguments = _parsed(arguments)
    if not isinstance(arguments, dict):
        raise UnusableError(f"the arguments of {show(name)} are no JSON object: {show(given)}")
    return name, arguments


def _parsed(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
