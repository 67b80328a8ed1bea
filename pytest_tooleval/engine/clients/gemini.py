"""Our own client for Google's generateContent (the Gemini API); translates from and to the chat API.

Tools keep their JSON Schema. A call's thought signature goes where litellm puts it. If the parts of an
answer cannot be restored from the message, the message keeps them under `PARTS`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...record.calls import ToolCall
from ...record.images import is_image
from ...record.transcript import SYSTEM_ROLES, text_of
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..exchange.chat import PARTS, RESPONSE_FORMAT, ChatRequest
from ..exchange.errors import ParameterRefused
from ..models.prices import token_count
from ..protocols.reading import reply_fields
from .http_client import ProviderClient
from .joined_streams import StreamEnd, joined_candidates
from .message_parts import chat_call, chat_of, data_in, images_apart, input_of, parts_of

GeminiPart = dict[str, Any]

_RENAMED = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
}
_MODES = {"required": "ANY", "none": "NONE"}
_BUDGETS = {"none": 0, "minimal": 512, "low": 1024, "medium": 2048, "high": 4096}
_UP_TO_2 = re.compile(r"gemini-[12]\b")
# Google's placeholder for the signature of a call that its models did not make.
_UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
# The prefix of our ids, for calls without one.
_OURS = "call_"


class GeminiClient(ProviderClient):
    """One model behind `POST {api_base}/models/NAME:generateContent`."""

    @property
    def _url(self) -> str:
        return f"{self._base.rstrip('/')}/models/{self._model}:generateContent"

    def _own_headers(self) -> dict[str, str]:
        key = self._spec.key()
        return {} if key is None else {"x-goog-api-key": key}

    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        return generate_body(chat, self._model)

    def _joined(self, chunks: Sequence[Mapping[str, Any]]) -> StreamEnd:
        return joined_candidates(chunks)

    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        return chat_document(document, f"{_OURS}{len(request.messages)}")


def generate_body(chat: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The body of `generateContent` for one of `POST /chat/completions`."""
    older = bool(_UP_TO_2.match(model))
    texts = [text_of(each) for each in chat["messages"] if each["role"] in SYSTEM_ROLES]
    system = [{"text": text} for text in texts if text.strip()]
    messages = [*images_apart(chat["messages"])] if older else chat["messages"]
    body: dict[str, Any] = {"contents": _contents(messages, older)}
    if system:
        body["systemInstruction"] = {"parts": system}
    if tools := chat.get("tools"):
        body["tools"] = [{"functionDeclarations": [_declaration(tool["function"]) for tool in tools]}]
    if calling := _calling(chat.get("tool_choice", "auto")):
        body["toolConfig"] = {"functionCallingConfig": calling}
    config = {_RENAMED[name]: value for name, value in chat.items() if name in _RENAMED}
    if (stop := chat.get("stop")) is not None:
        config["stopSequences"] = [stop] if isinstance(stop, str) else stop
    config |= _form(chat.get(RESPONSE_FORMAT))
    if thinking := _thinking(chat.get("thinking"), chat.get("reasoning_effort"), model, older):
        config["thinkingConfig"] = thinking
    return {**body, "generationConfig": config} if config else body


def _form(form: Mapping[str, Any] | None) -> dict[str, Any]:
    """The form of the answer; Google's API has neither a name nor `strict`."""
    if form is None:
        return {}
    schema = form.get("json_schema", {}).get("schema")
    json_schema = {} if schema is None else {"responseJsonSchema": schema}
    return {"responseMimeType": "application/json", **json_schema}


def _calling(choice: str | Mapping[str, Any]) -> dict[str, Any]:
    """The function calling config; empty for the default."""
    if isinstance(choice, str):
        return {"mode": _MODES[choice]} if choice in _MODES else {}
    allowed = choice.get("allowed_tools") or {"mode": "required", "tools": [choice]}
    names = [tool["function"]["name"] for tool in allowed["tools"]]
    # VALIDATED: a call of one of these, or a text.
    mode = "ANY" if allowed["mode"] == "required" else "VALIDATED"
    return {"mode": mode, "allowedFunctionNames": names}


def _declaration(function: Mapping[str, Any]) -> dict[str, Any]:
    declared = {name: function[name] for name in ("name", "description") if name in function}
    schema = function.get("parameters")
    return {**declared, "parametersJsonSchema": schema} if schema else declared


def _thinking(thinking: Any, effort: str | None, model: str, older: bool) -> dict[str, Any]:
    """The thinking config: a number of tokens for older models, a level for newer ones."""
    if effort is not None:
        if effort not in _BUDGETS:
            message = f"Gemini models have no reasoning_effort {effort!r}"
            raise ParameterRefused(message, "reasoning_effort", effort)
        shown = {"includeThoughts": effort != "none"}
        if older:
            return {"thinkingBudget": _BUDGETS[effort], **shown}
        least = "minimal" if "flash" in model else "low"
        return {"thinkingLevel": least if effort in ("none", "minimal") else effort, **shown}
    if thinking is None:
        return {}
    budget = thinking.get("budget_tokens")
    shown = {"includeThoughts": thinking.get("type") == "enabled" and budget != 0}
    return {"thinkingBudget": budget, **shown} if older and budget is not None else shown


