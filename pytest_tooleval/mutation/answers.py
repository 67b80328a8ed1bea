"""The right answer of a case, made from its expectations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from msgspec import structs

from ..explain import field_path
from ..jsonschemas.values import NO_VALUE, required_values
from ..matchers.combined import AnyOf
from ..matchers.examples import inside, right_value
from ..matchers.matcher import is_optional
from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.results import TrialResult
from ..record.status import APPROVED, CallStatus
from ..record.thresholds import missed_text, missed_thresholds
from ..record.transcript import Reply, RubricVerdict, Transcript
from ..replies.endings import no_answer
from ..scoring.one_call import params_match
from ..scoring.trial import score_transcript
from ..scoring.turns import to_judge
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL, Expectations, ExpectedCall
from ..suite.mocks import SEQUENCE, WHEN
from ..suite.name_patterns import with_fitting
from ..suite.policies import SAME, OtherCall, fill_operands
from ..suite.resolved import accepts, find_tool, is_expected
from ..suite.tools import Tool
from ..suite.types import EndedCall, ExpectedText
from ..text import json_text
from .results import MutantCall

CallParams = Mapping[str, Any]

_MESSAGE = {"role": "assistant", "content": None}
_OTHERWISE = "(another answer)"
_USER = ({"role": "user", "content": ""},)


class AnsweredTurn(NamedTuple):
    """The assistant's part in a turn: the calls of each reply, and the text after them.

    A single answer or a chain is one turn that ends with its calls and has no text.
    """

    replies: tuple[tuple[ToolCall, ...], ...]
    text: str | None = None


class RightTurn(NamedTuple):
    """The right calls in a turn: those `earlier` in a chain, then the `calls` that the case judges.

    `expected` has the expectation for each of the `calls`, and `path` is theirs in the case; empty
    for `expected_tool`. With `is_apart`, each call has its own reply, as `parallel` or policies
    ask; `says_replies` means that `parallel` says in which replies they are.
    """

    earlier: tuple[ToolCall, ...]
    calls: tuple[ToolCall, ...]
    expected: tuple[ExpectedCall, ...]
    path: str
    text: str | None
    is_apart: bool = False
    says_replies: bool = False
    # The JSON that the text is, where `$json` expects some.
    form: Any = NO_VALUE

    def with_calls(self, calls: Iterable[ToolCall]) -> AnsweredTurn:
        """Return a turn with a reply for each earlier call, and one with all of these."""
        replies = [(call,) for call in calls] if self.is_apart else [tuple(calls)]
        return AnsweredTurn((*((call,) for call in self.earlier), *replies), self.text)


class RightAnswer(NamedTuple):
    """A right answer and its scores."""

    turns: tuple[RightTurn, ...]
    trial: TrialResult

    def answer(self) -> list[AnsweredTurn]:
        return [turn.with_calls(turn.calls) for turn in self.turns]


class UnknownError(Exception):
    """Raised with the reason why no right answer is known."""


def score(
    case: ResolvedCase, turns: Iterable[AnsweredTurn], *, approved: bool = True, otherwise: str = ""
) -> TrialResult:
    """Score an assistant's part. `approved`: whether calls that need an approval have one.

    Calls end as the case expects it, but for their status or result, if `otherwise` names it.
    """
    replies: list[Reply] = []
    for number, turn in enumerate(turns):
        begins = len(replies)
        replies += (
            Reply(message=_MESSAGE, calls=calls, format="native")
            for calls in turn.replies
            if calls or turn.text is None
        )
        if turn.text is not None:
            silent = None if len(replies) > begins else no_answer((), turn.text, None, None)
            message = {"role": "assistant", "content": turn.text}
            replies.append(Reply(message=message, format="native", no_answer=silent))
        if begins:
            prompt = case.turns[number].messages if number < len(case.turns) else ()
            replies[begins] = structs.replace(replies[begins], prompt=prompt or _USER)
    if any(policy.after_approval for policy in case.policies) or any(ends_of(case)):
        replies = [_answered(case, each, approved, otherwise) for each in replies]
    case = structs.replace(case, answers="recorded")  # those above are made up
    transcript = Transcript((), tuple(replies))
    # Only a judge could decide whether the rubrics are met.
    met = tuple(RubricVerdict(rubric, turn, True) for turn, rubric in to_judge(case, transcript))
    return score_transcript(case, structs.replace(transcript, judged=met))


def ends_of(case: ResolvedCase) -> Iterator[EndedCall]:
    """Yield the calls whose end the case or its policies name."""
    expected = (call for part in case.expectations for _, call in part.placed_calls)
    others = (other for policy in case.policies for _, other in policy.others)
    return (each for each in (*expected, *others, *case.policies) if each.has_end)


def _answered(case: ResolvedCase, reply: Reply, approved: bool, otherwise: str) -> Reply:
    ids = [str(number) for number in range(len(reply.calls))]
    ends = [_end(case, call, otherwise) for call in reply.calls]
    answers = tuple(
        {"role": "tool", "tool_call_id": id, "content": content, APPROVED: approved}
        for id, (_, content) in zip(ids, ends, strict=True)
    )
    calls = tuple(structs.replace(call, id=id) for id, call in zip(ids, reply.calls, strict=True))
    return structs.replace(
        reply, calls=calls, tool_answers=answers, statuses=tuple(status for status, _ in ends)
    )


def _end(case: ResolvedCase, call: ToolCall, otherwise: str) -> tuple[CallStatus, str]:
    """Return the status and the answer of a call, as the case names them, or otherwise."""
    meant = (each for each in ends_of(case) if accepts(each.tools, call.name, case))
    ended = next((each for each in meant if _has_params(case, each, call)), None)
    status: CallStatus = (ended and ended.status) or "ok"
    if otherwise == "status":
        status = "error" if status == "ok" else "ok"
    if ended is None or not ended.has_result:
        return status, ""
    if otherwise == "result":
        return status, _OTHERWISE
    value = right_value(ended.result, {}, MODES[case.param_scoring])
    if value is NO_VALUE:
        raise UnknownError(f"no answer is known that matches {json_text(ended.result)}")
    return status, value if isinstance(value, str) else json.dumps(value)


def _has_params(case: ResolvedCase, ended: EndedCall, call: ToolCall) -> bool:
    if not isinstance(ended, ExpectedCall) or not ended.params:
        return True
    return params_match(ended.params, call.arguments or {}, case.param_scoring)


def calls_in(turns: Iterable[AnsweredTurn]) -> tuple[MutantCall, ...]:
    return tuple(
        MutantCall(call.name, call.arguments or {})
        for turn in turns
        for calls in turn.replies
        for call in calls
    )


def right_answers(case: ResolvedCase) -> list[RightAnswer]:
    """Return the best known answer that passes, for each list of calls that is right.

    Raises UnknownError if there is none, and ScoringError if the case cannot be scored.
    """
    return [_right_answer(case, each) for each in case.variations]


def _right_answer(whole: ResolvedCase, case: ResolvedCase) -> RightAnswer:
    """Return the answer to one of the case's variations, with the scores of the whole case."""
    if case.user is not None:
        raise UnknownError("a model plays the user")
    if case.expected_stop is not None:
        raise UnknownError("an agent must end its run")
    # Required parameters that are not expected are filled in, unless that lowers a score.
    ways = [(True, False)] if case.kind == "conversation" else product((True, False), (True, False))
    # A policy may need calls that the case does not expect.
    looks = (False, True) if case.policies and case.kind == "conversation" else (False,)
    tried = [
        _answer(whole, case, fills=fills, optionals=optionals, looks_up=looks_up)
        for fills, optionals in ways
        for looks_up in looks
    ]
    passing = [right for right in tried if right.trial.passed]
    if not passing:
        raise UnknownError(why_failed(case, tried[0].trial))
    return max(passing, key=lambda right: sum(value or 0.0 for value in right.trial.values.values()))


