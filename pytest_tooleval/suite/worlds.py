"""Tools from a suite's worlds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..errors import WorldError
from ..findings import Finding, Loc
from ..record.untrusted import as_mapping
from ..worlds.tools import tools_of
from ..worlds.world import WorldSpec

_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def with_world_tools(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], list[Finding]]:
    """Fill in tools from worlds where the data has no others; also return the worlds that failed."""
    findings: list[Finding] = []

    def filled(holder: Any, loc: Loc) -> Any:
        target = as_mapping(holder).get("world")
        if not isinstance(target, str) or not _TARGET.fullmatch(target) or _has_tools(holder):
            return holder
        args = data.get("world_args") if holder.get("world_args") is None else holder["world_args"]
        try:
            spec = WorldSpec(target, folder, as_mapping(args))
            return {**holder, "tools": tools_of(spec)}
        except WorldError as error:
            findings.append(Finding((*loc, "world"), str(error)))
            return holder

    cases = data.get("test_cases")
    if _has_tools(data):
        return data, []
    if isinstance(cases, list):
        filled_cases = [filled(case, ("test_cases", index)) for index, case in enumerate(cases)]
        data = {**data, "test_cases": filled_cases}
    return filled(data, ()), findings


def _has_tools(holder: dict[str, Any]) -> bool:
    return holder.get("tools") is not None or holder.get("tools_from") is not None
