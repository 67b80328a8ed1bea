"""What answers the calls of tools in a trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..record.calls import ToolCall
from ..record.transcript import CallStatus, Message


class ToolAnswer(NamedTuple):
    """The answer to a call, and the call's status."""

    content: str
    status: CallStatus = "executed"


class ToolSource(Protocol):
    """Answers the calls of some tools in one trial."""

    @property
    def key_fields(self) -> Mapping[str, Any]:
        """Everything that may change the answers, for the cassette key."""
        ...

    @property
    def answers_all(self) -> bool:
        """Whether it gets every call as the model made it, even malformed ones and unknown tools.

        Other sources get only calls of offered tools, under the names in the suite.
        """
        ...

    @property
    def is_live(self) -> bool:
        """Whether its answers come from outside, so that a replay reads them from the cassette."""
        ...

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer | None:
        """The answer to a call; None if the call is not for this source.

        `messages` are the messages up to the call. They are None for an agent, whose whole run is
        recorded as one answer. Raises ModelError if there is no answer.
        """
        ...
