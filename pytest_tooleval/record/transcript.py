"""A conversation with a model: messages and replies, their time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Struct, structs

from .calls import ToolCall
from .fields import doc
from .no_answer import PAUSED, NoAnswer
from .status import CallStatus, status_in
from .unread import Unread
from .untrusted import objects_in

# A message in the chat API's format. An assistant message keeps every field that the provider sent
# (thinking blocks, signatures), so that it can be sent back unchanged.
Message = dict[str, Any]
SYSTEM_ROLES = ("system", "developer")
# The fields of an assistant message for the agent that wrote it, and whether that was used as a tool.
AGENT, INNER = "agent", "inner"
# The field for tool searches in an assistant message.
SEARCHES = "tool_searches"
CallFormat = Literal["native", "recovered"]
_Number = TypeVar("_Number", int, float)


class Usage(Struct, frozen=True, kw_only=True, gc=False):
    """An answer's time, tokens and cost. Unknown values are None, never 0."""

    fallbacks: Annotated[
        dict[str, str | None],
        doc("Values sent instead of refused parameters, by parameter; null: nothing."),
    ] = {}
    latency_s: Annotated[
        float | None, doc("Seconds until the answer; for a cached one, as recorded. Null: unknown.")
    ] = None
    prompt_tokens: Annotated[int | None, doc("Prompt tokens. Null: unknown.")] = None
    completion_tokens: Annotated[int | None, doc("Answer tokens. Null: unknown.")] = None
    reasoning_tokens: Annotated[
        int | None, doc("Reasoning tokens, part of the answer tokens. Null: unknown.")
    ] = None
    cost_usd: Annotated[float | None, doc("The cost in US dollars. Null: unknown.")] = None
    is_cost_partial: Annotated[
        bool, doc("Whether it may cost more, as the provider ran tools or programs of unknown price.")
    ] = False
    served_model: Annotated[
        str | None, doc("The model that answered, by the provider's name. Null: unknown.")
    ] = None
    upstream: Annotated[
        str | None, doc("The provider that answered a router, by the router's name. Null: unknown.")
    ] = None
    system_fingerprint: Annotated[
        str | None, doc("OpenAI's fingerprint of the system that answered. Null: unknown.")
    ] = None
    answered_at: Annotated[str | None, doc("When the answer came: ISO 8601, UTC. Null: unknown.")] = None


class Measures(Usage, frozen=True, kw_only=True, gc=False):
    """Time, tokens, cost and request parameters of one answer or of all answers of a trial."""

    format: Annotated[
        CallFormat | None, doc("native; recovered: calls were written as text; null: no answer.")
    ] = None
    recovered_calls: Annotated[int, doc("Calls that were written as text, and read.", ge=0)] = 0
    lost_calls: Annotated[int, doc("Calls that were written as text, and cannot be read.", ge=0)] = 0
    dialect: Annotated[str, doc("The dialect of calls written as text; empty: none were.")] = ""
    tool_choice: Annotated[
        str | None, doc("The tool_choice that was sent last; after a refusal, the one sent instead.")
    ] = None
    temperature: Annotated[float | None, doc("The temperature sent; null: left to the model.")] = None
    cached: Annotated[bool, doc("Whether it came from a cassette or an earlier run.")] = False


class ToolSearch(Struct, frozen=True, gc=False):
    """A tool search by the model, answered by the provider."""

    arguments: Annotated[Any, doc("What the model searched for.")]
    tools: Annotated[tuple[str, ...] | None, doc("The names of the tools found; null: unknown.")] = None
    names_shown: Annotated[
        bool, doc("Whether the provider shows the names of deferred tools without a namespace anyway.")
    ] = False


