"""OpenRouter: OpenAI's chat completions in front of other providers, with fields of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from . import openai_chat
from .openai_api import told
from .shapes import Tag, problem
from .talk import KEY, Asked, Brain, Document, Exchange, Refused, Said, StandIn, short, signature


@dataclass(frozen=True)
class Model:
    """`format` of the reasoning that it gives; `signed`: it must come back with calls."""

    provider: str
    format: str | None = None
    signed: bool = False
    forced: bool = True


MODELS = {
    "openai/gpt-4o": Model("OpenAI"),
    "google/gemini-3.1-pro-preview": Model("Google AI Studio", "google-gemini-v1", signed=True),
    "anthropic/claude-sonnet-5": Model("Anthropic", "anthropic-claude-v1"),
    "deepseek/deepseek-v4": Model("DeepSeek", "unknown", forced=False),
}
_OWN = (
    "include_reasoning min_p models plugins preset provider reasoning repetition_penalty route session_id top_a "
    "top_k trace transforms usage verbosity reasoning_details annotations refusal audio function_call"
).split()


def _error(message: str, status: int = 400, **more: object) -> Refused:
    return Refused(status, {"error": {"message": message, "code": status, **more}, "user_id": "user_1"})


def _provider_error(model: Model, status: int, raw: str) -> Refused:
    metadata = {"raw": raw, "provider_name": model.provider}
    return _error("Provider returned error", status, metadata=metadata)


class OpenRouter(StandIn):
    name = "openrouter"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        if exchange.path != "/api/v1/chat/completions":
            raise Refused(404, {"error": {"message": "Not Found", "code": 404}})
        bearer = exchange.headers.get("authorization", "")
        if not bearer:
            raise _error("No cookie auth credentials found", 401)
        if bearer != f"Bearer {KEY}":
            raise _error("User not found.", 401)
        return _answer(exchange, brain)


STANDIN = OpenRouter()


def _answer(exchange: Exchange, brain: Brain) -> Document:
    body = exchange.body
    model = MODELS.get(str(body.get("model")))
    if model is None:
        raise _error(f"{body.get('model')} is not a valid model ID")
    # What is not known goes no further.
    while found := problem(body, CompletionCreateParamsNonStreaming):
        if found.kind != "unknown":
            raise _error(told(found).body["error"]["message"])
        *place, name = (part for part in found.path if not isinstance(part, Tag))
        if name not in _OWN:
            exchange.ignored = [*exchange.ignored, str(name)]
        body = _without(body, place, name)
    if not model.forced and body.get("tool_choice") not in (None, "auto", "none"):
        raise _error(
            "No endpoints found that support the provided 'tool_choice' value. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection",
            404,
        )
    openai_chat.check_tools(body)
    openai_chat.check_order(body["messages"])
    _check_reasoning(exchange.body["messages"], model)
    asked = openai_chat.asked_of(body, thinking=model.format is not None)
    said = brain(asked)
    if said.end == "overloaded":
        raise _provider_error(
            model, 529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
        )
    if said.end == "rate_limited":
        raise _provider_error(
            model, 429, f"{body['model']} is temporarily rate-limited upstream. Please retry shortly."
        )
    if said.end == "prompt_blocked":
        metadata = {
            "reasons": ["violence"],
            "flagged_input": asked.prompt,
            "provider_name": model.provider,
        }
        raise _error(
            f"{body['model']} requires moderation on {model.provider}. Your input was flagged",
            403,
            metadata=metadata,
        )
    return _completion(body, asked, said, model)


def _without(value: Any, place: Sequence[str | int], name: str | int) -> Any:
    """A copy without the field `name` of what stands at `place`."""
    if not place:
        return {key: member for key, member in value.items() if key != name}
    changed = value.copy()
    changed[place[0]] = _without(value[place[0]], place[1:], name)
    return changed


def _check_reasoning(messages: list[Document], model: Model) -> None:
    """What was thought must come back as it was; with calls of Gemini it must come back at all."""
    last = max(number for number, one in enumerate(messages) if one["role"] == "user")
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        details = message.get("reasoning_details") or []
        for detail in details:
            if detail.get("type") == "reasoning.encrypted" and detail.get("data") != _data(
                detail.get("id")
            ):
                raise _provider_error(
                    model,
                    400,
                    json.dumps(
                        {
                            "error": {
                                "code": 400,
                                "message": "Corrupted thought signature.",
                                "status": "INVALID_ARGUMENT",
                            }
                        }
                    ),
                )
        if model.signed and number > last and message.get("tool_calls") and not details:
            name = message["tool_calls"][0]["function"]["name"]
            text = f"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {number + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            upstream = json.dumps(
                {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}
            )
            raw = f"Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks. Upstream error: {upstream}"
            raise _provider_error(model, 400, raw)


def _data(id: object) -> str:
    return signature("openrouter", id)


def _completion(body: Document, asked: Asked, said: Said, model: Model) -> Document:
    completion = openai_chat.completion(body, asked, said)
    choice = completion["choices"][0]
    message = choice["message"]
    del message["annotations"]
    message["reasoning"] = None
    if model.format is not None:
        message["reasoning"] = "Let me think."
        id = f"reasoning_{short(asked.prompt, asked.turn)}"
        text = {"type": "reasoning.text", "text": "Let me think.", "format": model.format, "index": 0}
        data = {
            "type": "reasoning.encrypted",
            "id": id,
            "data": _data(id),
            "format": model.format,
            "index": 1,
        }
        message["reasoning_details"] = [text, data] if model.format != "unknown" else [text]
    choice["native_finish_reason"] = choice["finish_reason"]
    if said.end in ("provider_error", "malformed_call"):
        choice["finish_reason"] = "error"
        choice["native_finish_reason"] = (
            "MALFORMED_FUNCTION_CALL" if said.end == "malformed_call" else "error"
        )
        if said.end == "provider_error":
            metadata = {"raw": "upstream connect error", "provider_name": model.provider}
            choice["error"] = {"code": 502, "message": "Provider returned error", "metadata": metadata}
    usage = {
        **completion["usage"],
        "cost": 0.00042,
        "is_byok": False,
        "cost_details": {"upstream_inference_cost": None},
    }
    return {**completion, "id": f"gen-{short(asked.prompt)}", "provider": model.provider, "usage": usage}
