"""Searches with the regular expressions of suites and tools, which may be slow, with a time limit."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import CannotCompare
from ..text import json_text
from .patterns import compiled

if TYPE_CHECKING:
    import regex

TIMEOUT_S = 1.0


# A pattern may take some megabytes, and a schema may have thousands of them.
@lru_cache(maxsize=32)
def _compiled(pattern: str) -> regex.Pattern[str]:
    try:
        return compiled(pattern)
    except ValueError as error:
        raise CannotCompare(
            f"the regular expression {json_text(pattern)} does not compile: {error}"
        ) from None


def search(pattern: str, text: str) -> bool:
    """Whether the pattern is found anywhere in the text, as in `re.search`.

    Raises CannotCompare if it does not compile or takes longer than `TIMEOUT_S` seconds.
    """
    try:
        return _compiled(pattern).search(text, timeout=TIMEOUT_S) is not None
    except TimeoutError:
        raise CannotCompare(
            f"the regular expression {json_text(pattern)} ran longer than {TIMEOUT_S:g} s on a text of "
            f"{len(text)} characters; rewrite it without nested repetition such as (a+)+"
        ) from None
