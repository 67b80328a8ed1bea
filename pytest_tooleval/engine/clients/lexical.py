"""`builtin/lexical`: a model without network, key or weights, which every real model should beat.

It calls the tool whose name and description have the most words in common with the prompt, where rare
words count more, and fills parameters from enums, numbers, quoted texts and names in the prompt. It is
deterministic.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from .base import ChatAnswer
from .base import ChatRequest

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?(?![\w.]*\d)")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")
# One or more capitalised words, with small connecting words between them.
_PROPER = re.compile(r"[A-Z][\w'’-]*(?:(?: (?:of|de|la|the) | |, (?=[A-Z]{2}\b))[A-Z][\w'’-]*)*")
# A phrase after a preposition, for prompts with names in lower case.
_PHRASE = re.compile(
    r"\b(?:in|at|to|for|from|of|about|with|is) (?:the |a |an )?([^,.?!\d]+?)"
    r"(?=[,.?!]|$| (?:in|at|to|for|from|of|on|about|with|and|is)\b)"
)
_DATE = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b(?:today|tonight|tomorrow|yesterday"
    r"|(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)
_COMMON = frozenset(
    "a an and are as at be by can could do does for from give get has have how i if in into is "
    "it its let like me my need of on or our please s should so some that the their them there "
    "these this those to us use used using want was we what when where which who will with "
    "would you your".split()
)
_STARTS = frozenset("find show tell calculate compute convert book search create send set".split())
_NAME_WEIGHT, _TEXT_WEIGHT, _PARAMETER_WEIGHT = 3.0, 1.0, 0.5
_NEAR = 25  # characters between a parameter's word and its value, for one that is not required


class LexicalClient:
    """The client of the baseline."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        return ChatAnswer(lexical_message(request.messages, request.tools, request.tool_choice), "stop")

    async def close(self) -> None:
        """Nothing to close."""


