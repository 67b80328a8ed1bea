"""Runs of models that LangSmith traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, objects_in
from ..chats import conversations
from ..conversation import Item
from ..format import Format, each_record
from ..records import Record
from .langchain import chat_message


def _holds(value: Any) -> bool:
    return _is_run(value) or any(map(_is_run, as_list(as_mapping(value).get("post"))))


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and "run_type" in value and isinstance(value.get("inputs"), dict)


def _read(record: Record) -> Iterator[Item]:
    value = as_mapping(record.value)
    if "post" not in value:
        yield from _of_run(record, value)
        return
    # As it is sent: the end of a run in another part than its beginning.
    ends = {each.get("id"): each for each in objects_in(value.get("patch"))}
    for run in objects_in(value["post"]):
        yield from _of_run(record, {**run, **ends.get(run.get("id"), {})})


def _of_run(record: Record, run: Mapping[str, Any]) -> Iterator[Item]:
    if run.get("run_type") != "llm":
        return  # chains and tools: the calls of a model in them are runs of their own
    given, answer = as_mapping(run.get("inputs")), as_mapping(run.get("outputs"))
    asked = as_mapping(as_mapping(run.get("extra")).get("invocation_params"))
    messages = as_list(given.get("messages"))
    if len(messages) == 1 and isinstance(messages[0], list):  # of a batch of one
        messages = messages[0]
    made = {**asked, **given, "messages": [chat_message(each) for each in messages]}
    yield from conversations(record, {**made, "response": _reply(answer)})


def _reply(answer: Any) -> Any:
    generations = as_list(answer.get("generations"))
    first = generations[0] if generations else None
    first = first[0] if isinstance(first, list) and first else first
    if not isinstance(first, dict):
        return answer or None
    ended = as_mapping(first.get("generation_info")).get("finish_reason")
    return {"choices": [{"message": chat_message(first.get("message")), "finish_reason": ended}]}


FORMAT = Format(
    title="LangSmith runs",
    recognised="`run_type` and `inputs`",
    calls="of each call of a model",
    example="runs.jsonl",
    holds=_holds,
    read=each_record(_read),
    over=("openai", "langchain"),
)
