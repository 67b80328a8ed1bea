"""Recorded answers: one file per suite, one line per answer, JSON.

An answer is found by its key, the SHA-256 of the canonical question: everything that may change
the answer and nothing that may not (no time-outs, no credentials, no ids of tool calls), as it was
asked, whatever the model is known to refuse. Errors are never recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Literal
from typing import get_args

import msgspec
from msgspec import structs

from ...errors import ModelError
from ...secrets import scrub_json
from ...secrets import secret_values
from ..clients.base import ChatAnswer
from ..clients.base import ChatRequest
from ..models.spec import ModelSpec
from .why_missing import canonical
from .why_missing import nearest
from .why_missing import recorded_questions
from .why_missing import summary

RecordMode = Literal["none", "once", "new", "all"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)
VERSION = 3
_EXPLAINED = 10


class NotRecorded(ModelError):
    """The answer to `asked` is not on the cassette, and it must not be asked for."""

    def __init__(self, asked: Mapping[str, Any], message: str = "") -> None:
        super().__init__(message, kind="replay")
        self.asked = asked


def question(spec: ModelSpec, request: ChatRequest) -> dict[str, Any]:
    """What is asked, as far as it may change the answer, without credentials."""
    asked: dict[str, Any] = {
        "model": spec.identity,
        "api_base": spec.base,
        "messages": normalised(request.messages),
        "tools": list(request.tools),
        "tool_choice": request.tool_choice if request.tools else None,
        "sampling": dict(request.sampling),
        "trial": request.trial,
    }
    if spec.callable and request.executor and (known_by := request.executor.known_by):
        asked["tools_answer"] = known_by  # it may call them itself
    return asked


def key_of(asked: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(asked).encode()).hexdigest()


def normalised(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages with their tool calls' ids numbered in order: providers draw them at random."""
    numbers: dict[Any, str] = {}

    def number(id: Any) -> str:
        return numbers.setdefault(str(id), f"call_{len(numbers)}")

    result = []
    for message in messages:
        copy = dict(message)
        if isinstance(copy.get("tool_calls"), list):
            copy["tool_calls"] = [
                {**call, "id": number(call.get("id"))} if isinstance(call, Mapping) else call
                for call in copy["tool_calls"]
            ]
        if "tool_call_id" in copy:
            copy["tool_call_id"] = number(copy["tool_call_id"])
        result.append(copy)
    return result


