"""Names of tools ignore case, except between two tools that differ in nothing else."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable

from ..text import folded


def same_tool(one: str, other: str, offered: Iterable[str]) -> bool:
    """Whether two names are the same among the offered tools."""
    if one == other:
        return True
    key = folded(one)
    return key == folded(other) and len({name for name in offered if folded(name) == key}) < 2


def meant(name: str, offered: Collection[str]) -> str | None:
    """The offered tool that a name means; None if it means none of them."""
    if name in offered:
        return name
    key = folded(name)
    found = {each for each in offered if folded(each) == key}
    return found.pop() if len(found) == 1 else None
