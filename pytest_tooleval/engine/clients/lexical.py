"""`builtin/lexical`: a model without network, key or weights, which every real model should beat.

It calls the tool whose name and description have the most words in common with the prompt, where rare
words count more, and fills arguments from enums, numbers and names in the prompt. It is deterministic.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...record.calls import ToolCall
from ...record.transcript import SEARCHES, text_of
from ..exchange.chat import ChatAnswer, ChatRequest
from ..exchange.tools import function_name, functions_of

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?(?![\w.]*\d)")
# One or more capitalised words, with small connecting words between them.
_PROPER = re.compile(r"[A-Z][\w-]*(?:(?: of| de| la| the)? [A-Z][\w-]*)*")
# A phrase after a preposition, for prompts with names in lower case.
_PHRASE = re.compile(r"\b(?:in|at|to|for|from|of|about|with|is) (?:the |a |an )?([^,.?!\d]+)")
_COMMON = frozenset(
    "a an and are as at be by can could do does for from give get has have how i if in into is "
    "it its let like me my need of on or our please s should so some that the their them there "
    "these this those to us use used using want was we what when where which who will with "
    "would you your".split()
)
_NAME_WEIGHT = 3.0
_MOST_FOUND = 5  # the most tools that Anthropic's search returns
_NUMERIC = ("integer", "number")


class LexicalClient:
    """The client of the built-in model."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        message = lexical_message(request.messages, request.tools, request.tool_choice)
        return ChatAnswer(message=message, finish_reason="stop", cost_usd=0.0)

    async def close(self) -> None:
        """Nothing to close."""


def lexical_message(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    tool_choice: str | Mapping[str, Any],
) -> dict[str, Any]:
    """The assistant's message: a call, or a text if no tool fits and no call is required.

    If tools are deferred, it searches among them first.
    """
    texts = (text_of(dict(message)) for message in reversed(messages) if message.get("role") == "user")
    prompt = next(texts, "")
    called = [
        ToolCall.coerce(call).name for message in messages for call in message.get("tool_calls") or ()
    ]
    functions = functions_of(tools)
    custom = {function_name(tool) for tool in tools if "custom" in tool}
    if isinstance(tool_choice, Mapping):
        allowed = tool_choice.get("allowed_tools") or {"mode": "required", "tools": [tool_choice]}
        names = set(map(function_name, allowed["tools"]))
        functions = [function for function in functions if function["name"] in names]
        tool_choice = str(allowed["mode"])
    message: dict[str, Any] = {"role": "assistant", "content": None}
    deferred = [function for function in functions if function.get("defer_loading")]
    if deferred and tool_choice != "none":
        hits = _ranked(prompt, deferred)[:_MOST_FOUND]
        search = {"id": None, "arguments": {"query": prompt}, "tools": [each["name"] for each in hits]}
        message[SEARCHES] = [search]
        functions = [function for function in functions if function not in deferred or function in hits]
    # In a chain, continue with the best tool that was not called yet.
    candidates = [f for f in functions if f["name"] not in called] or functions
    best = next(iter(_ranked(prompt, candidates)), None) if tool_choice != "none" else None
    if best is None and candidates and tool_choice == "required":
        best = candidates[0]
    if best is None:
        return {**message, "content": "No tool fits."}
    call: dict[str, Any] = {"id": f"call_{len(called)}"}
    if best["name"] in custom:
        call |= {"type": "custom", "custom": {"name": best["name"], "input": prompt}}
    else:
        arguments = json.dumps(fill_arguments(prompt, best.get("parameters") or {}))
        call |= {"type": "function", "function": {"name": best["name"], "arguments": arguments}}
    return {**message, "tool_calls": [call]}


@lru_cache(maxsize=2**14)  # every request has the same tools
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text in lower case and singular, without common ones."""
    words = map(str.lower, _WORD.findall(text))
    return tuple(_singular(word) for word in words if word not in _COMMON)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _ranked(prompt: str, functions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The functions that overlap with the prompt, the largest weighted overlap first."""
    of_prompt = sorted(set(words_of(prompt)))  # in a fixed order, for reproducible rounding
    weights = list(map(_weights, functions))
    counts = {word: count for word in of_prompt if (count := sum(word in words for words in weights))}
    # Inverse document frequency, smoothed so that a lone tool can match at all.
    rarity = {word: math.log(1 + len(functions) / count) for word, count in counts.items()}
    scores = [sum(words[word] * rarity[word] for word in rarity if word in words) for words in weights]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])  # ties keep their order
    return [functions[index] for index in order if scores[index] > 0]


