"""Names of tools by pattern: one `*` in a name of `forbidden_calls` or a policy stands for any text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .expectations import ANY_TOOL


def is_pattern(name: str) -> bool:
    return "*" in name and name != ANY_TOOL


def fits(pattern: str, name: str) -> bool:
    """True if a name fits a pattern; a name without `*` only fits itself."""
    begin, star, end = pattern.partition("*")
    if not star:
        return pattern == name
    return len(name) >= len(begin) + len(end) and name.startswith(begin) and name.endswith(end)


def with_fitting(names: Sequence[str], offered: Iterable[str]) -> Sequence[str]:
    """The names, and for each pattern the offered names that fit it."""
    patterns = list(filter(is_pattern, names))
    if not patterns:
        return names
    return [*names, *(each for each in offered if any(fits(pattern, each) for pattern in patterns))]
