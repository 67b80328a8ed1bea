"""Suites from a list of OpenAI tools, or from recorded chat completions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import Problem, SuiteError
from ..answers import tools_problem
from ..apply import Found, Recorded, recorded
from ..chats import recorded_answers
from ..openai_tools import UnusableError, is_hosted, looks_like_a_tool, tool_definition, tool_definitions
from ..records import Record, clean_records

HELP = """Create a suite from OpenAI tools or recorded answers.

FILE is JSON or JSON lines. A list of tools gives a draft of a case for each. Requests with their
answers, or conversations with tools, give a case for each answer, which expects the recorded calls.
In an existing suite, tools are replaced and cases stay; from recorded answers, only new cases are
added. The exit status is 1 if a case needs fixing.
"""
SOURCE = "FILE"
# Fields of conversations: what has one of these beside its tools is no list of tools.
_CONVERSES = frozenset(
    "query answer answers conversation conversations prompt completion response output question turns "
    "contents generation history chosen rejected text".split()
)
_LISTS = ("data", "batch", "observations")  # wrappers of APIs and exports around their records


def found(source: str) -> Found:
    """The tools or the recorded answers in a file.

    Raises SuiteError if the file cannot be read, or if a tool is unusable.
    """
    path = Path(source)
    records, left_out, secrets = clean_records(path)
    if len(records) == 1:
        records = _unwrapped(records[0])
    values = [record.value for record in records]
    if any(map(looks_like_a_tool, values)) or (values and all(map(is_hosted, values))):
        tools = _tools(path, records, left_out)
        return Found(path.stem, tools, left_out=left_out, secrets=secrets)
    if not records and not left_out:
        left_out.append(Problem(str(path), 1, 1, "", "nothing to import"))
    answers: list[Recorded | Problem] = []
    for record in records:
        answers += recorded(record.problem(path, ""), recorded_answers, record.value)
    return Found(path.stem, answers=answers, left_out=left_out, secrets=secrets)


def _unwrapped(record: Record) -> list[Record]:
    """The records, if the file has a single object around a list of them."""
    value = record.value
    if not isinstance(value, dict) or "messages" in value or "choices" in value or _CONVERSES & {*value}:
        return [record]
    for key in ("tools", "functions", *_LISTS):
        if isinstance(value.get(key), list) and "input" not in value and "request" not in value:
            return [Record(record.line, item, f"{key}[{n}]") for n, item in enumerate(value[key])]
    return [record]


def _tools(path: Path, records: Iterable[Record], left_out: list[Problem]) -> list[dict[str, Any]]:
    """The tools; those that only their provider can run are added to `left_out`."""
    tools = []
    problems = list(left_out)
    for record in records:
        try:
            tool = tool_definition(record.value)
        except UnusableError as error:
            is_foreign = isinstance(record.value, dict) and not looks_like_a_tool(record.value)
            (left_out if is_foreign else problems).append(record.problem(path, str(error)))
            continue
        reason = tools_problem([tool])
        if reason is not None:
            problems.append(record.problem(path, reason.removeprefix("tools[0].")))
        tools.append(tool)
    if problems:
        raise SuiteError(problems)  # a suite without one of the tools would test something else
    if not tools:
        raise SuiteError(left_out)
    try:
        return tool_definitions(tools)
    except UnusableError as error:
        raise SuiteError([Problem(str(path), 1, 1, "", str(error))]) from None
