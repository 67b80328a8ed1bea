"""Recorded answers as the cases of a suite, which expect the same calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import CannotCompare, ConfigError, ScoringError
from ..explain import field_path
from ..jsonschemas.parameters import described_names, extra_paths
from ..jsonschemas.validation import errors
from ..record.metrics import BUILT_IN, LIMITS
from ..record.names import meaning
from ..record.transcript import Message
from ..record.untrusted import as_list, as_mapping
from ..scoring.trial import score_messages
from ..suite.load import read_model
from ..suite.made_cases import case_problem, expected_value, new_ids
from ..suite.tool_names import name_in_suite
from ..text import canonical, shown
from .chats import RecordedAnswer
from .openai_tools import HOSTED_BY_ANTHROPIC, OfferedTools
from .records import UnusableError


def new_suite(name: str, answers: Sequence[RecordedAnswer]) -> dict[str, Any]:
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


def _most_common_tools(answers: Iterable[RecordedAnswer]) -> list[dict[str, Any]]:
    lists: dict[str, list[dict[str, Any]]] = {}
    occurrences: Counter[str] = Counter()
    namespaces: dict[str, str] = {}
    for answer in answers:
        if answer.offered and answer.tools:
            namespaces |= dict(answer.offered.namespaces)
            text = canonical(answer.tools)
            lists.setdefault(text, answer.tools)
            occurrences[text] += 1
    usable = (lists[text] for text, _ in occurrences.most_common())
    return next((tools for tools in usable if tools_problem(tools, namespaces) is None), [])


def disagreeing(cases: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The ids of cases that have the same prompt and tools, and expect different calls."""
    ids: dict[str, list[str]] = {}
    for case in cases:
        if "skip" not in case:
            question = [case["prompt"], case.get("tools"), case.get("tool_choice", "auto")]
            ids.setdefault(canonical(question), []).append(case["id"])
    return [same for same in ids.values() if len(same) > 1]


def tools_problem(
    tools: list[dict[str, Any]], namespaces: Mapping[str, str] | None = None
) -> str | None:
    return case_problem({"prompt": "-", "expected_tool": None}, tools, None, namespaces)


