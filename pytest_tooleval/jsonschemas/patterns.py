"""Compile the regular expressions of suites and tools, and search for them with a time limit."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import CannotCompare
from ..text import json_text

if TYPE_CHECKING:
    import regex

MATCH_TIMEOUT_S = 1.0  # for a search, and for a validation


def compile_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern with the meaning it has in JSON Schema. Raises ValueError."""
    import regex

    from .ecma import rewritten

    try:
        # Uncached: `regex` would keep every pattern of every suite in memory.
        return regex.compile(rewritten(pattern), regex.VERSION0, cache_pattern=False)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None


# A compiled pattern may take megabytes, and a schema may have thousands.
_kept = lru_cache(maxsize=32)(compile_pattern)


def pattern_problem(pattern: str) -> str | None:
    """Return why a regular expression cannot be used, or None."""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        return f"the regular expression does not compile: {error}"
    return None


def search(pattern: str, text: str) -> bool:
    """True if the pattern is found anywhere in the text, as by `re.search`.

    Raises CannotCompare if it does not compile or takes longer than `MATCH_TIMEOUT_S` seconds.
    """
    try:
        return _kept(pattern).search(text, timeout=MATCH_TIMEOUT_S) is not None
    except ValueError as error:
        why = f"does not compile: {error}"
    except TimeoutError:
        why = (
            f"ran longer than {MATCH_TIMEOUT_S:g} s on a text of {len(text)} characters; "
            "rewrite it without nested repetition such as (a+)+"
        )
    raise CannotCompare(f"the regular expression {json_text(pattern)} {why}")
