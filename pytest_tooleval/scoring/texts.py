"""What the assistant says: whether a text, a pattern or a number stands in one of its messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import regexes

_COMMA = re.compile(r"(?<=\d),(?=\d{3})")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
# Digits are compared as decimals; this is room for the float that JSON makes of them.
_TOLERANCE = 1e-9


def says(expected: str | dict[str, Any], texts: Sequence[str]) -> bool:
    """Whether it was said. Case, white space and commas, as in 1,000, do not count."""
    if isinstance(expected, str):
        return any(_folded(expected) in _folded(text) for text in texts)
    ((key, operand),) = expected.items()
    if key == "$not":
        return not says(operand, texts)
    if key == "$regex":
        return any(regexes.search(operand, text) for text in texts)
    return any(abs(number - operand) <= _TOLERANCE * abs(operand) for number in _numbers(texts))


def _folded(text: str) -> str:
    return " ".join(text.replace(",", "").split()).lower()


def _numbers(texts: Sequence[str]) -> list[float]:
    return [float(found) for text in texts for found in _NUMBER.findall(_COMMA.sub("", text))]
