"""Explains why an answer is not on a cassette: which fields differ from the recorded question."""

from __future__ import annotations

import contextlib
import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

from ...text import first_few, json_text, shorten
from ..exchange.tools import tool_body
from .questions import canonical, definitions, summary

_FIELDS = (
    *("model", "api", "api_base", "stream", "messages", "tools", "tool_choice", "sampling"),
    *("tools_answer", "trial"),
)
# For a call that ran on a server.
_RUN_FIELDS = ("mcp", "model", "api_base", "messages", "tool", "arguments", "trial")
_SHOWN = 60
_LONGEST = 10_000


@dataclass(frozen=True)
class Nearest:
    """The most similar recorded question: its line, and the fields that differ."""

    line: int
    differences: tuple[str, ...]
    only_tools: bool = False

    @property
    def text(self) -> str:
        """How the question differs. The same for all cases that one change concerns."""
        changes = "; ".join(self.differences or ("nothing that can be shown",))
        if self.only_tools:
            return f"changed since the recording: {changes}"
        # Messages are a case's own; anything else may differ in many cases.
        is_own = any(each.startswith("messages: ") for each in self.differences)
        line = f", on line {self.line}," if is_own else ""
        return f"the closest recorded question{line} differs in {changes}"


class _Question(NamedTuple):
    """A recorded question, the number of its line, and the texts of the fields that are compared."""

    line: int
    question: Mapping[str, Any]
    texts: tuple[str, ...]


class RecordedQuestions:
    """The questions of a cassette, and the definitions of their tools; read when one is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._definitions: dict[str, Mapping[str, Any]] = {}

    @cached_property
    def _recorded(self) -> Sequence[_Question]:
        return list(self._read())

    @cached_property
    def _by_others(self) -> Mapping[tuple[str, ...], _Question]:
        return {_without_tools(each.texts): each for each in self._recorded}

    def only_tools(self, question: Mapping[str, Any]) -> Nearest | None:
        """The question that differs in its tools alone; fast, however many are recorded."""
        missing = summary(question)
        recorded = self._by_others.get(_without_tools(_texts(missing))) if "tools" in question else None
        if recorded is None:
            return None
        differences = self._differences(question, missing, recorded.question)
        return Nearest(recorded.line, tuple(differences), only_tools=True)

    def nearest(self, question: Mapping[str, Any]) -> Nearest | None:
        """The question with the fewest differing fields; None if none of this kind is recorded."""
        missing = summary(question)
        texts = _texts(missing)
        same: dict[int, list[_Question]] = {}
        for recorded in self._recorded:
            if len(recorded.texts) == len(texts):
                same.setdefault(sum(map(eq, recorded.texts, texts)), []).append(recorded)
        if not same:
            return None
        closest = _most_alike(same[max(same)], missing)
        return Nearest(closest.line, tuple(self._differences(question, missing, closest.question)))

    def _differences(
        self, question: Mapping[str, Any], missing: Mapping[str, Any], recorded: Mapping[str, Any]
    ) -> Iterator[str]:
        for field in _fields(missing):
            if _compared(field, missing) == _compared(field, recorded):
                continue
            if field == "tools":
                yield from self._changed_tools(definitions(question), missing, recorded)
            else:
                yield from _difference(field, recorded.get(field), missing.get(field))

    def _changed_tools(
        self,
        tools: Mapping[str, Mapping[str, Any]],
        missing: Mapping[str, Any],
        recorded: Mapping[str, Any],
    ) -> Iterator[str]:
        """Each changed field of a tool: `find_contact.description: "old" → "new"`."""
        names, before = missing["tools"], recorded.get("tools") or []
        for what, some, others in (("added", names, before), ("removed", before, names)):
            if left := [name for name in some if name not in others]:
                yield f"tools {what}: {first_few(left)}"
        if "definitions" not in recorded:  # by an earlier version
            if names == before:
                yield f"tools: the same names ({json_text(names, _SHOWN)}), but a definition has changed"
            return
        old = dict(zip(before, recorded["definitions"], strict=True))
        for name, hash in zip(names, missing["definitions"], strict=True):
            if old.get(name, hash) == hash:
                continue
            if (definition := self._definitions.get(old[name])) is None:
                yield f"{name}: its definition"
            else:
                yield from _differing(_flat(definition), _flat(tools[hash]), name)
        if names != before and sorted(names) == sorted(before):
            yield "tools: their order"

    def _read(self) -> Iterator[_Question]:
        """Read each readable line."""
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                with contextlib.suppress(*_UNREADABLE):
                    read = json.loads(line)
                    self._definitions.update(read.get("definitions", {}))
                    yield _Question(number, read["asked"], _texts(read["asked"]))


_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, AttributeError)


def _most_alike(questions: Sequence[_Question], missing: Mapping[str, Any]) -> _Question:
    """The question with the most similar messages."""
    best, most = questions[0], -1.0
    # It prepares only its second text.
    matcher = difflib.SequenceMatcher(None, "", canonical(missing["messages"]))
    for question in questions if len(questions) > 1 else ():
        matcher.set_seq1(canonical(question.question.get("messages")))
        if matcher.real_quick_ratio() > most and (alike := matcher.quick_ratio()) > most:
            best, most = question, alike
    return best


def _texts(question: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_compared(field, question) for field in _fields(question))


def _without_tools(texts: tuple[str, ...]) -> tuple[str, ...]:
    at = _FIELDS.index("tools")
    return texts[:at] + texts[at + 1 :]


def _compared(field: str, question: Mapping[str, Any]) -> str:
    """A field as it is compared: a list of tools by its hash."""
    return canonical(question.get("tools_sha256" if field == "tools" else field))


def _fields(question: Mapping[str, Any]) -> Sequence[str]:
    """The fields in which a question to a model, or a call, can differ; none for a listing of tools."""
    if "mcp" not in question:
        return _FIELDS
    return _RUN_FIELDS if "tool" in question else ()


def _flat(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's fields, without the level of `function` or `custom`."""
    others = {field: value for field, value in tool.items() if field not in ("function", "custom")}
    return {**others, **tool_body(tool)}


