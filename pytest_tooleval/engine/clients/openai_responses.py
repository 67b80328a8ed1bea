"""Translates between OpenAI's Responses API and its chat API.

The message keeps the items of the answer, with the model's encrypted reasoning, under `ITEMS`, so that
they can be sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...record.untrusted import as_mapping, objects_in
from ...replies.endings import ending_of
from ..exchange.chat import ITEMS, RESPONSE_FORMAT
from ..protocols.reading import reply_fields
from .message_parts import chat_of, without_nulls

SentItem = dict[str, Any]

# Parameters that this API renames, and parameters that it puts inside an object.
_RENAMED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_NESTED = {"reasoning_effort": ("reasoning", "effort"), "verbosity": ("text", "verbosity")}
_TEXTS = ("output_text", "text")
_REFUSAL = re.compile(
    r"\bv1/responses\b|\bResponses API\b|chatCompletion operation does not work", re.IGNORECASE
)


def wants_responses(refusal: str) -> bool:
    """Whether chat completions (OpenAI, Azure) refused a model, or its tools, as not available there."""
    return bool(_REFUSAL.search(refusal))


def responses_body(chat: Mapping[str, Any], *, encrypted: bool) -> dict[str, Any]:
    """The body of `POST /responses` for one of `POST /chat/completions`.

    The provider stores nothing. With `encrypted`, the answer includes the model's encrypted reasoning;
    models without reasoning refuse this.
    """
    body: dict[str, Any] = {"store": False}
    if encrypted:
        body["include"] = ["reasoning.encrypted_content"]
    for name, value in chat.items():
        if name == "messages":
            body["input"] = list(_input(value))
        elif name == "tools":
            body["tools"] = _tools(value)
        elif name == "tool_choice":
            body["tool_choice"] = _choice(value)
        elif name == RESPONSE_FORMAT:
            form = {"type": value["type"], **value.get("json_schema", {})}
            body["text"] = {**body.get("text", {}), "format": form}
        elif name in _NESTED:
            outer, inner = _NESTED[name]
            body[outer] = {inner: value, **body.get(outer, {})}
        elif isinstance(value, dict) and isinstance(body.get(name), dict):
            body[name] = {**body[name], **value}
        else:
            body[_RENAMED.get(name, name)] = value
    return body


def _tools(tools: Iterable[Mapping[str, Any]]) -> list[SentItem]:
    """The tools, with each namespace at the position of its first tool."""
    items: list[SentItem] = []
    spaces: dict[str, SentItem] = {}
    for tool in tools:
        space = tool.get("namespace")
        if not isinstance(space, Mapping):
            items.append(_tool(tool))
            continue
        name = space["name"]
        if name not in spaces:
            spaces[name] = {"type": "namespace", **space, "tools": []}
            items.append(spaces[name])
        spaces[name]["tools"].append(_tool(tool))
    return items


def _tool(tool: Mapping[str, Any]) -> SentItem:
    function, custom = tool.get("function"), tool.get("custom")
    if isinstance(custom, Mapping):
        format = custom.get("format")
        nested = as_mapping(format).get("grammar")
        flat = {"format": {"type": "grammar", **nested}} if isinstance(nested, Mapping) else {}
        return {"type": "custom", **custom, **flat}
    if not isinstance(function, Mapping):
        return dict(tool)
    # The default of `strict` is false in the chat API, and true here.
    return {"type": "function", "parameters": None, "strict": False, **function}


def _choice(choice: object) -> object:
    """The chat API's `tool_choice`, whose objects are flat here."""
    if not isinstance(choice, Mapping):
        return choice
    kind = choice["type"]
    inner = choice[kind]
    if kind == "allowed_tools":
        return {"type": kind, "mode": inner["mode"], "tools": [_choice(tool) for tool in inner["tools"]]}
    return {"type": kind, "name": inner["name"]}


def _input(messages: Iterable[Mapping[str, Any]]) -> Iterator[SentItem]:
    calls: dict[object, Mapping[str, Any]] = {}
    for message in messages:
        calls |= {call.get("id"): call for call in objects_in(message.get("tool_calls"))}
        yield from _input_items(message, calls)


