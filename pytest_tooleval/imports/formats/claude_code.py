"""Sessions of Claude Code, as it writes them below `~/.claude/projects`, or with `stream-json`.

A reply has several lines of one `message.id`, perhaps with answers of tools between them. A compaction
or a rewind ends a conversation, and begins another. Sub-agents (`isSidechain`) are where the call is
that started them, and also alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...record.transcript import AGENT, INNER, Message, text_of
from ...record.untrusted import as_mapping, as_text, objects_in
from ...replies.call_like import may_be_call, unknown_calls
from ...replies.outside_transcript import NO_NAME, OutsideTranscript
from ..chats import chat_messages
from ..error_texts import CLAUDE_CODE, with_statuses
from ..format import EachFile, Format
from ..items import Item, call_message
from ..records import Record, UnusableError

_SPEAKERS = ("user", "assistant")
# Lines beside the conversation, some of which repeat its calls.
_BESIDE = (
    "system", "progress", "attachment", "summary", "file-history-snapshot", "queue-operation",
    "stream_event",
)  # fmt: skip
_REMINDER = re.compile(r"\s*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
# What the program itself writes in the user's name.
_NOTICES = ("<command-", "<local-command-", "Caveat: The messages below were generated")
_NO_PROMPT = (
    "this stream lacks the prompt: import the session below ~/.claude/projects, or pass "
    "--replay-user-messages to claude"
)
_SYNTHETIC = "<synthetic>"  # the model of error messages


@dataclass
class _Thread:
    """A conversation so far: its records, each with the message that it holds, if any."""

    first: Record
    is_side: bool = False
    entries: list[tuple[dict[str, Any], dict[str, Any] | None]] = field(default_factory=list)

    def add(self, entry: dict[str, Any], message: dict[str, Any] | None) -> None:
        """Add a record and its message; a part of an earlier reply joins it."""
        if message is not None and message["role"] == "assistant":
            # Another line of the same reply has its id.
            id = message.get("id")
            earlier = next(
                (each for _, each in self.entries if id and each and each.get("id") == id), None
            )
            if earlier is not None:
                blocks = [block for block in message["content"] if block not in earlier["content"]]
                earlier["content"] += blocks
                message = None
        self.entries.append((entry, message))

    @property
    def session(self) -> str:
        return as_text(as_mapping(self.first.value).get("sessionId"))

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [message for _, message in self.entries if message is not None]

    @property
    def uses(self) -> Iterator[dict[str, Any]]:
        """The blocks of its calls."""
        for message in self.messages:
            blocks = objects_in(message["content"]) if message["role"] == "assistant" else ()
            yield from (block for block in blocks if block.get("type") == "tool_use")

    def lacks(self, entry: dict[str, Any]) -> bool:
        """Whether a line that is not known may hold a call, and one that is not in the thread."""
        calls = [call_message(use.get("id"), use.get("name"), use.get("input")) for use in self.uses]
        return bool(unknown_calls({as_text(entry.get("type")): entry}, [{"tool_calls": calls}]))

    def index(self, uuid: object) -> int | None:
        numbers = (n for n, (entry, _) in enumerate(self.entries) if entry.get("uuid") == uuid)
        return next(numbers, None)

    def answers_after(self, index: int) -> bool:
        later = (message for _, message in self.entries[index + 1 :])
        return any(message and message["role"] == "assistant" for message in later)


def _holds(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") not in _SPEAKERS:
        return False
    return not {"sessionId", "session_id"}.isdisjoint(value) and isinstance(value.get("message"), dict)


def _of_session(records: Iterable[Record]) -> Iterator[Record]:
    """The lines as in a session. Those of a stream do not say what they follow."""
    last: dict[str, str] = {}
    for number, record in enumerate(records):
        entry = record.value
        if isinstance(entry, dict) and "session_id" in entry and "sessionId" not in entry:
            agent, uuid = as_text(entry.get("parent_tool_use_id")), f"{number}"
            above = last.get(agent)
            last[agent] = uuid
            ids = {"sessionId": entry["session_id"], "uuid": uuid, "parentUuid": above}
            side = {"isSidechain": True, "agentId": agent} if agent else {}
            yield replace(record, value={**entry, **ids, **side})
        else:
            yield record


def _threads(records: list[Record]) -> Iterator[Record]:
    """Each thread, with the sub-agents of all."""
    threads: dict[tuple[str, str], _Thread] = {}
    done: list[_Thread] = []
    roots: dict[str, str] = {}  # the first line of a sub-agent without an id, by each of its lines
    for record in _of_session(records):
        entry = record.value
        if not isinstance(entry, dict) or not ("uuid" in entry or _may_be_call(entry)):
            continue  # titles, snapshots, ...
        is_side = entry.get("isSidechain") is True
        uuid, agent = as_text(entry.get("uuid")), as_text(entry.get("agentId"))
        if is_side and not agent:
            agent = roots[uuid] = roots.get(as_text(entry.get("parentUuid")), uuid)
        key = as_text(entry.get("sessionId")), agent
        thread = threads.get(key)
        message = _message(entry)
        if thread is not None and _begins_anew(entry, message):
            done.append(threads.pop(key))
            thread = None
        if thread is None:
            thread = threads[key] = _Thread(record, is_side)
        index = thread.index(entry.get("parentUuid")) if _is_prompt(message) else None
        if index is not None and thread.answers_after(index):
            # The user went back to an earlier point.
            done.append(thread)
            thread = threads[key] = _Thread(thread.first, is_side, thread.entries[: index + 1])
        if _may_be_call(entry) and thread.lacks(entry):
            message = {"role": "assistant", "content": [{"type": "unknown line", "line": entry}]}
        thread.add(entry, message)
    every = sorted([*done, *threads.values()], key=lambda each: each.first.line)
    inner = _started(every)
    return (replace(thread.first, value=(thread, inner)) for thread in every)


def _started(threads: list[_Thread]) -> dict[str, tuple[str, _Thread]]:
    """The sub-agents, with their names, by the ids of the calls that started them."""
    started: dict[str, tuple[str, _Thread]] = {}
    for side in (each for each in threads if each.is_side and each.messages):
        near = (each for each in threads if each is not side and each.session == side.session)
        for use in (use for each in near for use in each.uses):
            id, arguments = as_text(use.get("id")), as_mapping(use.get("input"))
            if id not in started and as_text(arguments.get("prompt")) == text_of(side.messages[0]):
                started[id] = as_text(arguments.get("subagent_type")) or as_text(use.get("name")), side
                break
    return started


def _begins_anew(entry: dict[str, Any], message: dict[str, Any] | None) -> bool:
    return entry.get("subtype") == "compact_boundary" or (
        entry.get("parentUuid") is None
        and (entry.get("isCompactSummary") is True or _is_prompt(message))
    )


def _is_prompt(message: dict[str, Any] | None) -> bool:
    if message is None or message["role"] != "user":
        return False
    return not any(block.get("type") == "tool_result" for block in objects_in(message["content"]))


def _message(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The message of a record as the API has it, without what the program adds; None without one."""
    message = as_mapping(entry.get("message"))
    role, content = message.get("role"), message.get("content")
    if entry.get("type") not in _SPEAKERS or role not in _SPEAKERS or entry.get("isMeta") is True:
        return None
    if message.get("model") == _SYNTHETIC:
        return None
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [each for block in objects_in(content) if (each := _without_notices(block)) is not None]
    fields = {key: message[key] for key in ("id", "model", "stop_reason") if message.get(key)}
    return {**fields, "role": role, "content": blocks} if blocks else None


