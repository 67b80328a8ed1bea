"""`against:REV` and `undo:REV:PART`: a suite's tools and system prompt as of a git revision."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import structs

from ..errors import ConfigError
from ..errors import SuiteError
from ..history.git import file_at
from ..history.git import has_revision
from ..record.names import meant
from ..suite.load import parse_suite
from ..suite.model import ANY_TOOL
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import TestCase
from ..suite.model import Tool
from ..suite.model import messages_of
from ..suite.model import turns_of
from .tools import all_tools
from .tools import expected_tools
from .variant import Condition

PROMPT = "system_prompt"
# The fields of a tool that can be reverted alone.
FIELDS = ("description", "parameters")


def against(case: ResolvedCase, condition: Condition) -> ResolvedCase | None:
    """The case with the tools and system prompt as of a revision.

    It does not apply if the revision lacks the suite, or a tool that the case expects.
    """
    earlier = suite_at(condition.argument, condition.file)
    if earlier is None:
        return None
    return _with(case, condition.suite, _tools_of(case.case, earlier), earlier.system_prompt)


def undo(case: ResolvedCase, condition: Condition) -> ResolvedCase | None:
    """The case with some changes since a revision reverted: `undo:REV:PART[+PART...]`.

    A PART is `system_prompt`, `TOOL.description`, `TOOL.parameters`, or `TOOL` if added or removed.
    """
    revision, colon, parts = condition.argument.partition(":")
    if not colon or not parts:
        raise ConfigError("expected undo:REV:PART, such as undo:main:search.description")
    earlier = suite_at(revision, condition.file)
    if earlier is None:
        return None
    changed = set(parts.split("+"))
    before = {tool.name: tool for tool in _tools_of(case.case, earlier)}
    now = {tool.name: tool for tool in case.tools}
    tools = [_undone(tool, before.get(tool.name), changed) for tool in case.tools]
    tools += [tool for name, tool in before.items() if name in changed and name not in now]
    prompt = earlier.system_prompt if PROMPT in changed else condition.suite.system_prompt
    return _with(case, condition.suite, list(filter(None, tools)), prompt)


def parts_of(suite: Suite, earlier: Suite) -> Iterator[str]:
    """A suite's changes since an earlier version, each as `undo` takes it."""
    if suite.system_prompt != earlier.system_prompt:
        yield PROMPT
    before, now = all_tools(earlier), all_tools(suite)
    for name in dict.fromkeys([*before, *now]):
        if name not in before or name not in now:
            yield name
            continue
        old, new = (each[name].definition_wire for each in (before, now))
        yield from (f"{name}.{field}" for field in FIELDS if old.get(field) != new.get(field))


def suite_at(revision: str, file: Path) -> Suite | None:
    """A file's suite as of a revision; None if it did not exist. Raises ConfigError."""
    return _suite_at(revision, file.resolve())


@lru_cache(maxsize=512)
def _suite_at(revision: str, file: Path) -> Suite | None:
    if not has_revision(file.parent, revision):
        raise ConfigError(f"git knows no revision {revision!r} in {file.parent}")
    text = file_at(revision, file)
    if text is None:
        return None
    try:
        suite = parse_suite(text, str(file), metrics=None)
    except SuiteError as error:
        raise ConfigError(f"{file.name} cannot be read as of {revision}: {error}") from None
    if suite.tools_from is not None:
        raise ConfigError(
            f"{file.name} takes its tools from a server as of {revision}, so git does not have them; "
            "`tooleval import mcp` writes them into the suite"
        )
    return suite


def _tools_of(case: TestCase, earlier: Suite) -> list[Tool]:
    """The earlier tools of a case, which may have its own."""
    if case.tools is None:
        return earlier.tools
    before = next((each for each in earlier.test_cases if each.id == case.id), None)
    return earlier.tools if before is None or before.tools is None else before.tools


def _undone(tool: Tool, before: Tool | None, changed: set[str]) -> Tool | None:
    """The tool with its changed fields reverted; None if it was added and its addition is."""
    if before is None:
        return None if tool.name in changed else tool
    old, new = before.definition_wire, tool.definition_wire
    back = {field for field in FIELDS if f"{tool.name}.{field}" in changed}
    if not back:
        return tool
    function = {key: value for key, value in new.items() if key not in back}
    function |= {key: old[key] for key in back if key in old}
    return Tool.model_validate({**tool.wire, tool.type: function})


def _with(
    case: ResolvedCase, suite: Suite, tools: list[Tool], system_prompt: str | None
) -> ResolvedCase | None:
    """The case with these tools; None if they lack one that it expects."""
    names = [tool.name for tool in tools]
    expected = [name for name in expected_tools(case) if name != ANY_TOOL]
    if any(meant(name, names) is None for name in expected):
        return None
    fields: dict[str, Any] = {}
    if tuple(tools) != case.tools:
        fields |= {"tools": tuple(tools), "turns": turns_of(case.case, tuple(tools))}
    if system_prompt != suite.system_prompt:
        of_suite = suite.model_copy(update={"system_prompt": system_prompt})
        fields["messages"] = messages_of(of_suite, case.case)
    return structs.replace(case, **fields) if fields else case