def _input_items(
    message: Mapping[str, Any], calls: Mapping[object, Mapping[str, Any]]
) -> Iterator[SentItem]:
    """The items of a message. `calls` are the calls so far, by id."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        id = message.get("tool_call_id")
        call = calls.get(id, {})
        kind = "custom_tool_call_output" if "custom" in call else "function_call_output"
        output = _parts(content, "input_text") if isinstance(content, list) else content
        caller = {"caller": call["caller"]} if "caller" in call else {}
        yield {"type": kind, "call_id": id, "output": output, **caller}
    elif role == "assistant":
        yield from _own_items(message) or _rebuilt_items(message)
    else:
        yield {"role": role, "content": _parts(content, "input_text")}


def _own_items(message: Mapping[str, Any]) -> list[SentItem]:
    """The original items of the message; none if the message has changed since."""
    items = message.get(ITEMS)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return []
    rebuilt = chat_message(items)
    if any(rebuilt.get(field) != message.get(field) for field in ("content", "tool_calls")):
        return []
    return [without_nulls(item) for item in items if not _is_bare_reasoning(item)]


def _is_bare_reasoning(item: SentItem) -> bool:
    """Whether an item only refers to reasoning, which the provider did not store."""
    return item.get("type") == "reasoning" and not (item.get("encrypted_content") or item.get("content"))


def _rebuilt_items(message: Mapping[str, Any]) -> Iterator[SentItem]:
    content = message.get("content") or message.get("refusal")
    if content:
        yield {"role": "assistant", "content": _parts(content, "output_text")}
    for call in message.get("tool_calls") or ():
        custom, function = call.get("custom"), call.get("function") or {}
        if custom:
            item = {"type": "custom_tool_call", "name": custom["name"], "input": custom.get("input")}
        else:
            named = {"name": function.get("name"), "arguments": function.get("arguments")}
            item = {"type": "function_call", **named}
        space = {"namespace": call["namespace"]} if "namespace" in call else {}
        yield {**item, **space, "call_id": call.get("id")}


def _parts(content: object, text: str) -> object:
    """A message's content with this API's parts; `text` is the type of a text part."""
    if not isinstance(content, list):
        return content
    return [_part(part, text) if isinstance(part, dict) else part for part in content]


def _part(part: Mapping[str, Any], text: str) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": text, "text": part.get("text")}
    if part.get("type") == "image_url":
        image = part.get("image_url")
        image = image if isinstance(image, Mapping) else {"url": image}
        return {
            "type": "input_image",
            "image_url": image.get("url"),
            "detail": image.get("detail", "auto"),
        }
    if part.get("type") == "file" and isinstance(part.get("file"), Mapping):
        return {"type": "input_file", **part["file"]}
    return dict(part)


def chat_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The chat API's document for one of the Responses API."""
    if error := document.get("error"):
        return {"error": error}
    items = document.get("output")
    if not isinstance(items, list):
        return dict(document)
    message = {**chat_message(items), ITEMS: items}
    reason, usage = _finish_reason(document, message), _usage(document.get("usage"))
    return chat_of(document.get("model"), message, reason, usage, document.get("service_tier"))


def chat_message(items: list[Any]) -> dict[str, Any]:
    """The assistant's message for the items of an answer."""
    items = objects_in(items)
    messages = [item for item in items if item.get("type") == "message"]
    texts, refusals, thoughts = (
        "".join(_texts(messages, "content", "text", _TEXTS)),
        "".join(_texts(messages, "content", "refusal", ("refusal",))),
        "\n\n".join(_thoughts(item for item in items if item.get("type") == "reasoning")),
    )
    message: dict[str, Any] = {"role": "assistant", "content": texts or None}
    reply = reply_fields(item for item in items if item.get("type") != "message")
    extras = {"refusal": refusals, "reasoning_content": thoughts}
    return {**message, **reply, **{name: value for name, value in extras.items() if value}}


def _thoughts(items: Iterable[SentItem]) -> Iterator[str]:
    """The readable reasoning of the model: a summary or, for open models, all of it."""
    for item in items:
        yield from _texts([item], "summary", "text", ("summary_text",))
        yield from _texts([item], "content", "text", ("reasoning_text",))


def _texts(items: Iterable[SentItem], parts: str, field: str, types: Sequence[str]) -> Iterator[str]:
    for item in items:
        for part in objects_in(item.get(parts)):
            if part.get("type") in types and isinstance(part.get(field), str):
                yield part[field]


def _finish_reason(document: Mapping[str, Any], message: Mapping[str, Any]) -> object:
    ending = ending_of(document)
    if ending is not None:
        return "length" if ending.reason == "max_output_tokens" else ending.reason
    return "tool_calls" if message.get("tool_calls") else "stop"


def _usage(usage: object) -> dict[str, Any]:
    if not isinstance(usage, Mapping):
        return {}
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "total_tokens": usage.get("total_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }
