"""A conversation with a model: messages and replies, their time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Annotated, Any, TypeVar

from msgspec import Struct, structs

from .call_like import unread_in
from .calls import ToolCall, own_calls
from .endings import PAUSED, UNPARSED, NoAnswer, ending_of, is_cut_off, no_answer, usual_reason
from .fields import doc
from .names import NO_TOOLS, KnownTools
from .recovery import CallFormat, of_server, read_calls
from .status import CallStatus, last_answers, status_in
from .unread import Unread, of_model
from .untrusted import as_list, as_mapping, as_text, objects_in

# A message in the chat API's format. An assistant message keeps every field that the provider sent
# (thinking blocks, signatures), so that it can be sent back unchanged.
Message = dict[str, Any]
SYSTEM_ROLES = ("system", "developer")
# The fields of an assistant message for the agent that wrote it, and whether that was used as a tool.
AGENT, INNER = "agent", "inner"
# The field for tool searches in an assistant message.
SEARCHES = "tool_searches"
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
    cost_at_least: Annotated[
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
        bool,
        doc("Whether the provider shows the names of deferred tools without a namespace anyway."),
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
    answers: Annotated[
        tuple[Message, ...],
        doc("The answers to its calls, as chat messages; none where nothing follows."),
    ] = ()
    status: Annotated[
        tuple[CallStatus | None, ...],
        doc("The status of each call; null: unknown. Empty: all unknown."),
    ] = ()
    by_suite: Annotated[
        tuple[bool, ...],
        doc("Whether the suite ran each call: a mock, the world or a live server. Empty: none."),
    ] = ()
    unanswered: Annotated[
        int,
        doc(
            "How many replies before it had no answers yet when its call began, as an agent made calls "
            "at the same time.",
            ge=0,
        ),
    ] = 0
    agent: Annotated[str | None, doc("The agent that wrote it; null: unknown.")] = None
    inner: Annotated[
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
        return structs.replace(self, agent=agent, inner=inner, calls=calls)

    def with_calls_at(self, places: Sequence[int]) -> Reply:
        """Return the reply with only the calls at these indexes; its answers stay."""
        return structs.replace(
            self,
            calls=tuple(self.calls[place] for place in places),
            status=tuple(self.status[place] for place in places) if self.status else (),
            by_suite=tuple(self.by_suite[place] for place in places) if self.by_suite else (),
        )

    @property
    def calls_with_status(self) -> list[tuple[ToolCall, CallStatus | None, bool]]:
        """Each call, with its status, and whether the suite ran it."""
        none = [None] * len(self.calls)
        made = zip_longest(self.calls, self.status or none, self.by_suite or none)
        return [(call, status, bool(ours)) for call, status, ours in made if call is not None]

    @property
    def is_paused(self) -> bool:
        """True if the next reply continues it, as the provider ran tools itself."""
        return self.finish_reason == PAUSED and not self.to_answer

    @property
    def to_answer(self) -> tuple[ToolCall, ...]:
        """Its calls that need an answer."""
        return tuple(call for call in self.calls if not call.hosted)


class Judged(Struct, frozen=True, gc=False):
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
    judged: Annotated[tuple[Judged, ...], doc("A judge's verdicts on the case's rubrics.")] = ()
    user: Annotated[PlayedUser | None, doc("The simulated user; null without one.")] = None

    @classmethod
    def from_calls(cls, calls: Iterable[ToolCall | Mapping[str, Any]] | None) -> Transcript:
        """Make a transcript of one reply with these calls."""
        made = tuple(ToolCall.coerce(call) for call in calls or ())
        message = {"role": "assistant", "content": None}
        return cls(replies=(Reply(message=message, calls=made, format="native"),))

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message],
        given: Sequence[Message] = (),
        offered: Sequence[KnownTools] | None = None,
    ) -> Transcript:
        """Build a conversation from its chat messages; each user message begins a turn.

        `given` are the messages before them, which may include replies. `refusal` and `finish_reason`
        of a reply say how it ended. Raises ModelError if the provider failed.

        `offered` are the tools of each turn; the last ones also apply to later turns. With these,
        replies are read as a live model's: calls may be written as text, and a turn without text or
        calls has no usable answer. Without, as for benchmarks, text is never read as calls, an empty
        reply is an answer, and the calls ran on the world of the suite.
        """
        turn = 0
        prompt: list[Message] = []
        waiting: list[Message] = list(given)
        replies: list[Reply] = []
        unread: list[Unread] = []  # before the first reply
        messages = list(messages)
        whole = (*given, *messages)
        for message in messages:
            role = message.get("role")
            names = None if offered is None else offered[min(turn, len(offered) - 1)]
            if role != "assistant":
                found = tuple(unread_in(message, names or NO_TOOLS, whole))
                if replies:
                    replies[-1] = structs.replace(replies[-1], unread=(*replies[-1].unread, *found))
                unread += () if replies else found
            if role == "assistant":
                if replies and all(each.get("role") in SYSTEM_ROLES for each in waiting):
                    replies[-1] = _with_answers(replies[-1], waiting)  # a reminder within the turn
                    waiting = []
                turn += bool(replies and waiting)
                names = None if offered is None else offered[min(turn, len(offered) - 1)]
                replies.append(_reply(message, names, tuple(waiting) if replies else (), whole))
                prompt, waiting = prompt if len(replies) > 1 else waiting, []
            elif role == "tool" and replies:
                place = _answered_by(replies, message)
                answer = {key: value for key, value in message.items() if key != INNER}
                replies[place] = _with_answers(replies[place], [answer])
            else:
                waiting.append(message)
        if replies:
            replies[0] = structs.replace(replies[0], unread=(*replies[0].unread, *unread))
        statuses = statuses_of((each.message, each.answers) for each in replies)
        replies = [
            structs.replace(
                each, status=status, by_suite=(True,) * len(status) if offered is None else ()
            )
            for each, status in zip(replies, statuses, strict=True)
        ]
        made = cls(tuple(prompt if replies else waiting), tuple(with_refused(replies)))
        turns = (each for turn in made.turns for each in ended_turn(turn))
        return structs.replace(made, replies=tuple(turns))

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
            messages += [] if reply.inner else [*reply.prompt, reply.message, *reply.answers]
        return tuple(messages)


def _reply(
    message: Message,
    offered: KnownTools | None,
    prompt: tuple[Message, ...],
    conversation: Sequence[Message],
) -> Reply:
    agent, inner = as_text(message.get(AGENT)) or None, message.get(INNER) is True
    message = {key: value for key, value in message.items() if key not in (AGENT, INNER)}
    ending = ending_of(message, {"choices": [{"message": message}]})
    reason, detail = ending or (usual_reason(message), None)
    text = None if offered is None else text_of(message)
    found = read_message(message, text, offered or NO_TOOLS, reason, detail, conversation)
    return structs.replace(found, prompt=prompt).by(agent, inner=inner)


def _answered_by(replies: Sequence[Reply], answer: Message) -> int:
    """Return the place of the reply that an answer belongs to: the last, or one before inner agents'."""
    place = len(replies) - 1
    id = answer.get("tool_call_id")
    while place and replies[place].inner and all(call.id != id for call in replies[place].calls):
        place -= 1
    return place


