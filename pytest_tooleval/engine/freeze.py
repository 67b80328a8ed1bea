"""Makes mocks from the answers that live tools gave in recorded trials."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..matchers.modes import ParamScoring
from ..record.transcript import Transcript
from ..scoring.one_call import params_match
from ..suite.mocks import EXACT, SEQUENCE, WHEN
from ..suite.resolved import find_tool
from .tools.mocks import mocks_of
from .trial import Job


class LiveAnswer(NamedTuple):
    """A live tool's answer to a call."""

    tool: str
    arguments: Mapping[str, Any]
    content: str


def live_answers(job: Job, transcript: Transcript) -> Iterator[LiveAnswer]:
    """The answers that live tools gave in a trial, in order."""
    case, mocked = job.case, mocks_of(job.case)
    if job.live is None or not case.has_tool_rounds or case.world is not None:
        return
    for reply in transcript.replies:
        contents = [answer.get("content") for answer in reply.answers if answer.get("role") == "tool"]
        own = [(call, ours) for call, _, ours in reply.ended if not call.hosted]
        for (call, ours), content in zip(own, contents, strict=False):
            tool = find_tool(case, call.name)
            if tool is None or not ours or tool.name in mocked:
                continue
            if job.live.server.has(tool.name, case.live_tools):
                yield LiveAnswer(tool.name, call.arguments or {}, str(content))


def frozen(trials: Iterable[Iterable[LiveAnswer]], mode: ParamScoring) -> tuple[dict[str, Any], int]:
    """Mocks by tool that repeat the recorded answers, in order for repeated calls.

    Also returns how many answers differ between trials.

    If trials differ, the one with the most answers to these arguments counts, or else the first.
    """
    chosen: dict[tuple[str, str], list[str]] = {}
    differing = 0
    for trial in trials:
        own: dict[tuple[str, str], list[str]] = {}
        for answer in trial:
            key = answer.tool, json.dumps(answer.arguments, sort_keys=True)
            own.setdefault(key, []).append(answer.content)
        for key, contents in own.items():
            known = chosen.setdefault(key, contents)
            differing += sum(a != b for a, b in zip(known, contents, strict=False))
            if len(contents) > len(known):
                chosen[key] = contents
    tools: dict[str, list[tuple[dict[str, Any], Any]]] = {}
    for (tool, arguments), contents in chosen.items():
        tools.setdefault(tool, []).append((json.loads(arguments), _answer(contents)))
    return {tool: {WHEN: _entries(found, mode)} for tool, found in tools.items()}, differing


def _answer(contents: Sequence[str]) -> Any:
    values = [_value(content) for content in contents]
    return values[0] if len(set(contents)) == 1 else {SEQUENCE: values}


def _value(content: str) -> Any:
    """The parsed JSON if a mock would send it as the same text, or else the text."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if isinstance(value, str) or json.dumps(value, ensure_ascii=False) != content:
        return content
    # It could look like a special form of a mock.
    return content if isinstance(value, dict) and any(key.startswith("$") for key in value) else value


def _entries(found: Sequence[tuple[dict[str, Any], Any]], mode: ParamScoring) -> list[dict[str, Any]]:
    """One entry for each set of arguments, the largest set first, because an entry ignores extra
    arguments.
    """
    ordered = sorted(found, key=lambda each: -len(each[0]))
    params = [{name: _expected(value) for name, value in given.items()} for given, _ in ordered]
    firsts = [
        next(n for n, expected in enumerate(params) if params_match(expected, given, mode))
        for given, _ in ordered
    ]
    if firsts != list(range(len(ordered))):  # arguments that differ only in case, for example
        params = [{name: {EXACT: value} for name, value in given.items()} for given, _ in ordered]
    return [
        {"params": expected, "answer": answer}
        for expected, (_, answer) in zip(params, ordered, strict=True)
    ]


def _expected(value: Any) -> Any:
    """The value as an expected one, wrapped in `$exact` if a part of it looks like a matcher."""
    return {EXACT: value} if '{"$' in json.dumps(value, separators=(",", ":")) else value


def frozen_suite(data: Mapping[str, Any], mocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A suite's data without live tools, and with these mocks for each case."""
    cases = [_frozen_case(case, found) for case, found in zip(data["test_cases"], mocks, strict=True)]
    rest = {key: value for key, value in data.items() if key != "live_tools"}
    return {**rest, "test_cases": cases}


def _frozen_case(case: Mapping[str, Any], mocks: Mapping[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in case.items() if key != "live_tools"}
    return {**rest, "mock_responses": {**case.get("mock_responses", {}), **mocks}} if mocks else rest
