"""Result files of tau2-bench: the simulations of a domain's tasks, with one model as the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from ...errors import Problem
from ...record.endings import NoAnswer
from ...record.transcript import Message, Usage
from ...record.untrusted import as_mapping, as_text
from ...text import shown
from ..chats import chat_messages
from ..commands.tau2 import suite_name
from ..conversation import NO_NAME, Conversation, called
from ..format import Format, Source
from ..openai_tools import typed
from ..records import Record, UnusableError, objects_of, read_records

# The benchmark judges finished simulations. If the agent did not finish one, it is wrong.
_ENDED = ("user_stop", "agent_stop")
_BROKEN_OFF = ("max_steps", "too_many_errors", "judge_stop", "agent_error")


class _Simulation(Struct):
    task_id: str
    termination_reason: str
    messages: list[dict[str, Any]] | None = None
    trial: int | None = None
    agent_cost: Annotated[float, Meta(ge=0)] | None = None


class _Info(Struct):
    agent_info: dict[str, Any]
    environment_info: dict[str, Any]


class _Results(Struct):
    """A file of results. In a folder of results, the simulations are files of their own."""

    info: _Info
    simulations: list[_Simulation] | None = None
    simulation_index: list[dict[str, Any]] = []


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
        for simulation, place in sorted(found, key=lambda each: each[0].trial or 0):
            if simulation.messages is None:
                yield replace(place, message="a simulation without messages, such as one of speech")
                continue
            try:
                yield _run(place, results.info, simulation, list(_messages(simulation.messages)))
            except UnusableError as error:
                yield replace(place, message=str(error))


def _simulations(
    source: Source, record: Record, results: _Results
) -> Iterator[tuple[_Simulation, Problem]]:
    """Raises UnusableError if one of them is missing."""
    path = source.path
    if results.simulations is not None:
        for number, simulation in enumerate(results.simulations):
            yield simulation, record.inside(None, f"simulations[{number}]").problem()
        return
    files = {file.stem: file for file in sorted((path.parent / _FOLDER).glob("*.json"))}
    for name in [as_text(entry.get("id")) for entry in results.simulation_index] or files:
        if name not in files:
            raise UnusableError(f"there is no file {_FOLDER}/{shown(name)}.json beside it")
        read, problems = read_records(files[name])
        if problems or len(read) != 1:
            raise UnusableError(f"{_FOLDER}/{shown(name)}.json: expected one simulation as JSON")
        (clean,) = source.beside(files[name], read).records
        simulation = typed(clean.value, _Simulation, f"{_FOLDER}/{shown(name)}.json")
        yield simulation, clean.problem()


def _run(place: Problem, info: _Info, simulation: _Simulation, messages: list[Message]) -> Conversation:
    reason = simulation.termination_reason
    broken_off = reason in _BROKEN_OFF and bool(simulation.messages)
    return Conversation(
        place,
        chat_messages(messages),
        case=f"{suite_name(as_text(info.environment_info.get('domain_name')))}::{simulation.task_id}",
        model=as_text(info.agent_info.get("llm")) or NO_NAME,
        usage=_usage(simulation),
        by_benchmark=True,
        no_answer=NoAnswer("cut_off", f"tau2 ended it by {reason}") if broken_off else None,
        error="" if broken_off or reason in _ENDED else f"tau2 ended it by {reason}",
    )


def _messages(messages: Sequence[dict[str, Any]]) -> Iterator[Message]:
    """The messages as in the chat API, without the greeting, which is not from the model."""
    first = next((n for n, each in enumerate(messages) if each.get("role") == "user"), len(messages))
    for each in messages[first:]:
        message: Message = {"role": each.get("role"), "content": each.get("content")}
        calls = objects_of(each.get("tool_calls"), "tool_calls")
        if message["role"] == "tool":
            failed = {"status": "error"} if each.get("error") is True else {}
            message |= {"tool_call_id": each.get("id"), **failed}
        elif calls:
            made = (called(one.get("id"), one.get("name"), one.get("arguments")) for one in calls)
            message["tool_calls"] = list(made)
        yield message


def _usage(simulation: _Simulation) -> Usage:
    replies = [each for each in (simulation.messages or ())[1:] if each.get("role") == "assistant"]

    def total(name: str) -> int | None:
        """The sum over all replies; None if one is unknown."""
        counts = [as_mapping(each.get("usage")).get(name) for each in replies]
        known = [each for each in counts if isinstance(each, int) and each >= 0]
        return sum(known) or None if len(known) == len(counts) else None

    return Usage(
        prompt_tokens=total("prompt_tokens"),
        completion_tokens=total("completion_tokens"),
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
