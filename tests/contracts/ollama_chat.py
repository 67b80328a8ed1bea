"""Ollama's own API and its chat completions. It takes whatever it does not know and heeds it not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ollama
from pydantic import BaseModel, ConfigDict, ValidationError

from . import openai_chat
from .talk import Asked, Brain, Document, Exchange, Refused, Said, StandIn


@dataclass(frozen=True)
class Model:
    tools: bool = True
    thinks: bool = False


# What its chat completions know of OpenAI's parameters; `tool_choice` is not among them.
_COMPLETIONS = (
    "model messages tools stream stream_options temperature top_p max_tokens seed stop response_format "
    "frequency_penalty presence_penalty reasoning_effort"
).split()
MODELS = {
    "llama3.1": Model(),
    "qwen3": Model(thinks=True),
    "gemma3": Model(tools=False),
}


class _Request(BaseModel):
    """What /api/chat takes; its parts are the SDK's types."""

    model_config = ConfigDict(strict=True)

    model: str
    messages: list[ollama.Message] = []
    tools: list[ollama.Tool] | None = None
    format: str | Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    stream: bool | None = None
    keep_alive: float | str | None = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class Ollama(StandIn):
    name = "ollama"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        if exchange.path == "/api/show":
            return _shown(exchange.body)
        if exchange.path == "/v1/chat/completions":
            return _completion(exchange, brain)
        if exchange.path != "/api/chat":
            raise Refused(404, {"error": f"404 page not found: {exchange.path}"})
        if exchange.body.get("stream") is not False:
            raise Refused(501, {"error": "this stand-in does not stream"})
        return _answer(exchange, brain)


STANDIN = Ollama()


def _model(body: Document) -> Model:
    name = str(body.get("model", ""))
    model = MODELS.get(name.removesuffix(":latest"))
    if model is None:
        raise Refused(404, {"error": f"model '{name}' not found"})
    return model


def _shown(body: Document) -> Document:
    model = _model({"model": body.get("model") or body.get("name")})
    flags = {"tools": model.tools, "thinking": model.thinks}
    return {
        "capabilities": ["completion", *(name for name, there in flags.items() if there)],
        "details": {"family": "llama", "format": "gguf"},
        "model_info": {"general.architecture": "llama", "llama.context_length": 131072},
        "template": "{{ .Prompt }}{{ .Tools }}" if model.tools else "{{ .Prompt }}",
    }


def _completion(exchange: Exchange, brain: Brain) -> Document:
    """What its server makes of OpenAI's request and of its own answer."""
    body, effort = exchange.body, exchange.body.get("reasoning_effort")
    model = _model(body)
    exchange.ignored = [name for name in body if name not in _COMPLETIONS]
    if body.get("tools") and not model.tools:
        raise _failed(400, f"registry.ollama.ai/library/{body['model']}:latest does not support tools")
    if effort not in (None, "none") and not model.thinks:
        raise _failed(400, f'"{body["model"]}" does not support thinking')
    asked = openai_chat.asked_of(body, thinking=model.thinks and effort != "none")
    said = brain(replace(asked, choice="auto"))
    if said.end == "rate_limited":
        raise _failed(429, "too many concurrent requests")
    if said.end == "overloaded":
        raise _failed(503, "server busy, please try again.  maximum pending requests exceeded")
    made = openai_chat.completion(body, asked, said)
    message = made["choices"][0]["message"]
    kept = {name: message[name] for name in ("role", "content", "tool_calls") if name in message}
    made["choices"][0]["message"] = {
        **kept,
        **({"reasoning": "Let me think."} if asked.thinking else {}),
    }
    usage = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
    return {**made, "usage": usage, "system_fingerprint": "fp_ollama"}


def _failed(status: int, message: str) -> Refused:
    error = {"message": message, "type": "api_error", "param": None, "code": None}
    return Refused(status, {"error": error})


def _answer(exchange: Exchange, brain: Brain) -> Document:
    body = exchange.body
    model = _model(body)
    try:
        request = _Request.model_validate({**body, "messages": [*map(_as_typed, body["messages"])]})
    except ValidationError as error:
        found = error.errors()[0]
        field = ".".join(str(part) for part in found["loc"] if isinstance(part, str))
        got = {str: "string", dict: "object", list: "array", bool: "bool"}.get(
            type(found["input"]), "number"
        )
        text = f"json: cannot unmarshal {got} into Go struct field ChatRequest.{field}"
        raise Refused(400, {"error": text}) from None
    options = ollama.Options.model_fields
    exchange.ignored = [
        *(name for name in body if name not in _Request.model_fields),
        *(f"options.{name}" for name in request.options or () if name not in options),
    ]
    if request.tools and not model.tools:
        name = f"registry.ollama.ai/library/{request.model}:latest"
        raise Refused(400, {"error": f"{name} does not support tools"})
    if request.think and not model.thinks:
        raise Refused(400, {"error": f'"{request.model}" does not support thinking'})
    asked = _asked(request, model)
    said = brain(asked)
    if said.end == "rate_limited":
        raise Refused(429, {"error": "too many concurrent requests"})
    if said.end == "overloaded":
        text = "server busy, please try again.  maximum pending requests exceeded"
        raise Refused(503, {"error": text})
    return _response(request, asked, said)


def _as_typed(message: Document) -> Document:
    """The message with images as the SDK's type has them before it sends them."""
    images = message.get("images")
    return {**message, "images": [{"value": each} for each in images]} if images else message


def _asked(request: _Request, model: Model) -> Asked:
    prompt, turn = "", 0
    for message in request.messages:
        if message.role == "user":
            prompt, turn = message.content or "", 0
        turn += message.role == "assistant"
    tools = [(tool.function.name if tool.function else None) or "" for tool in request.tools or ()]
    # Which thinks if it is not told to: `think` is true by default.
    thinking = model.thinks and request.think is not False
    options = request.options or {}
    temperature, most = options.get("temperature"), options.get("num_predict")
    return Asked(request.model, prompt, tools, "auto", turn, thinking, temperature, most)


def _response(request: _Request, asked: Asked, said: Said) -> Document:
    message: Document = {"role": "assistant", "content": said.text}
    if asked.thinking:
        message["thinking"] = "Let me think."
    if said.calls:
        message["tool_calls"] = [
            {"function": {"index": number, "name": call.name, "arguments": dict(call.arguments)}}
            for number, call in enumerate(said.calls)
        ]
    return {
        "model": request.model,
        "created_at": "2026-11-22T12:00:00.000000Z",
        "message": message,
        "done": True,
        "done_reason": "length" if said.end == "cut_off" else "stop",
        "total_duration": 10_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": 50,
        "prompt_eval_duration": 1_000_000,
        "eval_count": 10,
        "eval_duration": 1_000_000,
    }
