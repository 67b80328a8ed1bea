"""Whether a message of the assistant contains a text, a pattern or a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import regexes

_COMMA = re.compile(r"(?<=\d),(?=\d{3})")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
# For the rounding of decimals to floats.
_TOLERANCE = 1e-9


def says(expected: str | dict[str, Any], texts: Sequence[str]) -> bool:
    """Whether one of the texts contains it, ignoring case, white space, and commas as in 1,000."""
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
