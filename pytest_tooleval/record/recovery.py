"""Find the calls in a message, including those that a model wrote as text.

Models do that if they or their servers do not support the tools API. The whole reply must consist of
calls, and each must name a known tool: a call accompanied by prose does not count. A call is a JSON
object `{"name": ..., "arguments" or "parameters": {...}}`, and one or several may be in:

- plain text, a list, or a fenced code block;
- `<tool_call>...</tool_call>` (Hermes, Qwen), `<|tool_call|>...<|/tool_call|>` (Phi, Granite);
- `[TOOL_CALLS]...` (Mistral), `<|python_tag|>...` (Llama);
- `<function=NAME>{...}</function>` (Llama), which contains only the arguments.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Literal

from msgspec import structs

from .calls import ToolCall
from .names import known_as
from .repeated_keys import Ambiguous
from .repeated_keys import keep_repeated
from .untrusted import as_text

CallFormat = Literal["native", "recovered"]
MAX_LENGTH = 1_000_000

_TAGS = (("<tool_call>", "</tool_call>"), ("<|tool_call|>", "<|/tool_call|>"))
_PREFIXES = ("[TOOL_CALLS]", "<|python_tag|>")
_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_ARGUMENT_KEYS = ("arguments", "parameters")
_OTHER_KEYS = {"name", "type", "id"}


class _NotCalls(Exception):
    """The text does not consist of calls."""


def calls_in(
    message: Mapping[str, Any], text: str, tool_names: Collection[str]
) -> tuple[tuple[ToolCall, ...], CallFormat]:
    """Return the calls in a message and its `text`, and how they were written."""
    raw = message.get("tool_calls")
    raw = [raw] if isinstance(raw, Mapping) and "function" in raw else raw
    if isinstance(raw, (list, tuple)) and raw:
        return _repaired(tuple(_native(call, tool_names) for call in raw), tool_names)
    function = message.get("function_call")
    if isinstance(function, Mapping):  # the chat API's older field
        return _repaired((_native({"function": function}, tool_names),), tool_names)
    recovered = tuple(_known(call, "", tool_names) for call in recover_calls(text, tool_names))
    return recovered, "recovered" if recovered else "native"


def _native(call: object, tool_names: Collection[str]) -> ToolCall:
    if not isinstance(call, (Mapping, ToolCall)):
        return ToolCall.parse("", call)
    made = ToolCall.coerce(call)
    namespace = as_text(call.get("namespace")) if isinstance(call, Mapping) else ""
    return _known(made, namespace, tool_names)


def _known(call: ToolCall, namespace: str, tool_names: Collection[str]) -> ToolCall:
    name = known_as(call.name, namespace, tool_names)
    return call if name == call.name else structs.replace(call, name=name)


def _repaired(
    calls: tuple[ToolCall, ...], tool_names: Collection[str]
) -> tuple[tuple[ToolCall, ...], CallFormat]:
    """Repair calls of local models that write the whole call into the function's name."""
    if not any(call.name.lstrip().startswith("{") for call in calls):
        return calls, "native"
    repaired = tuple(repair_call(call, tool_names) or call for call in calls)
    return repaired, "native" if repaired == calls else "recovered"


def recover_calls(text: str, tool_names: Collection[str]) -> tuple[ToolCall, ...]:
    """Return the calls in a reply that consists only of calls; otherwise empty. Never raises."""
    if len(text) > MAX_LENGTH:
        return ()
    try:
        calls = tuple(_calls(text.strip()))
    except (_NotCalls, ValueError, RecursionError):
        return ()
    known = {name.casefold() for name in tool_names}
    return calls if all(call.name.casefold() in known for call in calls) else ()


def repair_call(call: ToolCall, tool_names: Collection[str]) -> ToolCall | None:
    """Return the call that a model wrote as JSON into the function's name.

    None if the name is anything else. Arguments inside the name override the call's own.
    """
    known = {name.casefold() for name in tool_names}
    text = call.name.strip()
    if call.name.casefold() in known or not text.startswith("{") or len(text) > MAX_LENGTH:
        return None
    try:
        data = _load(text)
    except (_NotCalls, ValueError, RecursionError):
        return None
    if set(data) == {"name"} and isinstance(data["name"], str):
        inner = ToolCall(data["name"], call.arguments, call.raw_arguments, call.id)
    else:
        try:
            inner = _call(data, call.id)
        except _NotCalls:
            return None
    return inner if inner.name.casefold() in known else None


def _calls(text: str) -> Iterator[ToolCall]:
    text = _unfenced(text)
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix).lstrip()
    for start, end in _TAGS:
        if text.startswith(start):
            for _, body in _tagged(text, start, end):
                yield from _json_calls(body.strip())
            return
    if text.startswith(_FUNCTION):
        for attribute, body in _tagged(text, _FUNCTION, _FUNCTION_END, attribute=True):
            yield _parsed(attribute, _load(body.strip()))
        return
    yield from _json_calls(text)


def _unfenced(text: str) -> str:
    if not text.startswith("```") or not text.endswith("```") or len(text) < 6:
        return text
    language, newline, body = text[3:-3].partition("\n")
    if not newline or not (language.strip().replace("_", "").isalnum() or not language.strip()):
        raise _NotCalls
    return body.strip()


def _tagged(text: str, start: str, end: str, *, attribute: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the opening tag's attribute and the text between tags. Nothing may be outside them."""
    at = 0
    while at < len(text):
        if not text.startswith(start, at):
            raise _NotCalls
        at += len(start)
        name = ""
        if attribute:
            close = text.find(">", at)
            if close < 0:
                raise _NotCalls
            name, at = text[at:close].strip().strip('"'), close + 1
        stop = text.find(end, at)
        # The last closing tag is often a stop sequence, which servers remove.
        body, at = (text[at:], len(text)) if stop < 0 else (text[at:stop], stop + len(end))
        yield name, body
        while at < len(text) and text[at].isspace():
            at += 1


def _json_calls(text: str) -> Iterator[ToolCall]:
    """Read calls as JSON: an object, a list of objects, or several objects in a row."""
    if not text.startswith(("{", "[")):
        raise _NotCalls
    at = 0
    while at < len(text):
        value, at = _DECODER.raw_decode(text, at)
        members = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and set(value) == {"tool_calls"}:
            lists = [each if isinstance(each, list) else [None] for _, each in value.items()]
            members = [member for each in lists for member in each]
        for member in members:
            yield _call(member)
        while at < len(text) and (text[at].isspace() or text[at] == ";"):
            at += 1


def _call(data: Any, id: str | None = None) -> ToolCall:
    if isinstance(data, dict) and isinstance(data.get("function"), dict):
        data = data["function"]
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise _NotCalls
    keys = [key for key in _ARGUMENT_KEYS if key in data]
    if len(keys) != 1 or set(data) - _OTHER_KEYS != set(keys):
        raise _NotCalls
    if isinstance(data, Ambiguous):
        return ToolCall(data["name"], None, f"(a key of the call appears twice) {json.dumps(data)}", id)
    return _parsed(data["name"], data[keys[0]], id)


def _parsed(name: str, arguments: object, id: str | None = None) -> ToolCall:
    """Make a call with these arguments, as text if a key appears twice in them."""
    call = ToolCall.parse(name, arguments, id)
    if not isinstance(arguments, dict) or call.arguments is None:
        return call
    again = ToolCall.parse(name, json.dumps(arguments), id)
    return call if again.arguments is not None else again


def _load(text: str) -> dict[str, Any]:
    value = _DECODER.decode(text)
    if not isinstance(value, dict):
        raise _NotCalls
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=keep_repeated)
