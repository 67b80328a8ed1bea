"""Chat transcripts: each record is a conversation, with messages as in OpenAI's chat API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from ...errors import Problem
from ...record.transcript import Usage
from ..chats import chat_messages
from ..conversation import NO_NAME, Conversation
from ..openai_tools import UnusableError, typed
from ..records import Record

_Count = Annotated[int, Meta(ge=0)]
_Amount = Annotated[float, Meta(ge=0)]


class _Usage(Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class _Conversation(Struct):
    messages: list[Any]
    case: str | int | None = None
    id: str | int | None = None
    model: str | None = None
    usage: _Usage | None = None
    cost_usd: _Amount | None = None
    latency_s: _Amount | None = None
    finish_reason: str | None = None
    tools: list[dict[str, Any]] | None = None


WHAT = 'chat transcripts ({"messages": [...]})'


def reads(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("messages"), list)


def read(path: Path, records: list[Record]) -> Iterator[Conversation | Problem]:
    """The conversation of each record."""
    for record in records:
        try:
            yield _run(path, record)
        except UnusableError as error:
            yield record.problem(path, str(error))


def _run(path: Path, record: Record) -> Conversation:
    found = typed(record.value, _Conversation, "a conversation")
    tokens = found.usage or _Usage()
    usage = Usage(
        prompt_tokens=tokens.prompt_tokens,
        completion_tokens=tokens.completion_tokens,
        cost_usd=found.cost_usd,
        latency_s=found.latency_s,
    )
    messages = chat_messages(found.messages)
    if messages and messages[-1]["role"] == "assistant" and found.finish_reason:
        messages[-1].setdefault("finish_reason", found.finish_reason)
    return Conversation(
        str(path),
        record.line,
        messages,
        record.field,
        case="" if found.case is None else str(found.case),
        id="" if found.id is None else str(found.id),
        model=found.model or NO_NAME,
        usage=usage,
        tools=found.tools,
    )
