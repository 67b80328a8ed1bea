"""One trial: ask once, or lead a chain of calls, or a conversation of several turns, to its end."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from ..record.calls import ToolCall
from ..record.transcript import Reply
from ..record.transcript import Round
from ..record.transcript import Transcript
from ..scoring.tool_selection import is_expected
from ..suite.model import ResolvedCase
from .clients.base import ChatRequest
from .executors.live import LiveTools
from .executors.mocks import Mocks
from .executors.turn import TurnTools
from .executors.turn import is_lost
from .executors.worlds import WorldTools
from .user import SimulatedUser

# A reply, or all rounds of an agent that has run its own loop.
Ask = Callable[[ChatRequest], Awaitable[Reply | tuple[Round, ...]]]


async def converse(
    case: ResolvedCase,
    ask: Ask,
    sampling: Mapping[str, Any],
    trial: int = 0,
    live: LiveTools | None = None,
    user: SimulatedUser | None = None,
) -> Transcript:
    """Hold the conversation of one trial. Raises ModelError when an answer could not be had.

    Calls are answered by the case's world; without one by its mocks, and by `live` where there is no
    mock and it runs the tool. A turn that has not ended after the most rounds ends the conversation, and
    so does the `user`, where a model plays it.
    """
    prompt = tuple(dict(message) for message in case.messages)
    messages: list[Mapping[str, Any]] = list(prompt)
    rounds: list[Round] = []
    mocks = Mocks(case)
    world = WorldTools(case.world) if case.world else None
    try:
        turns = case.turns or (None,)
        for number, turn in enumerate(turns if user is None else itertools.repeat(turns[0])):
            said = turn.messages if turn and number else ()
            if user is not None:
                words = await user.says(rounds)
                if words is None:
                    break
                said = words
            messages += said
            if not number:
                prompt, said = (*prompt, *said), ()
            offered = mocks.offered = (turn or case).tools
            tools = [tool.wire for tool in offered]
            executor = TurnTools(case, mocks, live, world, number)
            for left in reversed(range(case.max_rounds)):
                request = ChatRequest(
                    tuple(messages), tools, case.tool_choice, sampling, trial, executor
                )
                answer = await ask(request)
                run = () if isinstance(answer, Reply) else answer
                reply = answer if isinstance(answer, Reply) else answer[-1].reply
                if run:
                    rounds += [structs.replace(run[0], prompt=said), *run[1:]]
                    for each in run[:-1]:
                        messages += [each.reply.message, *each.answers]
                    if world is not None and reply.cached:  # it has not seen these calls yet
                        for call in Transcript((), run).calls:
                            await executor.answer(call)
                    break
                if (
                    not reply.calls
                    or reply.no_answer is not None
                    or not left
                    or _ends(case, reply)
                    or (case.forbids and await asyncio.to_thread(is_lost, case, reply.calls, number))
                ):
                    rounds.append(Round(reply, (), said))
                    break
                ids = _ids(reply, len(rounds))
                carried = carried_back(reply, ids)
                if world is not None:
                    contents = [await executor.answer(call) for call in reply.calls]
                else:
                    contents = await _contents(reply.calls, mocks, live, [*messages, carried])
                answers = tuple(
                    {"role": "tool", "tool_call_id": id, "content": content}
                    for id, content in zip(ids, contents, strict=True)
                )
                rounds.append(Round(reply, answers, said))
                messages += [carried, *answers]
                said = ()
            if reply.calls or reply.no_answer is not None:
                break
            # Providers refuse a message that holds neither text nor calls.
            messages.append({**reply.message, "content": reply.message.get("content") or ""})
    finally:
        if world is not None:
            world.close()
    return Transcript(
        prompt,
        tuple(rounds),
        world.printed if world is not None else "",
        user=user.played if user is not None else None,
    )


def _ends(case: ResolvedCase, reply: Reply) -> bool:
    """Whether a chain ends with this reply."""
    return not case.turns and any(is_expected(call.name, case) for call in reply.calls)


async def _contents(
    calls: Sequence[ToolCall],
    mocks: Mocks,
    live: LiveTools | None,
    messages: Sequence[Mapping[str, Any]],
) -> list[str]:
    """What each call of a reply is answered, one after the other."""
    contents = []
    for call in calls:
        mocked = call.arguments is None or mocks.has(call.name)
        if live is not None and not mocked and live.runs(call.name) and mocks.offers(call.name):
            contents.append(await live.answer(call, messages))
        else:
            # In a thread: a slow pattern under `$when` must not hold up the loop.
            contents.append(await asyncio.to_thread(mocks.answer, call))
    return contents


def _ids(reply: Reply, round_number: int) -> list[str]:
    """An id for each call, by which it is answered: its own, unless that is missing or taken."""
    ids: list[str] = []
    for number, call in enumerate(reply.calls):
        own = call.id is not None and call.id not in ids
        ids.append(call.id if own and call.id else f"call_{round_number}_{number}")
    return ids


def carried_back(reply: Reply, ids: Sequence[str]) -> dict[str, Any]:
    """The assistant's message for the next round: unchanged, thinking blocks and signatures too.

    Only calls that a provider would refuse are written anew: those recovered from text, without a
    usable id or name, or with arguments that are not a JSON object. A model's mistake must show in
    its score and not as an error of the next request.
    """
    data = reply.message
    if _is_sound(data, reply.calls, ids):
        return data
    kept = {key: value for key, value in data.items() if key != "function_call"}
    if reply.format == "recovered" and not data.get("tool_calls"):
        kept["content"] = None  # it is the calls, which must not be said twice
    return {**kept, "tool_calls": [_wire(id, call) for id, call in zip(ids, reply.calls, strict=True)]}


def _is_sound(data: Mapping[str, Any], calls: Sequence[ToolCall], ids: Sequence[str]) -> bool:
    raw = data.get("tool_calls")
    if not isinstance(raw, list) or len(raw) != len(calls):
        return False
    return all(
        call.name
        and call.arguments is not None
        and member.get("id") == id
        and member["function"].get("name") == call.name
        for member, call, id in zip(raw, calls, ids, strict=True)
    )


def _wire(id: str, call: ToolCall) -> dict[str, Any]:
    arguments = {"invalid_arguments": call.raw_arguments} if call.arguments is None else call.arguments
    function = {"name": call.name or "unknown", "arguments": json.dumps(arguments)}
    return {"id": id, "type": "function", "function": function}
