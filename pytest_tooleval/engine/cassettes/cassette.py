"""Recorded answers: one file per suite, one line of JSON per answer.

An answer is found by its question's key. Errors are never recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from msgspec import structs

from ...errors import ModelError, os_reason
from ...files.appending import Appender, LineSpan, line_at, try_appending
from ...files.locks import ByteLocks
from ...secrets import scrub_json, secret_values
from ...text import first_few, json_text, plural
from ..exchange.chat import ChatAnswer
from ..exchange.errors import NotRecorded
from ..models.modules import fingerprint_of, short_name
from .questions import definitions, key_of, summary
from .why_missing import RecordedQuestions

CASSETTE_VERSION = 3
_EXPLAINED = 10
_SHOWN = 40


class _Line(msgspec.Struct):
    """A line without its question.

    `modules` is the name of the set of modules that the agent imported. The first line with this
    name lists them in `digests`. `definitions` has tools by the hashes in the questions: each in the
    first line that needs it.
    """

    key: str
    answer: dict[str, Any]
    version: int = 1
    modules: str = ""
    digests: dict[str, str] = {}
    definitions: dict[str, Any] = {}


_LINE = msgspec.json.Decoder(_Line)


class Cassette:
    """The answers of one suite. Safe to use from several threads.

    `may_ask`: unrecorded questions may be sent to the model. Answers from before `since` are not
    replayed. With `must_record`, no request is sent if its answer cannot be recorded. Otherwise, write
    errors are only reported. `claims` are for a file that other processes use at the same time.
    `fingerprint` reads a module's fingerprint as it is today.
    """

    def __init__(
        self,
        path: Path,
        *,
        may_ask: bool = True,
        since: str = "",
        must_record: bool = False,
        appender: Appender | None = None,
        claims: ByteLocks | None = None,
        fingerprint: Callable[[Path], str] = fingerprint_of,
    ) -> None:
        self.path = path
        self.may_ask = may_ask
        self.damaged: list[int] = []
        # Why no answer may be replayed or recorded: a line of another format.
        self._unusable = ""
        self._must_record = must_record
        self._since = since
        self._appender = appender or Appender()
        self._claims = claims
        self._real_path = os.path.realpath(path) if claims else ""
        self._write_tried = False
        # Why the last answer could not be written.
        self._unwritten: OSError | None = None
        self._unrecorded = 0
        # The number of answers that this process has written.
        self.written = 0
        self._lock = threading.Lock()
        # Where the answer to each key is in the file, which may be larger than memory.
        self._places: dict[str, LineSpan] = {}
        # Those that could not be written.
        self._unwritten_answers: dict[str, ChatAnswer] = {}
        # Those in use, so that a key always gives the same object.
        self._in_use: WeakValueDictionary[str, ChatAnswer] = WeakValueDictionary()
        self._was_read = False
        self._read_bytes = self._read_lines = 0
        self._fingerprint = fingerprint
        # Agents' modules by name, those that have changed, and the name of each answer's by its key.
        self._digests: dict[str, Mapping[str, str]] = {}
        self._changed: dict[str, list[str]] = {}
        self._modules: dict[str, str] = {}
        # The changed modules whose answers were asked again.
        self._renewed: set[str] = set()
        # The hashes of the tools that the file defines.
        self._defined: set[str] = set()
        self._secrets: tuple[str, ...] | None = None
        self._explained = 0
        self._questions = RecordedQuestions(path)

    def find(self, key: str, folder: Path | None = None) -> ChatAnswer | None:
        """The recorded answer, or None. Raises ModelError if the file cannot be used.

        There is none if a module of the agent, below its `folder`, has changed since.
        """
        with self._lock:
            answer = self._replayed(key, folder)
            if answer is None and (self._claims or not self._was_read):
                # Another process may have added it: a worker of this run, or an earlier run.
                self._read_on()
                answer = self._replayed(key, folder)
            return answer

    def claim(self, key: str) -> bool:
        """Claim a question, unless another process is already sending it for the same file."""
        if self._claims is None:
            return True
        return self._claims.take(self._claim_on(key)) is not False

    def release(self, key: str) -> None:
        if self._claims is not None:
            self._claims.drop(self._claim_on(key))

    def _claim_on(self, key: str) -> int:
        """A 60-bit number, so that two questions almost never share one."""
        name = f"{self._real_path} {key}".encode(errors="replace")
        return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") >> 4

    def peek(self, key: str, folder: Path | None = None) -> ChatAnswer | None:
        """Like `find`, but only among the lines that were read already. `is_empty` reads."""
        with self._lock:
            return self._replayed(key, folder)

    def _replayed(self, key: str, folder: Path | None) -> ChatAnswer | None:
        answer = self._unwritten_answers.get(key)
        if answer is None and not self._is_outdated(key, folder):
            answer = self._in_use.get(key) or self._read_again(key)
        return answer

    def _is_outdated(self, key: str, folder: Path | None) -> bool:
        name = self._modules.get(key, "")
        if name not in self._changed and folder is not None:
            then = self._digests.get(name, {})
            self._changed[name] = sorted(
                each for each in then if self._fingerprint(folder / each) != then[each]
            )
        return bool(self._changed.get(name))

    def _read_again(self, key: str) -> ChatAnswer | None:
        span = self._places.get(key)
        if span is None:
            return None
        answer = None
        with self._opened() as file, suppress(ModelError, *_DAMAGE):  # if the file was replaced
            answer = self._read_line(line_at(file, span)).get(key)
        if answer is not None:
            self._in_use[key] = answer
        return answer

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to replay in the lines read so far."""
        self.require_reading()
        return not (self._places or self._unwritten_answers)

    def require_reading(self) -> None:
        """Raise ModelError if the file cannot be used."""
        with self._lock:
            if not self._was_read:
                self._read_on()

    def why_missing(self, question: Mapping[str, Any], *, always: bool = False) -> str:
        """Which of the agent's modules changed, or how the question differs from the most similar one.

        Comparing with all recorded questions is slow, so only the first few are explained unless
        `always`.
        """
        if changed := self._changed.get(self._modules.get(key_of(question), "")):
            return f"changed since the recording: {first_few(changed)}"
        nearest = self._questions.only_tools(question)
        if nearest is None:
            self._explained += 1
            if self._explained > _EXPLAINED and not always:
                return "see `tooleval cassette explain`"
            nearest = self._questions.nearest(question)
        return "nothing is recorded on it" if nearest is None else nearest.text

    def not_recorded(self, question: Mapping[str, Any], verb: str, whom: str) -> NotRecorded:
        """The error for a missing answer, if there may be no request (to `verb` `whom`)."""
        return NotRecorded(
            question,
            f"no recorded answer in {self.path}, and --tooleval-record=none does not "
            f"{verb} {whom}: {self.why_missing(question)}; --tooleval-record=new {verb}s and records it",
        )

    def require_writing(self) -> None:
        """Raise ModelError if answers must be recorded but cannot be, before paying for any."""
        if self._must_record and not self._write_tried:
            self._write_tried = True
            try:
                try_appending(self.path)
            except OSError as error:
                self._unwritten = error
        if self._must_record and self._unwritten is not None:
            raise ModelError(
                f"not asked, because the answer could not be recorded: {self._unwritable}",
                kind="replay",
            )

    def add(
        self,
        key: str,
        question: Mapping[str, Any],
        answer: ChatAnswer,
        modules: Mapping[str, str] = {},
    ) -> None:
        """Append the answer to the file in one write. It can be replayed in this run even if that fails.

        `modules` are the digests of the modules that the agent imported when it answered.
        """
        # Scrubbed before it becomes JSON, which would write a quote inside a key differently. The
        # answer itself has been scrubbed already, and must replay as it was scored.
        if self._secrets is None:
            self._secrets = secret_values()
        shown = scrub_json(summary(question), self._secrets)
        line: dict[str, Any] = {
            "version": CASSETTE_VERSION,
            "key": key,
            "asked": shown,
            "answer": _stored(answer),
        }
        name = short_name(modules) if modules else ""
        if modules:
            line |= {"modules": name} if name in self._digests else {"modules": name, "digests": modules}
        tools = definitions(question)
        if new := {hash: tools[hash] for hash in tools if hash not in self._defined}:
            line["definitions"] = scrub_json(new, self._secrets)
        data = json.dumps(line).encode() + b"\n"
        with self._lock:
            self._in_use[key] = answer
            self._renewed.update(self._changed.get(self._modules.get(key, ""), ()))
            try:
                start, end = self._appender.append(self.path, data)
            except OSError as error:
                self._unwritten = error
                self._unrecorded += 1
                self._places.pop(key, None)
                self._unwritten_answers[key] = answer
                return
            self.written += 1
            self._defined.update(tools)
            self._note(key, name, modules)
            self._places[key] = LineSpan(end - len(data), len(data))
            self._unwritten_answers.pop(key, None)
            # No other process has written meanwhile, so there is nothing to read.
            if start == self._read_bytes and end == start + len(data):
                self._read_bytes = end
                self._read_lines += 1

    @property
    def _unwritable(self) -> str:
        assert self._unwritten is not None
        return f"the cassette {self.path} cannot be written: {os_reason(self._unwritten)}"

    @property
    def problems(self) -> list[str]:
        """A line for each reason why the cassette is incomplete, or was asked again."""
        lines = []
        if self._renewed:
            names = first_few(sorted(self._renewed))
            lines.append(
                f"cassette {self.path}: asked again what was recorded before a change of {names}"
            )
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged))
            lines.append(f"cassette {self.path}: line {numbers} cannot be read and was skipped")
        if self._unrecorded:
            answers = plural(self._unrecorded, "answer")
            lines.append(f"{self._unwritable}; {answers} scored and not recorded")
        return lines

    def _note(self, key: str, name: str, modules: Mapping[str, str]) -> None:
        """Record which modules an answer was given with."""
        if modules:
            self._digests[name] = modules
        if name:
            self._modules[key] = name
        else:
            self._modules.pop(key, None)

    def _read_on(self) -> None:
        """Read the complete lines that were added since the last read. Raises ModelError, every time."""
        if self._unusable:
            raise ModelError(self._unusable, kind="replay")
        try:
            size = self.path.stat().st_size
        except OSError:
            size = None
        first = self._read_bytes == 0
        if size not in (None, self._read_bytes):
            with self._opened() as file:
                file.seek(self._read_bytes)
                for line in file:
                    # An unfinished line may be complete, or what a killed run left.
                    if line.endswith(b"\n") or first:
                        self._take(line)
        self._was_read = True

    @contextmanager
    def _opened(self) -> Iterator[BufferedReader]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            text = f"the cassette {self.path} cannot be read: {os_reason(error)}"
            raise ModelError(text, kind="replay") from None

    def _take(self, line: bytes) -> None:
        span, number = LineSpan(self._read_bytes, len(line)), self._read_lines + 1
        is_finished = line.endswith(b"\n")
        if is_finished:
            self._read_bytes += len(line)
            self._read_lines = number
        if not line.strip() or number in self.damaged:
            return
        try:
            for key in self._read_line(line):
                # The later of two answers to one question counts, because `all` appends.
                if is_finished or key not in self._places:
                    self._places[key] = span
        except _DAMAGE:
            self.damaged.append(number)

    def _read_line(self, line: bytes) -> dict[str, ChatAnswer]:
        """The answer of a line by its key; empty if it may not be replayed.

        Raises ValueError or RecursionError if the line is damaged.
        """
        try:
            entry = _LINE.decode(line)
        except msgspec.DecodeError:  # another version's fields; and models write NaN and lone surrogates
            value = json.loads(line)
            self._require_version(
                value.get("version", CASSETTE_VERSION) if isinstance(value, dict) else CASSETTE_VERSION
            )
            entry = msgspec.convert(value, _Line)
        self._require_version(entry.version)
        self._defined.update(entry.definitions)
        if self._since and str(entry.answer.get("answered_at", "")) <= self._since:
            return {}
        self._note(entry.key, entry.modules, entry.digests)
        return {entry.key: msgspec.convert(entry.answer, ChatAnswer)}

    def _require_version(self, version: object) -> None:
        if version != CASSETTE_VERSION:
            self._unwritten_answers.clear()
            self._places.clear()
            self._unusable = (
                f"the cassette {self.path} has version {json_text(version, _SHOWN)} of the format, "
                f"but this pytest-tooleval reads version {CASSETTE_VERSION}; delete it and record again"
            )
            raise ModelError(self._unusable, kind="replay")


def _stored(answer: ChatAnswer) -> dict[str, Any]:
    """The answer as stored in a line, without unknown values."""
    stored = {
        name: value
        for name, value in zip(answer.__struct_encode_fields__, structs.astuple(answer), strict=True)
        if value is not False and value not in (None, {}, ())
    }
    if answer.earlier is not None:
        stored["earlier"] = [_stored(each) for each in answer.earlier]
    return stored


_DAMAGE = (ValueError, RecursionError)
