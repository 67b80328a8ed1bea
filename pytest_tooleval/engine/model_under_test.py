"""Plays a turn: queries a model until its reply needs no answer, or runs an agent's own loop."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from msgspec import structs

from ..matchers.modes import MODES
from ..record.calls import ToolCall
from ..record.names import KnownTools
from ..record.status import CallStatus
from ..record.transcript import Message, Reply
from ..replies.recovery import prose_of
from ..suite.case import ResolvedCase
from ..suite.resolved import find_tool
from ..suite.tools import OneTool, Tool
from .asking.context import sampling_for
from .exchange.chat import ChatRequest, ReadingOptions
from .exchange.reply import AsksModels
from .exchange.tools import naming, with_prefix
from .models.spec import ModelSpec
from .tools.hosted import hosted_tools
from .tools.toolbox import Toolbox, ends_chain

_REFUSED: CallStatus = "refused"
_MOST_PAUSES = 20


def model_request(
    case: ResolvedCase,
    spec: ModelSpec,
    sampling: Mapping[str, Any],
    messages: Sequence[Message],
    toolbox: Toolbox,
    trial: int = 0,
) -> ChatRequest:
    """The request to the model under test."""
    tools = [*(_offered(tool, case) for tool in toolbox.tools), *hosted_tools(case, spec)]
    exact = MODES[case.param_scoring].exact_names
    reading = ReadingOptions(exact, spec.text_calls, case.tool_prefix)
    request = ChatRequest(tuple(messages), tools, _choice(case), sampling, trial, toolbox, reading)
    return with_prefix(request) if reading.prefix else request


def _offered(tool: Tool, case: ResolvedCase) -> dict[str, Any]:
    """A suite's tool, with the description of its namespace."""
    if tool.namespace is None:
        return tool.wire
    space = {"name": tool.namespace, "description": case.namespaces.get(tool.namespace, "")}
    return {**tool.wire, "namespace": space}


def _choice(case: ResolvedCase) -> str | dict[str, Any]:
    """The case's `tool_choice` for the chat API."""
    choice = case.tool_choice
    if isinstance(choice, str):
        return choice
    if isinstance(choice, OneTool):
        return _named(case, choice.tool)
    tools = [_named(case, name) for name in choice.allowed_tools]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}


def _named(case: ResolvedCase, name: str) -> dict[str, Any]:
    tool = find_tool(case, name)
    assert tool is not None  # the suite's checks
    return naming(_offered(tool, case))


class ModelUnderTest:
    """The model or agent of one trial."""

    __slots__ = ("_case", "_models", "_sampling", "_spec", "_trial")

    def __init__(self, case: ResolvedCase, spec: ModelSpec, models: AsksModels, trial: int) -> None:
        self._case = case
        self._spec = spec
        self._models = models
        self._sampling = sampling_for(spec, case)
        self._trial = trial

    async def take_turn(self, messages: list[Message], toolbox: Toolbox) -> list[Reply]:
        """Return the replies of a turn, and add its messages to `messages`. Raises ModelError."""
        case, replies = self._case, list[Reply]()
        while True:
            request = model_request(case, self._spec, self._sampling, messages, toolbox, self._trial)
            received = await self._models.ask(self._spec, request)
            answer = received.last
            if received.is_agents_loop:
                toolbox.require_altered(received.all)
                if answer.cached:
                    await toolbox.repeat(received.all)
                for reply in received.all:
                    messages += [] if reply.is_inner else [_said(reply), *reply.tool_answers]
                return [*replies, *received.all]
            may_go_on = answer.is_paused and len(replies) < _MOST_PAUSES
            if may_go_on and not await toolbox.forbids(answer.calls):
                replies.append(answer)
                messages.append(_said(answer))
                continue
            rounds = 1 + sum(not each.is_paused for each in replies)
            goes_on = rounds < case.round_limit and not self._ends(answer)
            replies.append(
                await self._answered(answer, messages, toolbox) if goes_on else self._cut_off(answer)
            )
            if not replies[-1].tool_answers:
                messages.append(_said(answer))
                return replies

    def _ends(self, reply: Reply) -> bool:
        """Whether the turn ends with this reply."""
        is_unusable = reply.no_answer is not None or bool(reply.unread)
        return is_unusable or not reply.to_answer or ends_chain(self._case, reply.calls)

    def _cut_off(self, reply: Reply) -> Reply:
        """Mark calls after which a conversation has no reply left as refused, as they do not run."""
        if self._ends(reply) or self._case.kind != "conversation":
            return reply
        return structs.replace(reply, statuses=(_REFUSED,) * len(reply.calls))

    async def _answered(self, reply: Reply, messages: list[Message], toolbox: Toolbox) -> Reply:
        """The reply with the answers to its calls, which are added to `messages`.

        If a call is forbidden, there are no answers.
        """
        ids = _ids(reply, len(messages))
        carried = carried_back(reply, ids, toolbox.known_tools)
        results = await toolbox.answer_calls(reply.calls, [*messages, carried])
        if results is None:
            ended = tuple("ok" if call.hosted else _REFUSED for call in reply.calls)
            return structs.replace(reply, statuses=ended)
        answers: tuple[Message, ...] = tuple(
            {"role": "tool", "tool_call_id": id, "content": result.content}
            for id, call, result in zip(ids, reply.calls, results, strict=True)
            if not call.hosted
        )
        messages += [carried, *answers]
        return structs.replace(
            reply,
            tool_answers=answers,
            statuses=tuple(each.status for each in results),
            ran_by_suite=tuple(each.by_suite for each in results),
        )


