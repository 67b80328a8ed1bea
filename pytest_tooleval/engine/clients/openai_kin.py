"""What providers with OpenAI's chat API want otherwise than OpenAI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..models.spec import HttpModel
from ..models.traits import reasons
from .message_parts import images_apart

_FIREWORKS = "accounts/fireworks/models/"
# All that Mistral takes of a message; it refuses whatever it does not know.
_MISTRAL = ("role", "content", "tool_calls", "tool_call_id", "name", "prefix")


def adapt_body(body: Mapping[str, Any], spec: HttpModel) -> dict[str, Any]:
    """The body of a request as the model's provider wants it."""
    new = dict(body)
    provider = spec.provider.name
    new["messages"] = with_images(new["messages"], spec)
    if provider == "fireworks_ai" and not new["model"].startswith("accounts/"):
        new["model"] = _FIREWORKS + new["model"]
    elif provider == "mistral":
        if "seed" in new:
            new["random_seed"] = new.pop("seed")
        new["messages"] = [
            {name: value for name, value in each.items() if name in _MISTRAL} for each in new["messages"]
        ]
    elif provider == "deepseek":
        new |= _thinking_of(new)
        if new.get("reasoning_effort") == "none":
            del new["reasoning_effort"]
        if new.get("thinking") == {"type": "enabled"} and reasons(spec.model):
            new["messages"] = list(map(_with_reasoning, new["messages"]))
    elif provider == "moonshot" and reasons(spec.model):
        new["messages"] = [
            _with_reasoning(each) if each.get("tool_calls") else each for each in new["messages"]
        ]
    return new


def with_images(messages: Sequence[Mapping[str, Any]], spec: HttpModel) -> Sequence[Mapping[str, Any]]:
    """The messages with images in tools' answers where the model's provider takes them.

    Mistral takes them in the answers, and no message of the user's after them.
    """
    return messages if spec.provider.name == "mistral" else [*images_apart(messages)]


def base_of(base: str, spec: HttpModel) -> str:
    """The address of a provider's OpenAI API; Ollama's is below the address of Ollama's own API."""
    address = base.rstrip("/")
    is_root = spec.provider.name == "ollama" and not address.endswith("/v1")
    return f"{address}/v1" if is_root else base


def _thinking_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """DeepSeek thinks or does not; any effort asks it to."""
    thinking, effort = body.get("thinking"), body.get("reasoning_effort")
    if isinstance(thinking, Mapping):
        return {"thinking": {"type": thinking.get("type")}}
    return (
        {} if effort is None else {"thinking": {"type": "disabled" if effort == "none" else "enabled"}}
    )


def _with_reasoning(message: Mapping[str, Any]) -> dict[str, Any]:
    """An assistant's message with the reasoning that must come back, which a suite's messages lack."""
    lacks = message.get("role") == "assistant" and not message.get("reasoning_content")
    return {**message, "reasoning_content": " "} if lacks else dict(message)
