"""A conversation with a model: messages, replies, rounds, and what they took."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Annotated
from typing import Any
from typing import Literal
from typing import cast

from msgspec import Meta
from msgspec import Struct

from .calls import ToolCall
from .endings import NoAnswer
from .endings import ending_of
from .endings import no_answer

# A chat message as it goes over the wire. An assistant's message keeps every field the provider sent
# (thinking blocks, signatures), so that it can go back unchanged.
Message = dict[str, Any]
SYSTEM_ROLES = ("system", "developer")
CallFormat = Literal["native", "recovered"]


class Taken(Struct, frozen=True, kw_only=True, gc=False):
    """What it took to get an answer. Nothing unknown is ever 0."""

    fallbacks: Annotated[
        dict[str, str | None],
        Meta(description="A parameter that the model refuses to what was sent instead; null: nothing."),
    ] = {}
    latency_s: Annotated[
        float | None,
        Meta(description="Seconds until the answer; of a cached one as recorded. Null: unknown."),
    ] = None
    prompt_tokens: Annotated[int | None, Meta(description="Tokens of the prompt. Null: unknown.")] = None
    completion_tokens: Annotated[
        int | None, Meta(description="Tokens of the answer. Null: unknown.")
    ] = None
    reasoning_tokens: Annotated[
        int | None, Meta(description="Those of the answer's that went into reasoning. Null: unknown.")
    ] = None
    cost_usd: Annotated[float | None, Meta(description="The cost in US dollars. Null: unknown.")] = None
    served_model: Annotated[
        str | None, Meta(description="The model that answered, by the provider's name. Null: unknown.")
    ] = None
    system_fingerprint: Annotated[
        str | None, Meta(description="What OpenAI says of the system behind it. Null: not told.")
    ] = None


class Measures(Taken, frozen=True, kw_only=True, gc=False):
    """What one answer took, or all answers of a trial together, and how it was had."""

    format: Annotated[
        CallFormat | None,
        Meta(description="native; recovered when calls were written as text; null without an answer."),
    ] = None
    tool_choice: Annotated[
        str | None,
        Meta(description="The tool_choice that was sent last; another one after a refusal."),
    ] = None
    temperature: Annotated[
        float | None, Meta(description="The temperature that was sent; null: left to the model.")
    ] = None
    cached: Annotated[
        bool, Meta(description="Whether it came from a cassette, or from an earlier run.")
    ] = False


class Reply(Measures, frozen=True, kw_only=True, gc=False):
    """One answer of a model: the message, the calls in it, and what it took."""

    message: Annotated[Message, Meta(description="The message in the form of the chat API.")]
    calls: Annotated[tuple[ToolCall, ...], Meta(description="The calls in it.")] = ()
    finish_reason: Annotated[str | None, Meta(description="Why the answer ended.")] = None
    no_answer: Annotated[
        NoAnswer | None, Meta(description="Why the answer cannot be used; null when it can.")
    ] = None

    @property
    def text(self) -> str:
        """The text of the message; empty when there is none."""
        return text_of(self.message)


class Round(Struct, frozen=True, gc=False):
    """A reply, and what its calls were answered (empty in the last round and in single-turn cases).

    A round with a prompt begins a turn; the first turn's prompt is that of the transcript.
    """

    reply: Annotated[Reply, Meta(description="What the model answered.")]
    answers: Annotated[
        tuple[Message, ...], Meta(description="What its calls were answered, as chat messages.")
    ] = ()
    prompt: Annotated[
        tuple[Message, ...],
        Meta(description="What the user said before it, if it begins a further turn; else empty."),
    ] = ()


# A reply that ended a turn and of which nothing else is known.
ENDING = Round(Reply(message={"role": "assistant", "content": None}, format="native"))


class Judged(Struct, frozen=True, gc=False):
    """What a judge made of a rubric."""

    rubric: Annotated[str, Meta(description="The rubric.")]
    turn: Annotated[
        int, Meta(ge=0, description="The turn that was judged, from 1; 0: the whole conversation.")
    ]
    passed: Annotated[bool, Meta(description="Whether what the assistant said meets it.")]
    reason: Annotated[str, Meta(description="The judge's reason.")] = ""
    model: Annotated[str, Meta(description="The label of the judge; empty: not a model.")] = ""
    cost_usd: Annotated[float | None, Meta(description="The cost in US dollars. Null: unknown.")] = None


class PlayedUser(Struct, frozen=True, gc=False):
    """The model that played the user."""

    model: Annotated[str, Meta(description="The label of the model.")]
    ending: Annotated[
        str, Meta(description="What it said to end the conversation; empty: something else ended it.")
    ] = ""
    cost_usd: Annotated[float | None, Meta(description="The cost in US dollars. Null: unknown.")] = None


class Transcript(Struct, frozen=True, gc=False):
    """A whole conversation: the messages that the case supplied, then the rounds with the model."""

    prompt: Annotated[tuple[Message, ...], Meta(description="The messages that the case supplies.")] = ()
    rounds: Annotated[tuple[Round, ...], Meta(description="The answers of the model, in order.")] = ()
    printed: Annotated[str, Meta(description="What the code of the world printed meanwhile.")] = ""
    judged: Annotated[
        tuple[Judged, ...], Meta(description="What a judge made of the rubrics of the case.")
    ] = ()
    user: Annotated[
        PlayedUser | None, Meta(description="Who played the user; null where the case says the words.")
    ] = None

    @classmethod
    def from_calls(
        cls, calls: Iterable[ToolCall | Mapping[str, Any]] | None, prompt: Sequence[Message] = ()
    ) -> Transcript:
        """A transcript of one reply that made these calls; None and no calls are a reply without any."""
        made = tuple(ToolCall.coerce(call) for call in calls or ())
        message = {"role": "assistant", "content": None}
        return cls(tuple(prompt), (Round(Reply(message=message, calls=made, format="native")),))

    @classmethod
    def from_messages(cls, messages: Iterable[Message], given: Sequence[Message] = ()) -> Transcript:
        """A conversation from its chat messages: a turn begins with what the user says.

        `given` are those before them, replies among them that were part of the question. How a reply
        ended is told by its `refusal` and `finish_reason`. ModelError when the provider broke it off.
        """
        prompt: list[Message] = []
        said: list[Message] = list(given)
        rounds: list[Round] = []
        for message in messages:
            role = message.get("role")
            if role == "assistant":
                if rounds and all(each.get("role") in SYSTEM_ROLES for each in said):
                    rounds[-1] = _with_answers(rounds[-1], said)  # a reminder within the turn
                    said = []
                rounds.append(Round(_reply(message), (), tuple(said) if rounds else ()))
                prompt, said = prompt if len(rounds) > 1 else said, []
            elif role == "tool" and rounds:
                rounds[-1] = _with_answers(rounds[-1], [message])
            else:
                said.append(message)
        return cls(tuple(prompt if rounds else said), tuple(rounds))

    @property
    def turns(self) -> tuple[tuple[Round, ...], ...]:
        """The rounds of each turn."""
        turns: list[list[Round]] = []
        for round_ in self.rounds:
            if round_.prompt or not turns:
                turns.append([])
            turns[-1].append(round_)
        return tuple(map(tuple, turns))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of every reply, in order: the trajectory."""
        if len(self.rounds) == 1:
            return self.rounds[0].reply.calls
        return tuple(call for round_ in self.rounds for call in round_.reply.calls)

    @property
    def replies(self) -> tuple[Reply, ...]:
        return tuple(round_.reply for round_ in self.rounds)

    @property
    def no_answer(self) -> NoAnswer | None:
        """Why the conversation, or a turn of it, ended without a usable answer, if it did."""
        return next(filter(None, (turn[-1].reply.no_answer for turn in self.turns)), None)

    @property
    def others_cost_usd(self) -> float | None:
        """What the judge and the model that played the user cost. None: unknown, or nobody was asked."""
        costs = [each.cost_usd for each in self.judged]
        return _sum([*costs, self.user.cost_usd] if self.user else costs)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation as chat messages."""
        messages = list(self.prompt)
        for round_ in self.rounds:
            messages += [*round_.prompt, round_.reply.message, *round_.answers]
        return tuple(messages)


def _reply(message: Message) -> Reply:
    calls = tuple(ToolCall.coerce(call) for call in message.get("tool_calls") or ())
    reason, said = ending_of(message, {"choices": [{"message": message}]}) or (None, None)
    return Reply(
        message=message,
        calls=calls,
        format="native",
        finish_reason=reason,
        no_answer=no_answer(calls, text_of(message), reason, said),
    )


def _with_answers(round_: Round, answers: Iterable[Message]) -> Round:
    return Round(round_.reply, (*round_.answers, *answers), round_.prompt)


def text_of(message: Message) -> str:
    """The text of a message's content, parts joined by newlines; empty when there is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def gist_of(message: Message) -> tuple[object, str, list[object]]:
    """What makes two messages the same: ids and empty fields do not."""
    calls = [ToolCall.coerce(call) for call in message.get("tool_calls") or ()]
    return message.get("role"), text_of(message), [(call.name, call.arguments) for call in calls]


def measures_of(transcript: Transcript) -> Measures:
    """What all replies of a transcript took together. A sum is None when any part of it is unknown."""
    replies = transcript.replies
    return Measures(
        format="recovered" if any(reply.format == "recovered" for reply in replies) else "native",
        tool_choice=replies[-1].tool_choice if replies else None,
        temperature=replies[-1].temperature if replies else None,
        fallbacks={name: sent for reply in replies for name, sent in reply.fallbacks.items()},
        latency_s=_sum(reply.latency_s for reply in replies),
        prompt_tokens=cast("int | None", _sum(reply.prompt_tokens for reply in replies)),
        completion_tokens=cast("int | None", _sum(reply.completion_tokens for reply in replies)),
        reasoning_tokens=cast("int | None", _sum(reply.reasoning_tokens for reply in replies)),
        cost_usd=_sum(reply.cost_usd for reply in replies),
        cached=bool(replies) and all(reply.cached for reply in replies),
        served_model=replies[-1].served_model if replies else None,
        system_fingerprint=replies[-1].system_fingerprint if replies else None,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    total: float | None = None
    for value in values:
        if value is None:
            return None
        total = value if total is None else total + value
    return total
