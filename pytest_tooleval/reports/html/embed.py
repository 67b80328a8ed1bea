"""The data that the report's script reads: an index of all cases, and one block per case.

The index holds what the matrix, the filters and the search need, and is read at once. A block holds
the trials of one case on all models with their transcripts, and is read when somebody opens the case.
Within a block every prompt and every comparison stands once, however many trials share it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from ...scoring.thresholds import TOLERANCE
from ...text import shorten
from .numbers import known

# An answer of megabytes would make a file nobody can open; the JSON document holds the whole.
_LONGEST_TEXT = 200_000
_LONGEST_NAME = 200
_SEARCHED = 2_000

Row = Mapping[str, Any]
_LEFT_OUT = ("message", "calls")
_THOUGHTS = ("reasoning_content", "reasoning")


@dataclass
class CaseRows:
    """A case and its row per model, by the model's place in the document."""

    suite: str
    case: str
    file: str
    rows: dict[int, Row] = field(default_factory=dict)

    @property
    def first(self) -> Row:
        return next(iter(self.rows.values()))


def script_json(value: Any) -> str:
    """JSON for a script element: ASCII, and nothing in it can end the element or begin a comment."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _finite(value: Any) -> Any:
    """The same without numbers that JSON or a browser cannot hold."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if isinstance(value, int) and abs(value) > 2**53 else value


def case_rows(document: Mapping[str, Any]) -> list[CaseRows]:
    """The document's rows by case, in their order; a case that a model has twice becomes two."""
    models = {row["model"]: i for i, row in enumerate(document["models"])}
    found: dict[tuple[str, str, str, int], CaseRows] = {}
    for row in document["cases"]:
        name = row.get("file", ""), row["suite"], row["case"]
        model = models[row["model"]]
        turn = 0
        while (*name, turn) in found and model in found[(*name, turn)].rows:
            turn += 1
        case = found.setdefault((*name, turn), CaseRows(row["suite"], row["case"], row.get("file", "")))
        case.rows[model] = row
    return list(found.values())


def index(document: Mapping[str, Any], cases: Sequence[CaseRows]) -> dict[str, Any]:
    """`{"models": [label], "suites": [{"name", "file"}], "cases": [CASE]}`.

    CASE: `id`, `suite` (place in suites), `tags`, `prompt` (what the user asks, cut), and `cells`,
    one per model: null or `outcome`, `overall`, `passes`, `scored`, `trials`, `below` (the metric that
    is too low when it is not the overall score), `reason`, `failures`, `tools`.
    """
    suites = {key: i for i, key in enumerate(dict.fromkeys((each.suite, each.file) for each in cases))}
    models = [shorten(row["model"], _LONGEST_NAME) for row in document["models"]]
    return {
        "models": models,
        "suites": [
            {"name": shorten(s, _LONGEST_NAME), "file": shorten(f, _LONGEST_NAME)} for s, f in suites
        ],
        "cases": [
            {
                "id": shorten(each.case, _LONGEST_NAME),
                "suite": suites[each.suite, each.file],
                "tags": [shorten(tag, _LONGEST_NAME) for tag in each.first.get("tags", [])],
                "prompt": _asked(each),
                "cells": [_cell(each.rows.get(i)) for i in range(len(models))],
            }
            for each in cases
        ],
    }


def _asked(case: CaseRows) -> str:
    """What the user says in the prompt."""
    transcripts = (t["transcript"] for row in case.rows.values() for t in row["trials"])
    transcript = next((each for each in transcripts if each), None)
    if transcript is None:
        return ""
    texts = [message_text(m.get("content")) for m in transcript["prompt"] if m.get("role") == "user"]
    return shorten(" ".join(texts), _SEARCHED)


