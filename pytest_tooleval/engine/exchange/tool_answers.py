"""The answers to tool calls, as an agent with its own loop asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...record.calls import ToolCall
from ...record.images import Content
from ...record.status import NOT_RUN, CallStatus
from ...record.transcript import text_of

if TYPE_CHECKING:
    from ...suite.case import ResolvedCase


class ToolAnswer(NamedTuple):
    """The answer to a call, and the call's status."""

    content: Content
    status: CallStatus = "ok"

    @property
    def text(self) -> str:
        """The content without its images."""
        return text_of({"content": self.content})

    @property
    def by_suite(self) -> bool:
        """Whether the suite ran the call."""
        return self.status not in NOT_RUN


class CallAnswerer(Protocol):
    """The toolbox, as far as an agent with its own loop needs it."""

    case: ResolvedCase

    @property
    def approvals(self) -> Mapping[str, str]: ...
    @property
    def most_calls(self) -> int: ...
    @property
    def key_fields(self) -> Mapping[str, Any]: ...
    async def answer_calls(self, calls: Sequence[ToolCall]) -> list[ToolAnswer] | None: ...
    async def check_own(self, call: ToolCall) -> ToolAnswer | None: ...
    async def forbids(self, calls: Sequence[ToolCall]) -> bool: ...