class AnsweredCases:
    """The cases of a suite, and new ones from recorded answers."""

    def __init__(self, suite: dict[str, Any], *, is_new: bool) -> None:
        self.suite = suite
        self.is_new = is_new
        self.tools = suite.get("tools") or []
        self.system = suite.get("system_prompt")
        self.choice = suite.get("tool_choice")
        self.existing = suite["test_cases"]
        self.prompts = {canonical(case["prompt"]) for case in self.existing if "prompt" in case}
        self.added: dict[str, dict[str, Any]] = {}
        self.folded = self.repeated = 0
        self.namespaces: dict[str, str] = dict(suite.get("namespaces") or {})
        self.hosted: list[dict[str, Any]] = []

    def add(self, answer: RecordedAnswer) -> None:
        """Add an answer as a case. UnusableError if the suite cannot have it."""
        case = self._case(answer)
        if canonical(case["prompt"]) in self.prompts:
            self.repeated += 1
            return
        key = canonical(case)
        if key in self.added:
            self.folded += 1
            return
        offered = answer.offered or OfferedTools([])
        namespaces = {**dict(offered.namespaces), **self.namespaces}
        reason = case_problem(case, self.tools, self.system, namespaces)
        if reason is None and answer.draft is None:
            tools = self.tools if answer.tools is None else answer.tools
            reason = _invalid(answer, tools)
            if not answer.is_expectation:
                listed = self._listed([*self.hosted, *offered.hosted])
                reason = reason or self._failure(case, namespaces, listed, answer.said)
        if reason is not None:
            raise UnusableError(reason)
        self.namespaces = namespaces
        self.hosted += (tool for tool in offered.hosted if tool not in self.hosted)
        self.added[key] = case

    def suite_data(self) -> dict[str, Any]:
        ids = new_ids(read_model(self.suite), [case["prompt"] for case in self.added.values()])
        named = [{"id": id, **case} for id, case in zip(ids, self.added.values(), strict=True)]
        whole = {**self.suite, "test_cases": [*self.existing, *named]}
        added: dict[str, Any] = {"namespaces": self.namespaces} if self.namespaces else {}
        if self.hosted:
            added["provider_tools"] = self._listed(self.hosted)
        # Before the tools.
        return {"name": whole["name"], **added, **whole, **added}

    def _listed(self, hosted: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """The suite's `provider_tools` with these."""
        lists = {key: [*held] for key, held in (self.suite.get("provider_tools") or {}).items()}
        for tool in hosted:
            is_claude = HOSTED_BY_ANTHROPIC.fullmatch(tool["type"]) is not None
            of_provider = lists.setdefault("anthropic" if is_claude else "openai", [])
            of_provider += [] if tool in of_provider else [tool]
        return lists

    def _failure(
        self,
        case: dict[str, Any],
        namespaces: Mapping[str, str],
        listed: Mapping[str, Any],
        reply: Sequence[Message],
    ) -> str | None:
        """Why the case would fail with the answer that it came from; None if it would not."""
        limits = self.suite.get("thresholds") or {}
        # Not those on a metric of the project's own scorers, which are not here.
        thresholds = {name: value for name, value in limits.items() if name in (*BUILT_IN, *LIMITS)}
        alone = {
            **self.suite,
            "namespaces": namespaces,
            "provider_tools": listed,
            "thresholds": thresholds,
            "test_cases": [case],
        }
        suite = read_model(alone)
        try:
            trial = score_messages(suite, suite.test_cases[0], reply)
        except (ConfigError, ScoringError) as error:
            return str(error)
        return None if trial.passed else f"{_UNFIT}: {trial.mistake}"

    def _case(self, answer: RecordedAnswer) -> dict[str, Any]:
        if answer.tools is None and (self.is_new or not self.tools):
            raise UnusableError(_UNKNOWN_TOOLS)
        case: dict[str, Any] = {"prompt": self._prompt(answer.messages)}
        if answer.tools is not None and canonical(answer.tools) != canonical(self.tools):
            case["tools"] = answer.tools
        case.update(_expectation(answer, self.tools if answer.tools is None else answer.tools))
        choice = answer.tool_choice
        if choice == ("none" if answer.calls else "required"):
            choice = None  # the answer does not obey it
        if choice in (None, "auto") and not answer.calls:
            # If nothing should be called, auto is the default.
            choice = None if self.choice is None else "auto"
        if choice is not None and choice != self.choice:
            case["tool_choice"] = choice
        return {**case, **answer.more}

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


_UNKNOWN_TOOLS = "the tools are not recorded; also name a file of them: tooleval import FILE TOOLS.json"
_MOST_REASON = 200
_UNFIT = "its own case would fail with this answer"
_OTHER_SYSTEM = "its system prompt is not that of the suite, which is put before every prompt"


def _system(messages: Sequence[Message]) -> str | None:
    """The system prompt that the messages begin with."""
    first = messages[0] if messages else {}
    content = first.get("content")
    if first.keys() == {"role", "content"} and first["role"] == "system" and isinstance(content, str):
        return content
    return None


def _expectation(answer: RecordedAnswer, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if answer.draft is not None:
        return dict(answer.draft)
    calls = [(name, _params(answer, name, arguments, tools)) for name, arguments in answer.calls]
    if not calls:
        return {"expected_tool": None}
    if len(calls) == 1:
        ((name, params),) = calls
        return {"expected_tool": name, **({} if params is None else {"expected_params": params})}
    order = {"call_order": "strict"} if answer.is_ordered else {}
    expected = [{"tool": name, **({} if p is None else {"params": p})} for name, p in calls]
    return {"expected_calls": expected, **order}


def _params(
    answer: RecordedAnswer,
    name: str,
    arguments: Mapping[str, Any] | None,
    tools: Sequence[Mapping[str, Any]],
) -> dict[str, Any] | None:
    """What a case expects of a call's arguments; None if any will do, as where a person gave none.

    If there were none, that all parameters are absent: `{}` allows any.
    """
    if arguments:
        return {key: expected_value(value) for key, value in arguments.items()}
    if answer.is_expectation and arguments is None:
        return None
    schema = _schema_of(name, tools)
    required = as_list(schema.get("required"))  # without them, the answer was wrong
    return {each: {"$absent": True} for each in described_names(schema) if each not in required}


def _invalid(answer: RecordedAnswer, tools: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the arguments of a call break its tool's schema; None if none do."""
    for name, arguments in answer.calls:
        if arguments is None:
            continue
        schema = _schema_of(name, tools)
        try:
            breaks = [*errors(schema, arguments, 1), *map(field_path, extra_paths(schema, arguments))]
        except CannotCompare:
            continue
        if breaks:
            what = shown(breaks[0], _MOST_REASON)
            return f"the arguments of {shown(name)} break the tool's schema: {what}"
    return None


def _schema_of(name: str, tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    named = {name_in_suite(tool): tool for tool in tools}
    function = as_mapping(named.get(meaning(name, named) or "", {}).get("function"))
    return as_mapping(function.get("parameters"))
