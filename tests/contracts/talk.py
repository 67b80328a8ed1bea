"""What all stand-ins have in common: what they are asked, and what they are told to say."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

# A secret that no report and no log may hold.
KEY = "sk-standin-0123456789abcdef"

Document = dict[str, Any]
# How an answer ends. What a provider does not know it answers in the nearest way that it has.
End = Literal[
    "done",
    "cut_off",  # the limit of tokens was met
    "refused",  # the model does not want to
    "filtered",  # the answer was taken away by a filter
    "prompt_blocked",  # the question was
    "malformed_call",  # Gemini: what the model wrote is no call
    "unexpected_call",  # Gemini: the model called without being allowed to
    "provider_error",  # OpenRouter: a 200, and the provider behind it failed
    "overloaded",
    "rate_limited",
]


@dataclass(frozen=True)
class Call:
    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """One answer of the model, whatever provider it stands behind."""

    calls: Sequence[Call] = ()
    text: str = ""
    end: End = "done"


@dataclass(frozen=True)
class Asked:
    """A request as any provider would read it: `choice` may be a tool's name.

    `turn` counts the model's own messages since the last one of the user; `most` is the limit of
    tokens.
    """

    model: str
    prompt: str
    tools: Sequence[str]
    choice: str
    turn: int
    thinking: bool
    temperature: float | None = None
    most: int | None = None


class Refused(Exception):
    """The request is answered with this status and body."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body
        self.headers = dict(headers or {})


@dataclass
class Exchange:
    """One request as it came, how it was understood, and what it was answered.

    `ignored` names parameters that the provider takes and does not heed.
    """

    provider: str
    path: str
    headers: Mapping[str, str]
    body: Document
    status: int = 0
    answer: Any = None
    asked: Asked | None = None
    ignored: Sequence[str] = ()


class StandIn(ABC):
    """One provider."""

    name: str

    @abstractmethod
    def answer(self, exchange: Exchange, brain: Brain) -> object:
        """The document of a 200, or `Refused`."""


Script = Mapping[str, Sequence[Said]]
Brain = Callable[[Asked], Said]


def brain_of(script: Script) -> Brain:
    """A model that says what the script has for a prompt, one entry per turn.

    Of other prompts it understands "in PLACE" and "in PLACE and PLACE".
    """

    def say(asked: Asked) -> Said:
        answers = script.get(asked.prompt)
        said = answers[min(asked.turn, len(answers) - 1)] if answers else _guess(asked)
        if said.end != "done":
            return said
        if asked.choice == "none" or not asked.tools:
            return Said(text=said.text or "I cannot look that up.")
        if asked.choice == "required" and not said.calls:
            return Said([Call(asked.tools[0])])
        if asked.choice in asked.tools:
            named = [call for call in said.calls if call.name == asked.choice]
            return Said(named or [Call(asked.choice)])
        return said

    return say


def _guess(asked: Asked) -> Said:
    places = re.search(r"\bin ([A-Z]\w+)(?: and ([A-Z]\w+))?", asked.prompt)
    if asked.turn or not asked.tools or places is None:
        return Said(text="There is nothing to look up.")
    units = {"units": "fahrenheit"} if "ahrenheit" in asked.prompt else {}
    cities = [place for place in places.groups() if place]
    return Said([Call(asked.tools[0], {"city": city, **units}) for city in cities])


def signature(*of: object) -> str:
    """What a provider signs and can recognize without keeping anything."""
    digest = hashlib.sha256(json.dumps(of, sort_keys=True).encode()).digest()
    return base64.b64encode(digest * 3).decode()


def short(*of: object) -> str:
    """An id that follows from what it is for."""
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()[:24]
