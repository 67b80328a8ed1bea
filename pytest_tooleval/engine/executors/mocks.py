"""Mocks, which answer a model's calls in a multi-turn case.

A mock in `mock_responses` is

- any JSON value: the answer to every call of that tool;
- `{"$sequence": [a, b, ...]}`: `a` answers the first call, `b` the second; the last one repeats;
- `{"$when": [{"params": {...}, "answer": a}, ..., {"answer": z}]}`: the first entry whose params
  match the arguments answers; params may contain matchers, an entry without params always matches;
- `{"$exact": value}`: `value` itself, for data with one of the keys above.
"""

from __future__ import annotations

import json
from typing import Any

from ...errors import ScoringError
from ...record.calls import NO_OBJECT
from ...record.calls import ToolCall
from ...suite.model import ResolvedCase


class Mocks:
    """The mocks of one trial. Counts calls for `$sequence`."""

    def __init__(self, case: ResolvedCase) -> None:
        self._case = case
        # In a conversation, the tools of the turn.
        self.offered = case.tools
        self._mocks = {name.casefold(): mock for name, mock in case.case.mock_responses.items()}
        self._calls: dict[str, int] = {}

    def has(self, tool: str) -> bool:
        """Whether there is a mock for the tool."""
        return tool.casefold() in self._mocks and self.offers(tool)

    def offers(self, tool: str) -> bool:
        """Whether the tool is offered in this turn; outside of conversations it always is."""
        return not self._case.turns or tool.casefold() in {each.name.casefold() for each in self.offered}

    def answer(self, call: ToolCall) -> str:
        """The content of the tool message: a text unchanged, anything else as JSON."""
        value = self._value(call)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _value(self, call: ToolCall) -> Any:
        name = call.name.casefold()
        if call.arguments is None:
            return {"error": NO_OBJECT}
        if not self.has(name):
            known = {tool.name.casefold() for tool in self.offered}
            if name not in known:
                return {"error": f"there is no tool {call.name!r}"}
            return {"error": f"{call.name} is not available"}
        mock = self._mocks[name]
        count = self._calls.get(name, 0)
        self._calls[name] = count + 1
        if not isinstance(mock, dict) or len(mock) != 1:
            return mock
        ((key, operand),) = mock.items()
        if key == "$exact":
            return operand
        if key == "$sequence":
            return operand[min(count, len(operand) - 1)]
        if key == "$when":
            return self._first_match(call, operand)
        return mock

    def _first_match(self, call: ToolCall, entries: list[dict[str, Any]]) -> Any:
        from ...scoring.parameters import params_match

        arguments, mode = call.arguments or {}, self._case.param_scoring
        for number, entry in enumerate(entries):
            try:
                if "params" not in entry or params_match(entry["params"], arguments, mode):
                    return entry["answer"]
            except ScoringError as error:
                place = f"mock_responses.{call.name}.$when[{number}].params"
                raise ScoringError(f"{self._case.suite}::{self._case.id}: {place}: {error}") from None
        return {"error": f"{call.name}: nothing is known for these arguments"}
