"""Removes keys from recordings before they are written."""

from __future__ import annotations

from typing import Any

from ..keys import texts_in
from ..secrets import redacted


def without_secrets(value: Any) -> tuple[Any, int]:
    """A JSON value with stand-ins for keys, and the number of texts with one."""
    clean = redacted(value)
    pairs = zip(texts_in(value), texts_in(clean), strict=False)
    return clean, sum(before != after for before, after in pairs)
