"""Keeps API keys out of every text that leaves the engine."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
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
    return _values(names, _is_secret)


def sent_values(name: str | None) -> tuple[str, ...]:
    """The keys that a provider may have been sent and could echo in an answer, longest first.

    Fewer than `secret_values`: an answer is scored, so it must not change because some password of
    the machine happens to be an ordinary word.
    """
    return _values([name], _is_api_key)


def _values(names: Iterable[str | None], is_meant: Callable[[str], bool]) -> tuple[str, ...]:
    named = {name for name in names if name}
    # Not `items()`: pytest changes PYTEST_CURRENT_TEST in its own thread all the time.
    found = [name for name in list(os.environ) if name in named or is_meant(name)]
    values = {os.environ.get(name, "").strip() for name in found}
    return tuple(sorted((v for v in values if len(v) >= _SHORTEST), key=len, reverse=True))


# This is asked for every answer, of an environment of a hundred names.
@functools.lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name))


@functools.lru_cache(maxsize=4096)
def _is_api_key(name: str) -> bool:
    return bool(_API_KEY_NAME.search(name))


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
