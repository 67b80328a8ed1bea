"""Logs of Inspect (inspect_ai): `.json`, and `.eval`, which is an archive of the same."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import Problem, SuiteError
from ...record.untrusted import as_mapping, as_text, objects_in
from ..chats import conversations
from ..conversation import Item, called
from ..format import EachRecord, Format
from ..records import Record, objects_of

_MOST_BYTES = 512 << 20
_ATTACHED = "attachment://"
# By the type of a call's error; any other is an error of the tool.
_STATUSES = {"timeout": "unknown", "approval": "refused"}
_MALFORMED = "(arguments that could not be parsed)"


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    return isinstance(found.get("samples"), list) and "task" in as_mapping(found.get("eval"))


def _samples(record: Record) -> Iterator[Record]:
    model = as_mapping(record.value["eval"]).get("model")
    for number, sample in enumerate(objects_of(record.value["samples"], "samples")):
        yield record.inside({**sample, "model": model}, f"samples[{number}]")


def _read(place: Record) -> Iterator[Item]:
    sample = place.value
    attached = as_mapping(sample.get("attachments"))
    events = objects_in(sample.get("events"))
    asked = next((each for each in events if each.get("event") == "model"), {})
    messages = objects_of(_resolved(sample.get("messages"), attached), "messages")
    made: dict[str, Any] = {"model": sample["model"], "messages": [*map(_message, messages)]}
    if isinstance(asked.get("tools"), list):
        made["tools"] = _resolved(asked["tools"], attached)
        choice = asked.get("tool_choice")
        made["tool_choice"] = choice if isinstance(choice, dict) else as_text(choice)
    error = as_text(as_mapping(sample.get("error")).get("message"))
    for run in conversations(place, made):
        yield run._replace(id=str(sample.get("id", "")), error=error)


def _resolved(value: Any, attached: Mapping[str, Any]) -> Any:
    """The value with its attachments in place of their names."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_resolved(each, attached) for each in value]
    if isinstance(value, dict):
        return {key: _resolved(each, attached) for key, each in value.items()}
    return value


def _message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        content = [part for part in objects_of(content, "content") if part.get("type") != "reasoning"]
    made = {"role": message.get("role"), "content": content}
    if message.get("role") == "tool":
        failed = as_mapping(message.get("error"))
        made |= {"tool_call_id": message.get("tool_call_id"), "is_error": bool(failed)}
        status = _STATUSES.get(as_text(failed.get("type")))
        return {**made, "status": status} if status else made
    calls = [_call(each) for each in objects_of(message.get("tool_calls"), "tool_calls")]
    return {**made, "tool_calls": calls} if calls else made


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _MALFORMED if call.get("parse_error") else call.get("arguments")
    return called(call.get("id"), call.get("function"), arguments)


def read_archive(path: Path) -> dict[str, Any]:
    """The log in an archive, as the JSON of one. Raises SuiteError."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES >> 20} MiB")
            names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
            header = next(
                name for name in ("header.json", "_journal/start.json") if name in archive.namelist()
            )
            log: dict[str, Any] = json.loads(archive.read(header))
            return {**log, "samples": [json.loads(archive.read(name)) for name in names]}
    except NotImplementedError:  # Zstandard, before Python 3.14
        message = "this Python cannot unpack it; convert it: inspect log convert --to json"
    except Exception as error:  # each kind of compression has its own
        message = f"no log of Inspect: {error or 'it has no header'}"
    raise SuiteError([Problem(str(path), 1, 1, "", message)])


FORMAT = Format(
    title="logs of Inspect",
    recognised="`eval` and `samples`, in `.json` or `.eval`",
    calls="of each answer",
    example="logs/",
    holds=_holds,
    read=EachRecord(_read, _samples),
    is_strict=True,
)