class Reply(Measures, frozen=True, kw_only=True, gc=False):
    """One answer of a model: the message, its calls and their answers, time, tokens and cost.

    A reply with a prompt begins a turn; the first turn's prompt is the transcript's.
    """

    prompt: Annotated[
        tuple[Message, ...], doc("The user's message before it, if it starts a later turn; else empty.")
    ] = ()
    message: Annotated[Message, doc("The message in the chat API's format.")]
    calls: Annotated[tuple[ToolCall, ...], doc("Its calls.")] = ()
    searches: Annotated[tuple[ToolSearch, ...], doc("Its tool searches, which are not calls.")] = ()
    tool_answers: Annotated[
        tuple[Message, ...],
        doc("The answers to its calls, as chat messages; none where nothing follows."),
    ] = ()
    statuses: Annotated[
        tuple[CallStatus | None, ...], doc("The status of each call; null: unknown. Empty: all unknown.")
    ] = ()
    ran_by_suite: Annotated[
        tuple[bool, ...],
        doc("Whether the suite ran each call: a mock, the world or a live server. Empty: none."),
    ] = ()
    unanswered_before: Annotated[
        int,
        doc(
            "How many replies before it had no answers yet when its call began, as an agent made calls "
            "at the same time.",
            ge=0,
        ),
    ] = 0
    agent: Annotated[str | None, doc("The agent that wrote it; null: unknown.")] = None
    is_inner: Annotated[
        bool,
        doc(
            "Whether another agent used that agent as a tool, so that it is no part of the conversation."
        ),
    ] = False
    unread: Annotated[tuple[Unread, ...], doc("What could not be understood in it.")] = ()
    finish_reason: Annotated[str | None, doc("The finish reason.")] = None
    no_answer: Annotated[NoAnswer | None, doc("Why it is unusable; null if it is usable.")] = None

    @property
    def text(self) -> str:
        """The text of the message; empty if there is none."""
        return text_of(self.message)

    def by(self, agent: str | None, *, inner: bool) -> Reply:
        """Return the reply as one of this agent."""
        if agent is None and not inner:
            return self
        calls = tuple(structs.replace(call, agent=agent) for call in self.calls)
        return structs.replace(self, agent=agent, is_inner=inner, calls=calls)

    def with_calls_at(self, indexes: Sequence[int]) -> Reply:
        """Return the reply with only the calls at these indexes; its answers stay."""
        return structs.replace(
            self,
            calls=tuple(self.calls[index] for index in indexes),
            statuses=tuple(self.statuses[index] for index in indexes) if self.statuses else (),
            ran_by_suite=self.ran_by_suite and tuple(self.ran_by_suite[index] for index in indexes),
        )

    @property
    def calls_with_status(self) -> list[tuple[ToolCall, CallStatus | None, bool]]:
        """Each call, with its status, and whether the suite ran it."""
        none = [None] * len(self.calls)
        rows = zip_longest(self.calls, self.statuses or none, self.ran_by_suite or none)
        return [(call, status, bool(ours)) for call, status, ours in rows if call is not None]

    @property
    def is_paused(self) -> bool:
        """True if the next reply continues it, as the provider ran tools itself."""
        return self.finish_reason == PAUSED and not self.to_answer

    @property
    def to_answer(self) -> tuple[ToolCall, ...]:
        """Its calls that need an answer."""
        return tuple(call for call in self.calls if not call.hosted)


class RubricVerdict(Struct, frozen=True, gc=False):
    """A judge's verdict on a rubric."""

    rubric: Annotated[str, doc("The rubric.")]
    turn: Annotated[int, doc("The turn that was judged, from 1; 0: the whole conversation.", ge=0)]
    passed: Annotated[bool, doc("Whether the assistant's messages meet it.")]
    reason: Annotated[str, doc("The judge's reason.")] = ""
    model: Annotated[str, doc("The judge's label; empty: not a model.")] = ""
    cost_usd: Annotated[float | None, doc("The cost in US dollars. Null: unknown.")] = None


class PlayedUser(Struct, frozen=True, gc=False):
    """The model that played the user."""

    model: Annotated[str, doc("The model's label.")]
    ending: Annotated[
        str, doc("The end of its last message, from the stop word on; empty: something else ended it.")
    ] = ""
    cost_usd: Annotated[float | None, doc("The cost in US dollars. Null: unknown.")] = None


