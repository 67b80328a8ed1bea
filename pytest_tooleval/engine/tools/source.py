"""What answers the calls of tools in a trial."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...record.calls import ToolCall
from ...record.transcript import Message
from ..exchange.tool_answers import ToolAnswer


def allowing(*tools: str) -> str:
    """How the command line allows these tools."""
    option = shlex.quote(f"--tooleval-allow-tools={','.join(tools)}")
    return f"{option} on the command line (for tooleval ui: --allow-tools)"


class ToolSource:
    """Answers the calls of some tools in one trial.

    `key_fields` is everything that may change the answers, for the cassette key. With `answers_all`, a
    source gets every call as the model made it, even malformed ones and unknown tools; others get only
    calls of offered tools, under the names in the suite. `is_live` means that answers come from outside,
    so that a replay reads them from the cassette.
    """

    key_fields: Mapping[str, Any] = {}
    answers_all = False
    is_live = False

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer | None:
        """The answer to a call; None if the call is not for this source.

        `messages` are the messages up to the call. They are None for an agent, whose whole run is
        recorded as one answer. Raises ModelError if there is no answer.
        """
        raise NotImplementedError