def _difference(field: str, old: Any, new: Any) -> Iterator[str]:
    if field == "messages":
        yield f"messages: {_messages_difference(old, new)}"
    elif isinstance(old, dict) and isinstance(new, dict):
        yield from _differing(old, new, field)
    elif field == "model" and (agent := _agent(old)) and agent == _agent(new):
        yield f"the code of the module {agent.partition(':')[0]}"
    else:
        yield f"{field}: {_cut(old, new)} → {_cut(new, old)}"


def _agent(model: object) -> str:
    """`my_agent:answer` of an agent with a digest of its code; empty for other models."""
    name, _, digest = str(model).partition("@")
    return name.removeprefix("callable:") if digest and name.startswith("callable:") else ""


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], within: str) -> Iterator[str]:
    """The innermost members that differ: `tools_answer.world.code: "4b1d" → "90aa"`."""
    for key in _changed(old, new):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differing(before, after, f"{within}.{key}")
        else:
            yield f"{within}.{key}: {_shown(old, new, key)} → {_shown(new, old, key)}"


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one has, or whose values differ. Null counts as a value."""
    keys = dict.fromkeys([*old, *new])
    return [k for k in keys if k not in old or k not in new or canonical(old[k]) != canonical(new[k])]


def _shown(values: Mapping[str, Any], others: Mapping[str, Any], key: str) -> str:
    return _cut(values[key], others.get(key)) if key in values else "(nothing)"


def _messages_difference(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> str:
    for i, (before, after) in enumerate(zip(old, new, strict=False), start=1):
        if canonical(before) == canonical(after):
            continue
        key = _changed(before, after)[0]
        return f"message {i}, {key}: {_shown(before, after, key)} → {_shown(after, before, key)}"
    return f"{len(old)} → {len(new)}"


def _cut(value: object, other: object) -> str:
    """A long value, cut to start shortly before the first difference."""
    if isinstance(value, str) and isinstance(other, str):
        if len(value) <= _SHOWN:
            return json_text(value, _SHOWN + 2)
        start = _start(value, other)
        return ("…" if start else "") + json_text(shorten(value[start:], _SHOWN), _SHOWN + 2)
    text = json_text(value, _LONGEST)
    start = _start(text, json_text(other, _LONGEST)) if len(text) > _SHOWN else 0
    return ("…" if start else "") + shorten(text[start:], _SHOWN)


def _start(text: str, other: str) -> int:
    same = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), len(other))
    return max(0, min(same, len(text)) - _SHOWN // 3)
