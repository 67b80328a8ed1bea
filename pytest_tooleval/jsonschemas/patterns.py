"""The regular expressions of suites and tools, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex


def compiled(pattern: str) -> regex.Pattern[str]:
    """The pattern as JSON Schema means it. Raises ValueError if it cannot be used."""
    import regex

    from .ecma import rewritten

    try:
        # Uncached: `regex` would keep every pattern of every suite in memory.
        return regex.compile(rewritten(pattern), regex.VERSION0, cache_pattern=False)
    except (regex.error, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def pattern_problem(pattern: str) -> str | None:
    """Why a regular expression cannot be used, or None."""
    try:
        compiled(pattern)
    except ValueError as error:
        return f"the regular expression does not compile: {error}"
    return None
