"""Checks of conversations: several user messages, listed or written by a model."""

from __future__ import annotations

from functools import partial

from ...findings import Finding, Findings, Loc
from ...matchers.matcher import has_matcher, matcher_findings
from ...worlds.plain import read_path
from ..expectations import ANY_TOOL, Expectations
from ..model import Suite
from ..resolved import suite_choice
from ..tools import Choice, forces_call
from .scope import Scope

_NEEDS_WORLD = 'needs a world; add "world": "module:Class" to the suite'
_SAYS_NOTHING = (
    '"contains" says nothing where no call has to be made; for no call, write "exact"; for any calls, '
    "such as those that policies judge, leave the expected calls out"
)
_OF_CHAINS = ("multi_turn", "optimal_hops", "valid_prerequisites")
_OF_PROMPTS = ("prompt", "expected_tool", "expected_params", "user")


def _leader(scope: Scope) -> str:
    assert scope.case.leader is not None
    return scope.case.leader


def field_errors(scope: Scope) -> Findings:
    """Fields of other kinds; without a prompt, those of the user come from the turns or a model."""
    leader, case = _leader(scope), scope.case
    for field in (*_OF_CHAINS, *(_OF_PROMPTS if leader != "world" else ())):
        if field != leader and (getattr(case, field) or (field == "expected_tool" and case.gives_tool)):
            instead = "; give expected_calls" if field.startswith("expected") else ""
            message = f"cannot be combined with {leader}; remove one of the two{instead}"
            yield Finding((*scope.at, field), message, at_key=True)


def endless_turn_errors(scope: Scope) -> Findings:
    choice = scope.case.tool_choice
    if forces_call(choice or suite_choice(scope.suite, scope.case)):
        message = "a turn ends with a reply without calls, which this tool_choice prevents"
        at = (*scope.at, "tool_choice" if choice else _leader(scope))
        yield Finding(at, f'{message}; set "tool_choice": "auto" in the case')


def choice_warnings(suite: Suite, choice: Choice | None) -> Findings:
    """A `tool_choice` that conversations do not take over; none if a `choice` is set for all."""
    free = [case for case in suite.test_cases if case.kind == "conversation" and not case.tool_choice]
    if suite.tool_choice == "required" and free and choice is None:
        message = "conversations get auto instead, as a turn ends with a reply without calls"
        yield Finding(("tool_choice",), f"{message}; a case's own tool_choice wins")


def world_errors(scope: Scope) -> Findings:
    case = scope.case
    for field in ("mock_responses", "live_tools"):
        if scope.has_world and getattr(case, field):
            message = "cannot be combined with a world, which answers all calls"
            yield Finding((*scope.at, field), message, at_key=True)
    if case.world is True and not scope.has_world:
        message = 'true is the world of the suite, which has none; add "world": "module:Class" to it'
        yield Finding((*scope.at, "world"), message)
    if case.play_failed_calls and not scope.has_world:
        yield Finding((*scope.at, "play_failed_calls"), _NEEDS_WORLD, at_key=True)


def nothing_errors(scope: Scope) -> Findings:
    """A conversation that an agent passes by doing nothing, unless the case says that this is right."""
    objects, policies = [each.part for each in scope.all], scope.case.policies
    if any(policy.at_least for policy in policies) or any(map(partial(_expects, scope), objects)):
        return
    limits = [
        field
        for field in ("forbidden_calls", "max_calls", "expected_calls", "policies")
        if any(getattr(one, field, None) for one in (*objects, scope.suite))
    ]
    leader = _leader(scope)
    of = "a turn, or the case," if leader == "turns" else "the case"
    also = f" (an agent that does nothing keeps the {' and the '.join(limits)})" if limits else ""
    message = f"nothing is expected{also}; give {of} expected_calls or another expectation"
    leave = ', or set "may_change_nothing": true' if limits else ""
    yield Finding((*scope.at, leader), message + leave, at_key=True)


def _expects(scope: Scope, expected: Expectations) -> bool:
    """Whether an agent that does nothing fails, or may pass by a word of the suite."""
    fields = ("expected_state", "expected_text", "expected_stop")
    if expected.may_change_nothing or any(getattr(expected, name, None) for name in fields):
        return True
    is_within = (expected.match or scope.case.match) == "within" and not expected.allows_no_call
    calls = expected.calls
    return calls is not None and not is_within and (not calls or not all(one.optional for one in calls))