def _may_be_call(entry: dict[str, Any]) -> bool:
    """Whether a line that is neither a message nor known to be beside them may hold a call."""
    role = as_mapping(entry.get("message")).get("role")
    is_message = entry.get("type") in _SPEAKERS and role in _SPEAKERS
    return not is_message and entry.get("type") not in _BESIDE and may_be_call(entry)


def _without_notices(block: dict[str, Any]) -> dict[str, Any] | None:
    if block.get("type") != "text":
        return block
    text = _REMINDER.sub("", as_text(block.get("text")))
    return None if not text or text.startswith(_NOTICES) else {**block, "text": text}


def _read(record: Record) -> Iterator[Item]:
    thread, inner = record.value
    messages = thread.messages
    if not any(message["role"] == "assistant" for message in messages):
        return
    if "session_id" in as_mapping(thread.first.value) and not any(map(_is_prompt, messages)):
        raise UnusableError(_NO_PROMPT)
    models = (as_text(message.get("model")) for message in messages)
    yield OutsideTranscript(
        thread.first.location,
        _with_inner(thread, inner, (thread,)),
        id=thread.session,
        model=next(filter(None, models), NO_NAME),
        is_inner=any(side is thread for _, side in inner.values()),
    )


def _with_inner(
    thread: _Thread, inner: Mapping[str, tuple[str, _Thread]], around: tuple[_Thread, ...]
) -> list[Message]:
    """The chat messages of a thread, with those of the sub-agents after the calls that started them."""
    fields = ("role", "content", "stop_reason")
    plain = [{key: each[key] for key in fields if key in each} for each in _joined(thread.messages)]
    messages: list[Message] = []
    for message in with_statuses(chat_messages(plain), CLAUDE_CODE):
        messages.append(message)
        for call in message.get("tool_calls") or ():
            name, side = inner.get(str(call.get("id")), ("", None))
            if side is None or any(side is each for each in around):
                continue
            for nested in _with_inner(side, inner, (*around, side)):
                if nested["role"] in ("assistant", "tool"):
                    named = {AGENT: name} if nested["role"] == "assistant" else {}
                    messages.append({**named, **nested, INNER: True})
    return messages


def _joined(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, with the lines of one of the user as one."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and last["role"] == message["role"] == "user":
            last["content"] = [*last["content"], *message["content"]]
        else:
            joined.append({**message})
    return joined


FORMAT = Format(
    title="Claude Code sessions",
    recognised="lines with `sessionId` and a `message`, as below `~/.claude/projects`; the output of "
    "`--output-format stream-json` with its prompt",
    tools="never recorded",
    calls="of each reply; compacted and rewound parts apart",
    example="session.jsonl",
    holds=_holds,
    read=EachFile(_read, _threads),
    over=("openai", "tools"),
)
