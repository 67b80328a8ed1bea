"""Keeps API keys out of every text that leaves the engine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

_SECRET_NAME = re.compile(r"(API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_API_KEY_NAME = re.compile(r"API_?KEY$", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[^\s'\",;]+", re.IGNORECASE)
_SHORTEST = 6  # shorter values ("x", "none", "1234") stand everywhere in ordinary text
PLACEHOLDER = "[secret]"


def secret_values(names: Iterable[str | None] = ()) -> tuple[str, ...]:
    """The values in the environment that must not be shown, longest first.

    These are the variables named in `names` and every other one whose name says that it holds a
    secret.
    """
    return _values(names, _SECRET_NAME)


def sent_values(name: str | None) -> tuple[str, ...]:
    """The keys that a provider may have been sent and could echo in an answer, longest first.

    Fewer than `secret_values`: an answer is scored, so it must not change because some password of
    the machine happens to be an ordinary word.
    """
    return _values([name], _API_KEY_NAME)


def _values(names: Iterable[str | None], pattern: re.Pattern[str]) -> tuple[str, ...]:
    named = {name for name in names if name}
    values = {v.strip() for name, v in os.environ.items() if name in named or pattern.search(name)}
    return tuple(sorted((v for v in values if len(v) >= _SHORTEST), key=len, reverse=True))


def scrub(text: str, values: Iterable[str]) -> str:
    """The text without these values and without the credentials of authorization headers."""
    return _BEARER.sub(rf"\1 {PLACEHOLDER}", _without(text, values))


def scrub_json(value: Any, values: tuple[str, ...]) -> Any:
    """A copy of a JSON value whose texts hold none of these values; keys of objects stay."""
    if isinstance(value, str):
        return _without(value, values)
    if isinstance(value, list):
        return [scrub_json(member, values) for member in value]
    if isinstance(value, dict):
        return {key: scrub_json(member, values) for key, member in value.items()}
    return value


def _without(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = text.replace(value, PLACEHOLDER)
    return text
