"""Our own client for Anthropic's Messages API, which translates from and to the chat API.

Thinking with its signature goes into `thinking_blocks`, as in litellm. If the blocks of an answer cannot
be restored from the message, it keeps them under `BLOCKS`, so that they are sent back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...jsonschemas.subschemas import COMBINED
from ...record.calls import ToolCall
from ...record.no_answer import PAUSED
from ...record.transcript import SEARCHES, SYSTEM_ROLES
from ...record.untrusted import as_mapping, as_text, objects_in
from ..exchange.chat import BLOCKS, CONTAINER, RESPONSE_FORMAT, ChatRequest
from ..exchange.errors import ParameterRefused
from ..models.prices import token_count
from ..models.spec import EFFORT_TOKENS, Effort
from ..protocols.blocks import read_blocks
from ..protocols.builder import ChatBuilder
from ..protocols.reading import contents_of
from .http_client import ProviderClient
from .joined_streams import StreamEnd, joined_messages
from .message_parts import chat_of, data_in, input_of, parts_of, without_nulls

SentBlock = dict[str, Any]

_VERSION = "2023-06-01"
# The API requires a limit. This is for models whose limit is unknown, and on top of a thinking budget.
_MAX_TOKENS = 4096
_PROGRAM = "code_execution"
# Fields of a tool that are the same here and in the suite.
_FIELDS = ("description", "strict", "defer_loading", "input_examples")
_REASONS = {"tool_use": "tool_calls", PAUSED: PAUSED}
_LEAST_BUDGET = 1024


class AnthropicClient(ProviderClient):
    """One model behind `POST {api_base}/v1/messages`."""

    @property
    def _url(self) -> str:
        return re.sub(r"(/v1(/messages)?)?/*$", "/v1/messages", self._base, count=1)

    def _own_headers(self) -> dict[str, str]:
        headers = {"anthropic-version": _VERSION}
        key = self._spec.key()
        if key is not None:
            bearer = self._spec.key_variable == "ANTHROPIC_AUTH_TOKEN"
            headers |= {"Authorization": f"Bearer {key}"} if bearer else {"x-api-key": key}
        return headers

    def _translated(self, chat: dict[str, Any]) -> dict[str, Any]:
        return {"model": self._model, **messages_body(chat, self._price)}

    def _joined(self, chunks: Sequence[Mapping[str, Any]]) -> StreamEnd:
        return joined_messages(chunks)

    def _chat(self, document: Mapping[str, Any], request: ChatRequest) -> Mapping[str, Any]:
        return chat_document(document, _names(request.tools))


def messages_body(chat: Mapping[str, Any], listed: Mapping[str, Any] | None) -> dict[str, Any]:
    """The body of `POST /v1/messages` for one of `POST /chat/completions`.

    `listed` is the model's entry; a model without one is treated as new.
    """
    rest = dict(chat)
    names = _names(rest.get("tools", ()))
    system, messages = _conversation(rest.pop("messages"), names)
    offered = rest.pop("tools", ())
    program = next((tool["type"] for tool in offered if _PROGRAM in tool["type"]), "")
    tools = [_tool(tool, names, program) for tool in offered]
    tool_choice, parallel = rest.pop("tool_choice", None), rest.pop("parallel_tool_calls", None)
    choice = _choice(tool_choice, parallel, names)
    body: dict[str, Any] = {"messages": messages}
    containers = (message.get(CONTAINER) for message in reversed(chat["messages"]))
    if container := next(filter(None, containers), None):
        body["container"] = container
    if system:
        body["system"] = system
    if not tools:
        # Messages with calls need their tools.
        blocks = [block for message in messages for block in message["content"]]
        used = dict.fromkeys(each["name"] for each in blocks if each.get("type") == "tool_use")
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in used]
        choice = {"type": "none"} if tools else None
    if tools:
        body["tools"] = tools
    if choice:
        body["tool_choice"] = choice
    body |= _thinking(rest.pop("thinking", None), rest.pop("reasoning_effort", None), listed or {})
    if form := rest.pop(RESPONSE_FORMAT, None):
        body["output_config"] = {**body.get("output_config", {}), "format": _form(form)}
    budget = body.get("thinking", {}).get("budget_tokens")
    most = budget + _MAX_TOKENS if budget else (listed or {}).get("max_output_tokens", _MAX_TOKENS)
    body["max_tokens"] = rest.pop("max_completion_tokens", rest.pop("max_tokens", most))
    if (stop := rest.pop("stop", None)) is not None:
        body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    return body | rest


def _form(form: Mapping[str, Any]) -> dict[str, Any]:
    """The form of the answer, to which the API always keeps, so it has no `strict`."""
    if "json_schema" not in form:
        message = f"Anthropic's API knows no form of the type {form['type']}; write json_schema"
        raise ParameterRefused(message, RESPONSE_FORMAT, form)
    return {"type": "json_schema", "schema": form["json_schema"]["schema"]}


def _names(tools: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The names of tools in this API, which allows only letters, digits, _ and -."""
    originals = dict.fromkeys(tool["function"]["name"] for tool in tools if "function" in tool)
    names: dict[str, str] = {}
    for name in originals:
        sent, number = _safe(name)[:128], 1
        while sent != name and (sent in originals or sent in names.values()):
            number += 1
            sent = f"{_safe(name)[:120]}_{number}"
        names[name] = sent
    return names


