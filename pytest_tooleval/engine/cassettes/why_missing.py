"""Explains why an answer is not on a cassette: which fields differ from the recorded question."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...text import json_text
from ...text import shorten
from ..tool_features import name_of

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


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces, so that equal values give equal texts."""
    return _CANONICAL.encode(value)


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
        "tools_sha256": hashlib.sha256(canonical(tools).encode()).hexdigest()[:16],
    }


Recorded = Sequence[tuple[int, Mapping[str, Any]]]


def nearest(questions: Recorded, asked: Mapping[str, Any]) -> Nearest | None:
    """The recorded question with the fewest differing fields; None if none of this kind is recorded."""
    missing = summary(asked)
    fields = _fields(missing)
    text = canonical(missing["messages"])
    same: dict[int, list[tuple[int, Mapping[str, Any]]]] = {}
    for line, recorded in questions:
        if _fields(recorded) == fields:
            count = sum(_same(field, missing, recorded) for field in fields)
            same.setdefault(count, []).append((line, recorded))
    if not same:
        return None

    def alike(question: tuple[int, Mapping[str, Any]]) -> float:
        messages = canonical(question[1].get("messages"))
        return difflib.SequenceMatcher(None, text, messages).quick_ratio()

    # Break ties by the similarity of the messages.
    line, recorded = max(same[max(same)], key=alike)
    found = tuple(_difference(f, missing, recorded) for f in fields if not _same(f, missing, recorded))
    return Nearest(line, found)


def _fields(question: Mapping[str, Any]) -> Sequence[str]:
    """The fields in which a question to a model, or a call, can differ; none for a listing of tools."""
    if "mcp" not in question:
        return _FIELDS
    return _RUN_FIELDS if "tool" in question else ()


def recorded_questions(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line number and question of each readable line of a cassette."""
    if not path.is_file():
        return
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            yield number, json.loads(line)["asked"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def _same(field: str, missing: Mapping[str, Any], recorded: Mapping[str, Any]) -> bool:
    if field == "tools":
        return bool(missing["tools_sha256"] == recorded.get("tools_sha256"))
    return bool(canonical(missing.get(field)) == canonical(recorded.get(field)))


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
