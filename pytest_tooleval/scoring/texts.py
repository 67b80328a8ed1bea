"""Look for a text, a pattern or a number in the assistant's messages."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ..jsonschemas.patterns import search
from ..matchers.numerals import numbers
from ..text import folded_words


def says(expected: str | dict[str, Any], texts: Sequence[str]) -> bool:
    """True if a text contains what is expected, ignoring case, white space and commas (1,000)."""
    if isinstance(expected, str):
        return any(folded_words(expected) in folded_words(text) for text in texts)
    ((key, operand),) = expected.items()
    if key == "$not":
        return not says(operand, texts)
    if key == "$regex":
        return any(search(operand, text) for text in texts)
    return any(Decimal(str(operand)) in numbers(text) for text in texts)