def read_message(
    message: Message,
    text: str | None,
    offered: KnownTools,
    reason: str | None,
    detail: str | None = None,
    conversation: Sequence[Message] = (),
) -> Reply:
    """Read an assistant's message, which may contain anything, and how it ended.

    `text` is its text, or None if neither text nor calls are required. Its other fields may repeat the
    calls of the `conversation`.
    """
    reading = read_calls(message, text or "", offered, cut_off=is_cut_off(reason))
    if reason == UNPARSED:
        reading = of_server(reading, text or "", detail or "")
    unread = (*reading.unread, *unread_in(message, offered, conversation))
    own = own_calls(reading.calls, offered.names)
    return Reply(
        message=message,
        calls=reading.calls,
        searches=searches_in(message),
        format=reading.format,
        recovered_calls=reading.recovered,
        lost_calls=reading.lost,
        dialect=reading.dialect,
        unread=unread,
        finish_reason=reason,
        no_answer=no_answer(own, text, reason, detail, of_model(reading.unread)),
    )


def searches_in(message: Message) -> tuple[ToolSearch, ...]:
    """Return the tool searches in a reply."""
    return tuple(
        ToolSearch(
            each.get("arguments"),
            None if each.get("tools") is None else tuple(map(as_text, as_list(each["tools"]))),
            each.get("names_shown") is True,
        )
        for each in objects_in(message.get(SEARCHES))
    )


def ended_turn(replies: Sequence[Reply]) -> Sequence[Reply]:
    """Return a turn's replies, accepting an empty last one if the turn has text or calls before it."""
    *before, last = replies
    if last.no_answer is None or last.no_answer.category != "empty_answer":
        return replies
    if not any(each.calls or each.text.strip() for each in before):
        return replies
    return [*before, structs.replace(last, no_answer=None)]


def _with_answers(reply: Reply, answers: Iterable[Message]) -> Reply:
    return structs.replace(reply, answers=(*reply.answers, *answers))


def with_refused(replies: Iterable[Reply]) -> list[Reply]:
    """Mark calls that a model wrote as text, and that no tool answered, as refused."""
    found: list[Reply] = []
    unanswered: set[str] = set()  # ids of earlier calls
    for each in replies:
        answers = [answer for answer in each.answers if answer.get("role") == "tool"]
        calls = objects_in(each.message.get("tool_calls"))
        written = each.format == "recovered" and not calls and not each.status
        if written and all(str(answer.get("tool_call_id")) in unanswered for answer in answers):
            refused: CallStatus = "refused"
            status = (refused,) * len(each.calls)
            found.append(structs.replace(each, status=status))
        else:
            found.append(each)
        unanswered |= {str(call["id"]) for call in calls if call.get("id")}
        answered = (answer for answer in answers if status_of(answer) != "waiting")
        unanswered -= {str(answer.get("tool_call_id")) for answer in answered}
    return found


def statuses_of(
    replies: Iterable[tuple[Message, Iterable[Message]]],
) -> list[tuple[CallStatus | None, ...]]:
    """Return the status of the calls of each reply, given with the messages after it.

    A reply's statuses are empty if none of its calls is answered.
    """
    ids = [
        ([as_mapping(call).get("id") for call in as_list(reply.get("tool_calls"))], after)
        for reply, after in replies
    ]
    return [
        tuple(each and status_of(each.message) for each in of_reply) if any(of_reply) else ()
        for of_reply in last_answers(ids)
    ]


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


def gist_of(message: Message) -> tuple[object, str, list[object]]:
    """Return what equal messages share: role, text and calls; ids and empty fields may differ."""
    calls = read_calls(message, "").calls
    return message.get("role"), text_of(message), [(call.name, call.arguments) for call in calls]


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
        cost_at_least=any(reply.cost_at_least for reply in replies),
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
