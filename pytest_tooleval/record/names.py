"""Tool names, which ignore case unless two tools differ only in case.

The name of a tool in a namespace includes both: `crm.find`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping

from ..text import folded


def same_tool(one: str, other: str, offered: Iterable[str]) -> bool:
    """True if two names mean the same one of the offered tools."""
    if one == other:
        return True
    key = folded(one)
    return key == folded(other) and len({name for name in offered if folded(name) == key}) < 2


def meant(name: str, offered: Collection[str]) -> str | None:
    """Return the offered tool that a name means; None if it means none of them."""
    if name in offered:
        return name
    key = folded(name)
    found = {each for each in offered if folded(each) == key}
    return found.pop() if len(found) == 1 else None


def qualified(name: str, namespace: str | None) -> str:
    """Return the name of a tool, with its namespace if it has one."""
    return f"{namespace}.{name}" if namespace else name


def spellings(tools: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Map every name that calls may use for the tools to the whole name, whole names first.

    The tools are given by name and namespace. A model without namespaces calls `find`, or `crm_find`
    if there are several; see `known_as`.
    """
    whole = {qualified(name, space): (name, space) for name, space in tools}
    names = {each: each for each in whole}
    bare = [name for name, _ in whole.values()]
    for each, (name, space) in whole.items():
        if space:
            short = [name] if bare.count(name) == 1 else []
            for other in (*short, f"{space}_{name}"):
                names.setdefault(other, each)
    return names


def known_as(name: str, namespace: str, names: Collection[str]) -> str:
    """Return the name of the tool that a call means, by the `spellings` of the offered tools.

    If no tool has a namespace, the call's namespace is ignored.
    """
    if not isinstance(names, Mapping) or all(name == whole for name, whole in names.items()):
        return name
    spelled, whole = meant(name, names), qualified(name, namespace)
    if spelled is None:
        return whole
    is_whole = names[spelled] == spelled
    if not namespace:
        return name if is_whole else str(names[spelled])
    return name if is_whole and meant(whole, names) is None else whole
