"""What `suite.provider_schemas` says of tools holds: who refuses them, and what models are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.models.spec import HttpModel
from pytest_tooleval.errors import ModelError
from pytest_tooleval.jsonschemas.providers import Rules, troubles

from .contract import Contract

pytestmark = pytest.mark.slow

Schema = dict[str, Any]
MODELS: dict[str, set[Rules]] = {
    "openai/gpt-4o": {"OpenAI"},
    "anthropic/claude-haiku-4-5": {"Anthropic"},
    "gemini/gemini-2.5-flash": {"Gemini"},
    "gemini/gemini-2.5-flash over litellm": {"Gemini", "Vertex AI"},
    "bedrock/anthropic.claude-haiku-4-5-20251001-v1:0": {"Bedrock", "Anthropic"},
}
TEXT = {"type": "string"}
# A keyword of a parameter, and the rest of its schema.
KEYWORDS: dict[str, tuple[Any, Schema]] = {
    "const": ("x", TEXT),
    "oneOf": ([TEXT, {"type": "integer"}], {}),
    "anyOf": ([TEXT, {"type": "integer"}], {}),
    "allOf": ([TEXT, {"maxLength": 3}], {}),
    "not": ({"const": "x"}, TEXT),
    "prefixItems": ([TEXT], {"type": "array", "items": TEXT}),
    "uniqueItems": (True, {"type": "array", "items": TEXT}),
    "minItems": (1, {"type": "array", "items": TEXT}),
    "contains": (TEXT, {"type": "array", "items": TEXT}),
    "minimum": (1, {"type": "integer"}),
    "exclusiveMinimum": (1, {"type": "integer"}),
    "exclusiveMaximum": (1, {"type": "integer"}),
    "multipleOf": (2, {"type": "integer"}),
    "pattern": ("a", TEXT),
    "maxLength": (3, TEXT),
    "enum": (["a"], TEXT),
    "required": (["x"], {"type": "object", "properties": {"x": TEXT}}),
    "patternProperties": ({"a": TEXT}, {"type": "object"}),
    "propertyNames": ({"maxLength": 3}, {"type": "object"}),
    "additionalProperties": (TEXT, {"type": "object"}),
    "dependentRequired": ({"x": ["y"]}, {"type": "object"}),
    "dependentSchemas": ({"x": {"required": ["y"]}}, {"type": "object"}),
    "if": ({"required": ["x"]}, {"type": "object", "then": {"required": ["y"]}}),
}
OTHERS: dict[str, tuple[str, Schema]] = {
    "an enum of integers": ("enum", {"type": "integer", "enum": [1, 2]}),
    "an enum without a type": ("enum", {"enum": ["a", "b"]}),
    "an enum with null": ("enum", {"type": ["string", "null"], "enum": ["a", None]}),
}
PARAMETERS = {name: (name, {name: value, **rest}) for name, (value, rest) in KEYWORDS.items()} | OTHERS
# litellm keeps, to the end of the process, what the names that it shortens for Bedrock stand for: no tool of
# another test may be called like that.
NAMES = ["get_weather", "look.up", "find it", "1st", "a" * 65, "a" * 64, "a:b"]
REFUSED: dict[str, Schema] = {
    **{name: {"name": name} for name in NAMES},
    "no type": {"parameters": {"properties": {"k": TEXT}}},
    "a key with a space": {"parameters": {"type": "object", "properties": {"my key": TEXT}}},
    "a key with a dollar": {"parameters": {"type": "object", "properties": {"$filter": TEXT}}},
    "a key with a dot": {"parameters": {"type": "object", "properties": {"a.b": TEXT}}},
    "an array": {"parameters": {"type": "object", "properties": {"k": {"type": "array"}}}},
    "an array in an object": {
        "parameters": {
            "type": "object",
            "properties": {"k": {"type": "object", "properties": {"x": {"type": "array"}}}},
        }
    },
    **{
        f"{key} at the top": {
            "parameters": {"type": "object", "properties": {"k": TEXT}, key: [{"required": ["k"]}]}
        }
        for key in ("anyOf", "oneOf", "allOf")
    },
    "true": {"parameters": {"type": "object", "properties": {"k": True}}},
    "strict": {"strict": True, "parameters": {"type": "object", "properties": {"k": TEXT}}},
    "strict and closed": {
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"k": TEXT},
            "required": ["k"],
            "additionalProperties": False,
        },
    },
    "strict and not required": {
        "strict": True,
        "parameters": {"type": "object", "properties": {"k": TEXT}, "additionalProperties": False},
    },
}


def ask(contract: Contract, model: str, function: Schema) -> Any:
    """The body that came to the provider. ModelError when it refuses it."""
    contract.standins.forget()

    async def asking() -> None:
        name, _, over = model.partition(" over ")
        client = make_client(HttpModel("m", model=name, api=over or None))
        request = ChatRequest(
            [{"role": "user", "content": "Hello"}], [{"type": "function", "function": function}]
        )
        try:
            await client.complete(request, 60.0)
        finally:
            if not over:  # litellm's connections are shared
                await client.close()

    contract.run(asking())
    return contract.standins.exchanges[-1].body


def schemas(value: object) -> Iterator[Schema]:
    """Every object in a document that has properties."""
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict):
            yield value
        for member in value.values():
            yield from schemas(member)
    elif isinstance(value, list):
        for member in value:
            yield from schemas(member)


@pytest.mark.parametrize("model", MODELS)
def test_what_models_are_not_shown(contract: Contract, model: str) -> None:
    for name, (keyword, schema) in PARAMETERS.items():
        function = {"name": "f", "parameters": {"type": "object", "properties": {"k": schema}}}
        sent = next(schemas(ask(contract, model, function)))["properties"]["k"]
        hidden = [one.at[-1] for one in troubles(function) if MODELS[model] & {*one.hidden}]
        assert keyword in schema, name  # litellm has not taken it out of our own
        assert (keyword in hidden) is (keyword not in sent), name


@pytest.mark.parametrize("model", MODELS)
def test_what_is_refused(contract: Contract, model: str) -> None:
    for name, given in REFUSED.items():
        function = {"name": "f", "parameters": {"type": "object", "properties": {"k": TEXT}}, **given}
        expected = any(MODELS[model] & {*one.refused} for one in troubles(function))
        refused = False
        try:
            ask(contract, model, function)
        except ModelError:
            refused = True
        assert refused is expected, name