def _said(reply: Reply) -> Message:
    """The reply's message without null content, which providers refuse if there are no calls."""
    return {**reply.message, "content": reply.message.get("content") or ""}


def _ids(reply: Reply, position: int) -> list[str]:
    """The id under which to answer each call: its own, unless that is missing or taken."""
    ids: list[str] = []
    taken = {call.id for call in reply.calls}
    for number, call in enumerate(reply.calls):
        new = (f"call_{position}_{other}" for other in count(number))
        free = (id for id in new if id not in taken and id not in ids)
        ids.append(call.id if call.id and call.id not in ids else next(free))
    return ids


def carried_back(reply: Reply, ids: Sequence[str], offered: KnownTools) -> dict[str, Any]:
    """The assistant's message for the next request, unchanged, with thinking blocks and signatures.

    The calls are rewritten only if a provider would refuse one: if it was recovered from text, has
    no usable id or name, or has arguments that are not a JSON object. A model's mistake must show in
    its score, not as an error of the next request. Rewriting leaves out calls that the provider ran,
    because nobody answers those.
    """
    data = reply.message
    if _is_sound(data, reply.calls, ids):
        return data
    kept = {key: value for key, value in data.items() if key != "function_call"}
    if reply.format == "recovered":
        # Without the calls, which must not be sent twice.
        kept["content"] = prose_of(reply.text, offered) or None
    raw = data.get("tool_calls")
    raws = raw if isinstance(raw, list) and len(raw) == len(ids) else [None] * len(ids)
    calls = [_wire(*each) for each in zip(ids, reply.calls, raws, strict=True) if not each[1].hosted]
    return {**kept, "tool_calls": calls}


def _is_sound(data: Mapping[str, Any], calls: Sequence[ToolCall], ids: Sequence[str]) -> bool:
    raw = data.get("tool_calls")
    if not isinstance(raw, list) or len(raw) != len(calls):
        return False
    return all(
        call.name
        and call.arguments is not None
        and member.get("id") == id
        and _is_of(ToolCall.coerce(member).name, call.name)
        for member, call, id in zip(raw, calls, ids, strict=True)
    )


def _is_of(own_name: str, name: str) -> bool:
    """Whether the model's name for a tool fits: without the namespace, or with it before a `_`."""
    return bool(own_name) and f".{name}".replace(".", "_").endswith(f"_{own_name}".replace(".", "_"))


def _wire(id: str, call: ToolCall, raw: object) -> dict[str, Any]:
    """A rewritten call. `raw` is the model's version, if there is one."""
    own_name = ToolCall.coerce(raw).name if isinstance(raw, Mapping) else ""
    name = own_name if _is_of(own_name, call.name) else call.name
    arguments = {"invalid_arguments": call.raw_arguments} if call.arguments is None else call.arguments
    function = {"name": name or "unknown", "arguments": json.dumps(arguments)}
    space = {"namespace": raw["namespace"]} if isinstance(raw, Mapping) and "namespace" in raw else {}
    return {"id": id, "type": "function", "function": function, **space}
