"""Lists of tools, in the dialects of many APIs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import Problem, SuiteError
from ..answers import tools_problem
from ..format import Format, Source
from ..items import Item, ToolList
from ..openai_tools import is_hosted, looks_like_a_tool, tool_definition, tool_definitions
from ..records import Record, UnusableError
from ..tool_dialects import holds_tools, tool_values


def _holds(value: Any) -> bool:
    return looks_like_a_tool(value) or is_hosted(value) or holds_tools(value)


def _read(sources: Sequence[Source]) -> Iterator[Item]:
    """The tools of all files. Raises SuiteError if one cannot be used.

    Those that only their provider can run are left out.
    """
    tools: list[dict[str, Any]] = []
    left_out: list[Problem] = []
    problems: list[Problem] = []
    for member in tools_in_records(sources, problems):
        try:
            tool = tool_definition(member.value)
        except UnusableError as error:
            is_foreign = isinstance(member.value, dict) and not looks_like_a_tool(member.value)
            (left_out if is_foreign else problems).append(member.problem(str(error)))
            continue
        reason = tools_problem([tool])
        if reason is not None:
            problems.append(member.problem(reason.removeprefix("tools[0].")))
        tools.append(tool)
    if problems or not tools:
        # A suite without one of the tools would test something else.
        raise SuiteError(problems or left_out)
    at = sources[0].records[0].location
    try:
        yield ToolList(at, tool_definitions(tools), left_out)
    except UnusableError as error:
        raise SuiteError([at.problem(str(error))]) from None


def tools_in_records(sources: Sequence[Source], problems: list[Problem]) -> Iterator[Record]:
    """The tools in the records, which are one or have a list of them; other problems are added."""
    for record in (each for source in sources for each in source.records):
        if looks_like_a_tool(record.value) or not holds_tools(record.value):
            yield record
            continue
        try:
            values = tool_values(record.value)
        except UnusableError as error:
            problems.append(record.problem(str(error)))
        else:
            yield from (record.inside(value, f"tools[{n}]") for n, value in enumerate(values))


FORMAT = Format(
    title="tools",
    recognised="tools of OpenAI, Anthropic, Gemini or Bedrock, functions in a list or by name, "
    "operations of OpenAPI 3",
    tools="all",
    example="tools.json",
    holds=_holds,
    read=_read,
)