def user_errors(scope: Scope) -> Findings:
    user = scope.case.user
    for field, text in (("goal", user.goal), ("stop", user.stop)) if user else ():
        if not text.strip():
            yield Finding((*scope.at, "user", field), "an empty text")


def match_errors(scope: Scope) -> Findings:
    written, match = scope.part, scope.part.match or scope.case.match
    yield from call_end_errors(scope)
    if match == "state" and written.calls is not None:
        if not scope.has_world:
            of_calls = "expected_tool" if written.gives_tool else "expected_calls"
            field = "match" if written.match else of_calls
            yield Finding((*scope.at, field), _NEEDS_WORLD)
        yield from unplayable(written, scope.at)
    if written.results and match != "state":
        in_turns = [turn.match for turn in scope.case.turns or ()] if written is scope.case else []
        if "state" not in in_turns:
            yield Finding((*scope.at, "results"), 'only for "match": "state"; remove it', at_key=True)


def call_end_errors(scope: Scope) -> Findings:
    """Ends of calls that the state shows, and matchers of results."""
    by_state = (scope.part.match or scope.case.match) == "state"
    for path, call in scope.part.placed_calls:
        yield from matcher_findings({"result": call.result}, (*scope.at, *path))
        for field in ("status", "result") if by_state else ():
            if field in call.model_fields_set:
                message = 'with "match": "state", the state shows how calls ended; remove it'
                yield Finding((*scope.at, *path, field), message, at_key=True)
        if by_state and call.agent is not None:
            message = 'with "match": "state", it does not matter who makes a call; write a policy'
            yield Finding((*scope.at, *path, "agent"), message, at_key=True)


def silent_match_errors(scope: Scope) -> Findings:
    if scope.part.match == "contains" and scope.part.allows_no_call:
        yield Finding((*scope.at, "match"), f"the match {_SAYS_NOTHING}", at_key=True)


def answer_warnings(scope: Scope) -> Findings:
    """A conversation that expects calls, and whose calls nothing answers."""
    suite, case = scope.suite, scope.case
    live = suite.live_tools if case.live_tools is None else case.live_tools
    if scope.has_world or case.mock_responses or live or case.skip:
        return
    if any(each.part.calls and not each.part.allows_no_call for each in scope.all):
        message = "a model's calls get no answer but an error; give the case mock_responses or a world"
        yield Finding((*scope.at, _leader(scope)), message, at_key=True)


def silent_match_warnings(scope: Scope) -> Findings:
    """Turns that say nothing with the `match` of their case."""
    for each in scope.all:
        if scope.case.match == "contains" and each.part.match is None and each.part.allows_no_call:
            field = "expected_tool" if each.part.gives_tool else "expected_calls"
            yield Finding((*each.at, field), f"the case's match {_SAYS_NOTHING}", at_key=True)


def unplayable(expected: Expectations, at: Loc) -> Findings:
    """Expected calls that cannot be run, as they name no single tool or contain matchers."""
    several = expected.expected_calls is not None
    placed = expected.placed_calls if several else [((), call) for call in expected.calls or ()]
    for path, call in placed:
        here = (*at, *path)
        if not isinstance(call.tool, str) or call.tool == ANY_TOOL:
            message = "the expected call is run on the world; name a single tool"
            yield Finding((*here, "tool" if several else "expected_tool"), message)
        for name, value in (call.params or {}).items():
            if has_matcher(value):
                message = "the expected call is run on the world; write a plain value"
                yield Finding((*here, "params" if several else "expected_params", name), message)


def state_errors(scope: Scope) -> Findings:
    state, at = scope.part.expected_state, (*scope.at, "expected_state")
    if state is None:
        return
    if not scope.has_world:
        yield Finding(at, _NEEDS_WORLD, at_key=True)
    for path in state:
        if read_path(path) is None:
            message = 'expected a path such as orders.A1.refunded or orders["a.b"][0]'
            yield Finding((*at, path), message, at_key=True)
    yield from matcher_findings(state, at)


def new_tool_errors(scope: Scope) -> Findings:
    for index, name in enumerate(scope.turn.new_tools if scope.turn else ()):
        at = (*scope.at, "new_tools", index)
        if name == ANY_TOOL or scope.tools.lacks(name):
            yield Finding(at, scope.tools.complaint(name))
        elif scope.at[-1] == 0:
            yield Finding(at, "already offered in the first turn; name it in a later one")
