"""Result files of tau2-bench: the simulations of a domain's tasks, with one model as the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from typing import Any

from msgspec import Meta
from msgspec import Struct

from ...errors import Problem
from ...record.endings import NoAnswer
from ...record.transcript import Message
from ...record.transcript import Usage
from ..conversation import NO_NAME
from ..conversation import Conversation
from ..openai_tools import UnusableError
from ..openai_tools import typed
from ..records import Record
from .tau2 import suite_name

# The benchmark judges finished simulations. If the agent did not finish one, it is wrong.
_ENDED = ("user_stop", "agent_stop")
_BROKEN_OFF = ("max_steps", "too_many_errors", "judge_stop", "agent_error")


class _Call(Struct):
    name: str
    arguments: dict[str, Any]
    id: str = ""


class _Usage(Struct):
    prompt_tokens: Annotated[int, Meta(ge=0)] = 0
    completion_tokens: Annotated[int, Meta(ge=0)] = 0


class _Message(Struct):
    role: str
    content: str | None = None
    id: str = ""
    tool_calls: list[_Call] | None = None
    requestor: str = "assistant"
    usage: _Usage | None = None


class _Simulation(Struct):
    task_id: str
    termination_reason: str
    messages: list[_Message]
    trial: int | None = None
    agent_cost: Annotated[float, Meta(ge=0)] | None = None


class _Agent(Struct):
    llm: str | None = None


class _Environment(Struct):
    domain_name: str


class _Info(Struct):
    agent_info: _Agent
    environment_info: _Environment


class _Results(Struct):
    info: _Info
    simulations: list[_Simulation]


WHAT = "results of tau2"


def reads(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("simulations"), list)


def read(path: Path, records: list[Record]) -> Iterator[Conversation | Problem]:
    """The simulations, those of a task in the order of their trials."""
    for record in records:
        try:
            results = typed(record.value, _Results, "the results of tau2")
        except UnusableError as error:
            yield record.problem(path, str(error))
            continue
        numbered = sorted(enumerate(results.simulations), key=lambda each: each[1].trial or 0)
        for number, simulation in numbered:
            yield _run(path, record.line, f"simulations[{number}]", results.info, simulation)


def _run(path: Path, line: int, field: str, info: _Info, simulation: _Simulation) -> Conversation:
    reason = simulation.termination_reason
    broken_off = reason in _BROKEN_OFF and bool(simulation.messages)
    return Conversation(
        str(path),
        line,
        list(_messages(simulation.messages)),
        field,
        case=f"{suite_name(info.environment_info.domain_name)}::{simulation.task_id}",
        model=info.agent_info.llm or NO_NAME,
        usage=_usage(simulation),
        by_benchmark=True,
        no_answer=NoAnswer("cut_off", f"tau2 ended it by {reason}") if broken_off else None,
        error="" if broken_off or reason in _ENDED else f"tau2 ended it by {reason}",
    )


def _messages(messages: Sequence[_Message]) -> Iterator[Message]:
    """The messages as in the chat API, without the greeting, which is not from the model."""
    first = next((n for n, each in enumerate(messages) if each.role == "user"), len(messages))
    for each in messages[first:]:
        if each.role == "tool":
            # The benchmark plays all calls.
            answer = {"tool_call_id": each.id, "content": each.content or "", "status": "executed"}
            yield {"role": "tool", **answer}
            continue
        message: Message = {"role": each.role, "content": each.content}
        if each.tool_calls:
            message["tool_calls"] = [_call(call) for call in each.tool_calls]
        yield message


def _call(call: _Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _usage(simulation: _Simulation) -> Usage:
    usages = [each.usage for each in simulation.messages[1:] if each.role == "assistant"]
    known = [usage for usage in usages if usage is not None]
    complete = known if len(known) == len(usages) else []
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in complete) or None,
        completion_tokens=sum(usage.completion_tokens for usage in complete) or None,
        cost_usd=simulation.agent_cost,
    )
