from __future__ import annotations

import json
from typing import Any

import pytest
from builders import tool
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.clients.lexical import LexicalClient, fill_arguments, lexical_message
from pytest_tooleval.engine.exchange.chat import ChatRequest

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def described(name: str, description: str, required: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return tool(name, schema, description=description)


UNITS = {"type": "string", "enum": ["celsius", "fahrenheit"]}
TOOLS = [
    described("get_weather", "Get current weather for a city", "city", city=TEXT, units=UNITS),
    described(
        "book_table",
        "Book a table in a restaurant",
        "restaurant party_size date",
        restaurant=TEXT,
        party_size=WHOLE,
        date=TEXT,
    ),
    described(
        "convert_currency",
        "Convert money between currencies",
        "amount from_currency to_currency",
        amount=NUMBER,
        from_currency=TEXT,
        to_currency=TEXT,
    ),
]


def ask(prompt: str, tools: list[dict[str, Any]] | None = None, choice: str = "required") -> Any:
    """The call's name and arguments, or None."""
    message = lexical_message(
        [{"role": "user", "content": prompt}], TOOLS if tools is None else tools, choice
    )
    if "tool_calls" not in message:
        return None
    function = message["tool_calls"][0]["function"]
    return function["name"], json.loads(function["arguments"])


@pytest.mark.parametrize(
    ("prompt", "name", "arguments"),
    [
        ("What's the weather in Paris?", "get_weather", {"city": "Paris"}),
        ("what's the weather in paris?", "get_weather", {"city": "paris"}),
        ("Temperature in Tokyo in Fahrenheit", "get_weather", {"city": "Tokyo", "units": "fahrenheit"}),
        ("Is there weather in New York City?", "get_weather", {"city": "New York City"}),
        ("Weather in São Paulo", "get_weather", {"city": "São Paulo"}),
        (
            "Convert 100 USD to EUR",
            "convert_currency",
            {"amount": 100, "from_currency": "USD", "to_currency": "EUR"},
        ),
        (
            "Convert 1,250.50 from GBP to JPY",
            "convert_currency",
            {"amount": 1250.5, "from_currency": "GBP", "to_currency": "JPY"},
        ),
    ],
)
def test_ordinary_prompts(prompt: str, name: str, arguments: dict[str, Any]) -> None:
    assert ask(prompt) == (name, arguments)


def test_tool_choice_is_respected() -> None:
    assert ask("What's the weather in Paris?", choice="none") is None
    assert ask("Sing a song", choice="auto") is None
    assert ask("Sing a song", choice="required")[0] == "get_weather"
    assert ask("What's the weather in Paris?", tools=[]) is None


def test_a_chain_goes_on_to_the_next_tool() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Weather, then convert 5 USD to EUR"}]
    first = lexical_message(messages, TOOLS, "required")
    second = lexical_message([*messages, first], TOOLS, "required")
    names = [m["tool_calls"][0]["function"]["name"] for m in (first, second)]
    ids = [m["tool_calls"][0]["id"] for m in (first, second)]
    assert len(set(names)) == len(set(ids)) == 2


def test_the_last_users_message_counts() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Convert 100 USD to EUR"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": [{"type": "text", "text": "What's the weather in Oslo?"}]},
    ]
    assert lexical_message(messages, TOOLS, "auto")["tool_calls"][0]["function"]["name"] == "get_weather"


def test_values_by_type() -> None:
    schema = {
        "properties": {
            "n": {"type": ["null", "integer"]},
            "all": {"type": "array"},
            "flag": {"type": "boolean"},
            "mode": {"enum": ["fast", "slow"], "default": "slow"},
            "inner": {"type": "object", "properties": {"x": TEXT}, "required": ["x"]},
        },
        "required": ["n", "all", "flag", "mode", "inner"],
    }
    assert fill_arguments("Take 3 to Rome", schema) == {
        "n": 3,
        "all": [],
        "flag": False,
        "mode": "slow",
        "inner": {"x": "Rome"},
    }


async def test_the_client_answers_as_the_function_does() -> None:
    request = ChatRequest([{"role": "user", "content": "Weather in Paris"}], TOOLS, "required")
    client = LexicalClient()
    answer = await client.complete(request, 1.0)
    await client.close()
    assert answer.message == lexical_message(request.messages, TOOLS, "required")
    assert answer.prompt_tokens is None


@given(st.text() | st.just("Take 1" + "0" * 5000 + " and 1.5 'to' \"Rome\" in celsius"))
def test_no_prompt_raises(prompt: str) -> None:
    assert ask(prompt) == ask(prompt)


def test_schemas_of_true() -> None:
    assert ask("Go to Rome", [described("go", "Go", "to", to=True)]) == ("go", {"to": "Rome"})
