"""Files that are not read: which they are, and what to save instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from .records import decode_text, looks_like

_PAGE = "https://pytest-tooleval.github.io/pytest-tooleval/latest/guides/importing/#files"
_SAVE = "Save the chat messages of each run, or requests with their answers, as JSON Lines"
_LOG = "Log the requests of its model instead, with a proxy such as litellm or with OpenTelemetry"
# Sessions whose calls are not stored in a documented form, by the keys of their records.
_SESSIONS = (
    ("ChatGPT", {"mapping", "current_node"}),
    ("Copilot", {"requests", "responderUsername"}),
    ("Copilot", {"requests", "requesterUsername"}),
    ("Cursor", {"composerId"}),
    ("Cursor", {"allComposers"}),
    ("Cursor", {"bubbleId"}),
    ("Amp", {"created", "messages", "env"}),
)
# What other files are, and what to do instead.
_INSPECT = (
    "a log of Inspect",
    "Save the messages and tools of each sample, from read_eval_log(path, resolve_attachments=True)",
)
_LANGSMITH = (
    "a run of LangSmith",
    "Trace with OpenTelemetry instead, or save the messages, tools and answer of each llm run",
)
_TRL = ("a prompt and its completion, as TRL has them", "Join the two lists as messages")
_SHAREGPT = (
    "a conversation as ShareGPT has it",
    "Save it as chat messages, with the calls in tool_calls and the tools in tools",
)
_CALLS = "Write a case for each, with the input as prompt and the calls as expected_calls"
_DEEPEVAL = ("a golden or test case of DeepEval", _CALLS)
_XLAM = ("a question as xLAM and APIGen have it", _CALLS)
_SKILL = ("an agent skill", "Describe skills as tools in a JSON file, with name and description")
_HERMES = ("<tools>", "</tools>")  # around the tools that a system prompt describes
SKILL_FILE = "SKILL.md"
_SQLITE = b"SQLite format 3\0"


def foreign_file(path: Path) -> str | None:
    """Two sentences about a file of another program that is no JSON; None if it is none."""
    if path.name.startswith(".aider.") or path.name == "aider.chat.history.md":
        return _session("Aider")
    if not path.is_file():
        return None
    if path.name == SKILL_FILE:
        return _other(*_SKILL)
    if path.suffix == ".eval":
        return _other(*_INSPECT)
    with path.open("rb") as file:
        return _session("Cursor, or another database") if file.read(16) == _SQLITE else None


def foreign_record(value: Any) -> str | None:
    """Two sentences about a record of a program that is not read; None if it is none."""
    fields = as_mapping(next(iter(as_list(value)), value))
    name = next((name for name, keys in _SESSIONS if keys <= fields.keys()), None)
    other = _program_of(fields)
    return _session(name) if name else _other(*other) if other else None


def _program_of(fields: Mapping[str, Any]) -> tuple[str, str] | None:
    if isinstance(fields.get("samples"), list) and "task" in as_mapping(fields.get("eval")):
        return _INSPECT
    if {"run_type", "inputs"} <= next(iter(objects_in(fields.get("post"))), fields).keys():
        return _LANGSMITH
    if objects_in(fields.get("prompt")) and ("completion" in fields or "chosen" in fields):
        return _TRL
    said = [decode_text(fields.get(key)) for key in ("conversations", "conversation", "chosen")]
    turns = [turn for each in said for turn in (each if isinstance(each, list) else [each])]
    first = next(iter(objects_in(fields.get("messages"))), {})
    described = first.get("role") == "system" and not fields.get("tools")
    is_hermes = described and all(each in as_text(first.get("content")) for each in _HERMES)
    if is_hermes or any({"from", "value"} <= as_mapping(turn).keys() for turn in turns):
        return _SHAREGPT
    expected = fields.get("expected_tools", fields.get("expectedTools"))
    if isinstance(fields.get("input"), str) and isinstance(expected, list) and "type" not in fields:
        return _DEEPEVAL
    return _XLAM if {"query", "answers", "tools"} <= fields.keys() else None


def _session(name: str) -> str:
    return _other(f"a session of {name}", _LOG)


def _other(title: str, instead: str) -> str:
    return f"This is {title}, which is not read. {instead}: {_PAGE}"


def what_is(value: Any) -> str:
    """Two sentences: what a file of no known format looks like, and what to do next."""
    return f"This is {looks_like(value)}, in which no list of chat messages is found. {_SAVE}: {_PAGE}"