def why_failed(case: ResolvedCase, trial: TrialResult) -> str:
    called = " and ".join(map(call_with_arguments, trial.calls)) or "no call"
    for metric, (value, least) in missed_thresholds(trial.values, case.thresholds).items():
        if value is not None:
            return f"{called} fails: {missed_text(metric, value, least)}: {trial.mistake}"
    return f"{called} fails: {trial.failure}"


def call_with_arguments(call: ToolCall | MutantCall) -> str:
    """Return a call as text, such as `get_weather(city="Rome")`."""
    pairs = (f"{name}={json_text(value, 60)}" for name, value in (call.arguments or {}).items())
    return f"{call.name}({', '.join(pairs)})"


def _answer(
    whole: ResolvedCase, case: ResolvedCase, *, fills: bool, optionals: bool, looks_up: bool
) -> RightAnswer:
    turns = []
    for path, expected, texts, parallel in _turns(case):
        said, form = _said(case, texts)
        text = said or ("Done." if case.kind == "conversation" else None)
        calls: list[ToolCall] = []
        same = [(each.tools, each.params) for each in expected]
        for index, (names, params) in enumerate(same):
            # Calls with the same expectations get different right values, if there are several.
            turned = _turned(params, same[:index].count((names, params)))
            calls.append(expected_call(case, names, turned, fills=fills, optionals=optionals))
        earlier = tuple(_looked_up(case, calls) if looks_up else _earlier(case)) if calls else ()
        apart = bool(case.policies) and case.kind == "conversation" if parallel is None else not parallel
        says = parallel is not None
        right_calls = tuple(calls)
        turns.append(RightTurn(earlier, right_calls, tuple(expected), path, text, apart, says, form))
    right = RightAnswer(tuple(turns), TrialResult())
    return right._replace(trial=score(whole, right.answer()))


