"""Recorded answers: one file per suite, one line per answer, JSON.

An answer is found by its key, the SHA-256 of the canonical question: everything that may change
the answer and nothing that may not (no time-outs, no credentials, no ids of tool calls). Errors
are never recorded.
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

from .client import ChatAnswer
from .client import ChatRequest
from .models import ModelSpec
from .secrets import scrub
from .secrets import secret_values

RecordMode = Literal["none", "once", "new", "all"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)
VERSION = 1


def question(spec: ModelSpec, request: ChatRequest) -> dict[str, Any]:
    """What is asked, as far as it may change the answer, without credentials."""
    return {
        "version": VERSION,
        "model": spec.identity,
        "api_base": spec.api_base,
        "messages": _normalised(request.messages),
        "tools": list(request.tools),
        "tool_choice": request.tool_choice if request.tools else None,
        "sampling": dict(request.sampling),
        "trial": request.trial,
    }


def key_of(asked: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON, in hexadecimal."""
    return hashlib.sha256(_canonical(asked).encode()).hexdigest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _normalised(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
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

    def __init__(self, path: Path, mode: RecordMode) -> None:
        self.path = path
        self.mode: RecordMode = mode
        self.damaged: list[int] = []
        self._lock = threading.Lock()
        self._answers: dict[str, dict[str, Any]] | None = None
        self._existed = False

    def find(self, key: str) -> tuple[ChatAnswer, str | None] | None:
        """The recorded answer and the `tool_choice` it was given to, or None."""
        if self.mode == "all":
            return None
        with self._lock:
            found = self._load().get(key)
        if found is None:
            return None
        fields: dict[str, Any] = {name: found.get(name) for name in ChatAnswer.__dataclass_fields__}
        return ChatAnswer(**fields), found.get("tool_choice")

    @property
    def may_ask(self) -> bool:
        """Whether a question that is not recorded may be asked of the model."""
        with self._lock:
            self._load()
        return self.mode in ("new", "all") or (self.mode == "once" and not self._existed)

    def add(
        self, key: str, asked: Mapping[str, Any], answer: ChatAnswer, tool_choice: str | None
    ) -> None:
        """Append the answer to the file, at once and in one write."""
        stored = {field: getattr(answer, field) for field in ChatAnswer.__dataclass_fields__}
        stored["tool_choice"] = tool_choice
        tools = asked["tools"]
        shown = {
            **{field: value for field, value in asked.items() if field not in ("tools", "version")},
            "tools": [tool["function"]["name"] for tool in tools],
            "tools_sha256": hashlib.sha256(_canonical(tools).encode()).hexdigest()[:16],
        }
        line = json.dumps({"key": key, "asked": shown, "answer": stored}, ensure_ascii=True)
        # The placeholder is plain text, so a line that held a key stays valid JSON.
        data = (scrub(line, secret_values()) + "\n").encode()
        with self._lock:
            answers = self._load()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            answers[key] = stored

    def _load(self) -> dict[str, dict[str, Any]]:
        if self._answers is not None:
            return self._answers
        self._answers = {}
        self._existed = self.path.is_file()
        if not self._existed:
            return self._answers
        for number, line in enumerate(self.path.read_bytes().splitlines(), start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                key, answer = entry["key"], entry["answer"]
                if not isinstance(answer["message"], dict):
                    raise TypeError
            except (ValueError, TypeError, KeyError, RecursionError):
                self.damaged.append(number)
                continue
            # Of two answers to one question the later one holds: `all` appends.
            self._answers[key] = answer
        return self._answers
