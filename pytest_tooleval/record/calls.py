"""A tool call as a model made it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeGuard

from msgspec import Struct, structs

from ..text import json_text, printable, shorten
from .fields import doc
from .repeated_keys import RepeatedKeyError, keep_repeated, members_of, refuse_repeated
from .untrusted import as_mapping, as_text

# Far deeper than any real call. Python's own limit is near 1000, but varies with the version and the
# stack, so that a value read in one place might be unwritable in another.
JSON_DEPTH = 200
# Made once, as making one per call is slow.
_FINITE = json.JSONEncoder(default=repr, allow_nan=False)
_DECODER = json.JSONDecoder(object_pairs_hook=refuse_repeated)
_LENIENT = json.JSONDecoder(object_pairs_hook=keep_repeated)
# Placeholder for no expected or called tool.
NO_TOOL = "(no call)"
# The reason why `arguments` is None.
NO_OBJECT = "the arguments are not a JSON object"


class ToolCall(Struct, frozen=True, gc=False):
    """One call that a model made.

    `arguments` is None if the model sent something other than a JSON object, which is then in
    `raw_arguments`. `raw_arguments` is None if the arguments came as an object instead of text.
    """

    name: Annotated[str, doc("The tool.")]
    arguments: Annotated[dict[str, Any] | None, doc("The arguments; null when they are not an object.")]
    raw_arguments: Annotated[str | None, doc("The arguments as the model sent them, if as text.")] = None
    id: Annotated[str | None, doc("The call's id.")] = None
    caller: Annotated[
        dict[str, Any] | None, doc("The program that made the call, as the provider names it.")
    ] = None
    hosted: Annotated[
        bool, doc("Whether the provider runs its own tool for the call, which then needs no answer.")
    ] = False
    agent: Annotated[str | None, doc("The agent that made it; null: unknown.")] = None

    @classmethod
    def parse(cls, name: str, arguments: object, id: str | None = None) -> ToolCall:
        """Make a call from what a provider sent: arguments as JSON text, an object, or anything else.

        Text that is not a JSON object is the model's mistake and never becomes `{}`. So is a key that
        appears twice, as parsers differ in which value they take. `KnownTools.read` decides on empty
        text.
        """
        if isinstance(arguments, dict):
            if is_nested_deeper(arguments, JSON_DEPTH):
                return cls(name, None, f"(an object nested more than {JSON_DEPTH} levels deep)", id)
            if not _is_finite(arguments):
                return cls(name, None, json.dumps(arguments, default=repr), id)
            return cls(name, arguments, None, id)
        if not isinstance(arguments, str):
            return cls(name, None, json.dumps(arguments, default=repr), id)
        try:
            parsed = _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            parsed = None
        return cls(name, parsed if _is_sound(parsed, arguments) else None, arguments, id)

    @property
    def why_malformed(self) -> str:
        """Why `arguments` is None; only for calls where it is."""
        try:
            _DECODER.decode(self.raw_arguments or "")
        except RepeatedKeyError as error:
            return f"the key {json_text(error.key, 60)} appears twice"
        except (ValueError, RecursionError):
            pass
        return NO_OBJECT

    @property
    def has_no_arguments(self) -> bool:
        """True if nothing was sent in place of the arguments: no text, or null."""
        return self.raw_arguments is not None and self.raw_arguments.strip() in ("", "null")

    @property
    def readings(self) -> Mapping[str, Sequence[Any]] | None:
        """The possible values of each argument: several if a key appears twice.

        None if the arguments cannot be read, or can be read in too many ways.
        """
        if self.arguments is not None:
            return {name: (value,) for name, value in self.arguments.items()}
        try:
            text = self.raw_arguments or ""
            read = _LENIENT.decode(text)
            return members_of(read) if _is_sound(read, text) else None
        except (ValueError, RecursionError):
            return None

    def is_by(self, agent: str | None) -> bool:
        """True if this agent made it, or any if it is None. Names ignore case and space around them."""
        return agent is None or (self.agent is not None and _folded(self.agent) == _folded(agent))

    def may_be_by(self, agent: str | None) -> bool:
        """True if this agent may have made it."""
        return self.agent is None or self.is_by(agent)

    def is_same(self, other: ToolCall) -> bool:
        """True if another call has the same tool and arguments."""
        one, another = (
            call.raw_arguments if call.arguments is None else call.arguments for call in (self, other)
        )
        return self.name == other.name and one == another

    @classmethod
    def coerce(cls, call: ToolCall | Mapping[str, Any]) -> ToolCall:
        """Accept a `ToolCall`, `{"name", "arguments"}`, or the chat API's `{"function": {...}}`.

        The text of a call to a custom tool, `{"custom": {"name", "input"}}`, becomes its argument
        `input`.
        """
        if isinstance(call, ToolCall):
            return call
        id, caller = as_text(call.get("id")) or None, as_mapping(call.get("caller"))
        custom = call.get("custom")
        if isinstance(custom, Mapping):
            parsed = _custom_call(as_text(custom.get("name")), custom.get("input"), id)
        else:
            function = call.get("function")
            source = function if isinstance(function, Mapping) else call
            parsed = cls.parse(as_text(source.get("name")), source.get("arguments"), id)
        hosted = call.get("hosted") is True
        return structs.replace(parsed, caller=dict(caller) or None, hosted=hosted)


def _folded(name: str) -> str:
    return name.strip().casefold()


def native_calls(message: Mapping[str, Any]) -> list[object]:
    """Return the calls in the chat API's fields of a reply, unchanged, each once."""
    raw = message.get("tool_calls")
    calls = list(raw) if isinstance(raw, (list, tuple)) else [raw] if raw else []
    function = message.get("function_call")  # the older field, perhaps for the same call
    if not function:
        return calls
    old = {"function": function} if isinstance(function, Mapping) else function
    parsed = [ToolCall.coerce(call) for call in (old, *calls) if isinstance(call, Mapping)]
    is_known = isinstance(old, Mapping) and any(map(parsed[0].is_same, parsed[1:]))
    return calls if is_known else [*calls, old]


