"""Code that the adapters share: making the callable, and reading and writing chat messages."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from ..errors import AgentGaveUp, StopKind
from ..record.status import StatusWord, error_or_unknown
from ..record.transcript import SYSTEM_ROLES, Message


@dataclass(frozen=True)
class AgentTool:
    """A tool of the suite."""

    name: str
    description: str
    parameters: Message
    strict: bool


# The exceptions with which a library ends a run because of something the agent did.
Endings = Mapping[type[Exception], StopKind | None]
# `call_tool` or `before_tool`: takes a name, arguments and perhaps the calling `agent`, and returns an
# awaitable text or None.
Ask = Callable[..., Any]
Model = Callable[..., Awaitable[list[Message]]]


class AgentToolbox:
    """The suite's answers during a run.

    `tools` are the suite's tools, whose calls it answers. None means that the agent runs its own tools,
    and asks before each call. `max_rounds` is None if the case sets none.
    """

    def __init__(
        self,
        tools: list[AgentTool] | None,
        ask: Ask,
        approvals: Mapping[str, str],
        most_calls: int,
        max_rounds: int | None = None,
    ) -> None:
        self.tools = tools
        self.ask = ask
        self.max_rounds = max_rounds
        self._most_calls = most_calls
        self._approved = {name.casefold() for name, word in approvals.items() if word == "approve"}
        self._rejected = {name.casefold() for name in approvals} - self._approved
        self._granted: Counter[str] = Counter()
        self._reached: set[object] = set()
        self._failed: dict[object, StatusWord] = {}
        self._allowed: set[tuple[object, str, str]] = set()
        self._paused: set[tuple[object, str, str]] = set()

    def rejects(self, name: str) -> bool:
        """Whether the case rejects calls of this tool by name. Unlisted tools may be rejected."""
        return name.casefold() in self._rejected

    def would_approve(self, name: str) -> bool:
        """Whether the case approves calls of this tool, for tools that may ask while they run."""
        return name.casefold() in self._approved

    def approves(self, name: str, arguments: object) -> bool:
        """Answer a request for approval, and record that it was made. Names ignore case."""
        is_approved = self.would_approve(name)
        self._granted[key_of_call(name, arguments)] += is_approved
        return is_approved

    def most_replies(self, own: int | None) -> int:
        """The limit of replies for a run whose agent has an `own` limit, or none.

        The suite only sees calls that reach a tool, so the library has to count the others. The limit
        is one reply more than the case allows calls, because the last one may have none.
        """
        return min(self._most_calls + 1, own or self._most_calls + 1)

    def cut(self, transcript: list[Message]) -> list[Message] | None:
        """The run up to the last call that the case allows; None if it allows all."""
        calling = [index for index, message in enumerate(transcript) if message.get("tool_calls")]
        return None if len(calling) <= self._most_calls else transcript[: calling[self._most_calls]]

    def stop(
        self, reason: str, transcript: list[Message], kind: StopKind | None = None
    ) -> list[Message]:
        """The run of an agent that its library ended, such as at a limit or a guardrail.

        Raises AgentGaveUp, unless the limit is the case's, as `most_replies` sets it.
        """
        cut = self.cut(transcript)
        if cut is None:
            raise AgentGaveUp(reason, self.with_marks(transcript), kind)
        return self.with_marks(cut)

    def allow(self, id: object) -> None:
        """Record a call that runs without asking the suite."""
        self._reached.add(id)

    async def answer(self, id: object, name: str, arguments: object, agent: str | None = None) -> str:
        """The answer to a call, which this agent made."""
        self._reached.add(id)
        content: str = await self.ask(name, arguments, **_by(agent))
        return content

    async def refusal(
        self, id: object, name: str, arguments: object, agent: str | None = None
    ) -> str | None:
        """None if the agent's own tool may run, or else the answer to give instead."""
        key = (id, name, str(arguments))
        if key in self._paused:
            self._paused.discard(key)
            return None
        content: str | None = await self.ask(name, arguments, **_by(agent))
        if content is None:
            self._reached.add(id)
            self._allowed.add(key)
        return content

    def pause(self, id: object, name: str, arguments: object) -> None:
        """Record that a tool waits for an approval, so that an allowed call will start again.

        The id alone does not identify the call, because a model may give two calls the same id.
        """
        self._paused |= {(id, name, str(arguments))} & self._allowed

    @contextmanager
    def watching(self, id: object, *signals: type[BaseException]) -> Iterator[None]:
        """Record whether a call's tool raises. `signals` are exceptions that only steer the library.

        Agents and libraries make a text of an exception, from which nobody can tell it. The last try
        of a call counts.
        """
        self._failed.pop(id, None)
        try:
            yield
        except signals:
            raise
        except BaseException as error:
            self.note_failure(id, error)
            raise

    def note_failure(self, id: object, error: object) -> None:
        """Record that a call ended in an error. If that is a time-out, it may have run all the same."""
        is_late = isinstance(error, asyncio.CancelledError)
        self._failed[id] = "unknown" if is_late else error_or_unknown(f"{type(error).__name__} {error}")

    def with_marks(self, transcript: list[Message]) -> list[Message]:
        """The run, with the calls that failed, or that the library or an agent's guard stopped."""
        answered = {message["tool_call_id"] for message in transcript if message["role"] == "tool"}
        for word in set(self._failed.values()):
            ids = [id for id, each in self._failed.items() if each == word]
            transcript = with_fields(transcript, ids, status=word)
        refused = answered - self._reached
        return self.with_approvals(with_fields(transcript, refused, status="refused"))

    def with_approvals(self, transcript: list[Message]) -> list[Message]:
        """The run, with the answers to approved calls marked. A request is for one call."""
        left = self._granted.copy()
        approved = set()
        for message in transcript:
            for id, name, arguments in call_fields(message):
                key = key_of_call(name, arguments)
                if left[key]:
                    left[key] -= 1
                    approved.add(id)
        return with_fields(transcript, approved, approved=True)