def _weights(function: Mapping[str, Any]) -> dict[str, float]:
    """How much each word of a tool counts."""
    texts = [function.get("description") or ""]
    for name, schema in _properties(function.get("parameters") or {}).items():
        texts += [name, *map(str, schema.get("enum", ()))]
    words = dict.fromkeys(words_of(" ".join(texts)), 1.0)
    return words | dict.fromkeys(words_of(function["name"]), _NAME_WEIGHT)


def _properties(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = parameters.get("properties", {})
    return {name: {} if isinstance(schema, bool) else schema for name, schema in properties.items()}


def fill_arguments(prompt: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Fill arguments from the prompt, using each number and name once, in order.

    Required parameters take any value that is left. Optional ones take only a mentioned enum value, or
    the value next to a word of the parameter's name.
    """
    return _fill(_Prompt(prompt), parameters)


def _fill(prompt: _Prompt, parameters: Mapping[str, Any]) -> dict[str, Any]:
    required = frozenset(parameters.get("required", ()))
    properties = _properties(parameters)
    names = sorted(properties, key=lambda name: name not in required)
    values = {name: _value(prompt, name, properties[name], name in required) for name in names}
    return {name: value for name, value in values.items() if value is not None}


class _Prompt:
    """The numbers and texts of a prompt, with their places. Each is used once."""

    def __init__(self, prompt: str) -> None:
        self.words = [(m.start(), _singular(m.group().lower())) for m in _WORD.finditer(prompt)]
        self.numbers = [(m.start(), m.group().replace(",", "")) for m in _NUMBER.finditer(prompt)]
        self.names = list(_proper_names(prompt))
        phrases = [(m.start(1), m[1].strip()) for m in _PHRASE.finditer(prompt)]
        self.phrases = [(start, text) for start, text in phrases if text]

    def holds(self, text: str) -> bool:
        """Whether all words of a text are in the prompt."""
        words, of_prompt = set(words_of(text)), {word for _, word in self.words}
        return bool(words) and words <= of_prompt

    def take(self, values: list[tuple[int, str]], name: str, required: bool) -> str | None:
        """The value nearest to a word of the parameter's name, or else, if required, the first left."""
        hints = {*words_of(name), *name.lower().split("_")}
        starts = [at for at, word in self.words if word in hints]
        near = min(
            ((abs(start - at), i) for i, (at, _) in enumerate(values) for start in starts), default=None
        )
        if near is not None:
            return values.pop(near[1])[1]
        return values.pop(0)[1] if required and values else None


def _proper_names(prompt: str) -> Iterator[tuple[int, str]]:
    """Capitalised phrases, except words that only begin a sentence."""
    for match in _PROPER.finditer(prompt):
        text, start = match.group(), match.start()
        first, _, rest = text.partition(" ")
        begins = prompt[:start].rstrip()[-1:] in ("", *".!?:")
        if begins and (not rest or first.lower() in _COMMON):
            start, text = start + len(first) + 1, rest
        if text and text.lower() not in _COMMON:
            yield start, text


def _value(prompt: _Prompt, name: str, schema: Mapping[str, Any], required: bool) -> Any:
    options = schema.get("enum", ())
    if options:
        mentioned = (option for option in options if prompt.holds(str(option)))
        return next(mentioned, schema.get("default", options[0]) if required else None)
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
    if kind in _NUMERIC:
        text = prompt.take(prompt.numbers, name, required)
        default = schema.get("default") if required else None
        return default if text is None else _number(text, kind)
    if kind == "boolean":
        return True if prompt.holds(name) else (False if required else None)
    if kind in ("array", "object"):
        return ([] if kind == "array" else _fill(prompt, schema)) if required else None
    text = prompt.take(prompt.names, name, required)
    if text is None and required:
        text = schema["default"] if "default" in schema else prompt.take(prompt.phrases, name, True)
    return text if text is not None or not required else ""


def _number(text: str, kind: str) -> float:
    return int(float(text)) if kind == "integer" or "." not in text else float(text)
