"""Transcripts from files and folders, whatever their format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import Problem, SuiteError
from ...record.transcript import Message, text_of
from ...secrets import redacted, without_key_values
from ...suite.discovery import SUITE_ENDING
from ...suite.source import MAX_PROBLEMS
from ...text import json_text, shown
from ..conversation import Conversation
from ..formats import formats_with
from ..records import read_records

_ENDINGS = (".json", ".jsonl")
_MOST_BYTES = 512 << 20
_MOST_CHARACTERS = 8 << 20  # of one conversation


def read_transcripts(paths: Sequence[Path]) -> list[Conversation]:
    """All runs in these files and folders, in order.

    Raises SuiteError if any part cannot be read, as that could be a run that failed.
    """
    runs: list[Conversation] = []
    problems: list[Problem] = []
    for path in {each.resolve(): each for each in _files(paths)}.values():
        for each in _read(path):
            (problems if isinstance(each, Problem) else runs).append(each)  # type: ignore[arg-type]
    if not runs and not problems:
        problems = [Problem(str(path), 1, 1, "", "no transcripts") for path in paths]
    if problems:
        raise SuiteError(problems[:MAX_PROBLEMS])
    return runs


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    are_parts = [module.is_part for _, module in formats_with("is_part")]
    for path in paths:
        found = [path]
        if path.is_dir():
            names = (each for each in sorted(path.rglob("*")) if each.suffix in _ENDINGS)
            found = [each for each in names if each.is_file() and not each.name.endswith(SUITE_ENDING)]
            found = [each for each in found if not any(is_part(each) for is_part in are_parts)]
            if not found:
                raise SuiteError([Problem(str(path), 1, 1, "", "no *.json or *.jsonl in this folder")])
        yield from found


def _read(path: Path) -> Iterator[Conversation | Problem]:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        message = f"more than {_MOST_BYTES >> 20} MiB; split the file"
        raise SuiteError([Problem(str(path), 1, 1, "", message)])
    read, problems = read_records(path)
    yield from problems
    # What looks like a key goes when the case is known, which may name it.
    values = without_key_values([record.value for record in read])
    records = [replace(record, value=value) for record, value in zip(read, values, strict=True)]
    if not records:
        return
    first = records[0]
    readers = [module for _, module in formats_with("reads")]
    reader = next((each for each in readers if each.reads(first.value)), None)
    if reader is None:
        *most, last = (each.WHAT for each in readers)
        expected = f"{', '.join(most)} or {last}"
        yield first.problem(path, f"expected {expected}, got {json_text(first.value)}")
        return
    for each in reader.read(path, records):
        yield each if isinstance(each, Problem) else _bounded(each)


def _bounded(run: Conversation) -> Conversation | Problem:
    """The run without secrets, pictures and files; or a problem if it is too large."""
    messages = [_plain(message) for message in run.messages]
    size = sum(len(text_of(each)) + len(str(each.get("tool_calls") or "")) for each in messages)
    if size > _MOST_CHARACTERS:
        return run.problem(f"a conversation of more than {_MOST_CHARACTERS >> 20} million characters")
    model, case, id, error = redacted([run.model, run.case, run.id, run.error])
    # The name of the model becomes part of node ids.
    return run._replace(messages=messages, model=shown(model, 100), case=case, id=id, error=error)


def _plain(message: Message) -> Message:
    """The message with a word in place of each picture or file."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": "\n".join(map(_text, content))}


def _text(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else f"[{kind}]"
