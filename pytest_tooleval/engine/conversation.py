"""One trial: ask once, or lead a chain of calls and mock answers to its end."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from ..results import Message
from ..results import Reply
from ..results import Round
from ..results import ToolCall
from ..results import Transcript
from ..scoring.tool_selection import is_expected
from ..suite.model import DEFAULT_MAX_ROUNDS
from ..suite.model import ResolvedCase
from .client import ChatRequest
from .mocks import Mocks

Ask = Callable[[ChatRequest], Awaitable[Reply]]


async def converse(
    case: ResolvedCase, ask: Ask, sampling: Mapping[str, Any], trial: int = 0
) -> Transcript:
    """Hold the conversation of one trial. Raises ModelError when an answer could not be had."""
    prompt = tuple(Message(dict(message)) for message in case.messages)
    tools = [tool.to_wire() for tool in case.tools]
    messages: list[Mapping[str, Any]] = [message.data for message in prompt]
    rounds: list[Round] = []
    most = (case.case.max_rounds or DEFAULT_MAX_ROUNDS) if case.case.multi_turn else 1
    mocks = Mocks(case)
    while True:
        reply = await ask(ChatRequest(tuple(messages), tools, case.tool_choice, sampling, trial))
        finished = (
            not reply.calls
            or len(rounds) + 1 >= most
            or any(is_expected(call.name, case) for call in reply.calls)
        )
        if finished:
            return Transcript(prompt, (*rounds, Round(reply)))
        calls = _with_ids(reply, len(rounds))
        answers = tuple(
            Message({"role": "tool", "tool_call_id": id, "content": mocks.answer(call)})
            for id, call in calls
        )
        rounds.append(Round(reply, answers))
        messages.append(_carried_back(reply, calls))
        messages += [answer.data for answer in answers]


def _with_ids(reply: Reply, round_number: int) -> list[tuple[str, ToolCall]]:
    return [(call.id or f"call_{round_number}_{i}", call) for i, call in enumerate(reply.calls)]


def _carried_back(reply: Reply, calls: list[tuple[str, ToolCall]]) -> dict[str, Any]:
    """The assistant's message for the next round: unchanged, thinking blocks and signatures too.

    Only a call that was recovered from text is put where calls belong, since providers accept a
    tool's answer only after a call.
    """
    data = reply.message.data
    if reply.format == "native" and data.get("tool_calls"):
        return data
    return {
        **{key: value for key, value in data.items() if key != "function_call"},
        "tool_calls": [
            {
                "id": id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw_arguments
                    if call.arguments is None and call.raw_arguments is not None
                    else json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for id, call in calls
        ],
    }
