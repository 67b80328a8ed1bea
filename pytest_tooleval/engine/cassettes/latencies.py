"""How long recorded answers took, by what was asked."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import msgspec

from .why_missing import canonical


class _Asked(msgspec.Struct):
    model: str
    messages: list[dict[str, Any]]
    trial: int


class _Answer(msgspec.Struct):
    latency_s: float


class _Line(msgspec.Struct):
    key: str
    asked: _Asked
    answer: _Answer


_LINE = msgspec.json.Decoder(_Line)


def opening(model: str, messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """What tells the questions of a case from others: the model, and all up to the user's words."""
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    return model, canonical(messages[: users[0] + 1 if users else None])


def latencies(cassette: bytes) -> dict[tuple[str, str], float]:
    """The seconds that a trial took, by its opening, as far as they are known."""
    lines: dict[str, _Line] = {}
    for text in cassette.splitlines():
        # What is no answer of a model is not counted; what is damaged, replaying tells.
        with contextlib.suppress(msgspec.DecodeError):
            line = _LINE.decode(text)
            lines[line.key] = line
    seconds: dict[tuple[str, str], float] = {}
    trials: dict[tuple[str, str], set[int]] = {}
    for line in lines.values():
        found = opening(line.asked.model, line.asked.messages)
        seconds[found] = seconds.get(found, 0.0) + line.answer.latency_s
        trials.setdefault(found, set()).add(line.asked.trial)
    return {found: total / len(trials[found]) for found, total in seconds.items()}