def _cell(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    trials = row["trials"]
    causes = [t["failure"] or (f"error: {t['error']['kind']}" if t["error"] else "") for t in trials]
    tools = [
        shorten(call["name"], _LONGEST_NAME)
        for trial in trials
        for round_ in (trial["transcript"] or {"rounds": []})["rounds"]
        for call in round_["reply"]["calls"]
    ]
    return {
        "outcome": row["outcome"],
        "overall": row["scores"].get("overall"),
        "passes": row.get("passes", sum(trial["passed"] for trial in trials)),
        "scored": row.get("scored", sum(trial["error"] is None for trial in trials)),
        "trials": len(trials),
        "below": _below(row),
        "reason": shorten(row["reason"], _SEARCHED),
        "failures": list(dict.fromkeys(filter(None, causes))),
        "tools": list(dict.fromkeys(tools))[:50],
    }


def _below(row: Row) -> str:
    """Without it, a case that fails by another metric would show as failed with a perfect score."""
    low = [
        metric
        for metric, needed in row["thresholds"].items()
        if (value := known(row["scores"].get(metric))) is not None and value < needed - TOLERANCE
    ]
    return "" if "overall" in low or not low else shorten(low[0], _LONGEST_NAME)


def block(case: CaseRows) -> dict[str, Any]:
    """All trials of a case: `{"prompts", "checks", "rows": {model's place: ROW}}`.

    A trial is as in the document, but its transcript's `prompt` and its scores' `checks` are places
    in `prompts` and `checks`; a call holds its arguments as JSON text, since a browser would round
    the digits of large numbers; and of messages only the role and the texts are kept.
    """
    shared = _Shared()
    rows = {
        str(model): {
            **{key: _cut(row[key]) for key in _ROW_FIELDS if key in row},
            "trials": [_trial(trial, shared) for trial in row["trials"]],
        }
        for model, row in case.rows.items()
    }
    return {"prompts": shared.prompts, "checks": shared.checks, "rows": rows}


_ROW_FIELDS = (
    "nodeid",
    "suite",
    "case",
    "outcome",
    "reason",
    "thresholds",
    "weight",
    "tags",
    "tool_choice",
    "file",
    "line",
    "pass_rule",
)


class _Shared:
    """Values that stand once in a block, and where."""

    def __init__(self) -> None:
        self.prompts: list[Any] = []
        self.checks: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, values: list[Any], value: Any) -> int:
        key = ("p" if values is self.prompts else "c") + json.dumps(value)
        if key not in self._places:
            self._places[key] = len(values)
            values.append(value)
        return self._places[key]


def _trial(trial: Mapping[str, Any], shared: _Shared) -> dict[str, Any]:
    transcript = trial["transcript"]
    return {
        **_without_nothing(trial, leave_out=("scores", "transcript", "error")),
        "error": trial["error"] and {key: _cut(each) for key, each in trial["error"].items()},
        "scores": {
            metric: {
                "value": value["value"],
                "explanation": _cut(value["explanation"]),
                "checks": [
                    shared.place(shared.checks, {key: _cut(each) for key, each in check.items()})
                    for check in value["checks"]
                ],
            }
            for metric, value in trial["scores"].items()
        },
        "transcript": None
        if transcript is None
        else {
            "prompt": shared.place(shared.prompts, [_message(m) for m in transcript["prompt"]]),
            "rounds": [
                {
                    "reply": _reply(round_["reply"]),
                    "answers": [_message(answer) for answer in round_["answers"]],
                }
                for round_ in transcript["rounds"]
            ],
        },
    }


def _without_nothing(data: Mapping[str, Any], leave_out: Iterable[str]) -> dict[str, Any]:
    return {
        key: _cut(value) for key, value in data.items() if value is not None and key not in leave_out
    }


def _reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The message without its calls, which stand beside it already."""
    message = {key: value for key, value in _message(reply["message"]).items() if key != "tool_calls"}
    return {
        **_without_nothing(reply, _LEFT_OUT),
        "message": message,
        "calls": [
            _call(call["name"], call["arguments"], call.get("raw_arguments")) for call in reply["calls"]
        ],
    }


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {
        "role": _cut(str(message.get("role", ""))),
        "content": _cut(message_text(message.get("content"))),
    }
    thoughts = [message[key] for key in _THOUGHTS if isinstance(message.get(key), str)]
    if thoughts and thoughts[0]:
        kept["reasoning_content"] = _cut(thoughts[0])
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        functions = [call.get("function") for call in calls if isinstance(call, dict)]
        kept["tool_calls"] = [
            {"function": _call(f.get("name"), f.get("arguments"), f.get("arguments"))}
            for f in functions
            if isinstance(f, dict)
        ]
    return kept


def message_text(content: object) -> str:
    """A message's text; of parts that are no text (images, files) their type in brackets."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part if isinstance(part, dict) else {"text": str(part)} for part in content]
    return "\n".join(
        part["text"] if isinstance(part.get("text"), str) else f"[{part.get('type', 'part')}]"
        for part in parts
    )


def _call(name: object, arguments: object, raw: object) -> dict[str, Any]:
    """`{"name", "raw_arguments"}`, with `"arguments": null` when they are not a JSON object."""
    text = raw if isinstance(raw, str) else _as_json(arguments)
    call: dict[str, Any] = {"name": _cut(str(name or "")), "raw_arguments": _cut(text)}
    return {**call, "arguments": None} if arguments is None else call


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (RecursionError, ValueError, TypeError):
        return f"({type(value).__name__} that cannot be shown)"


def _cut(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= _LONGEST_TEXT:
        return value
    return f"{value[:_LONGEST_TEXT]}… ({len(value):,} characters; --tooleval-json keeps them all)"
