"""A tool call as a model made it."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from typing import Annotated
from typing import Any
from typing import TypeGuard

from msgspec import Meta
from msgspec import Struct

# Far deeper than any real call. Python's own limit lies near 1000, moves with the version and with
# the stack at hand, and what could be read in one place could not be written in another.
MAX_DEPTH = 200
# What is said of a call whose `arguments` are None.
NO_OBJECT = "the arguments are not a JSON object"


class ToolCall(Struct, frozen=True, gc=False):
    """One call that a model made.

    `arguments` is None when what the model sent is not a JSON object; `raw_arguments` then holds
    what came, as text. It is None when the arguments came as an object and not as text.
    """

    name: Annotated[str, Meta(description="The tool.")]
    arguments: Annotated[
        dict[str, Any] | None, Meta(description="The arguments; null when they are not an object.")
    ]
    raw_arguments: Annotated[str | None, Meta(description="The arguments as they came, if as text.")] = (
        None
    )
    id: Annotated[str | None, Meta(description="The id of the call.")] = None

    @classmethod
    def parse(cls, name: str, arguments: object, id: str | None = None) -> ToolCall:
        """Make a call from what a provider sent: arguments as JSON text, an object, or anything else.

        Text that is not a JSON object, an empty text and nothing at all are the model's mistake:
        they are kept as they came and never become `{}`.
        """
        if isinstance(arguments, dict):
            if is_nested_deeper(arguments, MAX_DEPTH):
                return cls(name, None, f"(an object nested more than {MAX_DEPTH} levels deep)", id)
            if not _is_finite(arguments):
                return cls(name, None, json.dumps(arguments, default=repr), id)
            return cls(name, arguments, None, id)
        if not isinstance(arguments, str):
            return cls(name, None, json.dumps(arguments, default=repr), id)
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
        brackets = arguments.count("{") + arguments.count("[")
        if brackets > MAX_DEPTH and is_nested_deeper(parsed, MAX_DEPTH):
            parsed = None
        sound = isinstance(parsed, dict) and _is_finite(parsed)
        return cls(name, parsed if sound else None, arguments, id)

    @property
    def repeated_key(self) -> str | None:
        """A key that one object of the arguments has twice: no two readers agree what that means."""
        raw = self.raw_arguments
        # There is a colon for each key, so where there are no more, there is nothing to look for.
        if raw is None or not self.arguments or raw.count(":") == len(self.arguments):
            return None
        repeated: list[str] = []

        def note(pairs: list[tuple[str, object]]) -> None:
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    repeated.append(name)
                seen.add(name)

        with contextlib.suppress(ValueError, RecursionError):  # it may have been repaired
            json.loads(raw, object_pairs_hook=note)
        return repeated[0] if repeated else None

    @classmethod
    def coerce(cls, call: ToolCall | Mapping[str, Any]) -> ToolCall:
        """Accept a `ToolCall`, `{"name", "arguments"}`, or the chat API's `{"function": {...}}`."""
        if isinstance(call, ToolCall):
            return call
        function = call.get("function")
        source = function if isinstance(function, Mapping) else call
        name = source.get("name")
        return cls.parse(name if isinstance(name, str) else "", source.get("arguments"), call.get("id"))


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number in JSON: a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_nested_deeper(value: object, levels: int) -> bool:
    """Whether lists and dicts lie more than so many levels inside each other."""
    inner = [value]
    for _ in range(levels + 1):
        inner = [
            child
            for each in inner
            if isinstance(each, (dict, list))
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, (dict, list))
        ]
        if not inner:
            return False
    return True


def _is_finite(value: object) -> bool:
    """Whether no number in it is NaN or infinite, which JSON lacks: 1e400 reads as infinity."""
    inner = [value]
    while inner:
        each = inner.pop()
        if isinstance(each, float) and not math.isfinite(each):
            return False
        if isinstance(each, (dict, list)):
            inner += each.values() if isinstance(each, dict) else each
    return True