def _safe(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)


def _tool(tool: Mapping[str, Any], names: Mapping[str, str], program: str) -> dict[str, Any]:
    """A tool in this API's form. `program` is the type of Anthropic's tool that runs code."""
    function = tool.get("function")
    if not isinstance(function, Mapping):
        return dict(tool)
    schema = function.get("parameters") or {}
    # The API refuses combined schemas at the top level.
    kept = {key: value for key, value in schema.items() if key not in COMBINED}
    fields = {field: function[field] for field in _FIELDS if field in function}
    if "allowed_callers" in function:
        callers = function["allowed_callers"]
        fields["allowed_callers"] = [program if each == "programmatic" else each for each in callers]
    return {"name": names[function["name"]], **fields, "input_schema": {**kept, "type": "object"}}


def _choice(
    choice: str | Mapping[str, Any] | None, parallel: bool | None, names: Mapping[str, str]
) -> dict[str, Any] | None:
    if choice == "none":
        return {"type": "none"}
    kind = {"type": "any" if choice == "required" else "auto"}
    if isinstance(choice, Mapping):
        kind = {"type": "tool", "name": names[choice["function"]["name"]]}
    if parallel is not None:
        return {**kind, "disable_parallel_tool_use": not parallel}
    return kind if kind["type"] != "auto" else None


def _thinking(thinking: Any, effort: Effort | None, listed: Mapping[str, Any]) -> dict[str, Any]:
    """The fields for thinking: `budget_tokens`, or an effort for models without that field."""
    adaptive = not listed or listed.get("supports_adaptive_thinking") is True
    budgets = not adaptive or listed.get("supports_legacy_thinking") is True
    if effort is not None and effort != "none":
        if not adaptive:
            tokens = max(_LEAST_BUDGET, EFFORT_TOKENS[effort])
            return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
        # Without `display`, the thinking in the answer is empty.
        return {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "low" if effort == "minimal" else effort},
        }
    if thinking is None or effort is not None:
        return {}
    budget = thinking.get("budget_tokens")
    if budgets or thinking.get("type") != "enabled" or not isinstance(budget, int):
        return {"thinking": thinking}
    levels: list[Effort] = ["high", "medium"]
    if listed.get("supports_xhigh_reasoning_effort"):
        levels.insert(0, "xhigh")
    level = next((name for name in levels if budget >= EFFORT_TOKENS[name]), "low")
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level}}


def _conversation(
    messages: Sequence[Mapping[str, Any]], names: Mapping[str, str]
) -> tuple[list[SentBlock], list[SentBlock]]:
    """The system prompt, and alternating turns of user and assistant.

    Only system messages at the start are the system prompt; later ones become user messages.
    """
    system: list[SentBlock] = []
    turns: list[SentBlock] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [*_blocks(message, names)]
        if message["role"] in SYSTEM_ROLES and not turns:
            system += blocks
        elif turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        # The API requires results first.
        if turn["role"] == "user":
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return system, turns


