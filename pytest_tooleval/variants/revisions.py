"""`against:REV` and `undo:REV:PART`: a suite's tools and system prompt as of a git revision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import structs

from ..checkout.git import file_at, has_revision
from ..errors import ConfigError, SuiteError
from ..record.names import meaning
from ..suite.case import ResolvedCase, TestCase
from ..suite.expectations import ANY_TOOL
from ..suite.load import parse_suite
from ..suite.model import Suite
from ..suite.resolved import messages_of, turns_of
from ..suite.tools import AllowedTools, OneTool, Tool
from ..suite.types import MAX_TRIALS
from .tools import expected_tools, with_tools
from .variant import VariantContext

PROMPT = "system_prompt"
# After the name of a namespace: its description.
NAMESPACE = ".*"
EVERYTHING = "*"


def against(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
    """Return the case with the tools and system prompt as of a revision.

    It does not apply if the revision lacks the suite, its tools, or a tool that the case needs.
    """
    if not condition.argument:
        raise ConfigError("expected against:REV, such as against:main")
    earlier = suite_at(condition.argument, condition.file)
    return None if earlier is None else _as_of(case, condition.suite, earlier)


def undo(case: ResolvedCase, condition: VariantContext) -> ResolvedCase | None:
    """Revert some changes since a revision, in new trials: `undo:REV:PART[+PART...]`.

    A PART is `system_prompt`, a field such as `TOOL.description`, `NAMESPACE.*` for a namespace's
    description, or `TOOL` if added, removed or replaced; `*` is everything. The trials are new, because
    blame selects cases by their first answers.
    """
    revision, colon, parts = condition.argument.partition(":")
    if not colon or not parts:
        raise ConfigError("expected undo:REV:PART, such as undo:main:search.description")
    earlier = suite_at(revision, condition.file)
    if earlier is None:
        return None
    if parts == EVERYTHING:
        undone = _as_of(case, condition.suite, earlier)
    else:
        undone = _without(set(parts.split("+")), case, condition.suite, earlier)
    return undone and structs.replace(undone, first_trial=MAX_TRIALS)


def undoable(case: TestCase, suite: Suite, earlier: Suite) -> Iterator[str]:
    """Yield the changes to what a case offers since an earlier version of its suite, for `undo`."""
    if suite.system_prompt != earlier.system_prompt:
        yield PROMPT
    before = {tool.name: tool for tool in tools_in(case, earlier)}
    now = {tool.name: tool for tool in (suite.tools if case.tools is None else case.tools)}
    used = {tool.namespace for tool in (*before.values(), *now.values())}
    for space, text in suite.namespaces.items():
        if space in used and earlier.namespaces.get(space, text) != text:
            yield f"{space}{NAMESPACE}"
    for name in dict.fromkeys([*before, *now]):
        if name not in before or name not in now or _is_replaced(before[name], now[name]):
            yield name
            continue
        old, new = (each[name].definition_wire for each in (before, now))
        fields = dict.fromkeys([*old, *new])
        yield from (f"{name}.{field}" for field in fields if old.get(field) != new.get(field))


def suite_at(revision: str, file: Path) -> Suite | None:
    """Return a file's suite as of a revision. Raises ConfigError.

    None if it did not exist, or if it took its tools from a server, which are not in git.
    """
    suite = read_at(revision, file)
    return None if suite is None or suite.tools_from is not None else suite


@lru_cache(maxsize=512)
def read_at(revision: str, file: Path) -> Suite | None:
    """Return a file's suite as of a revision, None if it did not exist. Raises ConfigError."""
    file = file.resolve()
    if not has_revision(file.parent, revision):
        raise ConfigError(f"git knows no revision {revision!r} in {file.parent}")
    text = file_at(revision, file)
    if text is None:
        return None
    try:
        return parse_suite(text, str(file), metrics=None)
    except SuiteError as error:
        raise ConfigError(f"{file.name} cannot be read as of {revision}: {error}") from None