def _contents(messages: Sequence[Mapping[str, Any]], older: bool) -> list[dict[str, Any]]:
    """The messages as turns of user and model. Tool answers are separate turns."""
    contents: list[dict[str, Any]] = []
    names: dict[object, str] = {}
    before = None
    for message in messages:
        role = message["role"]
        if role in SYSTEM_ROLES:
            continue
        parts = [*_parts(message, names, older)]
        if role == before:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": "model" if role == "assistant" else "user", "parts": parts})
            before = role
    return contents


def _parts(message: Mapping[str, Any], names: dict[object, str], older: bool) -> Iterator[GeminiPart]:
    """The parts of a message. `names` collects the names of tools by call id."""
    if message["role"] == "assistant":
        for call in map(ToolCall.coerce, message.get("tool_calls") or ()):
            names[call.id] = call.name
        parts = message.get(PARTS) or [*_rebuilt(message, older)]
        yield from parts if older else _signed(parts)
    elif message["role"] == "tool":
        id = message.get("tool_call_id")
        answer = {"name": names.get(id, ""), "response": _response(text_of(dict(message)))}
        images = [_part(part) for part in parts_of(message) if is_image(part)]
        parts = {"parts": images} if images else {}
        yield {"functionResponse": {**_id_of(id, older), **answer, **parts}}
    else:
        yield from map(_part, parts_of(message))


def _rebuilt(message: Mapping[str, Any], older: bool = False) -> Iterator[GeminiPart]:
    """The parts of an assistant's message."""
    if thought := message.get("reasoning_content"):
        yield {"thought": True, "text": thought}
    yield from map(_part, parts_of(message))
    for sent in message.get("tool_calls") or ():
        call = ToolCall.coerce(sent)
        called = {**_id_of(call.id, older), "name": call.name, "args": input_of(call)}
        part: GeminiPart = {"functionCall": called}
        signature = (sent.get("provider_specific_fields") or {}).get("thought_signature")
        yield {**part, "thoughtSignature": signature} if signature else part


def _signed(parts: Sequence[GeminiPart]) -> Iterator[GeminiPart]:
    """The parts, with a placeholder if the first call has no signature."""
    first = next((part for part in parts if "functionCall" in part), None)
    for part in parts:
        yield {"thoughtSignature": _UNSIGNED, **part} if part is first else part


def _id_of(id: object, older: bool) -> dict[str, object]:
    """The id of a call, if the model chose it. Older models refuse ids."""
    return {} if older or not id or str(id).startswith(_OURS) else {"id": id}


def _response(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {"content": text}


def _part(part: Mapping[str, Any]) -> GeminiPart:
    if part.get("type") == "text":
        return {"text": part["text"]}
    data = data_in(part)
    if isinstance(data, str):
        return {"fileData": {"fileUri": data}}
    return {"inlineData": {"mimeType": data[0], "data": data[1]}}


def chat_document(document: Mapping[str, Any], ours: str) -> dict[str, Any]:
    """The chat API's document for one of generateContent.

    `ours` is the prefix of ids for calls without one.
    """
    candidate = next(iter(as_list(document.get("candidates"))), None)
    if candidate is None and not as_mapping(document.get("promptFeedback")).get("blockReason"):
        return dict(document)
    parts = objects_in(as_mapping(as_mapping(candidate).get("content")).get("parts"))
    message = _message(parts, ours)
    if [*_rebuilt(message)] != parts:
        message[PARTS] = parts
    return chat_of(document.get("modelVersion"), message, None, _usage(document.get("usageMetadata")))


def _message(parts: Sequence[GeminiPart], ours: str) -> dict[str, Any]:
    """The assistant's message for the parts of an answer."""
    texts = "".join(as_text(part.get("text")) for part in parts if not part.get("thought"))
    message: dict[str, Any] = {"role": "assistant", "content": texts or None}
    if thoughts := "".join(as_text(part.get("text")) for part in parts if part.get("thought")):
        message["reasoning_content"] = thoughts
    called = [part for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = [_call(part, f"{ours}_{number}") for number, part in enumerate(called)]
    others = [part for part in parts if part not in called]
    message |= reply_fields([{"role": "model", "parts": others}])
    calls += message.get("tool_calls", ())
    return {**message, "tool_calls": calls} if calls else message


def _call(part: GeminiPart, ours: str) -> dict[str, Any]:
    called = part["functionCall"]
    call = chat_call(called.get("id") or ours, called.get("name"), called.get("args", {}))
    if signature := part.get("thoughtSignature"):
        call["provider_specific_fields"] = {"thought_signature": signature}
    return call


def _usage(usage: object) -> dict[str, Any]:
    """The chat API's usage, which counts tokens of Google's own tools as prompt tokens."""
    if not isinstance(usage, Mapping):
        return {}
    prompt, by_tools = (
        token_count(usage.get(name)) or 0 for name in ("promptTokenCount", "toolUsePromptTokenCount")
    )
    return {
        "prompt_tokens": prompt + by_tools,
        "completion_tokens": usage.get("candidatesTokenCount"),
        "total_tokens": usage.get("totalTokenCount"),
        "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
        "completion_tokens_details": {"reasoning_tokens": usage.get("thoughtsTokenCount")},
    }
