"""litellm's price list and the cost of answers, without importing litellm."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...record.calls import is_number
from ...record.untrusted import as_mapping, as_text, objects_in

# Items that OpenAI runs itself, and does not charge by tokens alone.
_RUN = (
    *("code_interpreter_call", "file_search_call", "image_generation_call", "program", "shell_call"),
    "web_search_call",
)
_ABOVE = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")


def data_file(name: str) -> Mapping[str, Any]:
    """One of litellm's JSON files; empty if it cannot be read."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    try:
        data = msgspec.json.decode(Path(spec.origin).with_name(name).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return data if isinstance(data, dict) else {}


@functools.cache
def price_list() -> Mapping[str, Any]:
    """litellm's entries by model. Takes about 10 ms the first time."""
    return data_file("model_prices_and_context_window_backup.json")


def listed(model: str) -> Mapping[str, Any] | None:
    """litellm's entry for a model, with or without its provider in the name."""
    model = "/".join(part for part in model.split("/") if part != "responses")
    entry = price_list().get(model)
    if entry is None:
        provider, _, name = model.partition("/")
        entry = price_list().get(name)
        # Some providers have several entries: vertex_ai-language-models, bedrock_converse.
        if not isinstance(entry, dict) or not str(entry.get("litellm_provider")).startswith(provider):
            return None
    return entry if isinstance(entry, dict) else None


def provider_of(model: str) -> str:
    """litellm's provider for a model, from the name's prefix or else from litellm's list."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return "openai" if prefix == "responses" else prefix
    return str(price_list().get(model, {}).get("litellm_provider", "")).partition("-")[0]


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


def cost_usd(price: Mapping[str, Any] | None, usage: Mapping[str, Any]) -> float | None:
    """The cost of an answer in US dollars, None if unknown.

    Prompt tokens that the provider read from its cache or wrote into it, reasoning tokens, and long
    prompts may have their own prices. `usage` is the chat API's object.
    """
    prompt = token_count(usage.get("prompt_tokens"))
    completion = token_count(usage.get("completion_tokens")) or 0
    if price is None or prompt is None:
        return None
    details = as_mapping(usage.get("prompt_tokens_details"))
    cached = min(token_count(details.get("cached_tokens")) or 0, prompt)
    tier = _tier(price, prompt)
    into = price.get(f"input_cost_per_token{tier}")
    out = price.get(f"output_cost_per_token{tier}")
    if not isinstance(into, (int, float)) or not isinstance(out, (int, float)):
        return None
    again = _rate(price, f"cache_read_input_token_cost{tier}", into)
    created = min(token_count(details.get("cache_creation_tokens")) or 0, prompt - cached)
    keep = _rate(price, f"cache_creation_input_token_cost{tier}", into)
    hidden = min(reasoning_tokens(usage) or 0, completion)
    think = _rate(price, "output_cost_per_reasoning_token", out)
    cost = (prompt - cached - created) * into + cached * again + created * keep
    cost += (completion - hidden) * out + hidden * think
    return float(cost) if cost > 0 else None


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


def _rate(price: Mapping[str, Any], name: str, otherwise: float) -> float:
    rate = price.get(name)
    return rate if isinstance(rate, (int, float)) else otherwise


def _tier(price: Mapping[str, Any], prompt_tokens: int) -> str:
    """The suffix of the price keys for a prompt of this length."""
    limits = [int(found[1]) for key in price if (found := _ABOVE.match(key))]
    reached = [limit for limit in limits if prompt_tokens > limit * 1000]
    return f"_above_{max(reached)}k_tokens" if reached else ""
