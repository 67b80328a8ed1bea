"""Applies a variant's changes to the tool answers of one trial."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import structs

from ...record.calls import ToolCall
from ...record.images import has_images, is_image
from ...record.transcript import Message
from ...suite.altered import BEFORE, AlteredAnswers
from ...suite.case import ResolvedCase
from ...suite.resolved import find_tool
from ..exchange.tool_answers import ToolAnswer
from .source import ToolSource

_DONE = '{"status": "done"}'


class Alterations:
    """One trial's alterations, none if `altered` is None. Remembers which tools have answered."""

    def __init__(self, altered: AlteredAnswers | None) -> None:
        self._altered = altered
        self._answered: set[str] = set()
        self._checked: set[str] = set()

    def is_missing(self, tool: str, content: str, *, ours: bool) -> bool:
        """Whether an answer in an agent's run should have been altered, but was not.

        `ours` are the toolbox's own answers. The content alone proves nothing, because any text could
        be the first half of a longer one.
        """
        altered = self._altered
        if altered is None or not altered.is_about(tool) or (altered.is_fault and tool in self._checked):
            return False
        self._checked.add(tool)
        return not ours or not altered.shows_in(content)

    def is_about(self, tool: str) -> bool:
        return self._altered is not None and self._altered.is_about(tool)

    def takes(self, tool: str) -> bool:
        """Whether to alter this answer of a tool, which now counts as given."""
        altered, is_first = self._altered, tool not in self._answered
        self._answered.add(tool)
        return altered is not None and altered.is_about(tool) and (is_first or not altered.is_fault)

    def skip(self, tool: str) -> None:
        """Count an earlier answer, such as one in a transcript."""
        self._answered.add(tool)


class AlteredSource(ToolSource):
    """A source of tool answers as a variant alters them."""

    def __init__(self, source: ToolSource, case: ResolvedCase, alterations: Alterations) -> None:
        assert case.altered is not None
        self._source = source
        self._case = case
        self._altered = case.altered
        self._alterations = alterations
        self.key_fields = {**source.key_fields, "altered": structs.asdict(self._altered)}
        self.answers_all = source.answers_all
        self.is_live = source.is_live

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer | None:
        tool = None if call.arguments is None else find_tool(self._case, call.name)
        if tool is None or tool.name not in offered:
            return await self._source.answer(call, offered, messages)
        if tool.name == self._altered.asks_for:
            return ToolAnswer(_DONE)
        if self._altered.kind in BEFORE and self._alterations.takes(tool.name):
            return ToolAnswer(BEFORE[self._altered.kind], "refused")
        answer = await self._source.answer(call, offered, messages)
        if answer is None or not self._alterations.takes(tool.name):
            return answer
        text = self._altered.alter(answer.text)
        if self._altered.is_fault or not has_images(answer.content):
            return answer._replace(content=text)
        images = [part for part in answer.content if is_image(part)]
        return answer._replace(content=[{"type": "text", "text": text}, *images])