def _looked_up(case: ResolvedCase, calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
    """Yield the calls that the case's policies need before these."""
    for call in calls:
        for policy in case.policies:
            for field, other in policy.others if accepts(policy.tools, call.name, case) else ():
                lookup = other_call(case, other, call) if field == "only_after" else None
                if lookup is not None:
                    yield lookup


def other_call(case: ResolvedCase, other: OtherCall, judged: ToolCall) -> ToolCall | None:
    """Return another call of a policy, with the values of `$same` from the judged one."""
    arguments = judged.arguments or {}
    params = fill_operands(other.params or {}, SAME, lambda pointer: arguments.get(pointer[1:]))
    return offered_call(case, other.tools, params)


def offered_call(case: ResolvedCase, names: Sequence[str], params: CallParams | None) -> ToolCall | None:
    """Return a right call of the first of these tools that the case offers; None if it offers none."""
    named = with_fitting(names, (tool.name for tool in case.tools))
    name = next((name for name in named if tool_named(case, name) is not None), None)
    return None if name is None else expected_call(case, [name], params, fills=True, optionals=True)


def _turns(
    case: ResolvedCase,
) -> Iterator[tuple[str, Sequence[ExpectedCall], Sequence[ExpectedText], bool | None]]:
    """Yield each turn's expected calls after their path in the case, its texts, and `parallel`."""
    test = case.expected
    if case.kind != "conversation":
        yield _list_of(test), test.calls or (), test.expected_text or (), test.parallel
        return
    of_turns = any(each.turn.calls is not None for each in case.turns)
    for number, turn in enumerate(case.turns):
        is_last = number == len(case.turns) - 1
        path, calls = f"turns[{number}].{_list_of(turn.turn)}", turn.turn.calls
        if not of_turns:  # make the case's calls in the last turn
            path, calls = _list_of(test), test.calls if is_last else None
        texts = [*(turn.turn.expected_text or ()), *((test.expected_text or ()) if is_last else ())]
        parallel = test.parallel if turn.turn.parallel is None else turn.turn.parallel
        yield path, calls or (), texts, parallel


def _list_of(expected: Expectations) -> str:
    """Return the path of a part's expected calls; empty for `expected_tool`."""
    return field_path(expected.list_path) if expected.expected_calls is not None else ""


def _said(case: ResolvedCase, texts: Iterable[ExpectedText]) -> tuple[str, Any]:
    """Return a message with these expected texts, and the JSON that it is, if it has to be."""
    texts = list(texts)
    for text in texts:
        if isinstance(text, dict) and "$json" in text:
            value = right_value(text["$json"], {}, MODES[case.param_scoring])
            if value is NO_VALUE:
                raise UnknownError(f"no JSON is known that matches {json_text(text['$json'])}")
            return json.dumps(value, ensure_ascii=False), value
    return "; ".join(filter(None, map(_text, texts))), NO_VALUE


def _text(expected: ExpectedText) -> str:
    if isinstance(expected, str):
        return expected
    ((key, operand),) = expected.items()
    if key == "$number":
        return json.dumps(operand)
    if key != "$regex":
        return ""
    text = right_value(expected, {"type": "string"}, MODES["exact"])
    if text is NO_VALUE:
        raise UnknownError(f"no text is known that matches {json.dumps(expected)}")
    return str(text)


def _turned(params: CallParams | None, steps: int) -> CallParams | None:
    if not steps or params is None:
        return params
    turned = dict(params)
    for name, value in params.items():
        if isinstance(value, dict) and value.get(AnyOf.key):
            members = value[AnyOf.key]
            turned[name] = {AnyOf.key: [*members[steps % len(members) :], *members]}
    return turned


def expected_call(
    case: ResolvedCase, names: Sequence[str], params: CallParams | None, *, fills: bool, optionals: bool
) -> ToolCall:
    tool = next((tool for name in names if (tool := tool_named(case, name)) is not None), None)
    schema = schema_of(tool)
    arguments: dict[str, Any] = required_values(schema) if fills else {}
    for name, expected in (params or {}).items():
        if is_optional(expected) and not optionals:
            continue
        value = right_value(expected, inside(schema, name), MODES[case.param_scoring])
        if value is not NO_VALUE:
            arguments[name] = value
        elif not is_optional(expected):
            raise UnknownError(f"no value is known that {name} accepts: {json_text(expected)}")
    return ToolCall(names[0] if tool is None else tool.name, arguments)


def tool_named(case: ResolvedCase, name: str) -> Tool | None:
    """Return the tool with this name; for `"*"`, the first tool."""
    if name == ANY_TOOL:
        return case.tools[0] if case.tools else None
    return find_tool(case, name)


def schema_of(tool: Tool | None) -> dict[str, Any]:
    return tool.parameters if tool else {}


def _earlier(case: ResolvedCase) -> Iterator[ToolCall]:
    """Yield the calls before the end of a chain, as many as in the shortest chain."""
    left = (case.optimal_hops or 1) - 1
    for name in case.valid_prerequisites:
        if is_expected(name, case):
            continue
        mock = case.mock_responses.get(name)
        answers = mock if isinstance(mock, dict) else {}
        arguments = _asked(case, name, answers.get(WHEN))
        for _ in answers.get(SEQUENCE, [None])[:left]:
            yield ToolCall(name, arguments)
            left -= 1


def _asked(case: ResolvedCase, name: str, entries: Any) -> dict[str, Any]:
    """Return arguments for a tool that match the first entry of its mock, else plain ones."""
    schema = schema_of(find_tool(case, name))
    arguments = required_values(schema)
    for param, expected in (entries[0].get("params", {}) if entries else {}).items():
        value = right_value(expected, inside(schema, param), MODES[case.param_scoring])
        if value is not NO_VALUE:
            arguments[param] = value
    return arguments
