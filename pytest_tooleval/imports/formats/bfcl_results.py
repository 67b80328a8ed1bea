"""Result files of the Berkeley Function Calling Leaderboard, for its conversations (multi_turn_...).

A record is `{"id": ..., "result": [[step, ...], ...]}`. It has the model's answers in each turn: calls
as `[{name: arguments}]`, or a text. Models without function calling write calls as Python, or in a form
that only their own handler in `bfcl-eval` reads. Its `inference_log` has the calls that the handler
read, and the answers of the tools. A step that cannot be read counts as text, as in the leaderboard.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from msgspec import Struct

from ...record.calls import is_number
from ...record.transcript import Message, Usage, text_of
from ...record.untrusted import as_list, as_mapping
from ...text import shorten
from ..conversation import NO_NAME, Conversation, Item, called, reply
from ..format import EachFile, Format
from ..openai_tools import typed
from ..records import Record, UnusableError

_OTHER_CALLS = re.compile(r'<tool_call|<function|<\|tool|"(?:name|arguments|parameters)"\s*:')
_ARITHMETIC: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}

_LONGEST = 10_000

_Call = tuple[str, dict[str, Any]]  # in which the arguments are known


class _Result(Struct):
    """One conversation. If it failed, the result is the error."""

    id: str
    result: list[list[Any]] | str
    inference_log: list[Any] | str = ""
    input_token_count: Any = None
    output_token_count: Any = None
    latency: Any = None


class _Entry(Struct):
    """A log entry of a step: the model's answer, the calls read from it, or a tool's answer."""

    role: str = ""
    content: Any = None
    model_response_decoded: list[str] = []


class _Step(NamedTuple):
    text: str
    calls: list[_Call]
    answers: list[str]


class _Undecodable(Exception):
    """The leaderboard takes the step for text."""


def _holds(value: Any) -> bool:
    if not isinstance(value, Mapping) or "messages" in value:  # a chat may have a result, too
        return False
    return isinstance(value.get("id"), str) and "result" in value


def _results(records: list[Record]) -> Iterator[Record]:
    """Each result with the name of the model, and whether it makes calls rather than writes them."""
    folder = records[0].path.absolute().parent
    model = folder.name if folder.parent.name == "result" else NO_NAME
    if folder.name == "multi_turn":
        model = folder.parent.name
    turns = [turn for each in records for turn in as_list(as_mapping(each.value).get("result"))]
    makes_calls = any(_native(step) for turn in turns for step in as_list(turn))
    return (replace(each, value=(each.value, model, makes_calls)) for each in records)


def _read(record: Record) -> Iterator[Item]:
    value, model, makes_calls = record.value
    try:
        result = typed(value, _Result, "a result")
    except UnusableError as error:
        text = f"{error}; only results of BFCL's multi_turn categories can be read"
        raise UnusableError(text) from None
    yield Conversation(
        record.problem(),
        list(_messages(result, makes_calls)),
        id=result.id,
        model=model,
        usage=Usage(
            prompt_tokens=int(_sum(result.input_token_count)) or None,
            completion_tokens=int(_sum(result.output_token_count)) or None,
            latency_s=_sum(result.latency) or None,
        ),
        may_stop=True,
        by_benchmark=True,
    )


def _sum(counts: Any) -> float:
    if isinstance(counts, list):
        return sum(map(_sum, counts))
    return counts if is_number(counts) else 0


def _native(step: Any) -> bool:
    return isinstance(step, dict) or (
        isinstance(step, list) and isinstance(next(iter(step), None), dict)
    )


def _messages(result: _Result, makes_calls: bool) -> Iterator[Message]:
    logged = [each for each in result.inference_log if isinstance(each, dict)]
    for number, turn in enumerate(result.result if isinstance(result.result, list) else ()):
        log = logged[number] if number < len(logged) else {}
        query = log.get("begin_of_turn_query")
        last = query[-1] if isinstance(query, list) and query else None
        text = text_of(last) if isinstance(last, dict) else ""
        yield {"role": "user", "content": text or "(not recorded)"}
        for index, answer in enumerate(turn):
            entries = typed(log.get(f"step_{index}", []), list[_Entry], "inference_log")
            step = _logged(answer, entries) if entries else _step(answer, makes_calls)
            ids = [f"call_{number}_{index}_{which}" for which in range(len(step.calls))]
            pairs = zip(ids, step.calls, strict=True)
            calls = [called(id, name, json.dumps(arguments)) for id, (name, arguments) in pairs]
            yield reply(None if calls else step.text, calls)
            for id, content in zip(ids, step.answers, strict=False):
                yield {"role": "tool", "tool_call_id": id, "content": content}
        if not turn:
            yield {"role": "assistant", "content": ""}


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else "" if answer is None else json.dumps(answer)


def _logged(answer: Any, entries: list[_Entry]) -> _Step:
    """A step as the model's handler read it: calls as Python, and their answers."""
    texts = [text for each in entries for text in each.model_response_decoded]
    answers = [str(each.content) for each in entries if each.role == "tool"]
    return _Step(_text(answer), [_logged_call(text) for text in texts], answers)


