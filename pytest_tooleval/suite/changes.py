"""What differs between a case and the same case under a variant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..record.transcript import text_of
from ..record.variants import Change
from .altered import FAULTS
from .case import ResolvedCase
from .tools import Tool

# Nobody reads a list of a hundred tools.
_MOST = 20


def changes_of(old: ResolvedCase, new: ResolvedCase) -> tuple[Change, ...]:
    """Return the changed messages and tools: at most 20, then the number of the rest."""
    changes = list(_changes(old, new))
    if len(changes) <= _MOST:
        return tuple(changes)
    return (*changes[:_MOST], Change(f"{len(changes) - _MOST} more changes", "", ""))


def _changes(old: ResolvedCase, new: ResolvedCase) -> Iterator[Change]:
    if (altered := new.altered) is not None and altered != old.altered:
        which = "first answer" if altered.is_fault else "every answer"
        tools = f"tool {altered.tool}" if altered.tool else "each tool"
        yield Change(f"{which} of {tools}", "", altered.note or FAULTS[altered.kind])
    if old.messages != new.messages:
        for before, now in zip(old.messages, new.messages, strict=False):
            if before != now:
                yield Change(f"message of the {now.get('role')}", text_of(before), text_of(now))
    before_tools = {tool.name: tool for tool in old.tools}
    now_tools = {tool.name: tool for tool in new.tools}
    if len(before_tools) == len(now_tools) and before_tools.keys().isdisjoint(now_tools):
        for each, tool in zip(old.tools, new.tools, strict=True):
            yield Change("tool", each.name, tool.name)
        return
    for name, tool in now_tools.items():
        was = before_tools.get(name)
        if was is None:
            yield Change("tool", "", name)
        elif was is not tool and was.wire != tool.wire:
            yield from _changes_of_tool(was, tool)
    for name in before_tools:
        if name not in now_tools:
            yield Change("tool", name, "")
    if list(before_tools) != list(now_tools) and before_tools.keys() == now_tools.keys():
        yield Change("order of tools", ", ".join(before_tools), ", ".join(now_tools))
    for name, text in old.namespaces.items():
        if new.namespaces.get(name) != text:
            yield Change(f"description of namespace {name}", text, new.namespaces.get(name, ""))
    if old.tool_choice != new.tool_choice:
        yield Change("tool_choice", str(old.tool_choice), str(new.tool_choice))


def _changes_of_tool(was: Tool, tool: Tool) -> Iterator[Change]:
    old, new = (each.definition_wire for each in (was, tool))
    for field in dict.fromkeys([*old, *new]):
        if old.get(field) != new.get(field):
            yield Change(f"{field} of {tool.name}", _text(old.get(field)), _text(new.get(field)))


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, indent=1)