def own_calls(calls: Iterable[ToolCall], offered: Container[str]) -> list[ToolCall]:
    """Return the calls, except those to unoffered tools that the provider ran itself."""
    return [call for call in calls if not call.hosted or call.name in offered]


def _custom_call(name: str, value: object, id: str | None) -> ToolCall:
    """Make a call to a custom tool; anything but text is taken for JSON parsed on the way."""
    if is_nested_deeper(value, JSON_DEPTH):
        return ToolCall(name, None, f"(nested more than {JSON_DEPTH} levels deep)", id)
    is_text = value is None or isinstance(value, str)
    text = as_text(value) if is_text else json.dumps(value, ensure_ascii=False, default=repr)
    return ToolCall(name, {"input": text}, None, id)


def is_number(value: object) -> TypeGuard[int | float]:
    """True if a value is a JSON number, which a boolean is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_nested_deeper(value: object, levels: int) -> bool:
    """True if lists and dicts are nested more than `levels` deep."""
    inner = [value]
    for _ in range(levels + 1):
        inner = [
            child
            for parent in inner
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not inner:
            return False
    return True


def _is_sound(value: object, text: str) -> bool:
    """True if the value of a JSON text is an object that can serve as arguments."""
    if text.count("{") + text.count("[") > JSON_DEPTH and is_nested_deeper(value, JSON_DEPTH):
        return False
    return isinstance(value, dict) and _is_finite(value)


def _is_finite(value: object) -> bool:
    """True if it has no NaN or infinity, which JSON lacks; Python reads 1e400 as infinity."""
    try:
        _FINITE.encode(value)
    except ValueError:
        return False
    return True


def shown_tool(call: ToolCall | None) -> str:
    """Return the tool name of a call as a short text."""
    return NO_TOOL if call is None else printable(shorten(call.name, 80)) or "(no name)"


def with_arguments(name: str, arguments: Mapping[str, Any] | None) -> str:
    """Return a call as text, such as `get_weather(city="Rome")`; the name alone without arguments."""
    pairs = (f"{printable(key)}={json_text(value, 60)}" for key, value in (arguments or {}).items())
    return f"{name}({', '.join(pairs)})" if arguments else name
