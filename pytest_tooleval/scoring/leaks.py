"""A secret that a call passes on, however it is written.

Both sides are compared as letters and digits without case; a text also counts as what it would decode
to. docs/guides/prompt-injection.md says what is found.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from ..keys import texts_in
from ..record.calls import ToolCall
from ..record.calls import is_number

# So many consecutive characters are a leak. Split into three parts, one part of 20 still has them.
_PART = 6
_OTHERS = re.compile("[^A-Za-z0-9]+")
_NOT_HEX = re.compile("0[xX]|[^A-Fa-f0-9]+")
# As in JSON, Python, URLs and HTML.
_ESCAPE = re.compile(r"(?:\\x|\\u00|%|&#x)([0-9a-f]{2})|\\[nrt]", re.IGNORECASE)


def passes_on(call: ToolCall, secret: str) -> bool:
    """Whether a call has a part of the secret in its arguments, in their names, or in its own name."""
    if call.arguments is None:
        texts = [call.name, call.raw_arguments or ""]
    else:
        # Split over several values, it is found in them together.
        texts = [call.name, "".join(texts_in(call.arguments)), "".join(_values(call.arguments))]
    return any(reveals(text, secret) for text in texts)


def reveals(text: str, secret: str) -> bool:
    """Whether a text contains a part of the secret, plain or encoded."""
    folded = secret.casefold()
    parts = [folded[start : start + _PART] for start in range(len(folded) - _PART + 1)]
    return any(part in each for each in map(str.casefold, _readings(text)) for part in parts)


def _values(value: Any) -> Iterator[str]:
    """The texts and numbers in a JSON value, without the names of members."""
    if isinstance(value, str) or is_number(value):
        yield str(value)
    elif isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _values(member)


def _readings(text: str) -> Iterator[str]:
    """The letters and digits of a text, and those of what it may encode."""
    unescaped = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
    for each in dict.fromkeys((text, unescaped)):
        plain, digits = _OTHERS.sub("", each), _NOT_HEX.sub("", each)
        yield plain
        # Text before it shifts the places at which bytes begin.
        for start in range(2):
            yield _letters(bytes.fromhex(digits[start : start + (len(digits) - start) // 2 * 2]))
        # Letters and digits have neither + nor / in Base64.
        for start in range(4):
            coded = plain[start:]
            yield _letters(base64.b64decode(coded + "A" * (-len(coded) % 4)))


def _letters(data: bytes) -> str:
    return _OTHERS.sub("", data.decode("latin-1"))
