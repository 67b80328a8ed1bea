"""What each field of the format takes, in words, and pydantic's errors in these words."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any
from typing import Literal
from typing import get_args

from pydantic import BaseModel

from ..explain import describe
from ..explain import nearest
from ..explain import show
from ..findings import Finding
from ..findings import Loc
from ..matchers.modes import MODES
from .model import MAX_TRIALS
from .model import ROLES
from .model import CallOrder
from .model import Expectations
from .model import ExpectedCall
from .model import Function
from .model import Match
from .model import McpSource
from .model import PromptMessage
from .model import Suite
from .model import TestCase
from .model import Tool
from .model import ToolChoice
from .model import ToolsFrom
from .model import Turn
from .model import User
from .model import XFail

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Kind = Literal[
    "suite", "case", "turn", "user", "tool", "function", "call", "xfail", "message", "tools_from", "mcp"
]

TOOL_EXAMPLE = '{"type": "function", "function": {"name": ..., "description": ..., "parameters": ...}}'
_CALL = '{"tool": "get_weather", "params": {"city": "Paris"}}'
_COUNT = "a whole number of at least 1"
_TOOLS = f"a list of tools, each {TOOL_EXAMPLE}"


def _any_of(*names: str) -> str:
    """`"a", "b" or "c"`."""
    *first, last = [f'"{name}"' for name in names]
    return f"{', '.join(first)} or {last}"


_SHARED = {
    "name": "a non-empty string",
    "description": "a string",
    "metadata": "an object",
    "tools": _TOOLS,
    "tool_choice": _any_of(*get_args(ToolChoice)),
    "temperature": "a number from 0 to 2",
    "max_tokens": _COUNT,
    "trials": f"a whole number from 1 to {MAX_TRIALS}",
    "live_tools": 'a list of tool names, or ["*"] for all read-only tools',
    "pass": '"mean", "all", "any", or "K/N" such as "4/5"',
    "param_scoring": _any_of(*MODES),
    "world": '"module:Class" or "module:function" in a module next to the suite',
    "world_args": "an object of arguments for the world",
    "thresholds": 'an object of metrics and their lowest passing scores, such as {"overall": 0.8}',
    "forbidden_calls": 'a list of tool names and calls, such as [{"tool": "pay", "params": '
    '{"amount": 0}}], or "*" for every tool that is not expected',
}
_COMMENT = {"$comment": "a string or a list of strings"}
_PARAMS = "an object of argument names and expected values, or null when they are not scored"
_EXPECTATIONS = {
    **_COMMENT,
    "expected_tool": 'the name of a tool, a list of names, "*" for any tool, '
    "or null when nothing should be called",
    "expected_params": _PARAMS,
    "expected_calls": f"a list of calls such as [{_CALL}]",
    "call_order": _any_of(*get_args(CallOrder)),
    "match": _any_of(*get_args(Match)),
    "results": "true or false",
    "expected_state": 'an object of paths and values, such as {"orders.A1.refunded": 40}',
    "expected_text": 'a list of texts and matchers, such as ["refunded", {"$number": 40}]',
    "forbidden_calls": _SHARED["forbidden_calls"],
    "prompt": "the user's message as a string, or a list of chat messages",
}
EXPECTED: Mapping[Kind, Mapping[str, str]] = {
    "suite": {
        **_SHARED,
        **_COMMENT,
        "$schema": "a string",
        "test_cases": "a list of cases",
        "system_prompt": "a string",
        "tools_from": 'an object such as {"mcp": {"stdio": "uvx mcp-server-time"}}',
    },
    "case": {
        **_SHARED,
        **_EXPECTATIONS,
        "id": "a string",
        "turns": 'a list of turns such as [{"prompt": "...", "expected_calls": [...]}]',
        "user": 'an object such as {"goal": "You want your money back for order A1."}',
        "tags": "a list of strings",
        "skip": "true, false, or the reason as a string",
        "xfail": 'true, false, the reason as a string, or {"reason": "...", "strict": true}',
        "weight": "a number above 0, at most 1000000",
        "cluster": "a non-empty string",
        "multi_turn": "true or false",
        "max_rounds": _COUNT,
        "optimal_hops": _COUNT,
        "valid_prerequisites": "a list of tool names",
        "mock_responses": "an object that maps the name of a tool to its answer",
        "play_failed_calls": "true or false",
        "approvals": 'an object that maps the name of a tool to "approve" or "reject"',
    },
    "turn": {
        **_EXPECTATIONS,
        "new_tools": "a list of tool names",
        "max_calls": "a whole number of at least 0",
    },
    "user": {
        "goal": "a text that says who the user is and what they want",
        "model": "the name of a model, as for --tooleval-model",
        "stop": "a text such as ###STOP###",
        "max_turns": _COUNT,
    },
    "tool": {
        **_COMMENT,
        "type": '"function"',
        "function": 'an object such as {"name": ..., "parameters": ...}',
    },
    "function": {
        "name": "a non-empty string",
        "description": "a string",
        "parameters": "a JSON Schema of type object",
        "strict": "true or false",
    },
    "call": {
        "tool": 'the name of a tool, a list of names, or "*" for any tool',
        "params": _PARAMS,
    },
    "xfail": {"reason": "a string", "strict": "true or false"},
    "tools_from": {
        "mcp": 'an object such as {"stdio": "uvx mcp-server-time"} or {"http": "https://..."}',
        "pin": "a fingerprint of 16 hex digits",
        "on_drift": '"error" or "warn"',
    },
    "mcp": {
        "stdio": "a command as a string, or a list of its words",
        "http": "a URL",
        "sse": "a URL",
        "headers": 'headers and names of environment variables, such as {"Authorization": "MY_TOKEN"}',
        "env": "a list of names of environment variables",
        "timeout": "a number of seconds above 0",
    },
    "message": {
        "role": _any_of(*ROLES),
        "content": "a string, a list of content parts, or null",
    },
}
_ITEMS = {
    "test_cases": 'an object such as {"prompt": "...", "expected_tool": "..."}',
    "prompt": 'a chat message such as {"role": "user", "content": "..."}',
    "content": 'a content part such as {"type": "text", "text": "..."}',
    "expected_tool": "the name of a tool",
    "tool": "the name of a tool",
    "stdio": "a string",
    "expected_text": 'a text, or a matcher such as {"$regex": "..."}',
    "tools": f"a tool, {TOOL_EXAMPLE}",
    "expected_calls": f"an object such as {_CALL}",
    "turns": 'an object such as {"prompt": "...", "expected_calls": [...]}',
    "new_tools": "the name of a tool",
    "tags": "a string",
    "$comment": "a string",
    "valid_prerequisites": "the name of a tool",
    "approvals": '"approve" or "reject"',
    "live_tools": "the name of a tool",
    "env": "the name of an environment variable",
    "headers": "the name of an environment variable",
    "thresholds": "a number from 0 to 1, or null for no threshold",
    "forbidden_calls": 'the name of a tool, or an object such as {"tool": "pay", "params": {...}}',
}
_MODELS: Mapping[Kind, type[BaseModel]] = {
    "suite": Suite,
    "case": TestCase,
    "turn": Turn,
    "user": User,
    "tool": Tool,
    "function": Function,
    "call": ExpectedCall,
    "xfail": XFail,
    "tools_from": ToolsFrom,
    "mcp": McpSource,
    "message": PromptMessage,
}
# Names from other tools, too different to be found by similarity.
_ALIASES: Mapping[Kind, Mapping[str, str]] = {
    "suite": {"cases": "test_cases", "tests": "test_cases", "functions": "tools", "title": "name"},
    "case": {
        "name": "id",
        "title": "id",
        "params": "expected_params",
        "arguments": "expected_params",
        "expected_arguments": "expected_params",
        "expected_args": "expected_params",
        "calls": "expected_calls",
        "tool": "expected_tool",
        "tool_calls": "expected_calls",
        "expected_tools": "expected_tool",
        "expected_function": "expected_tool",
        "messages": "prompt",
        "input": "prompt",
        "question": "prompt",
        "query": "prompt",
        "markers": "tags",
        "mocks": "mock_responses",
    },
    "call": {
        "name": "tool",
        "expected_tool": "tool",
        "function": "tool",
        "arguments": "params",
        "args": "params",
        "expected_params": "params",
        "parameters": "params",
    },
    "function": {"input_schema": "parameters", "inputSchema": "parameters", "schema": "parameters"},
}
_ELSEWHERE = {
    ("case", "system_prompt"): "a field of the suite; for one case, make prompt a list that begins with "
    '{"role": "system", "content": "..."}',
    (
        "case",
        "max_calls",
    ): 'for the whole case, write "thresholds": {"max_calls": ...}; for a turn, move it into the turn',
    ("case", "description"): "a field of the suite; for a note on a case, write $comment",
    ("function", "$comment"): "a field of the tool; move it out of function",
}


def field_names(kind: Kind) -> list[str]:
    """The names that a file may use in an object of this kind."""
    fields = _MODELS[kind].model_fields
    shared = {*Expectations.model_fields, "comment"}  # pydantic has those of the base class first
    return [fields[name].alias or name for name in sorted(fields, key=lambda each: each in shared)]


CASE_FIELDS = frozenset(field_names("case"))


# Kinds by path, with 0 for every index: turns, cases and the suite, then the objects in one of them.
_HOLDERS: Mapping[Loc, Kind] = {
    ("test_cases", 0, "turns", 0): "turn",
    ("test_cases", 0): "case",
    (): "suite",
}
_INSIDE: Mapping[Loc, Kind] = {
    ("prompt", 0): "message",
    ("expected_calls", 0): "call",
    ("forbidden_calls", 0): "call",
    ("xfail",): "xfail",
    ("user",): "user",
    ("tools", 0): "tool",
    ("tools", 0, "function"): "function",
    ("tools_from",): "tools_from",
    ("tools_from", "mcp"): "mcp",
}


def kind_at(loc: Loc) -> Kind | None:
    """The kind of object at a path; None for objects whose keys are up to the user."""
    path = tuple(0 if isinstance(part, int) else part for part in loc)
    start = next(start for start in _HOLDERS if path[: len(start)] == start)
    inside = path[len(start) :]
    return _INSIDE.get(inside) if inside else _HOLDERS[start]


def expected_at(loc: Loc) -> str:
    """What a path should hold, in words."""
    if not loc:
        return "an object with name, tools and test_cases"
    kind, last = kind_at(loc[:-1]), loc[-1]
    if kind is not None and isinstance(last, str) and last in EXPECTED[kind]:
        return EXPECTED[kind][last]
    if len(loc) > 1 and loc[-2] in _ITEMS:
        return _ITEMS[str(loc[-2])]
    return "something else"


def suggestion(kind: Kind, name: str, taken: Collection[str]) -> str | None:
    """The field that an unknown one probably means, unless the object has it already."""
    meant = _ALIASES.get(kind, {}).get(name) or nearest(name, field_names(kind))
    return None if meant in taken else meant


def misspells(kind: Kind, field: str, found: Mapping[str, Any]) -> bool:
    """Whether a missing field is there under a misspelt name."""
    known = field_names(kind)
    return any(suggestion(kind, name, found) == field for name in found if name not in known)


def unknown_field(kind: Kind, name: str, found: Mapping[str, Any]) -> str:
    """The message for an unknown field of an object."""
    if (kind, name) in _ELSEWHERE:
        return _ELSEWHERE[kind, name]
    alias = _ALIASES.get(kind, {}).get(name)
    if alias is None:
        if kind == "suite" and name in CASE_FIELDS:
            return "a field of a test case, not of the suite; move it into the cases"
        if kind == "case" and name in field_names("suite"):
            return "a field of the suite, not of a test case; move it to the top of the file"
        if kind == "tool" and name in field_names("function"):
            return "a field of the function; move it into function"
    meant = suggestion(kind, name, found)
    if meant is not None:
        return f"unknown field, did you mean {meant}?"
    return f"unknown field; expected one of {', '.join(field_names(kind))}"


def model_findings(
    errors: Iterable[ErrorDetails], data: Any, said: Collection[Finding]
) -> list[Finding]:
    """pydantic's errors about `data` as findings, without those that `suite.checks` reports itself."""
    covered = {found.loc for found in said if not found.at_key}
    placed = [(error, *_place(error, data)) for error in errors]
    # For a union, pydantic reports the types that do not match, and what is wrong inside one that does.
    inner = {found.loc[:n] for found in said for n in range(len(found.loc) + 1)}
    inner |= {loc[:n] for _, loc, _ in placed for n in range(len(loc))}
    findings: dict[Loc, Finding] = {}
    for error, loc, parent in placed:
        if loc in findings or any(loc[:n] in covered for n in range(1, len(loc) + 1)):
            continue
        if loc in inner and len(loc) < len(error["loc"]):
            continue
        finding = _model_finding(loc, error, parent)
        if finding is not None:
            findings[loc] = finding
    return list(findings.values())


