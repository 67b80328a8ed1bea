"""A conversation whose user is a Python test, which reads each turn before it says the next words."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..record.transcript import Message, Reply
from .users import UserInConversation

if TYPE_CHECKING:
    from .tools.world import WorldTools

_Words = tuple[Message, ...] | None


class Dialogue:
    """What the test's thread and the trial's event loop say to each other.

    `test_may_speak` is done when it is the test's turn, or when the conversation is over (`is_over`),
    as after an error. `replies` are those so far, and `opening` what a simulated user said first.
    `world` is the world of the conversation, if it has one.
    """

    def __init__(self) -> None:
        self.test_may_speak: concurrent.futures.Future[None] = concurrent.futures.Future()
        self.opening: tuple[Message, ...] = ()
        self.replies: Sequence[Reply] = ()
        self.world: WorldTools | None = None
        self.is_over = False
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[_Words]] | None = None

    def after(self, user: UserInConversation) -> UserInConversation:
        """The user of the case, and then the test."""
        return _Test(user, self)

    def say(self, messages: _Words) -> None:
        """Say the next words, at the test's turn; None ends the conversation."""
        if self._waiting is None:
            return
        loop, words = self._waiting
        self._waiting = None
        self.test_may_speak = concurrent.futures.Future()
        loop.call_soon_threadsafe(_answer, words, messages)

    async def next_words(self, replies: Sequence[Reply]) -> _Words:
        """The test's next words."""
        loop = asyncio.get_running_loop()
        words: asyncio.Future[_Words] = loop.create_future()
        self.replies, self._waiting = (*replies,), (loop, words)
        self.test_may_speak.set_result(None)
        return await words

    def close(self, _: object = None) -> None:
        """Called when the conversation is over."""
        self.is_over, self._waiting = True, None
        if not self.test_may_speak.done():
            self.test_may_speak.set_result(None)


def _answer(words: asyncio.Future[_Words], messages: _Words) -> None:
    if not words.done():
        words.set_result(messages)


class _Test(UserInConversation):
    """The test, which speaks once the user of the case has nothing more to say."""

    def __init__(self, user: UserInConversation, dialogue: Dialogue) -> None:
        self._user = user
        self._dialogue = dialogue

    async def next(self, replies: Sequence[Reply]) -> _Words:
        words = await self._user.next(replies)
        if words is None:
            return await self._dialogue.next_words(replies)
        if not replies:
            self._dialogue.opening = words
        self.ended, self.played = self._user.ended, self._user.played
        return words
