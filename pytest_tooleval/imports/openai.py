"""Suites from a list of OpenAI tools, or from recorded chat completions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..errors import SuiteError
from ..suite.load import read_model
from .cases import case_problem
from .cases import expected_value
from .cases import new_ids
from .chats import Answer
from .chats import Message
from .chats import recorded_answers
from .openai_tools import UnusableError
from .openai_tools import canonical
from .openai_tools import is_hosted
from .openai_tools import looks_like_a_tool
from .openai_tools import tool_definition
from .openai_tools import tool_definitions
from .records import Record
from .records import read_records
from .redaction import without_secrets
from .transcripts import otel
from .update import Changes
from .update import update_suite

_LISTS = ("data", "batch", "observations")  # wrappers of APIs and exports around their records


@dataclass(frozen=True)
class Imported:
    """A suite made from a file, and a summary of the import.

    For tools, `tools` has the changes. For recorded answers, `added` counts new cases, `folded` the
    duplicates in the file, and `known` the answers to prompts that the suite already has. `ambiguous`
    are pairs of ids with the same prompt and different calls, `secrets` counts texts with secrets.
    """

    suite: dict[str, Any]
    left_out: list[Problem]
    tools: Changes | None = None
    added: int = 0
    folded: int = 0
    known: int = 0
    secrets: int = 0
    ambiguous: tuple[tuple[str, str], ...] = ()


def import_openai(path: Path, name: str, existing: Mapping[str, Any] | None = None) -> Imported:
    """The suite of the tools or the recorded answers in a file.

    In an existing suite, tools replace its own, and answers are added to its cases; the rest stays.
    Raises SuiteError if the file cannot be read, or if nothing in it is usable.
    """
    records, left_out, secrets = _read(path)
    if len(records) == 1:
        records = _unwrapped(records[0])
    values = [record.value for record in records]
    if any(map(looks_like_a_tool, values)) or (values and all(map(is_hosted, values))):
        made = _from_tools(path, records, left_out, name, existing)
    else:
        made = _from_answers(path, records, left_out, name, existing)
    return replace(made, secrets=secrets)


def import_spans(path: Path, name: str, existing: Mapping[str, Any] | None = None) -> Imported:
    """The suite of the conversations in a file of OTLP spans, as `import_openai` makes it of answers."""
    records, left_out, secrets = _read(path)
    conversations: list[Record] = []
    for each in otel.read(path, records):
        if isinstance(each, Problem):
            left_out.append(each)
        else:
            value: dict[str, Any] = {"messages": each.messages}
            value |= {} if each.tools is None else {"tools": each.tools}
            conversations.append(Record(each.line, value, each.field))
    return replace(_from_answers(path, conversations, left_out, name, existing), secrets=secrets)


def _read(path: Path) -> tuple[list[Record], list[Problem], int]:
    """The records of a file without keys, the problems of others, and the number of texts with a key."""
    records, left_out = read_records(path)
    values, secrets = without_secrets([record.value for record in records])
    clean = [replace(record, value=value) for record, value in zip(records, values, strict=True)]
    return clean, left_out, secrets


def _unwrapped(record: Record) -> list[Record]:
    """The records, if the file has a single object around a list of them."""
    value = record.value
    if not isinstance(value, dict) or "messages" in value or "choices" in value:
        return [record]
    for key in ("tools", "functions", *_LISTS):
        if isinstance(value.get(key), list) and "input" not in value and "request" not in value:
            return [Record(record.line, item, f"{key}[{n}]") for n, item in enumerate(value[key])]
    return [record]


def _from_tools(
    path: Path,
    records: Iterable[Record],
    left_out: list[Problem],
    name: str,
    existing: Mapping[str, Any] | None,
) -> Imported:
    tools = []
    problems = list(left_out)
    for record in records:
        try:
            tool = tool_definition(record.value)
        except UnusableError as error:
            is_foreign = isinstance(record.value, dict) and not looks_like_a_tool(record.value)
            (left_out if is_foreign else problems).append(record.problem(path, str(error)))
            continue
        reason = _tools_problem([tool])
        if reason is not None:
            problems.append(record.problem(path, reason.removeprefix("tools[0].")))
        tools.append(tool)
    if problems:
        raise SuiteError(problems)  # a suite without one of the tools would test something else
    if not tools:
        raise SuiteError(left_out)
    try:
        tools = tool_definitions(tools)
    except UnusableError as error:
        raise SuiteError([Problem(str(path), 1, 1, "", str(error))]) from None
    suite, changes = update_suite(existing, name, tools, drafts=True)
    return Imported(suite, left_out, tools=changes)


def _from_answers(
    path: Path,
    records: Iterable[Record],
    left_out: list[Problem],
    name: str,
    existing: Mapping[str, Any] | None,
) -> Imported:
    found: list[tuple[Record, Answer]] = []
    for record in records:
        try:
            answers, reasons = recorded_answers(record.value)
        except UnusableError as error:
            answers, reasons = [], [str(error)]
        left_out += [record.problem(path, reason) for reason in reasons]
        for answer in answers:
            if not answer.calls and (not answer.tools or answer.tool_choice == "none"):
                left_out.append(record.problem(path, _NOTHING_TO_TEST))
            else:
                found.append((record, answer))
    suite = dict(existing) if existing is not None else _new_suite(name, [a for _, a in found])
    cases = _Cases(suite, is_new=existing is None)
    for record, answer in found:
        try:
            cases.add(answer)
        except UnusableError as error:
            left_out.append(record.problem(path, str(error)))
    left_out.sort(key=lambda problem: problem.line)
    if not cases.added and not cases.known:
        raise SuiteError(left_out or [Problem(str(path), 1, 1, "", "nothing to import")])
    return Imported(
        cases.finished(),
        left_out,
        added=len(cases.added),
        folded=cases.folded,
        known=cases.known,
        ambiguous=cases.ambiguous(),
    )


def _new_suite(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    """A suite with the system prompt that all answers have, and the tools that most of them have."""
    suite: dict[str, Any] = {"name": name}
    systems = {_system(answer.messages) for answer in answers}
    if len(systems) == 1 and systems != {None}:
        suite["system_prompt"] = systems.pop()
    choices = {answer.tool_choice for answer in answers}
    suite["tools"] = _most_common_tools(answers)
    if len(choices) == 1 and choices != {None}:
        suite["tool_choice"] = choices.pop()
    suite["test_cases"] = []
    return suite


def _most_common_tools(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    lists: dict[str, list[dict[str, Any]]] = {}
    counted: Counter[str] = Counter()
    for answer in answers:
        if answer.tools:
            text = canonical(answer.tools)
            lists.setdefault(text, answer.tools)
            counted[text] += 1
    usable = (lists[text] for text, _ in counted.most_common())
    return next((tools for tools in usable if _tools_problem(tools) is None), [])


def _tools_problem(tools: list[dict[str, Any]]) -> str | None:
    return case_problem({"prompt": "-", "expected_tool": None}, tools)


class _Cases:
    """The cases of a suite, and new ones from recorded answers."""

    def __init__(self, suite: dict[str, Any], *, is_new: bool) -> None:
        self.suite = suite
        self.is_new = is_new
        self.tools = suite.get("tools") or []
        self.system = suite.get("system_prompt")
        self.choice = suite.get("tool_choice")
        self.existing = suite["test_cases"]
        self.prompts = {canonical(case["prompt"]) for case in self.existing}
        self.added: dict[str, dict[str, Any]] = {}
        self.asked: dict[str, list[str]] = {}  # for each question, the keys of its cases
        self.folded = self.known = 0

    def add(self, answer: Answer) -> None:
        """Add an answer as a case. UnusableError if the suite cannot have it."""
        case = self._case(answer)
        if canonical(case["prompt"]) in self.prompts:
            self.known += 1
            return
        key = canonical(case)
        if key in self.added:
            self.folded += 1
            return
        reason = case_problem(case, self.tools, self.system)
        if reason is not None:
            raise UnusableError(reason)
        self.added[key] = case
        question = canonical({field: case.get(field) for field in ("prompt", "tools", "tool_choice")})
        self.asked.setdefault(question, []).append(key)

    def finished(self) -> dict[str, Any]:
        return {**self.suite, "test_cases": [*self.existing, *self._named().values()]}

    def ambiguous(self) -> tuple[tuple[str, str], ...]:
        named = self._named()
        same = (keys for keys in self.asked.values() if len(keys) > 1)
        return tuple((named[keys[0]]["id"], named[other]["id"]) for keys in same for other in keys[1:])

    def _named(self) -> dict[str, dict[str, Any]]:
        ids = new_ids(read_model(self.suite), [case["prompt"] for case in self.added.values()])
        return {key: {"id": id, **self.added[key]} for key, id in zip(self.added, ids, strict=True)}

    def _case(self, answer: Answer) -> dict[str, Any]:
        if answer.tools is None and (self.is_new or not self.tools):
            raise UnusableError(_UNKNOWN_TOOLS)
        case: dict[str, Any] = {"prompt": self._prompt(answer.messages)}
        if answer.tools is not None and canonical(answer.tools) != canonical(self.tools):
            case["tools"] = answer.tools
        case.update(_expectation(answer))
        choice = answer.tool_choice
        if choice == ("none" if answer.calls else "required"):
            choice = None  # the answer does not obey it
        if choice in (None, "auto") and not answer.calls:
            # If nothing should be called, auto is the default.
            choice = None if self.choice is None else "auto"
        if choice is not None and choice != self.choice:
            case["tool_choice"] = choice
        return case

    def _prompt(self, messages: list[Message]) -> Any:
        if self.system is not None:
            if _system(messages) != self.system:
                raise UnusableError(_OTHER_SYSTEM)
            messages = messages[1:]
        if len(messages) == 1 and messages[0].keys() == {"role", "content"}:
            content = messages[0]["content"]
            if messages[0]["role"] == "user" and isinstance(content, str):
                return content
        return messages


_NOTHING_TO_TEST = "the request offers no tools or forbids calls, so there is nothing to test"
_UNKNOWN_TOOLS = (
    "the tools are not recorded; import them first: tooleval import openai TOOLS.json --out SUITE, "
    "then import this file into the same suite"
)
_OTHER_SYSTEM = "its system prompt is not that of the suite, which is put before every prompt"


def _system(messages: Sequence[Message]) -> str | None:
    """The system prompt that the messages begin with."""
    first = messages[0] if messages else {}
    content = first.get("content")
    if first.keys() == {"role", "content"} and first["role"] == "system" and isinstance(content, str):
        return content
    return None


def _expectation(answer: Answer) -> dict[str, Any]:
    calls = [
        (name, {key: expected_value(value) for key, value in arguments.items()})
        for name, arguments in answer.calls
    ]
    if not calls:
        return {"expected_tool": None}
    if len(calls) == 1:
        ((name, params),) = calls
        return {"expected_tool": name, "expected_params": params}
    return {"expected_calls": [{"tool": name, "params": params} for name, params in calls]}
