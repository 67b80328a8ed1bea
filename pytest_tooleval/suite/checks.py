"""Checks that need more than one value: duplicate ids, undefined tools, fields that exclude each other.

They run on the parsed JSON, before the models exist, so that all problems are reported together.
Values of the wrong type are left to pydantic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Collection
from typing import Any

from ..explain import listing
from ..explain import nearest
from ..explain import show
from ..findings import Finding
from ..findings import Findings
from ..findings import Loc
from ..matchers.matcher import matcher_findings
from ..matchers.modes import MODES
from ..record.calls import is_number
from ..record.metrics import LIMITS
from ..record.metrics import METRICS
from ..record.metrics import PENALTIES
from ..record.names import same_tool
from ..record.untrusted import as_list
from ..record.untrusted import as_mapping
from ..record.untrusted import objects_in
from .fields import expected_at
from .fields import misspells
from .fields import wrong_value
from .mocks import mock_findings
from .model import ANY_TOOL
from .model import MAX_TRIALS
from .model import NOTHING_JUDGES
from .model import ROLES
from .model import judges
from .model import merged_thresholds
from .model import needed_of
from .tools import ToolNames
from .tools import tool_list_findings
from .turns import is_conversation
from .turns import objects_at
from .turns import turn_findings

MAX_ID_LENGTH = 200

_ONLY_MULTI_TURN = 'only for multi-turn cases; add "multi_turn": true, or remove this'
_MULTI_TURN_FIELDS = ("max_rounds", "optimal_hops", "valid_prerequisites", "mock_responses")
_TAG = re.compile(r"[^\W_][\w.+-]*")
# pytest-timeout ends the whole run at its mark without an argument.
_RESERVED_TAGS = frozenset(
    ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "tooleval", "timeout")
)
_EXPRESSION_WORDS = frozenset(("and", "or", "not"))
_ONLY_OVERALL = [name for name, mode in MODES.items() if mode.only_overall]
_TRANSPORTS = ("stdio", "http", "sse")
_COUNTED_RULE = re.compile(r"[1-9][0-9]{0,5}/[1-9][0-9]{0,5}")


def check_suite(data: dict[str, Any], metrics: Collection[str] | None = ()) -> Findings:
    """Everything wrong with a parsed suite that pydantic cannot see, in no particular order.

    `metrics` are the metrics of other scorers that thresholds may use; None allows any.
    """
    known = None if metrics is None else tuple(dict.fromkeys((*METRICS, *metrics)))
    raw_tools = data.get("tools")
    yield from tool_list_findings(raw_tools, ("tools",))
    yield from _thresholds(data.get("thresholds"), ("thresholds",), known)
    yield from _pass_rule(data, (), data)
    suite_tools = ToolNames(raw_tools, "the suite")
    yield from source_findings(data)
    if data.get("tools_from") is not None:
        # The list is empty until the server has been asked.
        suite_tools = ToolNames(raw_tools, "the MCP server of tools_from")
        suite_tools.complete = bool(raw_tools)
    elif data.get("world") is not None and raw_tools is None:
        suite_tools.complete = False  # `with_world_tools` reports that the world failed
    yield from _live_tools(data, (), data, suite_tools)
    cases = data.get("test_cases")
    every = [tool for each in (data, *objects_in(cases)) for tool in as_list(each.get("tools"))]
    everywhere = ToolNames(every, "the suite or its cases")
    everywhere.complete = everywhere.complete and suite_tools.complete
    yield from _calls(data, (), everywhere)
    for loc, case in objects_at(data, "test_cases"):
        tools = suite_tools
        if case.get("tools") is not None:
            yield from tool_list_findings(case["tools"], (*loc, "tools"))
            tools = ToolNames(case["tools"], "the case")
        elif case.get("world") is not None and raw_tools is None:
            tools = ToolNames([None], "the case")
        yield from turn_findings(case, loc, data, tools)
        yield from _turns(case, loc, data, tools)
        yield from _prompt(case, loc)
        yield from _expectation(case, loc, tools)
        yield from _approvals(case, loc, tools)
        yield from _chain(case, loc, tools)
        yield from _thresholds(case.get("thresholds"), (*loc, "thresholds"), known)
        layers = (as_mapping(each.get("thresholds")) for each in (data, case))
        mode = case.get("param_scoring") or data.get("param_scoring")
        only_overall = mode in _ONLY_OVERALL or is_conversation(case)
        if not judges(merged_thresholds(only_overall, *layers)):
            yield Finding((*loc, "thresholds") if "thresholds" in case else loc, NOTHING_JUDGES)
        yield from _pass_rule(case, loc, data)
        yield from _contradiction(case, loc, data, tools)
        yield from _live_tools(case, loc, data, tools)
        yield from _tags(case.get("tags"), (*loc, "tags"))
        for field in ("skip", "xfail"):
            if case.get(field) == "":
                message = f"an empty reason; write a reason or true, or remove {field}"
                yield Finding((*loc, field), message)


def check_ids(cases: list[Any], line_of: Callable[[Loc], int]) -> Findings:
    """Ids that would break node ids, and duplicate ids; `line_of` gives the line of a path."""
    first: dict[str, Loc] = {}
    for index, case in enumerate(cases):
        name, loc = as_mapping(case).get("id"), ("test_cases", index, "id")
        if not isinstance(name, str):
            continue
        problem = _id_problem(name)
        if problem is not None:
            yield Finding(loc, problem)
        elif name in first:
            other = f"already used by the case on line {line_of(first[name])}"
            yield Finding(loc, f"the id {show(name)} is {other}; ids must be unique")
        else:
            first[name] = loc


def _id_problem(name: str) -> str | None:
    if not name:
        return "an empty id; write one, or remove id to get one from the prompt"
    if name != name.strip():
        return f"the id {show(name)} begins or ends with a space; remove it"
    for part in ("::", "[", "]"):
        if part in name:
            return f'the id {show(name)} contains "{part}", which pytest reserves; remove it'
    if not name.isprintable():
        return f"the id {show(name)} contains unprintable characters; remove them"
    if len(name) > MAX_ID_LENGTH:
        return f"the id has {len(name)} characters; use at most {MAX_ID_LENGTH}"
    return None


def _turns(case: dict[str, Any], loc: Loc, suite: dict[str, Any], tools: ToolNames) -> Findings:
    """The fields that turns share with cases; a case without turns needs a prompt."""
    for place, turn in objects_at(case, "turns", loc):
        yield from _prompt(turn, place)
        yield from _expectation(turn, place, tools, is_turn=True)
        yield from _contradiction(turn, place, {**suite, **case}, tools)
    if not is_conversation(case) and "prompt" not in case and not misspells("case", "prompt", case):
        yield Finding((*loc, "prompt"), f"missing; expected {expected_at((*loc, 'prompt'))}")


def _prompt(case: dict[str, Any], loc: Loc) -> Findings:
    prompt, at = case.get("prompt"), (*loc, "prompt")
    if isinstance(prompt, str):
        if not prompt.strip():
            yield Finding(at, "an empty prompt; write what the user says")
    elif isinstance(prompt, list):
        roles = [as_mapping(message).get("role") for message in prompt]
        if prompt and "user" not in roles and all(role in ROLES for role in roles):
            yield Finding(at, 'no message from the user; add {"role": "user", "content": "..."}')
        for index, (role, message) in enumerate(zip(roles, prompt, strict=True)):
            content = message.get("content") if role == "user" else []
            if content is None or (isinstance(content, str) and not content.strip()):
                text = "an empty message from the user; write what the user says"
                yield Finding((*at, index, "content"), text)
    elif "prompt" in case and prompt is None and not is_conversation(case):
        yield Finding(at, wrong_value(at, prompt))


def _expectation(case: dict[str, Any], loc: Loc, tools: ToolNames, *, is_turn: bool = False) -> Findings:
    """`expected_tool` with `expected_params`, or `expected_calls`: exactly one of the two in a case."""
    calls = case.get("expected_calls")
    if "expected_tool" in case:
        yield from _tool_names(case["expected_tool"], (*loc, "expected_tool"), tools)
        if calls is not None:
            message = "expected_calls cannot be combined with expected_tool; keep one of them"
            yield Finding((*loc, "expected_calls"), message, at_key=True)
    elif calls is None and not is_turn and not is_conversation(case):
        names = ("expected_tool", "expected_calls", "turns", "user")
        if not any(misspells("case", name, case) for name in names):
            message = f"missing; expected {expected_at((*loc, 'expected_tool'))}; or give expected_calls"
            yield Finding((*loc, "expected_tool"), message)
    params = case.get("expected_params")
    if isinstance(params, dict):
        at = (*loc, "expected_params")
        if calls is not None:
            message = (
                'cannot be combined with expected_calls; give each call its own params: {"tool": '
                '..., "params": ...}'
            )
            yield Finding(at, message, at_key=True)
        elif is_turn and "expected_tool" not in case:
            if not misspells("turn", "expected_tool", case):
                yield Finding(at, "needs expected_tool, the tool that takes them", at_key=True)
        elif params and "expected_tool" in case and case["expected_tool"] is None:
            message = "expected_tool is null, so no params can be expected; fix one of the two"
            yield Finding(at, message, at_key=True)
        yield from matcher_findings(params, at)
    if case.get("call_order") == "strict" and calls is None:
        message = "has no effect without expected_calls; remove it"
        yield Finding((*loc, "call_order"), message, at_key=True)
    yield from _calls(case, loc, tools)


def _approvals(case: dict[str, Any], loc: Loc, tools: ToolNames) -> Findings:
    for name in as_mapping(case.get("approvals")):
        if name == ANY_TOOL or tools.lacks(name):
            yield Finding((*loc, "approvals", name), tools.complaint(name), at_key=True)


def _calls(holder: dict[str, Any], loc: Loc, tools: ToolNames) -> Findings:
    """`expected_calls` and `forbidden_calls` of the suite, a case or a turn."""
    for field in ("expected_calls", "forbidden_calls"):
        for at, call in objects_at(holder, field, loc):
            yield from _tool_names(call.get("tool"), (*at, "tool"), tools)
            yield from matcher_findings(as_mapping(call.get("params")), (*at, "params"))
    for index, name in enumerate(as_list(holder.get("forbidden_calls"))):
        if tools.lacks(name):
            yield Finding((*loc, "forbidden_calls", index), tools.complaint(name))


def _contradiction(case: dict[str, Any], loc: Loc, suite: dict[str, Any], tools: ToolNames) -> Findings:
    """A tool that the case both expects and forbids."""
    holder = case if case.get("forbidden_calls") is not None else suite
    whole = [
        call.get("tool") if isinstance(call, dict) and not call.get("params") else call
        for call in as_list(holder.get("forbidden_calls"))
    ]
    forbidden = [name for name in whole if isinstance(name, str)]
    expected = [((*loc, "expected_tool"), case.get("expected_tool"))]
    calls = objects_at(case, "expected_calls", loc)
    expected += (((*at, "tool"), call.get("tool")) for at, call in calls)
    for at, name in expected:
        if isinstance(name, str) and any(same_tool(name, each, tools.names) for each in forbidden):
            message = "is also in forbidden_calls, so no answer can pass; fix one of the two"
            yield Finding(at, f"{show(name)} {message}")


def _tool_names(value: Any, at: Loc, tools: ToolNames) -> Findings:
    """The name of a tool, or a list of names, all of them defined."""
    if tools.lacks(value):
        yield Finding(at, tools.complaint(value))
    for index, name in enumerate(as_list(value)):
        if name == ANY_TOOL:
            yield Finding((*at, index), '"*" means any tool and cannot be in a list; write "*" alone')
        elif tools.lacks(name):
            yield Finding((*at, index), tools.complaint(name))


def _chain(case: dict[str, Any], loc: Loc, tools: ToolNames) -> Findings:
    """The fields of multi-turn cases."""
    if case.get("multi_turn") is not True:
        free = ("max_rounds", "mock_responses") if is_conversation(case) else ()
        given = [field for field in _MULTI_TURN_FIELDS if case.get(field) and field not in free]
        if given and not case.get("multi_turn") and not misspells("case", "multi_turn", case):
            for field in given:
                yield Finding((*loc, field), _ONLY_MULTI_TURN, at_key=True)
    elif case.get("expected_calls") is not None and not is_conversation(case):
        message = (
            "not allowed in a multi-turn case: a chain ends with one call; write expected_tool instead"
        )
        yield Finding((*loc, "expected_calls"), message, at_key=True)
    elif "expected_tool" in case and case["expected_tool"] is None:
        message = "a multi-turn case needs the tool that ends its chain; name it, or remove multi_turn"
        yield Finding((*loc, "expected_tool"), message)
    for index, name in enumerate(as_list(case.get("valid_prerequisites"))):
        if tools.lacks(name):
            yield Finding((*loc, "valid_prerequisites", index), tools.complaint(name))
        elif name == ANY_TOOL:
            message = '"*" cannot be used here; name the tools that may be called along the way'
            yield Finding((*loc, "valid_prerequisites", index), message)
    mocked: list[str] = []
    for name, answer in as_mapping(case.get("mock_responses")).items():
        at = (*loc, "mock_responses", name)
        other = next((each for each in mocked if same_tool(each, name, tools.names)), None)
        mocked.append(name)
        if other is not None:
            yield Finding(at, f"the same tool as {show(other)}; names ignore case", at_key=True)
        elif name == ANY_TOOL or tools.lacks(name):
            yield Finding(at, tools.complaint(name), at_key=True)
        yield from mock_findings(answer, at)


_OWN = "a metric of your own needs its scorer, in conftest.py"


def _thresholds(thresholds: Any, at: Loc, known: Collection[str] | None) -> Findings:
    for metric, value in as_mapping(thresholds).items():
        if metric in LIMITS:
            continue
        if metric not in PENALTIES if known is None else metric in known:
            if is_number(value) and value > 1:
                yield Finding((*at, metric), wrong_value((*at, metric), value))
            continue
        if metric in PENALTIES:
            message = "lower is better, so it cannot have a threshold; use overall, which subtracts it"
        else:
            names = (*(known or METRICS), *LIMITS)
            near = nearest(metric, names)
            hint = f", did you mean {near}?" if near else f"; expected one of {listing(names)}; {_OWN}"
            message = f"unknown metric{hint}"
        yield Finding((*at, metric), message, at_key=True)


def source_findings(data: dict[str, Any]) -> Findings:
    """`tools_from` must name exactly one server."""
    server = as_mapping(data.get("tools_from")).get("mcp")
    if not isinstance(server, dict):
        return
    at: Loc = ("tools_from", "mcp")
    named = [transport for transport in _TRANSPORTS if server.get(transport) is not None]
    if len(named) != 1:
        got = " and ".join(named) or "none"
        yield Finding(at, f"expected one of stdio, http and sse, got {got}", at_key=True)


def _live_tools(holder: dict[str, Any], loc: Loc, suite: dict[str, Any], tools: ToolNames) -> Findings:
    live, at = as_list(holder.get("live_tools")), (*loc, "live_tools")
    if not live:
        return
    if suite.get("tools_from") is None:
        yield Finding(at, "needs a server; add tools_from to the suite", at_key=True)
    elif loc and holder.get("multi_turn") is not True and not is_conversation(holder):
        yield Finding(at, _ONLY_MULTI_TURN, at_key=True)
    for index, name in enumerate(live):
        if tools.lacks(name):
            yield Finding((*at, index), tools.complaint(name))


def _pass_rule(holder: dict[str, Any], loc: Loc, suite: dict[str, Any]) -> Findings:
    """A rule K/N that no result can meet, or `trials` beside or below it that contradict it."""
    rule = holder.get("pass") or suite.get("pass")
    needed = needed_of(rule) if isinstance(rule, str) and _COUNTED_RULE.fullmatch(rule) else None
    if needed is None:
        return
    trials = holder.get("trials")
    if "pass" in holder and needed[0] > needed[1]:
        yield Finding((*loc, "pass"), f"{needed[0]} of {needed[1]} trials can never pass")
    elif "pass" in holder and needed[1] > MAX_TRIALS:
        yield Finding((*loc, "pass"), f"expected at most {MAX_TRIALS} trials, got {needed[1]}")
    elif isinstance(trials, int) and trials != needed[1]:
        message = f'"pass": "{rule}" asks {needed[1]} times, which contradicts {trials}; remove trials'
        yield Finding((*loc, "trials"), message, at_key=True)


def _tags(tags: Any, at: Loc) -> Findings:
    seen = set()
    for index, tag in enumerate(as_list(tags)):
        if not isinstance(tag, str):
            continue
        message = None
        if tag in _RESERVED_TAGS:
            own = " (use the field with this name)" if tag in ("skip", "xfail") else ""
            message = f"the tag {show(tag)} is a pytest mark with its own meaning{own}; choose another"
        elif tag in _EXPRESSION_WORDS:
            message = f"the tag {show(tag)} is an operator in -m and -k expressions; choose another"
        elif not _TAG.fullmatch(tag):
            message = (
                f"the tag {show(tag)} cannot be used with -m; use letters, digits, _ - . and +, "
                "and begin with a letter or digit"
            )
        elif tag in seen:
            message = f"the tag {show(tag)} is listed twice; remove one"
        seen.add(tag)
        if message is not None:
            yield Finding((*at, index), message)