def tools_in(case: TestCase, earlier: Suite) -> list[Tool]:
    """Return the earlier tools of a case, its own if it has any."""
    if case.tools is None:
        return earlier.tools
    before = next((each for each in earlier.test_cases if each.id == case.id), None)
    return earlier.tools if before is None or before.tools is None else before.tools


def _is_replaced(old: Tool, new: Tool) -> bool:
    """True if two tools with the same name differ in type or namespace, so that fields cannot mix."""
    return (old.type, old.namespace) != (new.type, new.namespace)


def _as_of(case: ResolvedCase, suite: Suite, earlier: Suite) -> ResolvedCase | None:
    tools = tools_in(suite.case(case.id), earlier)
    return _with(case, suite, tools, earlier.namespaces, earlier.system_prompt)


def _without(changed: set[str], case: ResolvedCase, suite: Suite, earlier: Suite) -> ResolvedCase | None:
    """Return the case with these changes reverted."""
    before = {tool.name: tool for tool in tools_in(suite.case(case.id), earlier)}
    now = {tool.name: tool for tool in case.tools}
    tools = [_undone(tool, before.get(tool.name), changed) for tool in case.tools]
    tools += [tool for name, tool in before.items() if name in changed and name not in now]
    spaces = {
        name: text
        for name, text in earlier.namespaces.items()
        if name not in case.namespaces or f"{name}{NAMESPACE}" in changed
    }
    prompt = earlier.system_prompt if PROMPT in changed else suite.system_prompt
    return _with(case, suite, list(filter(None, tools)), spaces, prompt)


def _undone(tool: Tool, before: Tool | None, changed: set[str]) -> Tool | None:
    """Return the tool with its changes reverted; None if its addition is reverted."""
    if tool.name in changed:
        return before
    if before is None:
        return tool
    old, new = before.definition_wire, tool.definition_wire
    back = {field for field in (*old, *new) if f"{tool.name}.{field}" in changed}
    if not back:
        return tool
    function = {key: value for key, value in new.items() if key not in back}
    function |= {key: old[key] for key in back if key in old}
    return Tool.model_validate({**tool.wire, tool.type: function})


def _with(
    case: ResolvedCase,
    suite: Suite,
    tools: Sequence[Tool],
    namespaces: Mapping[str, str],
    system_prompt: str | None,
) -> ResolvedCase | None:
    """Return the case with these tools, namespace descriptions and system prompt.

    None if a tool that the case needs is missing.
    """
    names = [tool.name for tool in tools]
    if any(meaning(name, names) is None for name in _needed_tools(case)):
        return None
    varied = case
    if tuple(tools) != case.tools:
        varied = structs.replace(
            with_tools(case, lambda _: tools), turns=turns_of(suite.case(case.id), tuple(tools))
        )
    if isinstance(varied.tool_choice, AllowedTools) and not varied.tool_choice.allowed_tools:
        return None
    messages = case.messages
    if system_prompt != suite.system_prompt:
        of_suite = suite.model_copy(update={"system_prompt": system_prompt})
        messages = messages_of(of_suite, suite.case(case.id))
    used = {tool.namespace for tool in tools}
    spaces = {name: text for name, text in namespaces.items() if name in used}
    return structs.replace(varied, messages=messages, namespaces={**case.namespaces, **spaces})


def _needed_tools(case: ResolvedCase) -> Iterator[str]:
    """Yield the tools without which the case, as written, cannot be passed."""
    yield from (name for name in expected_tools(case) if name != ANY_TOOL)
    if isinstance(case.tool_choice, OneTool):
        yield case.tool_choice.tool
    offered = [tool.name for tool in case.tools]
    on_the_way = (*case.valid_prerequisites, *case.mock_responses)
    yield from (name for name in on_the_way if meaning(name, offered) is not None)
