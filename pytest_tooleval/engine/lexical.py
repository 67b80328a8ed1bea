"""`baseline/lexical`: a model without network, key or weights, the floor every real one should beat.

It calls the tool whose name and description share most words with the prompt, rare words counting
more, and fills parameters from enums, numbers, quoted texts and names in the prompt. The same
question always gets the same answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from .client import ChatAnswer
from .client import ChatRequest

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")
# One or more capitalised words, with small connecting words between them.
_PROPER = re.compile(r"[A-Z][\w'’-]*(?:(?:,? (?:of|de|la|the) |[ ,]+)(?=[A-Z0-9])[A-Z0-9][\w'’-]*)*")
_COMMON = frozenset(
    "a an and are as at be by can could do does for from give get has have how i if in into is "
    "it its let like me my need of on or our please s should so some that the their them there "
    "these this those to us use used using want was we what when where which who will with "
    "would you your".split()
)
_NAME_WEIGHT, _TEXT_WEIGHT, _PARAMETER_WEIGHT = 3.0, 1.0, 0.5


class LexicalClient:
    """The baseline behind the same protocol as every other model."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        return ChatAnswer(lexical_message(request.messages, request.tools, request.tool_choice), "stop")

    async def close(self) -> None:
        """Nothing is held open."""


def lexical_message(
    messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tool_choice: str
) -> dict[str, Any]:
    """The assistant's message: one call, or a text where nothing fits and nothing must be called."""
    prompt = _last_user_text(messages)
    called = {
        call["function"]["name"]
        for message in messages
        for call in message.get("tool_calls") or ()
        if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping)
    }
    functions = [tool["function"] for tool in tools]
    # In a chain, what was called already has been answered: go on to the next best tool.
    candidates = [f for f in functions if f["name"] not in called] or functions
    best = _best(prompt, candidates) if tool_choice != "none" else None
    if best is None and candidates and tool_choice == "required":
        best = candidates[0]
    if best is None:
        return {"role": "assistant", "content": "No tool fits."}
    arguments = json.dumps(fill_parameters(prompt, best.get("parameters") or {}), ensure_ascii=False)
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
            parts = content if isinstance(content, list) else []
            return "\n".join(str(p.get("text", "")) for p in parts if isinstance(p, Mapping))
    return ""


def _words(text: str) -> list[str]:
    """Lower-case words without the commonest ones; a plural's s is cut off."""
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]
    return [_stem(word) for word in words if word not in _COMMON]


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "s", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _best(prompt: str, functions: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The function with the largest weighted overlap; the first of equals; None without any overlap."""
    asked = set(_words(prompt))
    fields = [_fields(function) for function in functions]
    seen_in: dict[str, int] = {}
    for names, texts, parameters in fields:
        for word in names | texts | parameters:
            seen_in[word] = seen_in.get(word, 0) + 1

    def overlap(field: set[str]) -> float:
        # Inverse document frequency, smoothed so that a lone tool can match at all.
        return sum(math.log(1 + len(functions) / seen_in[word]) for word in asked & field)

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
        parameters.update(_words(name), *(_words(str(value)) for value in schema.get("enum") or ()))
    return names, texts, parameters - names - texts


def _properties(parameters: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: s for name, s in properties.items() if isinstance(s, Mapping)}


def fill_parameters(prompt: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments found in the prompt: each number, quoted text and name is used once, in order.

    Required parameters take what is left over; optional ones only what the prompt points at: an
    enum's value, or a value right beside a word of the parameter's name.
    """
    required = parameters.get("required")
    required = set(required) if isinstance(required, list) else set()
    found = _Found(prompt)
    arguments: dict[str, Any] = {}
    properties = _properties(parameters)
    for name in sorted(properties, key=lambda name: name not in required):
        value = _value(found, name, properties[name], name in required)
        if value is not None:
            arguments[name] = value
    return arguments


class _Found:
    """Numbers and texts of a prompt, handed out once each."""

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.words = set(_words(prompt))
        self.numbers = [(m.start(), m.group()) for m in _NUMBER.finditer(prompt)]
        quoted = [(m.start(), next(filter(None, m.groups()))) for m in _QUOTED.finditer(prompt)]
        self.texts = [*quoted, *_proper_names(_QUOTED.sub(lambda m: " " * len(m.group()), prompt))]

    def take(self, values: list[tuple[int, str]], name: str, required: bool) -> str | None:
        """The value nearest to a word of the parameter's name, else, if required, the first left."""
        places = [
            match.start()
            for match in _WORD.finditer(self.prompt)
            if _stem(match.group().lower()) in set(_words(name))
        ]
        near = [
            (min(abs(place - at) for place in places), i) for i, (at, _) in enumerate(values) if places
        ]
        if near and (required or min(near)[0] <= 25):
            return values.pop(min(near)[1])[1]
        return values.pop(0)[1] if required and values else None


def _proper_names(prompt: str) -> Iterable[tuple[int, str]]:
    """Capitalised phrases that do not merely begin a sentence."""
    for match in _PROPER.finditer(prompt):
        text, start = match.group(), match.start()
        begins = not prompt[:start].strip() or prompt[:start].rstrip()[-1] in ".!?:"
        first, _, rest = text.partition(" ")
        if begins and (first.lower() in _COMMON or not rest or rest[:1].islower()):
            start, text = start + len(first) + 1, rest
        if text and text.lower() not in _COMMON and text != "I":
            yield start, text.removesuffix("'s").removesuffix("’s")


def _value(found: _Found, name: str, schema: Mapping[str, Any], required: bool) -> Any:
    options = schema.get("enum")
    if isinstance(options, list) and options:
        for option in options:
            words = set(_words(str(option)))
            if words and words <= found.words:
                return option
        return schema.get("default", options[0]) if required else None
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    if kind in ("integer", "number"):
        text = found.take(found.numbers, name, required)
        if text is None:
            return schema.get("default") if required else None
        number = float(text)
        return int(number) if kind == "integer" or "." not in text else number
    if kind == "boolean":
        return True if set(_words(name)) <= found.words else (False if required else None)
    if kind == "array":
        items = schema.get("items")
        item = items if isinstance(items, Mapping) else {}
        if not required:
            return None
        if item.get("type") in ("integer", "number"):
            numbers, found.numbers = found.numbers, []
            return [float(text) if "." in text else int(text) for _, text in numbers]
        texts, found.texts = found.texts, []
        return [text for _, text in texts]
    if kind == "object":
        return fill_parameters(found.prompt, schema) if required else None
    text = found.take(found.texts, name, required)
    return text if text is not None else (schema.get("default", "") if required else None)