def lexical_message(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tool_choice: str
) -> dict[str, Any]:
    """The assistant's message: a call, or a text if no tool fits and no call is required."""
    prompt = _last_user_text(messages)
    called = [
        call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()
    ]
    functions = [tool["function"] for tool in tools]
    # In a chain, continue with the best tool that was not called yet.
    candidates = [f for f in functions if f["name"] not in called] or functions
    best = _best(prompt, candidates) if tool_choice != "none" else None
    if best is None and candidates and tool_choice == "required":
        best = candidates[0]
    if best is None:
        return {"role": "assistant", "content": "No tool fits."}
    arguments = json.dumps(fill_parameters(prompt, best.get("parameters") or {}))
    call = {
        "id": f"call_{len(called)}",
        "type": "function",
        "function": {"name": best["name"], "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    for message in reversed(messages):
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, str):
                return content
            return "\n".join(str(part.get("text", "")) for part in content or ())
    return ""


def _words(text: str) -> list[str]:
    """The stems of the words, in lower case, without common words."""
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]
    return [_stem(word) for word in words if word not in _COMMON]


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "s", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _best(prompt: str, functions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The function with the largest weighted overlap; the first of equals; None if there is none."""
    asked = sorted(set(_words(prompt)))  # in a fixed order, so that sums are rounded alike
    fields = [_fields(function) for function in functions]
    seen_in: dict[str, int] = {}
    for names, texts, parameters in fields:
        for word in names | texts | parameters:
            seen_in[word] = seen_in.get(word, 0) + 1

    def overlap(field: set[str]) -> float:
        # Inverse document frequency, smoothed so that a lone tool can match at all.
        return sum(math.log(1 + len(functions) / seen_in[word]) for word in asked if word in field)

    scores = [
        _NAME_WEIGHT * overlap(names)
        + _TEXT_WEIGHT * overlap(texts)
        + _PARAMETER_WEIGHT * overlap(params)
        for names, texts, params in fields
    ]
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    return functions[best] if best is not None and scores[best] > 0 else None


def _fields(function: Mapping[str, Any]) -> tuple[set[str], set[str], set[str]]:
    names = set(_words(function["name"]))
    texts = set(_words(function.get("description") or "")) - names
    parameters: set[str] = set()
    for name, schema in _properties(function.get("parameters") or {}).items():
        parameters.update(_words(name), *(_words(str(option)) for option in schema.get("enum", ())))
    return names, texts, parameters - names - texts


def _properties(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = parameters.get("properties", {})
    return {name: {} if isinstance(schema, bool) else schema for name, schema in properties.items()}


def fill_parameters(prompt: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from the prompt, where each number, date, quoted text and name is used once, in order.

    Required parameters take any value that is left, optional ones only a mentioned enum value, or a
    value next to a word of the parameter's name.
    """
    return _fill(_Found(prompt), parameters)


def _fill(found: _Found, parameters: Mapping[str, Any]) -> dict[str, Any]:
    required = frozenset(parameters.get("required", ()))
    properties = _properties(parameters)
    arguments: dict[str, Any] = {}
    for name in sorted(properties, key=lambda name: name not in required):
        value = _value(found, name, properties[name], name in required)
        if value is not None:
            arguments[name] = value
    return arguments


class _Found:
    """Numbers, dates and texts of a prompt with their places, each of which is used once."""

    def __init__(self, prompt: str) -> None:
        self.words = [(m.start(), _stem(m.group().lower())) for m in _WORD.finditer(prompt)]
        self.numbers = [(m.start(), m.group().replace(",", "")) for m in _NUMBER.finditer(prompt)]
        self.dates = [(m.start(), m.group()) for m in _DATE.finditer(prompt)]
        quoted = [(m.start(), next(filter(None, m.groups()))) for m in _QUOTED.finditer(prompt)]
        blanked = _DATE.sub(_blank, _QUOTED.sub(_blank, prompt))
        self.texts = [*quoted, *_proper_names(blanked)]
        phrases = [(m.start(1), m[1].strip()) for m in _PHRASE.finditer(blanked)]
        self.phrases = [(place, text) for place, text in phrases if text]

    def holds(self, text: str) -> bool:
        """Whether all words of a text are in the prompt."""
        words, own = set(_words(text)), {word for _, word in self.words}
        return bool(words) and words <= own

    def take(self, values: list[tuple[int, str]], name: str, required: bool) -> str | None:
        """The value nearest to a word of the parameter's name; if required, else the first one left."""
        wanted = {*_words(name), *name.lower().split("_")}
        places = [at for at, word in self.words if word in wanted]
        near = min(
            ((abs(place - at), i) for i, (at, _) in enumerate(values) for place in places), default=None
        )
        if near is not None and (required or near[0] <= _NEAR):
            return values.pop(near[1])[1]
        return values.pop(0)[1] if required and values else None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _proper_names(prompt: str) -> Iterator[tuple[int, str]]:
    """Capitalised phrases, except words that only begin a sentence."""
    for match in _PROPER.finditer(prompt):
        text, start = match.group(), match.start()
        before = prompt[:start].rstrip()
        first, _, rest = text.partition(" ")
        if (not before or before[-1] in ".!?:") and _begins(first, rest):
            start, text = start + len(first) + 1, rest
        for ending in ("'s", "’s"):
            text = text.removesuffix(ending) if _is_possessive(prompt, start, text) else text
        if text and text.lower() not in _COMMON:
            yield start, text


def _begins(first: str, rest: str) -> bool:
    word = re.split(r"['’]", first.lower())[0]
    return (not rest and word == first.lower()) or word in _COMMON or word in _STARTS


def _is_possessive(prompt: str, start: int, text: str) -> bool:
    """True for `Paris's weather`, not for `Luigi's` at the end, which is the whole name."""
    return re.match(r" [a-z]", prompt[start + len(text) :]) is not None and not _DATE.match(
        prompt, start + len(text) + 1
    )


_NUMERIC = ("integer", "number")


def _value(found: _Found, name: str, schema: Mapping[str, Any], required: bool) -> Any:
    options = schema.get("enum", ())
    if options:
        mentioned = (option for option in options if found.holds(str(option)))
        return next(mentioned, schema.get("default", options[0]) if required else None)
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
    if kind in _NUMERIC:
        text = found.take(found.numbers, name, required)
        default = schema.get("default") if required else None
        return default if text is None else _number(text, kind)
    if kind == "boolean":
        return True if found.holds(name) else (False if required else None)
    if kind == "array":
        if not required:
            return None
        items = schema.get("items")
        if isinstance(items, dict) and items.get("type") in _NUMERIC:
            numbers, found.numbers = found.numbers, []
            return [_number(text, "number") for _, text in numbers]
        texts, found.texts = found.texts, []
        return [text for _, text in texts]
    if kind == "object":
        return _fill(found, schema) if required else None
    values = found.dates if re.search(r"date|day|when", name.lower()) and found.dates else found.texts
    text = found.take(values, name, required)
    if text is None and required:
        text = schema["default"] if "default" in schema else found.take(found.phrases, name, True)
    return text if text is not None or not required else ""


def _number(text: str, kind: str) -> float:
    return int(float(text)) if kind == "integer" or "." not in text else float(text)
