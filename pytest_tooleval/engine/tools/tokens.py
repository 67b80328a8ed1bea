"""Estimates the tokens that tools add to every request. Needs no network."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...explain import field_path
from ...jsonschemas.subschemas import parts
from ..models.known import INSTALL, litellm_file

TOKENIZER = "o200k_base"
# An average for English text and JSON.
CHARACTERS_PER_TOKEN = 4
_PIECE = 20_000

CountTokens = Callable[[str], int]


class Description(NamedTuple):
    """A description and the path of its owner, such as `search.parameters.properties.query`."""

    place: str
    tokens: int


class ToolTokens(NamedTuple):
    """`tokens` is the whole tool; `description` and `schema` are parts of it."""

    name: str
    tokens: int
    description: int
    schema: int
    descriptions: tuple[Description, ...]


def tool_tokens(tools: Sequence[Mapping[str, Any]], count: CountTokens) -> list[ToolTokens]:
    """The tokens of each tool in OpenAI's format, the largest first.

    This counts the function as compact JSON. Providers show tools to their models in their own
    forms.
    """
    counts = []
    for tool in tools:
        function = tool["function"]
        schema = function.get("parameters")
        counts.append(
            ToolTokens(
                function["name"],
                count(_json(function)),
                count(function.get("description") or ""),
                0 if schema is None else count(_json(schema)),
                tuple(Description(place, count(text)) for place, text in _descriptions(function)),
            )
        )
    return sorted(counts, key=lambda tool: -tool.tokens)


def largest_descriptions(tools: Sequence[ToolTokens], most: int) -> list[Description]:
    """The largest descriptions of tools and parameters, up to `most`."""
    every = [description for tool in tools for description in tool.descriptions]
    return sorted(every, key=lambda description: -description.tokens)[:most]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _descriptions(function: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if function.get("description"):
        yield function["name"], function["description"]
    for at, schema in parts(function.get("parameters")):
        if isinstance(schema, dict) and isinstance(schema.get("description"), str):
            yield field_path((function["name"], "parameters", *at)), schema["description"]


class Counter(NamedTuple):
    """A function that counts tokens, and what it counts with."""

    count: CountTokens
    how: str


@functools.cache
def counter() -> Counter:
    """Count with the vocabulary that litellm includes, or without it by the length of the text."""
    package = litellm_file()
    if package is None or importlib.util.find_spec("tiktoken") is None:
        return Counter(_by_length, f"a token for {CHARACTERS_PER_TOKEN} characters; to count: {INSTALL}")
    import tiktoken

    # Without this, tiktoken downloads the vocabulary. Importing litellm also sets it, but takes seconds.
    folder = package.with_name("litellm_core_utils") / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    encoding = tiktoken.get_encoding(TOKENIZER)

    def count(text: str) -> int:
        # A description may contain the text of a special token, such as <|endoftext|>. It is split into
        # pieces because the vocabulary's pattern fails on a million spaces.
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        return sum(len(encoding.encode(piece, disallowed_special=())) for piece in pieces)

    return Counter(functools.cache(count), f"counted with {TOKENIZER}")


def _by_length(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
