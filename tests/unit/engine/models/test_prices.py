"""What an answer cost, from litellm's price list."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.models.known import known_entry, known_models
from pytest_tooleval.engine.models.prices import cost_usd, ran_unpriced, token_count

PRICE = {
    "input_cost_per_token": 2e-6,
    "output_cost_per_token": 8e-6,
    "cache_read_input_token_cost": 5e-7,
    "input_cost_per_token_above_200k_tokens": 4e-6,
    "output_cost_per_token_above_200k_tokens": 16e-6,
}
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10}, 280e-6),
        ({"prompt_tokens": 100, "completion_tokens": 0}, 200e-6),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 60},
            },
            190e-6,
        ),
        ({"prompt_tokens": 300_000, "completion_tokens": 10}, 1.20016),
        ({"completion_tokens": 10}, None),
        ({}, None),
    ],
)
def test_the_cost_of_an_answer(usage: dict[str, Any], cost: float | None) -> None:
    assert cost_usd(PRICE, usage) == (None if cost is None else pytest.approx(cost))


def test_an_unknown_price_is_none_and_never_0() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    assert cost_usd(None, usage) is None
    assert cost_usd({}, usage) is None
    assert cost_usd({"input_cost_per_token": 0, "output_cost_per_token": 0}, usage) is None


@pytest.mark.parametrize(
    ("document", "unpriced"),
    [
        ({"output": [{"type": "function_call"}, {"type": "tool_search_call"}]}, False),
        ({"output": [{"type": "message"}, {"type": "web_search_call"}]}, True),
        ({"output": [{"type": "program"}]}, True),
        ({"content": [{"type": "tool_use", "name": "web_search"}]}, False),
        ({"content": [{"type": "server_tool_use", "name": "tool_search_tool_bm25"}]}, False),
        ({"content": [{"type": "server_tool_use", "name": "web_search"}]}, True),
        ({"content": [], "container": {"id": "c"}}, True),
        ({"content": [], "container": None}, False),
        ({"choices": [{"message": {"content": "server_tool_use"}}]}, False),
    ],
)
def test_what_a_provider_runs_has_no_price_in_usage(document: dict[str, Any], unpriced: bool) -> None:
    assert ran_unpriced(document) == unpriced


def test_only_openais_own_prices_are_taken() -> None:
    assert known_entry("openai/gpt-4o") is not None
    assert known_entry("openai/claude-sonnet-4-5") is None
    assert known_entry("openai/whatever-the-server-calls-it") is None
    assert len(known_models()) > 1000


@given(
    st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details"]), ANYTHING
    )
)
def test_any_usage_has_a_price_above_0_or_none(usage: dict[str, Any]) -> None:
    cost = cost_usd(PRICE, usage)
    assert cost is None or cost > 0


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "7", None, 10**30])
def test_what_is_no_count_of_tokens(value: object) -> None:
    assert token_count(value) is None
