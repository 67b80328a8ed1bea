"""Calls as Python values: those that an agent made, and those that a test expects."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterable, Mapping
from typing import Any, SupportsIndex, overload

from ..errors import CannotCompare, ScoringError
from ..matchers.compare import augment
from ..matchers.modes import Mode
from ..record.calls import ToolCall
from ..record.names import bare_name, meaning
from ..scoring.one_call import argument_lines, compare_arguments
from ..text import near
from .like import RULES, as_written

# Further arguments are wrong, unless the expected call says otherwise.
_CLOSED = RULES._replace(counts_unexpected=True)


class Call:
    """A call, made or expected. Two calls are equal if their tools and arguments are."""

    def __init__(self, name: str, /, *rest: Any, **arguments: Any) -> None:
        __tracebackhide__ = True
        if rest not in ((), (...,)):
            raise TypeError(
                f"call({name!r}, ...): give arguments by name, such as call({name!r}, amount=40)"
            )
        self.name = name
        self.arguments: dict[str, Any] = arguments
        self.tool_call: ToolCall | None = None
        self.made_with: Calls | None = None
        self._is_open = bool(rest)

    @classmethod
    def of(cls, tool_call: ToolCall, tools: Collection[str] = ()) -> Call:
        """A call that was made, of the one of these tools that its name means."""
        call = cls(meaning(tool_call.name, tools) or bare_name(tool_call.name, tools) or tool_call.name)
        call.arguments, call.tool_call = tool_call.arguments or {}, tool_call
        return call

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        actual, expected = (other, self) if self.tool_call is None else (self, other)
        arguments = None if actual._is_malformed or expected._is_malformed else actual.arguments
        if actual.name != expected.name:
            return False
        try:
            written = as_written(expected.arguments)
            return compare_arguments(written, arguments, expected._rules).flaw is None
        except CannotCompare as error:
            raise ScoringError(f"{expected.name}: {error.place}: {error.message}") from None

    def __ne__(self, other: object) -> bool:
        __tracebackhide__ = True
        made, expected = (other, self) if self.tool_call is None else (self, other)
        if isinstance(made, Call) and made.made_with is not None:
            made.made_with.require_known([expected])
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # equal calls have different hashes

    def __bool__(self) -> bool:
        """Refuse `assert call("refund", ...)`, which would always hold."""
        __tracebackhide__ = True
        if self.tool_call is None:
            raise TypeError(f"an expected call is neither true nor false; write {self!r} in run.calls")
        return True

    @property
    def _rules(self) -> Mode:
        return RULES if self._is_open else _CLOSED

    @property
    def _is_malformed(self) -> bool:
        return self.tool_call is not None and self.tool_call.arguments is None

    def why_not(self, call: Call) -> list[str]:
        """The mistakes in a made call of this tool, as a suite's scores say them."""
        made = call.tool_call or ToolCall(call.name, call.arguments)
        lines = argument_lines(as_written(self.arguments), made, self._rules)
        return [line.says.format(line.check) for line in lines if line.check.value < 1 and line.says]

    def __repr__(self) -> str:
        """The code of this call."""
        if self.tool_call is not None and self.tool_call.arguments is None:
            why = self.tool_call.why_malformed
            return f"<call of {self.name!r}, {why}: {self.tool_call.raw_arguments!r}>"
        parts = [repr(self.name), *["..."] * self._is_open]
        names = [key for key in self.arguments if key.isidentifier() and not keyword.iskeyword(key)]
        parts += [f"{name}={self.arguments[name]!r}" for name in names]
        odd = {key: value for key, value in self.arguments.items() if key not in names}
        return f"call({', '.join([*parts, *([f'**{odd!r}'] if odd else [])])})"


def call(name: str, /, *rest: Any, **arguments: Any) -> Call:
    """A call to expect: `assert run.calls == [call("refund", order="A1", amount=40)]`.

    An argument may be a matcher, such as `like.gt(39)`, or any value that compares by `==`. After `...`,
    further arguments are also right: `call("refund", ...)` equals any call of that tool.
    """
    __tracebackhide__ = True
    return Call(name, *rest, **arguments)