class Cassette:
    """The answers of one suite. Safe to use from several threads.

    Modes, as in vcrpy: `none` replays and never asks; `once` records only while there is no file;
    `new` replays what is there and records the rest; `all` asks everything anew.
    """

    def __init__(self, path: Path, mode: RecordMode, existed: bool | None = None) -> None:
        self.path = path
        self.mode: RecordMode = mode
        self.damaged: list[int] = []
        self._lock = threading.Lock()
        self._answers: dict[str, ChatAnswer] = {}
        # Whether there was a file before the run; looked up when first needed if not given.
        self._existed = existed
        self._read_bytes = self._read_lines = 0
        self._has_folder = False
        self._secrets: tuple[str, ...] | None = None
        self._explained = 0
        self._questions: list[tuple[int, dict[str, Any]]] | None = None

    def find(self, key: str) -> ChatAnswer | None:
        """The recorded answer, or None. Raises ModelError when the file cannot be used."""
        if self.mode == "all":
            return None
        with self._lock:
            if key not in self._answers:
                # Another process may have added it: a worker of the same run, or the one before.
                self._read_on()
            return self._answers.get(key)

    def known(self, key: str) -> ChatAnswer | None:
        """Like `find`, but only of what has been read already (`is_empty` reads)."""
        if self.mode == "all":
            return None
        with self._lock:
            return self._answers.get(key)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to replay, as far as the file has been read."""
        if self.mode == "all":
            return True
        with self._lock:
            if self._existed is None:
                self._read_on()
            return not self._answers

    def why_missing(self, asked: Mapping[str, Any], *, always: bool = False) -> str:
        """How the question differs from the recorded one that is most like it.

        Each is compared with all that is recorded, so only the first few are unless `always`.
        """
        self._explained += 1
        if self._explained > _EXPLAINED and not always:
            return "see `tooleval cassette explain`"
        if self._questions is None:
            self._questions = list(recorded_questions(self.path))
        found = nearest(self._questions, asked)
        if found is None:
            return "nothing is recorded there"
        return f"the nearest recorded question, in line {found.line}, differs in " + "; ".join(
            found.differences or ("nothing that is shown",)
        )

    def not_recorded(self, asked: Mapping[str, Any], verb: str, whom: str) -> NotRecorded:
        """The error that an answer is not here, and that the mode forbids to `verb` `whom` for it."""
        return NotRecorded(
            asked,
            f"not on the cassette {self.path}, and --tooleval-record={self.mode} forbids to "
            f"{verb} {whom}: {self.why_missing(asked)}; --tooleval-record=new {verb}s and records it",
        )

    @property
    def may_ask(self) -> bool:
        """Whether a question that is not recorded may be asked of the model."""
        with self._lock:
            if self._existed is None:
                self._read_on()
        return self.mode in ("new", "all") or (self.mode == "once" and not self._existed)

    def add(self, key: str, asked: Mapping[str, Any], answer: ChatAnswer) -> None:
        """Append the answer to the file, at once and in one write."""
        # Scrubbed before it becomes JSON, which would write a quote inside a key differently. The
        # answer itself has been scrubbed already, and must replay as it was scored.
        if self._secrets is None:
            self._secrets = secret_values()
        shown = scrub_json(summary(asked), self._secrets)
        line = json.dumps({"version": VERSION, "key": key, "asked": shown, "answer": _stored(answer)})
        with self._lock:
            try:
                self._append(line.encode() + b"\n")
            except OSError as error:
                raise self._unusable("written", error) from None
            self._answers[key] = answer

    def _append(self, data: bytes) -> None:
        if not self._has_folder:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._has_folder = True
        with self.path.open("ab+", buffering=0) as file:
            size = file.tell()
            if size > 0:
                file.seek(-1, os.SEEK_END)
                # A line that a killed run left unfinished must not take this one with it.
                data = data if file.read(1) == b"\n" else b"\n" + data
            file.write(data)
            end = file.tell()
        # Nobody else has written, neither before nor between: there is nothing to read.
        if size == self._read_bytes and end == size + len(data):
            self._read_bytes = end
            self._read_lines += 1

    def _read_on(self) -> None:
        """Take in the whole lines that the file has and this object has not seen."""
        try:
            size = self.path.stat().st_size
        except OSError:
            size = None
        if self._existed is None:
            self._existed = size is not None
        if size in (None, self._read_bytes):
            return
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_bytes)
                new, newline, unfinished = file.read().rpartition(b"\n")
        except OSError as error:
            raise self._unusable("read", error) from None
        first = self._read_bytes == 0
        self._read_bytes += len(new) + len(newline)
        for line in new.split(b"\n") if newline else ():
            self._take(line)
        if unfinished.strip() and first:
            # The end of a file is a whole line without its newline, or what a killed run left.
            number = self._read_lines + 1
            try:
                key, found = self._read_line(unfinished)
            except _DAMAGE:
                self.damaged.append(number)
            else:
                self._answers.setdefault(key, found)

    def _take(self, line: bytes) -> None:
        self._read_lines += 1
        if not line.strip() or self._read_lines in self.damaged:
            return
        try:
            key, found = self._read_line(line)
        except _DAMAGE:
            self.damaged.append(self._read_lines)
        else:
            # Of two answers to one question the later one holds: `all` appends.
            self._answers[key] = found

    def _read_line(self, line: bytes) -> tuple[str, ChatAnswer]:
        """The key and the answer of a line; ValueError, TypeError or KeyError when it is damaged."""
        entry = json.loads(line)
        key, stored = entry["key"], entry["answer"]
        if entry.get("version") != VERSION:
            raise ModelError(
                f"the cassette {self.path} has version {entry.get('version', 1)} of the format, where "
                f"this pytest-tooleval reads version {VERSION}; delete it and record anew",
                kind="replay",
            )
        return key, msgspec.convert(stored, ChatAnswer)

    def _unusable(self, what: str, error: OSError) -> ModelError:
        return ModelError(f"the cassette {self.path} cannot be {what}: {error.strerror}", kind="replay")


def _stored(answer: ChatAnswer) -> dict[str, Any]:
    """The answer as a line shows it, without what is not known of it."""
    stored = {name: each for name, each in structs.asdict(answer).items() if each not in (None, {}, ())}
    if answer.earlier is not None:
        stored["earlier"] = [_stored(each) for each in answer.earlier]
    return stored


_DAMAGE = (ValueError, TypeError, KeyError, RecursionError, msgspec.ValidationError)
