"""The worlds of a suite file: the tools that they bring, as the suite's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import WorldError
from ..worlds.tools import tools_of
from ..worlds.world import WorldSpec
from .source import Finding
from .source import Loc

_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def with_world_tools(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[Finding]]:
    """The data with the tools of its worlds where no others are given, and which cannot be made."""
    findings: list[Finding] = []

    def filled(holder: dict[str, Any], loc: Loc, *, has_tools: bool) -> dict[str, Any]:
        target, args = holder.get("world"), holder.get("world_args")
        if has_tools or not isinstance(target, str) or not _TARGET.fullmatch(target):
            return holder
        if args is None:
            args = data.get("world_args")
        try:
            spec = WorldSpec(target, folder, args if isinstance(args, dict) else {})
            return {**holder, "tools": tools_of(spec)}
        except WorldError as error:
            findings.append(Finding((*loc, "world"), str(error)))
            return holder

    def has_tools(holder: dict[str, Any]) -> bool:
        return holder.get("tools") is not None or holder.get("tools_from") is not None

    of_suite = has_tools(data)
    data = filled(data, (), has_tools=of_suite)
    cases = data.get("test_cases")
    if not isinstance(cases, list):
        return data, findings
    worlds = {"test_cases": list(cases)}
    for index, case in enumerate(cases):
        if isinstance(case, dict) and case.get("world") is not None:
            loc = ("test_cases", index)
            worlds["test_cases"][index] = filled(case, loc, has_tools=of_suite or has_tools(case))
    return {**data, **worlds}, findings
