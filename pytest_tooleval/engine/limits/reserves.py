"""How much a request may cost, from what the model's earlier answers show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...record.images import url_of, with_each_image
from ..exchange.chat import ChatAnswer, ChatRequest
from ..models.known import known_entry
from ..models.prices import cost_usd, table_usd
from ..models.spec import Agent, HttpModel, ModelSpec

# Before a model's first answer. Dense JSON has about one token for each three bytes.
_TOKENS_PER_BYTE = 0.4
_IMAGE = 8_000  # for most models 2000 tokens or less, whatever its size in bytes
# With `max_tokens` the output cannot exceed its reserve, so the input must not either: another text may
# have more tokens for each byte than the densest one so far.
_MARGIN = 1.25
_MAX_TOKENS = ("max_tokens", "max_completion_tokens")


class Bounds(NamedTuple):
    """The most tokens for each byte of a request, the longest answer, and the highest cost so far."""

    tokens_per_byte: float = 0.0
    longest: int = 0
    dearest: float = 0.0

    @classmethod
    def of(cls, request: ChatRequest, answer: ChatAnswer) -> Bounds:
        tokens = answer.prompt_tokens if answer.earlier is None else None  # an agent asks on its own
        return cls(
            (tokens or 0) / request_size(request),
            max(each.completion_tokens or 0 for each in answer.replies),
            sum(each.cost_usd or 0.0 for each in answer.replies),
        )

    def and_also(self, other: Bounds) -> Bounds:
        return Bounds(
            max(self.tokens_per_byte, other.tokens_per_byte),
            max(self.longest, other.longest),
            max(self.dearest, other.dearest),
        )


def request_size(request: ChatRequest) -> int:
    """The bytes of messages and tools. Unlike characters, they count alike in all languages."""
    messages = (with_each_image(each, _cut) for each in request.messages)
    text = json.dumps([*messages, *request.tools], ensure_ascii=False, default=str)
    return len(text.encode(errors="replace"))


def _cut(image: Mapping[str, Any]) -> str:
    return url_of(image)[:_IMAGE]


def has_price(spec: ModelSpec) -> bool:
    return _most_usd(spec, 1, 1) is not None


def reserve_for(spec: ModelSpec, request: ChatRequest, seen: Bounds | None) -> float:
    """Dollars to reserve for a request to a model with a price; `seen` is None before its first answer.

    For an agent, whose requests are unknown, that is its highest cost so far.
    """
    past = seen or Bounds()
    if isinstance(spec, Agent):
        return past.dearest
    limits = [request.sampling[name] for name in _MAX_TOKENS if request.sampling.get(name)]
    longest = max([past.longest, *map(int, limits)])
    margin = _MARGIN if limits and seen is not None else 1.0
    prompt = round(request_size(request) * (past.tokens_per_byte or _TOKENS_PER_BYTE) * margin)
    return _most_usd(spec, prompt, longest) or 0.0


def _most_usd(spec: ModelSpec, prompt: int, completion: int) -> float | None:
    """The price of these tokens, even if all of the output is reasoning; None if it is unknown."""
    usd = table_usd(spec, prompt, completion)
    if usd is not None or not isinstance(spec, HttpModel):
        return usd
    entry = known_entry(spec.model)
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    reasoning = {**usage, "completion_tokens_details": {"reasoning_tokens": completion}}
    costs = [cost_usd(entry, each) for each in (usage, reasoning)]
    return max((cost for cost in costs if cost is not None), default=None)
