"""The user of a conversation: the case's script, or a model with a goal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from ..errors import ModelError
from ..record.transcript import Message, PlayedUser, Reply, sum_if_known
from ..suite.case import ResolvedCase, User
from ..text import plural, printable, shorten
from .asking.context import sampling_for
from .exchange.chat import ChatRequest
from .exchange.reply import AsksModels, ask_other
from .models.names import resolve_models
from .models.spec import ModelSpec
from .models.tables import ModelTables

# With a different wording, small models play the assistant or stop immediately.
_INSTRUCTIONS = """\
You play a user who writes to an assistant. When the user has got what they want, or it is clear that \
they will not get it, you write {stop} and nothing else. Until then you write the user's next message \
and nothing else: in the user's own words, with what is needed at that point, and without making up \
what does not stand below. Never write what the assistant says.

This is the user whom you play:

{goal}"""
_FIRST = "Write the user's first message."
_NEXT = "The assistant says:\n\n{said}\n\nWrite the user's next message."
_SILENT = "(nothing)"


def user_of(
    user: User | None, default: ModelSpec | None, tables: Callable[[], ModelTables]
) -> ModelSpec | None:
    """The model that plays a case's user, if any. Raises ConfigError."""
    if user is None or user.model is None:
        return default if user else None
    return resolve_models([user.model], tables())[0]


class UserInConversation:
    """The user of one conversation, who follows the case's script.

    The first turn's messages are already among the case's messages. `ended` says that the user's last
    messages end the conversation, once the model has had its turn. `played` records a model's part.
    """

    ended = False
    played: PlayedUser | None = None

    def __init__(self, case: ResolvedCase) -> None:
        self._later: Iterator[tuple[Message, ...]] = chain(
            [()], (turn.messages for turn in case.turns[1:])
        )

    async def next(self, replies: Sequence[Reply]) -> tuple[Message, ...] | None:
        """The user's next messages, which begin a turn; None to end the conversation."""
        return next(self._later, None)


def user_in(
    case: ResolvedCase, spec: ModelSpec | None, models: AsksModels, trial: int
) -> UserInConversation:
    """The user of a case. Raises ModelError if a model must play it and none is named."""
    if case.user is None:
        return UserInConversation(case)
    if spec is None:
        raise ModelError(
            "a model has to play the user, but none is set: use --tooleval-user=MODEL, set "
            "tooleval_user in the ini file, or give user.model in the case",
            kind="user",
        )
    return SimulatedUser(case, case.user, spec, models, trial)


def opening(user: User) -> list[Message]:
    """The first message to the model that plays the user."""
    goal = _INSTRUCTIONS.format(goal=user.goal, stop=user.stop)
    return [{"role": "system", "content": goal}, {"role": "user", "content": _FIRST}]


def user_request(spec: ModelSpec, messages: Sequence[Message], trial: int = 0) -> ChatRequest:
    """The request to the model that plays the user."""
    return ChatRequest(tuple(messages), (), "none", sampling_for(spec), trial)


class SimulatedUser(UserInConversation):
    """A user that a model plays, in one conversation."""

    def __init__(
        self, case: ResolvedCase, user: User, spec: ModelSpec, models: AsksModels, trial: int
    ) -> None:
        super().__init__(case)
        self._user = user
        self._spec = spec
        self._models = models
        self._trial = trial
        self._messages = opening(user)
        self._heard = 0
        self._replies: list[Reply] = []

    async def next(self, replies: Sequence[Reply]) -> tuple[Message, ...] | None:
        """The user's next messages; None once the goal is reached. Raises ModelError if it is not
        reached in time.
        """
        if self.ended:
            return None
        if replies:
            texts = [each.text for each in replies[self._heard :] if each.text.strip()]
            heard = _NEXT.format(said="\n\n".join(texts) or _SILENT)
            self._messages.append({"role": "user", "content": heard})
            self._heard = len(replies)
        request = user_request(self._spec, self._messages, self._trial)
        reply, (words, ending) = await ask_other("user", self._models, self._spec, request, self._read)
        self._replies.append(reply)
        self.ended = ending != ""
        cost = sum_if_known(each.cost_usd for each in self._replies)
        self.played = PlayedUser(self._spec.label, ending, cost)
        if not words:
            return None
        self._messages.append({"role": "assistant", "content": words})
        return ({"role": "user", "content": words},)

    def _read(self, reply: Reply) -> tuple[str, str]:
        """The user's words, and the text from the stop word on; one of them may be empty.

        Raises ModelError if the reply makes no sense.
        """
        text = reply.text
        if reply.no_answer is not None:
            raise ModelError(printable(f"gave no answer: {reply.no_answer}"), kind="user")
        if not text.strip():
            raise ModelError("said nothing", kind="user")
        before, stop, after = text.partition(self._user.stop)
        if stop:
            # Some models put quotes or asterisks around it.
            words = before.strip() if any(map(str.isalnum, before)) else ""
            if not words and not self._replies:
                raise ModelError("ended the conversation before it had begun", kind="user")
            return words, stop + after
        if len(self._replies) >= self._user.max_turns:
            turns = plural(self._user.max_turns, "turn")
            last = printable(shorten(" ".join(text.split()), 200))
            raise ModelError(
                f"did not reach its goal in {turns} (user.max_turns): it never said "
                f"{self._user.stop}; its last words: {last}",
                kind="user",
            )
        return text, ""
