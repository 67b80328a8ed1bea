"""Mocks, which answer a model's calls in a multi-turn case.

A mock in `mock_responses` is

- any JSON value: the answer to every call of that tool;
- `{"$sequence": [a, b, ...]}`: `a` answers the first call, `b` the second; the last one repeats;
- `{"$when": [{"params": {...}, "answer": a}, ..., {"answer": z}]}`: the first entry whose params
  match the arguments answers; params may contain matchers, an entry without params always matches; its
  answer may be a `$sequence`, which counts the calls that the entry answers;
- a list of content parts with an image, as in a chat message: sent as such;
- `{"$exact": value}`: `value` itself, for data that looks like one of these.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from typing import Any

from ...errors import ScoringError
from ...record.calls import ToolCall
from ...record.images import Content, has_images
from ...record.transcript import Message
from ...suite.case import ResolvedCase
from ...suite.mocks import EXACT, SCORED_ONLY, SEQUENCE, WHEN
from ...suite.resolved import find_tool
from ..exchange.tool_answers import ToolAnswer
from .source import ToolSource
from .toolbox import ends_chain


def mocks_of(case: ResolvedCase) -> dict[str, Any]:
    """The mock of each tool, by the tool's own name."""
    pairs = ((find_tool(case, name), mock) for name, mock in case.mock_responses.items())
    return {tool.name: mock for tool, mock in pairs if tool is not None}


class Mocks(ToolSource):
    """The mocks of one trial. Counts calls for `$sequence`.

    Also answers the calls that are scored, but not run: those that end a chain, and all calls outside
    chains and conversations.
    """

    def __init__(self, case: ResolvedCase) -> None:
        self._case = case
        self._mocks = mocks_of(case)
        self._calls: dict[tuple[str, int | None], int] = {}

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer | None:
        """The content of the tool message: a text or parts with images unchanged, else JSON."""
        if call.name in self._mocks:
            # In a thread, because a slow pattern under `$when` must not block the loop.
            return ToolAnswer(await asyncio.to_thread(self._content, call))
        case = self._case
        is_scored_only = not case.has_tool_rounds or ends_chain(case, [call])
        return ToolAnswer(SCORED_ONLY) if is_scored_only else None

    def _content(self, call: ToolCall) -> Content:
        value = self._value(call)
        if isinstance(value, dict) and [*value] == [EXACT]:
            value = value[EXACT]
        elif has_images(value):
            return list(value)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _value(self, call: ToolCall) -> Any:
        mock, number = self._mocks[call.name], None
        if isinstance(mock, dict) and WHEN in mock:
            number = self._first_match(call, mock[WHEN])
            if number is None:
                return {"error": f"{call.name}: nothing is known for these arguments"}
            mock = mock[WHEN][number]["answer"]
        if isinstance(mock, dict) and SEQUENCE in mock:
            count = self._calls.get((call.name, number), 0)
            self._calls[call.name, number] = count + 1
            return mock[SEQUENCE][min(count, len(mock[SEQUENCE]) - 1)]
        return mock

    def _first_match(self, call: ToolCall, entries: list[dict[str, Any]]) -> int | None:
        """The number of the first entry whose params match."""
        from ...scoring.one_call import params_match

        arguments, mode = call.arguments or {}, self._case.param_scoring
        for number, entry in enumerate(entries):
            try:
                if "params" not in entry or params_match(entry["params"], arguments, mode):
                    return number
            except ScoringError as error:
                path = f"mock_responses.{call.name}.$when[{number}].params"
                raise ScoringError(f"{self._case.suite}::{self._case.id}: {path}: {error}") from None
        return None
