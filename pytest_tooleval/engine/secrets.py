"""Keeps API keys out of every text that leaves the engine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_SECRET_NAME = re.compile(r"(API_?KEY|_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[^\s'\",;]+", re.IGNORECASE)
_SHORTEST = 6  # shorter values ("x", "none", "1234") stand everywhere in ordinary text
PLACEHOLDER = "[secret]"


def secret_values(names: Iterable[str | None] = ()) -> tuple[str, ...]:
    """The values in the environment that must not be shown, longest first.

    These are the variables named in `names` and every other one whose name says that it holds a
    secret.
    """
    named = {name for name in names if name}
    values = {
        value
        for name, value in os.environ.items()
        if (name in named or _SECRET_NAME.search(name)) and len(value) >= _SHORTEST
    }
    return tuple(sorted(values, key=len, reverse=True))


def scrub(text: str, values: Iterable[str]) -> str:
    """The text without these values and without the credentials of authorization headers."""
    for value in values:
        text = text.replace(value, PLACEHOLDER)
    return _BEARER.sub(rf"\1 {PLACEHOLDER}", text)