def _place(error: ErrorDetails, data: Any) -> tuple[Loc, Any]:
    """The path of an error without pydantic's names of types, and the object that it leads into."""
    *path, last = error["loc"]
    loc: Loc = ()
    for part in path:
        if _holds(data, part):
            loc, data = (*loc, part), data[part]
    if error["type"] == "missing":
        return (*loc, last), data
    # An object may have a key with the name of a type, such as "str".
    found = _holds(data, last) and data[last] is error["input"]
    return ((*loc, last), data) if found else (loc, data)


def _holds(value: Any, part: str | int) -> bool:
    return (
        isinstance(value, list) if isinstance(part, int) else isinstance(value, dict) and part in value
    )


def _model_finding(loc: Loc, error: ErrorDetails, parent: Any) -> Finding | None:
    kind = kind_at(loc[:-1])
    if error["type"] in ("missing", "extra_forbidden") and kind is not None:
        name = str(loc[-1])
        if error["type"] == "extra_forbidden":
            return Finding(loc, unknown_field(kind, name, parent), at_key=True)
        if kind != "message" and misspells(kind, name, parent):  # a message may have other fields
            return None
        return Finding(loc, f"missing; expected {expected_at(loc)}")
    return Finding(loc, wrong_value(loc, error["input"]))


def wrong_value(loc: Loc, got: Any) -> str:
    """The message for a value of the wrong type or out of range."""
    expected = expected_at(loc)
    return f"expected {expected}, got {describe(got)}{_hint(expected, got)}"


def _hint(expected: str, got: Any) -> str:
    if isinstance(got, str):
        word = got.strip().lower()
        if "true or false" in expected and word in ("true", "false"):
            return f"; write {word} without quotes"
        if "number" in expected and _is_number(word):
            return f"; write {word} without quotes"
        if expected.startswith('"'):
            near = nearest(word, expected.replace('"', "").replace(" or ", ", ").split(", "))
            return f"; did you mean {show(near)}?" if near else ""
    if isinstance(got, float) and "whole number" in expected and got.is_integer() and 1 <= got < 1e15:
        return f"; write {int(got)}"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word[-1:].isdigit() and len(word) <= 20
