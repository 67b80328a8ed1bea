"""OpenAI's Batch: files of requests and of answers, joined by `custom_id`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...record.untrusted import as_mapping
from ..chats import conversations
from ..format import EachRecord, Format, Source
from ..items import Item
from ..records import Record, UnusableError


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and {"custom_id", "body", "url"} <= value.keys()


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and {"custom_id", "response"} <= value.keys()


def _holds(value: Any) -> bool:
    return _is_request(value) or _is_answer(value)


def _read(sources: Sequence[Source]) -> Iterator[Item]:
    records = [record for source in sources for record in source.records]
    requests = {str(r.value["custom_id"]): r for r in records if _is_request(r.value)}
    answered = {str(r.value["custom_id"]) for r in records if _is_answer(r.value)}

    def read(record: Record) -> Iterator[Item]:
        id = str(record.value["custom_id"])
        if _is_request(record.value):
            if id not in answered:
                raise UnusableError("it has no answer: also name the file of answers")
            return
        if id not in requests:
            raise UnusableError("its request is not here: also name the file of requests")
        response = as_mapping(record.value["response"])
        if response.get("status_code", 200) != 200 or record.value.get("error"):
            raise UnusableError("the answer is an error from the provider")
        value = {"request": requests[id].value["body"], "response": response.get("body")}
        yield from (each._replace(id=id) for each in conversations(record, value))

    yield from EachRecord(read)(sources)


FORMAT = Format(
    title="requests and answers of a batch",
    recognised="`custom_id` with `body` or `response`, of OpenAI's Batch: both files together",
    calls="of each answer",
    example="batch_in.jsonl batch_out.jsonl",
    holds=_holds,
    read=_read,
    is_strict=True,
    over=("openai", "anthropic"),
)
