"""`distractors:N[:FILE][:-NAME,...]`: extra tools, half of which resemble the expected one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from ..engine.clients.lexical import words_of
from ..errors import ConfigError
from ..findings import Loc
from ..mcp.tools import function_of
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL
from ..suite.other_files import ToolsFile, read_other
from ..suite.tools import OneTool, Tool
from ..text import fold, plural
from .tools import expected_tools, with_tools
from .variant import VariantContext

_EXPECTED = (
    "expected distractors:N[:FILE][:-NAME,...], such as distractors:50 or distractors:20:tools.json"
)


def distractors(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
    """Return the case with N more tools.

    It does not apply if the case expects no call, accepts any, or forces one tool by `tool_choice`.
    A larger N keeps the tools of a smaller one, and the case's own tools keep their order.
    """
    number, file, excluded = _read(condition.argument)
    expected = expected_tools(case)
    if not expected or ANY_TOOL in expected or isinstance(case.tool_choice, OneTool):
        return None
    if not number:
        return case
    taken = {fold(tool.name) for tool in case.tools} | set(map(fold, excluded))
    source = _tools_in(condition.root / file) if file else _tools_of_suites(condition)
    once = {fold(tool.name): tool for tool in source.tools}
    pool = [tool for name, tool in once.items() if name not in taken]
    if len(pool) < number:
        raise ConfigError(
            f"there are only {plural(len(pool), 'other tool')} "
            + (
                f"in {file}"
                if file
                else "in the suites that this run collects; name more suites, such as their folder, and "
                f"select cases with -k, or name a file of tools: distractors:{number}:FILE"
            )
        )
    ordered, chance = _ordered(case, pool, condition), condition.random(case)
    # A distractor's place is the same for all N; the case's own tools are spread evenly.
    places = {tool.name: chance.random() for tool in ordered}
    places |= {tool.name: (index + 0.5) / len(case.tools) for index, tool in enumerate(case.tools)}
    added = ordered[:number]

    def more(tools: Sequence[Tool]) -> list[Tool]:
        return sorted([*tools, *added], key=lambda tool: places[tool.name])

    return with_tools(case, more, source.namespaces)


def _read(argument: str) -> tuple[int, str, list[str]]:
    """Return the number, the file (or an empty string), and the excluded names."""
    number, *rest = argument.split(":")
    excluded = [name for part in rest if part.startswith("-") for name in part[1:].split(",")]
    files = [part for part in rest if not part.startswith("-")]
    if not number.isdecimal() or len(files) > 1 or "" in files:
        raise ConfigError(_EXPECTED)
    return int(number), "".join(files), [name.removeprefix("-") for name in excluded]


def _ordered(case: ResolvedCase, pool: Sequence[Tool], condition: VariantContext) -> list[Tool]:
    """Order the pool by alternating between the next most similar tool and a random one."""
    expected = set(map(fold, expected_tools(case)))
    wanted = frozenset(
        word for tool in case.tools if fold(tool.name) in expected for word in _words(tool)
    )
    near = sorted(pool, key=lambda tool: -_likeness(wanted, _words(tool)))
    others = list(pool)
    condition.random(case).shuffle(others)
    by_turns = chain.from_iterable(zip(near, others, strict=True))
    return list({tool.name: tool for tool in by_turns}.values())


def _words(tool: Tool) -> frozenset[str]:
    return _words_of(tool.name, tool.definition.description or "")


@lru_cache(maxsize=4096)
def _words_of(name: str, description: str) -> frozenset[str]:
    return frozenset(words_of(f"{name} {description}"))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words in common (Jaccard 1901)."""
    return len(one & other) / max(len(one | other), 1)


def _tools_of_suites(condition: VariantContext) -> ToolsFile:
    """Return the tools of all suites, including the case's own, whose tools are excluded by name."""
    suites = condition.collected()
    namespaces = {name: text for suite in suites for name, text in suite.namespaces.items()}
    tools = [tool for suite in suites for tool in suite.tools]
    return ToolsFile.model_construct(tools=tools, namespaces=namespaces)


@lru_cache(maxsize=8)
def _tools_in(path: Path) -> ToolsFile:
    """Read the tools in a suite, an MCP server's answer to tools/list, or a list of tools."""
    return read_other(path, ToolsFile, _shaped)


def _shaped(data: Any) -> tuple[Any, Loc]:
    tools, at = data, tuple[str, ...]()
    for key in ("result", "tools"):
        if isinstance(tools, dict) and key in tools:
            tools, at = tools[key], (*at, key)
    if not isinstance(tools, list):
        return None, at
    spaces = (
        {"namespaces": data["namespaces"]} if isinstance(data, dict) and "namespaces" in data else {}
    )
    return {"tools": list(map(_as_function, tools)), **spaces}, at


def _as_function(tool: Any) -> Any:
    """Convert an MCP server's tool to OpenAI's format, and leave others unchanged."""
    is_mcp = isinstance(tool, dict) and "inputSchema" in tool and isinstance(tool.get("name"), str)
    return function_of(tool, tool["name"]) if is_mcp else tool