class Transcript(Struct, frozen=True, gc=False):
    """A whole conversation: the messages that the case supplied, then the replies of the model."""

    prompt: Annotated[tuple[Message, ...], doc("The case's messages.")] = ()
    replies: Annotated[tuple[Reply, ...], doc("The model's replies, in order.")] = ()
    printed: Annotated[str, doc("The world's printed output.")] = ""
    judged: Annotated[tuple[RubricVerdict, ...], doc("A judge's verdicts on the case's rubrics.")] = ()
    user: Annotated[PlayedUser | None, doc("The simulated user; null without one.")] = None

    @classmethod
    def from_calls(cls, calls: Iterable[ToolCall | Mapping[str, Any]] | None) -> Transcript:
        """Make a transcript of one reply with these calls."""
        parsed = tuple(ToolCall.coerce(call) for call in calls or ())
        message = {"role": "assistant", "content": None}
        return cls(replies=(Reply(message=message, calls=parsed, format="native"),))

    def with_final_reply(self) -> Transcript:
        """Return the transcript with an unknown final reply, which ends the last turn."""
        last = Reply(message={"role": "assistant", "content": None}, format="native")
        return structs.replace(self, replies=(*self.replies, last))

    @property
    def turns(self) -> tuple[tuple[Reply, ...], ...]:
        """The replies of each turn."""
        turns: list[list[Reply]] = []
        for reply in self.replies:
            if reply.prompt or not turns:
                turns.append([])
            turns[-1].append(reply)
        return tuple(map(tuple, turns))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call of every reply, in order."""
        if len(self.replies) == 1:
            return self.replies[0].calls
        return tuple(call for reply in self.replies for call in reply.calls)

    @property
    def no_answer(self) -> NoAnswer | None:
        """Why the conversation, or a turn of it, ended without a usable answer, if it did."""
        if len(self.replies) == 1:
            return self.replies[0].no_answer
        ends = (reply for turn in self.turns for reply in turn if reply.unread or reply is turn[-1])
        return next(filter(None, (reply.no_answer for reply in ends)), None)

    @property
    def unread(self) -> Unread | None:
        """The first part that could not be understood by somebody else's fault, if there is one."""
        parts = (each for reply in self.replies for each in reply.unread)
        return next((each for each in parts if each.owner == "other"), None)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agents that took part; empty unless there are several."""
        names = tuple(dict.fromkeys(reply.agent or "" for reply in self.replies))
        return names if len(names) > 1 else ()

    @property
    def others_cost_usd(self) -> float | None:
        """The cost of the judge and the simulated user. None: unknown, or neither took part."""
        costs = [each.cost_usd for each in self.judged]
        return sum_if_known([*costs, self.user.cost_usd] if self.user else costs)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation as chat messages, without what agents that were tools said."""
        messages = list(self.prompt)
        for reply in self.replies:
            messages += [] if reply.is_inner else [*reply.prompt, reply.message, *reply.tool_answers]
        return tuple(messages)


def status_of(answer: Mapping[str, Any]) -> CallStatus | None:
    """Return a call's status by its answer. None: unknown."""
    return status_in(answer, text_of(answer))


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message's content, its parts joined by newlines; empty if there is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = objects_in(content)
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def measures_of(transcript: Transcript) -> Measures:
    """Return the measures of all replies together. A sum is None if a part of it is unknown."""
    replies = transcript.replies
    return Measures(
        format="recovered" if any(reply.format == "recovered" for reply in replies) else "native",
        recovered_calls=sum(reply.recovered_calls for reply in replies),
        lost_calls=sum(reply.lost_calls for reply in replies),
        dialect=next((reply.dialect for reply in replies if reply.dialect), ""),
        tool_choice=replies[-1].tool_choice if replies else None,
        temperature=replies[-1].temperature if replies else None,
        fallbacks={name: sent for reply in replies for name, sent in reply.fallbacks.items()},
        latency_s=sum_if_known([reply.latency_s for reply in replies]),
        prompt_tokens=sum_if_known([reply.prompt_tokens for reply in replies]),
        completion_tokens=sum_if_known([reply.completion_tokens for reply in replies]),
        reasoning_tokens=sum_if_known([reply.reasoning_tokens for reply in replies]),
        cost_usd=sum_if_known([reply.cost_usd for reply in replies]),
        is_cost_partial=any(reply.is_cost_partial for reply in replies),
        cached=bool(replies) and all(reply.cached for reply in replies),
        served_model=replies[-1].served_model if replies else None,
        upstream=replies[-1].upstream if replies else None,
        system_fingerprint=replies[-1].system_fingerprint if replies else None,
        answered_at=replies[-1].answered_at if replies else None,
    )


def sum_if_known(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum; None if a value is unknown or there are none."""
    total: _Number | None = None
    for value in values:
        if value is None:
            return None
        total = value if total is None else total + value
    return total
