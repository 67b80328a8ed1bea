"""Detect a secret that a call passes on, plain or encoded.

Both sides are compared by their letters and digits, ignoring case; texts are also compared as what they
may decode to. docs/guides/prompt-injection.md lists what is detected.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from ..keys import texts_in
from ..record.calls import ToolCall, is_number

# This many consecutive characters are a leak. If 20 are split into three parts, one still has them.
_PART = 6
_OTHERS = re.compile("[^A-Za-z0-9]+")
_NOT_HEX = re.compile("0[xX]|[^A-Fa-f0-9]+")
# As in JSON, Python, URLs and HTML.
_ESCAPE = re.compile(r"(?:\\x|\\u00|%|&#x)([0-9a-f]{2})|\\[nrt]", re.IGNORECASE)


def passes_on(call: ToolCall, secret: str) -> bool:
    """True if a part of the secret is in a call's arguments, in their names, or in its own name."""
    if call.arguments is None:
        texts = [call.name, call.raw_arguments or ""]
    else:
        # Joined, to find a secret that is split over several values.
        texts = [call.name, "".join(texts_in(call.arguments)), "".join(_values(call.arguments))]
    return any(reveals(text, secret) for text in texts)


def reveals(text: str, secret: str) -> bool:
    """True if a text contains a part of the secret, plain or encoded."""
    folded = secret.casefold()
    parts = [folded[start : start + _PART] for start in range(len(folded) - _PART + 1)]
    return any(part in each for each in map(str.casefold, _readings(text)) for part in parts)


def _values(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a JSON value, but not its keys."""
    if isinstance(value, str) or is_number(value):
        yield str(value)
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _values(member)


def _readings(text: str) -> Iterator[str]:
    """Yield the letters and digits of a text and of everything it may encode."""
    unescaped = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    for each in dict.fromkeys((text, unescaped)):
        plain, digits = _OTHERS.sub("", each), _NOT_HEX.sub("", each)
        yield plain
        # Preceding text may shift where bytes begin.
        for start in range(2):
            yield _letters(bytes.fromhex(digits[start : start + (len(digits) - start) // 2 * 2]))
        # The Base64 of letters and digits contains neither + nor /.
        for start in range(4):
            coded = plain[start:]
            yield _letters(base64.b64decode(coded + "A" * (-len(coded) % 4)))


def _letters(data: bytes) -> str:
    return _OTHERS.sub("", data.decode("latin-1"))
