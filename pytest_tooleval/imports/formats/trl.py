"""Prompts and completions as TRL trains on them: `prompt` and `completion`, or `chosen`."""

from __future__ import annotations

from typing import Any

from ...record.untrusted import as_mapping, objects_in
from ..chats import conversation_reader
from ..format import Format
from ..records import objects_of

_ANSWERS = ("completion", "chosen")


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    messages = objects_in(found.get("prompt"))
    return bool(messages) and "role" in messages[0] and any(key in found for key in _ANSWERS)


def _convert(value: Any) -> Any:
    prompt = objects_of(value["prompt"], "prompt")
    answer = next(value[key] for key in _ANSWERS if key in value)
    replies = (
        objects_of(answer, "completion")
        if isinstance(answer, list)
        else [{"role": "assistant", "content": answer}]
    )
    if replies[: len(prompt)] == prompt:  # `chosen` may repeat it
        replies = replies[len(prompt) :]
    made = {key: value[key] for key in ("tools", "id", "case") if key in value}
    return {**made, "messages": prompt, "completion": replies}


FORMAT = Format(
    title="prompts and completions",
    recognised="`prompt`, a list of messages, and `completion` or `chosen`, as TRL has them",
    calls="of each completion",
    example="train.jsonl",
    holds=_holds,
    read=conversation_reader(_convert),
    is_strict=True,
    over=("openai",),
)
