"""Questions as cassettes key and store them.

A question has everything that may change the answer, and nothing else: no time-outs, no credentials, no
ids of tool calls. It is the question before any fallback for what the model refuses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any

from ...record.images import url_of, with_each_image
from ...record.transcript import SEARCHES
from ..exchange.chat import CONTAINER, ChatRequest
from ..exchange.tools import function_name
from ..models.spec import CallableModel, HttpModel, ModelSpec
from ..protocols.builder import PROGRAMS

# JSON with sorted keys and no spaces, so that equal values give equal texts.
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def question_of(spec: ModelSpec, request: ChatRequest) -> dict[str, Any]:
    """Everything in a request that may change the answer, without credentials."""
    question: dict[str, Any] = {
        "model": spec.identity,
        "api_base": spec.base,
        "messages": normalise_ids(request.messages),
        "tools": list(request.tools),
        "tool_choice": request.tool_choice if request.tools else None,
        "sampling": dict(request.sampling),
        "trial": request.trial,
    }
    # Only where they are set, so that all other keys stay as they are.
    if isinstance(spec, HttpModel):
        question |= {"api": spec.api} if spec.api else {}
        question |= {"stream": True} if spec.stream else {}
    if isinstance(spec, CallableModel) and request.toolbox and (fields := request.toolbox.key_fields):
        question["tools_answer"] = fields  # it may call the tools itself
    return question


def key_of(question: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical_question(question).encode()).hexdigest()


def normalise_ids(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the ids of their tool calls numbered in order, because providers choose
    random ids.
    """
    numbers: dict[Any, str] = {}

    def number(id: Any) -> str:
        return numbers.setdefault(str(id), f"call_{len(numbers)}")

    result = []
    for message in messages:
        copy = dict(message)
        if isinstance(copy.get("tool_calls"), list):
            copy["tool_calls"] = [
                {**call, "id": number(call.get("id"))} if isinstance(call, Mapping) else call
                for call in copy["tool_calls"]
            ]
        if "tool_call_id" in copy:
            copy["tool_call_id"] = number(copy["tool_call_id"])
        if any(field in copy for field in (SEARCHES, PROGRAMS, CONTAINER)):
            copy = _with_numbers(copy, number)
        result.append(copy)
    return result


def _with_numbers(value: Any, number: Callable[[Any], str]) -> Any:
    """The value with numbers for the ids of items, calls, programs and containers."""
    if isinstance(value, list):
        return [_with_numbers(each, number) for each in value]
    if not isinstance(value, Mapping):
        return value

    def replaced(name: str, part: Any) -> Any:
        if name in _WRITTEN:
            return part
        return number(part) if name in _DRAWN and isinstance(part, str) else _with_numbers(part, number)

    return {name: replaced(name, each) for name, each in value.items() if name != "fingerprint"}


# Fields that the model wrote, and fields that a provider fills with random ids.
_WRITTEN = frozenset(("input", "arguments", "code"))
_DRAWN = frozenset(("id", "call_id", "caller_id", "tool_id", "tool_use_id", "container_id", CONTAINER))


class _Tools(tuple[Mapping[str, Any], ...]):
    """The tools of a question, which nothing changes; equal if they are the same objects."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tools) and len(self) == len(other) and all(map(is_, self, other))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


# Cached, as the cases of a suite have the same tools, which are most of a question.
_canonical_tools = lru_cache(maxsize=8)(canonical)


def canonical_question(question: Mapping[str, Any]) -> str:
    """Like `canonical`, but faster."""
    texts = {field: canonical(value) for field, value in question.items() if field != "tools"}
    if "tools" in question:
        texts["tools"] = _canonical_tools(_Tools(question["tools"]))
    return "{" + ",".join(f'"{field}":{texts[field]}' for field in sorted(texts)) + "}"


def summary(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question as stored in a cassette: tools by name, with hashes of all and of each definition.

    Images in tools' answers are stored as hashes.
    """
    shown = {field: value for field, value in question.items() if field != "tools"}
    if "messages" in question:
        shown["messages"] = [
            with_each_image(message, _hashed) if message.get("role") == "tool" else message
            for message in question["messages"]
        ]
    if "tools" not in question:  # a question to a server that runs tools
        return shown
    tools = _Tools(question["tools"])
    return {
        **shown,
        "tools": [_name(tool) for tool in tools],
        "tools_sha256": _hash(_canonical_tools(tools)),
        "definitions": [*_definitions(tools)],
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hashed(image: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**image, "image_url": f"sha256:{_hash(url_of(image))}"}


def definitions(question: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The definitions of a question's tools, by the hashes that its summary has."""
    return _definitions(_Tools(question.get("tools", ())))


@lru_cache(maxsize=8)
def _definitions(tools: _Tools) -> dict[str, Mapping[str, Any]]:
    return {hashlib.sha256(canonical(tool).encode()).hexdigest()[:8]: tool for tool in tools}


def _name(tool: Mapping[str, Any]) -> str:
    """A tool's name. A provider's own tool may have only a type."""
    return function_name(tool) or str(tool["type"])
