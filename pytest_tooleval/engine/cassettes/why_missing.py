"""Explains why an answer is not on a cassette: which fields differ from the recorded question."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import is_
from pathlib import Path
from typing import Any
from typing import NamedTuple

from ...text import json_text
from ...text import shorten
from ..tool_features import name_of
from .places import Place
from .places import line_at

_FIELDS = ("model", "api_base", "messages", "tools", "tool_choice", "sampling", "tools_answer", "trial")
# For a call that ran on a server.
_RUN_FIELDS = ("mcp", "model", "api_base", "messages", "tool", "arguments", "trial")
_SHOWN = 60
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


@dataclass(frozen=True)
class Nearest:
    """The most similar recorded question: its line, and the fields that differ."""

    line: int
    differences: tuple[str, ...]


class _Tools(tuple[Mapping[str, Any], ...]):
    """The tools of a question, which nothing changes; equal if they are the same objects."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Tools) and len(self) == len(other) and all(map(is_, self, other))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


# Cached, as the cases of a suite have the same tools, which are most of a question.
@lru_cache(maxsize=8)
def _canonical_tools(tools: _Tools) -> str:
    return _CANONICAL.encode(tools)


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces, so that equal values give equal texts."""
    return _CANONICAL.encode(value)


def canonical_question(asked: Mapping[str, Any]) -> str:
    """Like `canonical`, but faster."""
    texts = {field: canonical(value) for field, value in asked.items() if field != "tools"}
    if "tools" in asked:
        texts["tools"] = _canonical_tools(_Tools(asked["tools"]))
    return "{" + ",".join(f'"{field}":{texts[field]}' for field in sorted(texts)) + "}"


def summary(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A question as stored in a cassette: tools by name, with a hash of their definitions.

    A provider's own tool may have only a type.
    """
    shown = {field: value for field, value in asked.items() if field != "tools"}
    if "tools" not in asked:  # a question to a server that runs tools
        return shown
    tools = asked["tools"]
    return {
        **shown,
        "tools": [name_of(tool) or tool["type"] for tool in tools],
        "tools_sha256": hashlib.sha256(_canonical_tools(_Tools(tools)).encode()).hexdigest()[:16],
    }


class _Question(NamedTuple):
    """The line of a recorded question, its place, and a hash of each of its fields."""

    line: int
    place: Place
    hashes: tuple[int, ...]


class RecordedQuestions:
    """The questions of a cassette. Memory has only their places and hashes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: list[_Question] | None = None

    def nearest(self, asked: Mapping[str, Any]) -> Nearest | None:
        """The question with the fewest differing fields; None if none of this kind is recorded."""
        missing = summary(asked)
        fields = _fields(missing)
        own = _hashes(missing)
        if self._known is None:
            self._known = list(self._read())
        same: dict[int, list[_Question]] = {}
        for each in self._known:
            if len(each.hashes) == len(own):
                count = sum(a == b for a, b in zip(each.hashes, own, strict=True))
                same.setdefault(count, []).append(each)
        if not same:
            return None
        line, recorded = self._most_alike(same[max(same)], canonical(missing["messages"]))
        found = tuple(
            _difference(field, missing, recorded)
            for field in fields
            if _compared(field, missing) != _compared(field, recorded)
        )
        return Nearest(line, found)

    def _read(self) -> Iterator[_Question]:
        """Read each readable line."""
        if not self._path.is_file():
            return
        start = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                place = Place(start, len(line))
                start += len(line)
                with contextlib.suppress(*_UNREADABLE):
                    yield _Question(number, place, _hashes(json.loads(line)["asked"]))

    def _most_alike(self, found: Sequence[_Question], messages: str) -> tuple[int, dict[str, Any]]:
        """The question with the most similar messages."""
        best, most = found[0], -1.0
        matcher = difflib.SequenceMatcher(None, "", messages)  # prepares only its second text
        with self._path.open("rb") as file:
            for each in found if len(found) > 1 else ():
                question = json.loads(line_at(file, each.place))["asked"]
                matcher.set_seq1(canonical(question.get("messages")))
                if matcher.real_quick_ratio() > most and (alike := matcher.quick_ratio()) > most:
                    best, most = each, alike
            return best.line, json.loads(line_at(file, best.place))["asked"]


_UNREADABLE = (ValueError, TypeError, KeyError, RecursionError, AttributeError)


def _hashes(question: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(hash(_compared(field, question)) for field in _fields(question))


def _compared(field: str, question: Mapping[str, Any]) -> str:
    """A field as it is compared: a list of tools by its hash."""
    return canonical(question.get("tools_sha256" if field == "tools" else field))


def _fields(question: Mapping[str, Any]) -> Sequence[str]:
    """The fields in which a question to a model, or a call, can differ; none for a listing of tools."""
    if "mcp" not in question:
        return _FIELDS
    return _RUN_FIELDS if "tool" in question else ()


def _difference(field: str, missing: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    old: Any = recorded.get(field)
    new: Any = missing.get(field)
    if field == "tools" and old == new:
        return f"tools: the same names ({json_text(new, _SHOWN)}), but a definition has changed"
    if field == "messages":
        return f"messages: {_messages_difference(old, new)}"
    if isinstance(old, dict) and isinstance(new, dict):
        return f"{field}: " + "; ".join(_differing(old, new))
    return f"{field}: recorded {json_text(old, _SHOWN)}, asked {json_text(new, _SHOWN)}"


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """The innermost members that differ: `world.code recorded "4b1d", asked "90aa"`."""
    for key in _changed(old, new):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differing(before, after, f"{within}{key}.")
        else:
            yield f"{within}{key} recorded {_shown(old, key)}, asked {_shown(new, key)}"


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The keys that only one has, or whose values differ. Null is a value, too."""
    keys = dict.fromkeys([*old, *new])
    return [k for k in keys if k not in old or k not in new or canonical(old[k]) != canonical(new[k])]


def _shown(values: Mapping[str, Any], key: str) -> str:
    return json_text(values[key], _SHOWN) if key in values else "(nothing)"


def _messages_difference(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> str:
    for i, (before, after) in enumerate(zip(old, new, strict=False), start=1):
        if canonical(before) == canonical(after):
            continue
        key = _changed(before, after)[0]
        if key not in before or key not in after:
            return f"message {i}, {key}: recorded {_shown(before, key)}, asked {_shown(after, key)}"
        first, second = before[key], after[key]
        return f"message {i}, {key}: recorded {_cut(first, second)}, asked {_cut(second, first)}"
    return f"{len(old)} recorded, {len(new)} asked"


def _cut(value: object, other: object) -> str:
    """A long text, cut to start shortly before the first difference."""
    if not isinstance(value, str) or not isinstance(other, str) or len(value) <= _SHOWN:
        return json_text(value, _SHOWN)
    same = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), len(other))
    start = max(0, same - _SHOWN // 3)
    return ("…" if start else "") + json_text(shorten(value[start:], _SHOWN), _SHOWN + 2)