def _blocks(message: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[SentBlock]:
    if message["role"] == "assistant":
        yield from message.get(BLOCKS) or _rebuilt(message, names)
    elif message["role"] == "tool":
        content = message.get("content")
        result = [*map(_part, content)] if isinstance(content, list) else content or ""
        yield {
            "type": "tool_result",
            "tool_use_id": _safe(str(message.get("tool_call_id"))),
            "content": result,
        }
    else:
        yield from map(_part, parts_of(message))


def _rebuilt(message: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[SentBlock]:
    """The blocks of an assistant's message."""
    yield from message.get("thinking_blocks") or ()
    yield from map(_part, parts_of(message))
    for call in map(ToolCall.coerce, message.get("tool_calls") or ()):
        name = names.get(call.name, _safe(call.name))
        yield {"type": "tool_use", "id": _safe(str(call.id)), "name": name, "input": input_of(call)}


def _part(part: Mapping[str, Any]) -> SentBlock:
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    data = data_in(part)
    if isinstance(data, str):
        source = {"type": "url", "url": data}
    else:
        source = {"type": "base64", "media_type": data[0], "data": data[1]}
    return {"type": "image" if part["type"] == "image_url" else "document", "source": source}


def chat_document(document: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The chat API's document for one of the Messages API."""
    content = document.get("content")
    if not isinstance(content, list):
        return dict(document)
    kept = map(_kept, objects_in(content))
    # The API refuses empty texts in later requests.
    blocks = [block for block in kept if block.get("type") != "text" or str(block.get("text")).strip()]
    message = _message(blocks, {sent: name for name, sent in names.items()})
    if [*_rebuilt(message, names)] != blocks:
        message[BLOCKS] = blocks
    if container := as_mapping(document.get("container")).get("id"):
        message[CONTAINER] = container
    reason = _REASONS.get(as_text(document.get("stop_reason")))
    usage = document.get("usage")
    tier = as_mapping(usage).get("service_tier")
    return chat_of(document.get("model"), message, reason, _usage(usage, blocks), tier)


def _kept(block: SentBlock) -> SentBlock:
    """The block without nulls and without the default `caller`."""
    direct = {"caller": {"type": "direct"}}
    return {key: value for key, value in without_nulls(block).items() if {key: value} != direct}


def _message(blocks: Sequence[SentBlock], names: Mapping[str, str]) -> dict[str, Any]:
    """The assistant's message for the blocks of an answer."""
    thoughts = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking")]
    texts = "".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
    message: dict[str, Any] = {"role": "assistant", "content": texts or None}
    chat = ChatBuilder()
    read_blocks(chat, {"role": "assistant", "content": list(blocks)})
    message |= contents_of(chat)
    for call in message.get("tool_calls", ()):
        call["function"]["name"] = names.get(name := call["function"]["name"], name)
    for search in message.get(SEARCHES, ()):
        search["tools"] = search["tools"] and [names.get(name, name) for name in search["tools"]]
    if thoughts:
        message["thinking_blocks"] = thoughts
        message["reasoning_content"] = "".join(as_text(block.get("thinking")) for block in thoughts)
    return message


def _usage(usage: object, blocks: Sequence[SentBlock]) -> dict[str, Any]:
    """The chat API's usage, which counts tokens read from or written to the cache as prompt tokens."""
    if not isinstance(usage, Mapping):
        return {}
    fresh, created, cached = (
        token_count(usage.get(f"{name}input_tokens")) or 0
        for name in ("", "cache_creation_", "cache_read_")
    )
    hour = as_mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens")
    thought = as_mapping(usage.get("output_tokens_details")).get("thinking_tokens")
    if thought is None and not any("thinking" in str(block.get("type")) for block in blocks):
        thought = 0
    return {
        "prompt_tokens": fresh + created + cached,
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": {
            "cached_tokens": cached,
            "cache_creation_tokens": created,
            "cache_hour_tokens": hour,
        },
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
