"""Whether regular expressions of suites and tools can be used."""

from __future__ import annotations


def pattern_problem(pattern: str) -> str | None:
    """Why a regular expression cannot be used, or None."""
    import regex

    try:
        # Not cached: of patterns that nobody has vetted, all would stay in memory.
        regex.compile(pattern, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return f"the regular expression does not compile: {str(error) or type(error).__name__}"
    return None