def _logged_call(text: str) -> _Call:
    try:
        (call,) = _python_calls(text, is_logged=True)
    except (_Undecodable, ValueError):
        return text[:100], {}  # it failed in the leaderboard, too
    return call


def _step(answer: Any, makes_calls: bool) -> _Step:
    try:
        if makes_calls:
            return _Step(_text(answer), _native_calls(answer), [])
        text = str(answer or "").strip("`\n ")
        text = text if text.startswith("[") else f"[{text}"
        return _Step(_text(answer), _python_calls(text if text.endswith("]") else f"{text}]"), [])
    except _Undecodable:
        text = _text(answer)
        if not makes_calls and _OTHER_CALLS.search(text):
            raise UnusableError(
                "a step has calls in the model's own format; keep the inference_log, which decodes them"
            ) from None
        return _Step(text, [], [])


def _native_calls(answer: Any) -> list[_Call]:
    calls = []
    for each in [answer] if isinstance(answer, dict) else answer if isinstance(answer, list) else ():
        if not isinstance(each, dict):
            raise _Undecodable
        for name, given in each.items():
            try:
                arguments = json.loads(given) if isinstance(given, str) else given
            except (ValueError, RecursionError):
                raise _Undecodable from None
            if not isinstance(arguments, dict):
                raise _Undecodable
            calls.append((name, arguments))
    return calls


def _python_calls(text: str, *, is_logged: bool = False) -> list[_Call]:
    try:
        body = ast.parse(text.strip().strip("'"), mode="eval").body
        calls = body.elts if isinstance(body, (ast.List, ast.Tuple)) else [body]
        return [_call(each, is_logged) for each in calls]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _Undecodable from None


def _call(node: ast.AST, is_logged: bool) -> _Call:
    if not isinstance(node, ast.Call):
        raise _Undecodable
    if is_logged and node.args:
        raise UnusableError(f"a call with positional arguments: {shorten(ast.unparse(node), 80)}")
    # The leaderboard drops positional arguments that a model writes.
    given = {str(each.arg): _value(each.value, is_logged) for each in node.keywords}
    return ast.unparse(node.func), given if is_logged else {k: _nested(v) for k, v in given.items()}


def _marked(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call as an argument of another, in the form that the world `BFCL` expects."""
    return {"$call": name, "arguments": arguments}


def _nested(value: Any) -> Any:
    """As BFCL's `parse_nested_value`: an object of objects is a call, except in a list."""
    if not isinstance(value, dict):
        return value
    if all(isinstance(each, dict) for each in value.values()):
        name = next(iter(value), None)
        if name is None:
            raise _Undecodable
        return _marked(name, {key: _nested(each) for key, each in value[name].items()})
    return {key: _nested(each) for key, each in value.items()}


def _joins(how: ast.operator, parts: list[Any]) -> bool:
    """Whether texts or lists are joined, or one is repeated within the limit of length."""
    kinds = {type(each) for each in parts}
    if isinstance(how, ast.Add):
        return kinds in ({str}, {list})
    if not isinstance(how, ast.Mult) or kinds not in ({str, int}, {list, int}):
        return False
    (times,) = (each for each in parts if isinstance(each, int))
    (one,) = (each for each in parts if not isinstance(each, int))
    return times * len(one) <= _LONGEST


def _value(node: ast.AST, is_logged: bool) -> Any:
    """An argument as by BFCL's `resolve_ast_by_type`: a name is a text, a call `{name: arguments}`."""
    if isinstance(node, ast.Constant):
        is_json = node.value is None or isinstance(node.value, (str, int, float))
        return node.value if is_json else str(node.value)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(each, is_logged) for each in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value(k, is_logged)): _value(v, is_logged) for k, v in pairs if k}
    if isinstance(node, ast.Call) and is_logged:
        return _marked(*_call(node, is_logged))
    if isinstance(node, ast.Call) and node.keywords:
        return {ast.unparse(node.func): {str(k.arg): _value(k.value, is_logged) for k in node.keywords}}
    if isinstance(node, (ast.Name, ast.Call, ast.Subscript)) and not is_logged:
        return ast.unparse(node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if is_number(number):
            return -number
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        parts = [_value(node.left, is_logged), _value(node.right, is_logged)]
        if all(map(is_number, parts)) or _joins(node.op, parts):
            try:
                found = _ARITHMETIC[type(node.op)](*parts)
            except ArithmeticError:
                raise _Undecodable from None
            if not isinstance(found, int) or abs(found) < 2**63:  # JSON may not hold larger ones
                return found
    raise _Undecodable


FORMAT = Format(
    title="results of BFCL",
    recognised="`id` and `result`, of the categories `multi_turn_...`",
    tools="",
    calls="of each step",
    example="BFCL_v4_multi_turn_base_result.json",
    holds=_holds,
    read=EachFile(_read, _results),
)
