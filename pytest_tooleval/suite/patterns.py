"""Whether the regular expressions in suites and tools compile."""

from __future__ import annotations


def pattern_problem(pattern: str) -> str | None:
    """Why a regular expression cannot be used, or None."""
    import regex

    try:
        # Uncached: `regex` would keep every pattern of every suite in memory.
        regex.compile(pattern, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return f"the regular expression does not compile: {str(error) or type(error).__name__}"
    return None
