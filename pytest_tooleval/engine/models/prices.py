"""The tokens of answers and what they cost, in US dollars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...record.calls import is_number
from ...record.untrusted import as_mapping, as_text, objects_in
from .known import known_entry
from .spec import HttpModel, ModelSpec

# Items that OpenAI runs itself, and does not charge by tokens alone.
_RUN = (
    *("code_interpreter_call", "file_search_call", "image_generation_call", "program", "shell_call"),
    "web_search_call",
)
# What providers call the service tier that everybody gets.
_USUAL_TIERS = (None, "", "auto", "default", "on_demand", "standard")
_ABOVE = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")


def token_count(value: object) -> int | None:
    """A provider's count of tokens; None if it is 0 or not a number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53:
        return value
    return None


def usage_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The `usage` of a chat answer, with reasoning included in the completion tokens, as OpenAI counts.

    Other providers (xAI, Google) count it separately, as the total reveals.
    """
    usage = dict(as_mapping(document.get("usage")))
    prompt, completion, total = (
        token_count(usage.get(f"{kind}_tokens")) or 0 for kind in ("prompt", "completion", "total")
    )
    reasoning = reasoning_tokens(usage) or 0
    if reasoning and total == prompt + completion + reasoning:
        usage["completion_tokens"] = completion + reasoning
    return usage


def reasoning_tokens(usage: Mapping[str, Any]) -> int | None:
    """The completion tokens for reasoning; None when unknown."""
    count = as_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")
    return 0 if count == 0 else token_count(count)


# No answer costs more, whatever a provider says.
_MOST_USD = 1e6


def reported_cost(usage: Mapping[str, Any]) -> float | None:
    """The cost in US dollars that the provider reports (OpenRouter)."""
    cost = usage.get("cost")
    return float(cost) if is_number(cost) and 0 < cost < _MOST_USD else None


def cost_usd(
    price: Mapping[str, Any] | None, usage: Mapping[str, Any], service_tier: object = None
) -> float | None:
    """The cost of an answer in US dollars; None if its service tier or one of its units has no price.

    Prompt tokens that the provider read from its cache or wrote into it (for five minutes or an hour),
    audio, reasoning, and long prompts may have their own prices. Cached tokens without a price of their
    own cost as much as others, which is the most that they can cost. `usage` is the chat API's object.
    """
    prompt = token_count(usage.get("prompt_tokens"))
    completion = token_count(usage.get("completion_tokens")) or 0
    if price is None or prompt is None:
        return None
    tier = "" if service_tier in _USUAL_TIERS else f"_{service_tier}"
    suffix = _length(price, prompt) + tier

    def rate(name: str, otherwise: float | None = None) -> float | None:
        value = price.get(name + suffix)
        return value if isinstance(value, (int, float)) else otherwise

    into, out = rate("input_cost_per_token"), rate("output_cost_per_token")
    if into is None or out is None:
        return None
    read = as_mapping(usage.get("prompt_tokens_details"))
    wrote = as_mapping(usage.get("completion_tokens_details"))
    cached, created, hour, heard = (
        token_count(read.get(name)) or 0
        for name in ("cached_tokens", "cache_creation_tokens", "cache_hour_tokens", "audio_tokens")
    )
    spoken = token_count(wrote.get("audio_tokens")) or 0
    hidden = reasoning_tokens(usage) or 0
    of_prompt = _priced(
        prompt,
        (cached, rate("cache_read_input_token_cost", into)),
        (hour, rate("cache_creation_input_token_cost_above_1hr")),
        (created - hour, rate("cache_creation_input_token_cost", into)),
        (heard, _plain_rate(price, "input_cost_per_audio_token", tier)),
        (prompt, into),
    )
    of_completion = _priced(
        completion,
        (hidden, _plain_rate(price, "output_cost_per_reasoning_token", tier) or out),
        (spoken, _plain_rate(price, "output_cost_per_audio_token", tier)),
        (completion, out),
    )
    if of_prompt is None or of_completion is None:
        return None
    cost = of_prompt + of_completion
    return float(cost) if cost > 0 else None


def table_usd(spec: ModelSpec, prompt: int | None, completion: int | None) -> float | None:
    """US dollars for these tokens at the prices in the model's table; None if anything is unknown."""
    into, out = spec.input_price, spec.output_price
    if prompt is None or completion is None or into is None or out is None:
        return None
    return (prompt * into + completion * out) / 1_000_000


def usual_usd(spec: HttpModel, prompt: int, completion: int, reasoning: int = 0) -> float | None:
    """US dollars for these tokens at the table's prices, or else at the usual ones of litellm's list."""
    usd = table_usd(spec, prompt, completion + reasoning)
    entry = known_entry(spec.model) or {}
    into, out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if usd is not None or not into or not out:
        return usd
    thought = entry.get("output_cost_per_reasoning_token") or out
    # Per million tokens, so that all costs are rounded alike.
    into, out, thought = (rate * 1_000_000 for rate in (into, out, thought))
    return float((prompt * into + completion * out + reasoning * thought) / 1_000_000)


def _priced(tokens: int, *units: tuple[int, float | None]) -> float | None:
    """What tokens of these units cost, each with its price; None if one of them has no price."""
    cost = 0.0
    for count, rate in units:
        taken = max(0, min(count, tokens))
        if taken and rate is None:
            return None
        cost += taken * (rate or 0.0)
        tokens -= taken
    return cost


def ran_unpriced(document: Mapping[str, Any]) -> bool:
    """Whether the provider ran tools or programs for this answer whose price is not in `usage`.

    Looks at OpenAI's items and Anthropic's blocks. Both providers charge tool searches by tokens.
    """
    return (
        bool(document.get("container"))
        or any(item.get("type") in _RUN for item in objects_in(document.get("output")))
        or any(
            block.get("type") == "server_tool_use"
            and not as_text(block.get("name")).startswith("tool_search")
            for block in objects_in(document.get("content"))
        )
    )


def _plain_rate(price: Mapping[str, Any], name: str, tier: str) -> float | None:
    """A price that does not depend on the length of the prompt, and has no service tiers."""
    rate = price.get(name)
    return rate if isinstance(rate, (int, float)) and not tier else None


def _length(price: Mapping[str, Any], prompt_tokens: int) -> str:
    """The suffix of the price keys for a prompt of this length."""
    limits = [int(match[1]) for key in price if (match := _ABOVE.match(key))]
    reached = [limit for limit in limits if prompt_tokens > limit * 1000]
    return f"_above_{max(reached)}k_tokens" if reached else ""
