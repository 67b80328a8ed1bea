"""Result files of tau2-bench: the simulations of a domain's tasks, with one model as the agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from ...errors import Problem
from ...record.endings import NoAnswer
from ...record.transcript import Message, Usage
from ...text import shown
from ..commands.tau2 import suite_name
from ..conversation import NO_NAME, Conversation
from ..format import Format, Source
from ..openai_tools import typed
from ..records import Record, UnusableError, read_records

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
    messages: list[_Message] | None = None
    trial: int | None = None
    agent_cost: Annotated[float, Meta(ge=0)] | None = None


class _Agent(Struct):
    llm: str | None = None


class _Environment(Struct):
    domain_name: str


class _Info(Struct):
    agent_info: _Agent
    environment_info: _Environment


class _Entry(Struct):
    id: str


class _Results(Struct):
    """A file of results. In a folder of results, the simulations are files of their own."""

    info: _Info
    simulations: list[_Simulation] | None = None
    simulation_index: list[_Entry] | None = None


class _Found(NamedTuple):
    """A simulation and its place."""

    simulation: _Simulation
    place: Problem


_FOLDER = "simulations"


def _holds(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return isinstance(value.get("simulations"), list) or {"info", "tasks"} <= value.keys()


def _is_part(path: Path) -> bool:
    """True for a simulation in a folder of results, which is read with `results.json` beside it."""
    return path.parent.name == _FOLDER and (path.parent.parent / "results.json").is_file()


def _read(sources: Sequence[Source]) -> Iterator[Conversation | Problem]:
    """The simulations, those of a task in the order of their trials."""
    for source, record in ((each, record) for each in sources for record in each.records):
        try:
            results = typed(record.value, _Results, "the results of tau2")
            found = list(_simulations(source, record, results))
        except UnusableError as error:
            yield record.problem(str(error))
            continue
        for simulation, place in sorted(found, key=lambda each: each.simulation.trial or 0):
            if simulation.messages is None:
                yield replace(place, message="a simulation without messages, such as one of speech")
            else:
                yield _run(place, results.info, simulation, simulation.messages)


def _simulations(source: Source, record: Record, results: _Results) -> Iterator[_Found]:
    """Raises UnusableError if one of them is missing."""
    path = source.path
    if results.simulations is not None:
        for number, simulation in enumerate(results.simulations):
            yield _Found(simulation, record.inside(None, f"simulations[{number}]").problem())
        return
    files = {file.stem: file for file in sorted((path.parent / _FOLDER).glob("*.json"))}
    for name in [entry.id for entry in results.simulation_index or ()] or files:
        if name not in files:
            raise UnusableError(f"there is no file {_FOLDER}/{shown(name)}.json beside it")
        read, problems = read_records(files[name])
        if problems or len(read) != 1:
            raise UnusableError(f"{_FOLDER}/{shown(name)}.json: expected one simulation as JSON")
        (clean,) = source.beside(files[name], read).records
        simulation = typed(clean.value, _Simulation, f"{_FOLDER}/{shown(name)}.json")
        yield _Found(simulation, clean.problem())


def _run(
    place: Problem, info: _Info, simulation: _Simulation, messages: Sequence[_Message]
) -> Conversation:
    reason = simulation.termination_reason
    broken_off = reason in _BROKEN_OFF and bool(messages)
    return Conversation(
        place,
        list(_messages(messages)),
        case=f"{suite_name(info.environment_info.domain_name)}::{simulation.task_id}",
        model=info.agent_info.llm or NO_NAME,
        usage=_usage(simulation, messages),
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


def _usage(simulation: _Simulation, messages: Sequence[_Message]) -> Usage:
    usages = [each.usage for each in messages[1:] if each.role == "assistant"]
    known = [usage for usage in usages if usage is not None]
    complete = known if len(known) == len(usages) else []
    return Usage(
        prompt_tokens=sum(usage.prompt_tokens for usage in complete) or None,
        completion_tokens=sum(usage.completion_tokens for usage in complete) or None,
        cost_usd=simulation.agent_cost,
    )


FORMAT = Format(
    title="results of tau2",
    recognised="`simulations`, or `info` and `tasks` with a folder of them beside the file",
    tools="",
    calls="of each message",
    example="results.json",
    holds=_holds,
    read=_read,
    is_part=_is_part,
)