class Calls(list[Call]):
    """The calls of a run, in their order: a list, so `==`, `in`, `count()` and slices are Python's."""

    def __init__(
        self, calls: Iterable[Call] = (), tools: Mapping[str, Collection[str] | None] | None = None
    ) -> None:
        """`tools` are the parameters of each of the agent's tools, None for any, if they are known."""
        super().__init__(calls)
        self.tools = tools or {}
        for each in self:
            each.made_with = each.made_with or self

    @property
    def unordered(self) -> UnorderedCalls:
        """The calls in any order, to compare with a list."""
        return UnorderedCalls(self)

    def __contains__(self, call: object) -> bool:
        __tracebackhide__ = True
        self._require_clear(call)
        return super().__contains__(call)

    def _require_clear(self, call: object) -> None:
        """Refuse `not in` for an unknown tool or parameter, which would hold and say nothing.

        So would `call("refund") not in run.calls` if it was called with further arguments.
        """
        __tracebackhide__ = True
        self.require_known([call])
        if not isinstance(call, Call) or call.tool_call is not None:
            return
        opened = Call(call.name, ..., **call.arguments)
        wider = next((each for each in self if each == opened), None)
        if wider is not None and not any(each == call for each in self):
            raise TypeError(f"{wider!r} was made; write {opened!r} if further arguments do not matter")

    def require_known(self, calls: object) -> None:
        """Refuse all but calls, and unknown tools or parameters, for which `!=` always holds.

        `==` never does, and libraries compare calls with texts, so it stays Python's.
        """
        __tracebackhide__ = True
        if isinstance(calls, (Call, str, tuple, dict)):
            raise TypeError(f"a list never equals {calls!r}; write [call(...)]")
        for item in calls if isinstance(calls, list) else ():
            if not isinstance(item, Call):
                name = repr(item) if isinstance(item, str) else '"TOOL"'
                raise TypeError(
                    f"a call never equals {item!r}; write call({name}, ...), or compare its name"
                )
            if item.tool_call is None:
                self._require_names(item)

    def _require_names(self, call: Call) -> None:
        __tracebackhide__ = True
        if self.tools and call.name not in [*self.tools, *(each.name for each in self)]:
            raise TypeError(f"no tool is called {call.name!r}{near(call.name, self.tools)}")
        names = self.tools.get(call.name)
        used = {name for each in self for name in each.arguments}
        odd = [] if names is None else [name for name in call.arguments if name not in {*names, *used}]
        if odd:
            raise TypeError(f"{call.name!r} has no parameter {odd[0]!r}{near(odd[0], names or ())}")

    def __ne__(self, other: object) -> bool:
        __tracebackhide__ = True
        self.require_known(other)
        return super().__ne__(other)

    def count(self, call: Call) -> int:
        """How many calls equal this one."""
        __tracebackhide__ = True
        self._require_clear(call)
        return super().count(call)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Calls: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Call | Calls:
        __tracebackhide__ = True
        item = super().__getitem__(index)
        return Calls(item, self.tools) if isinstance(item, list) else item


class UnorderedCalls:
    """Calls that equal a list if each one has its own equal in it."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def __eq__(self, other: object) -> bool:
        if isinstance(other, UnorderedCalls):
            other = other.calls
        if not isinstance(other, list):
            return NotImplemented
        return len(self.calls) == len(other) == len(pair_equal(self.calls, other))

    def __ne__(self, other: object) -> bool:
        __tracebackhide__ = True
        self.calls.require_known(other)
        return not self == other

    def __bool__(self) -> bool:
        __tracebackhide__ = True
        raise TypeError("run.calls.unordered: compare it with a list, or write run.calls")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.calls!r} (in any order)"


def pair_equal(calls: list[Call], expected: list[Any]) -> dict[int, int]:
    """The most pairs of equal calls: the place of the made one by that of the expected one.

    Searches by augmenting paths (Kuhn 1955).
    """
    fits = [[index for index, each in enumerate(calls) if each == wanted] for wanted in expected]
    taken: dict[int, int] = {}
    for wanted in range(len(expected)):
        augment(wanted, fits, taken)
    return {wanted: got for got, wanted in taken.items()}