def _by(agent: str | None) -> dict[str, str]:
    return {} if agent is None else {"agent": agent}


def said_by(message: Message, agent: str | None, *, inner: bool = False) -> Message:
    """An assistant's message as one of this agent, which another one may have used as a tool."""
    return {**message, **_by(agent), **({"inner": True} if inner else {})}


def stop_of(error: Exception, endings: Endings) -> StopKind | None:
    return next(kind for each, kind in endings.items() if isinstance(error, each))


def unstoppable(what: str) -> ValueError:
    """The error for an agent of which something runs without asking the suite first."""
    return ValueError(
        f"run_tools: {what}, which cannot be stopped before it runs; remove it, or leave run_tools out, "
        "so that the suite answers"
    )


RunAgent = Callable[[list[Message], AgentToolbox], Awaitable[list[Message]]]


def as_model(run: RunAgent, run_tools: bool) -> Model:
    """Make a model's callable. It returns the messages of the assistant and the tools."""

    async def with_suite_tools(
        messages: list[Message],
        tools: list[Message],
        call_tool: Ask,
        approvals: Mapping[str, str],
        most_calls: int,
        max_rounds: int | None,
    ) -> list[Message]:
        toolbox = AgentToolbox(list(map(_tool, tools)), call_tool, approvals, most_calls, max_rounds)
        return await run(messages, toolbox)

    async def with_own_tools(
        messages: list[Message],
        tools: list[Message],
        before_tool: Ask,
        approvals: Mapping[str, str],
        most_calls: int,
        max_rounds: int | None,
    ) -> list[Message]:
        return await run(messages, AgentToolbox(None, before_tool, approvals, most_calls, max_rounds))

    return with_own_tools if run_tools else with_suite_tools


def _tool(tool: Message) -> AgentTool:
    function = tool["function"]
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    return AgentTool(
        function["name"], function.get("description") or "", parameters, bool(function.get("strict"))
    )


def only_text(message: Message) -> str:
    """The text of a message. Raises ValueError for other contents, such as an image."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    if any(part.get("type") != "text" for part in content):
        raise ValueError("this agent accepts only text, and the prompt has other parts")
    return "\n".join(part["text"] for part in content)


def call_fields(message: Message) -> Iterator[tuple[str, str, str]]:
    """The id, name and arguments (JSON) of each call in a message."""
    for call in message.get("tool_calls") or ():
        yield call["id"], call["function"]["name"], call["function"]["arguments"]


def key_of_call(name: str, arguments: object) -> str:
    """What identifies a call where libraries have no ids: its name and arguments, or their JSON."""
    try:
        read = json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        read = arguments
    return json.dumps([name, to_jsonable_python(read, fallback=str)], sort_keys=True)


def names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    """The name of each call by its id."""
    return {id: name for message in messages for id, name, _ in call_fields(message)}


def split_prompt(messages: list[Message]) -> tuple[list[Message], str]:
    """The messages before the last one, and the text of the last one, which is the user's."""
    *before, last = messages
    if last["role"] != "user":
        raise ValueError("expected a prompt that ends with a text of the user")
    return before, only_text(last)


def without_system(messages: list[Message]) -> tuple[str, list[Message]]:
    """The system prompts as one text, and the other messages."""
    system = [only_text(message) for message in messages if message["role"] in SYSTEM_ROLES]
    rest = [message for message in messages if message["role"] not in SYSTEM_ROLES]
    return "\n\n".join(system), rest


def assistant(
    text: str, calls: Sequence[tuple[str | None, str, object]] = (), *, usage: Message | None = None
) -> Message:
    """An assistant's message. `calls` are ids, names and arguments."""
    message: Message = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
            for id, name, arguments in calls
        ]
    return {**message, "usage": usage} if usage else message


def tool_answer(id: str, content: object, status: StatusWord | None = None) -> Message:
    """The answer to a call, with the status of a call that did not succeed."""
    answer = {"role": "tool", "tool_call_id": id, "content": _json(content)}
    if status == "error":
        status = error_or_unknown(answer["content"])
    return {**answer, "status": status} if status else answer


def with_fields(messages: list[Message], ids: Collection[object], **fields: object) -> list[Message]:
    """The run, with these fields in the answers to calls with these ids."""
    return [
        {**message, **fields}
        if message["role"] == "tool" and message["tool_call_id"] in ids
        else message
        for message in messages
    ]


def token_usage(prompt: int | None, completion: int | None, reasoning: int | None = None) -> Message:
    """The tokens of an answer."""
    details = {"reasoning_tokens": reasoning or 0}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "completion_tokens_details": details,
    }


def with_output(messages: list[Message], output: object) -> list[Message]:
    """The run, with the library's final output as the assistant's last text."""
    if not messages or messages[-1]["role"] == "tool" or messages[-1].get("tool_calls"):
        messages = [*messages, assistant("")]
    return [*messages[:-1], {**messages[-1], "content": _json(output)}]


def without_calls(messages: list[Message], names: Collection[str]) -> list[Message]:
    """The run without the calls of these names, which libraries use for other things than tools."""
    gone = {id for id, name in names_of_calls(messages).items() if name in names}
    kept = []
    for message in messages:
        calls = [call for call in message.get("tool_calls") or () if call["id"] not in gone]
        if message.get("tool_call_id") not in gone:
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            kept.append({**rest, "tool_calls": calls} if calls else rest)
    return kept


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value, fallback=str))
