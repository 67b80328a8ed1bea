"""Runs a conversation: the user and the model or agent alternate until one of them ends it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from msgspec import structs

from ..record.transcript import Message, Reply, Transcript, ended_turn
from ..suite.case import ResolvedCase
from .alterations import Alterations
from .cassettes.cassette import NotRecorded
from .players import Player
from .tool_source import ToolSource
from .toolbox import Toolbox
from .users import UserInConversation


async def play(
    case: ResolvedCase,
    player: Player,
    user: UserInConversation,
    sources: Sequence[ToolSource] = (),
    allowed: Sequence[str] = (),
) -> Transcript:
    """Run the conversation of one trial. Raises ModelError if there is no answer.

    Cases of all kinds consist of turns; a single question or a chain has one.
    """
    messages: list[Message] = [dict(message) for message in case.messages]
    prompt: tuple[Message, ...] = tuple(messages)
    replies: list[Reply] = []
    alterations = Alterations(case.altered)
    for turn in count():
        next_messages = await user.next(replies)
        if next_messages is None:
            break
        messages += next_messages
        try:
            played = await player.play(messages, Toolbox(case, sources, allowed, turn, alterations))
        except NotRecorded as missing:
            if not user.ended:
                raise
            why = "the recording lacks the model's turn after the user's last words"
            raise NotRecorded(missing.asked, f"{why}: {missing.message}") from None
        first, *rest = ended_turn(played)
        if turn:
            first = structs.replace(first, prompt=next_messages)
        else:
            prompt += next_messages
        replies += [first, *rest]
        last = replies[-1]
        if last.to_answer or last.no_answer is not None or last.unread:
            break  # the turn did not end
    return Transcript(prompt, tuple(replies), user=user.played)
