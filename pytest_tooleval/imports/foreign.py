"""What a file of no known format looks like, and what to save instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..record.untrusted import as_list, as_mapping
from .records import looks_like

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
_SQLITE = b"SQLite format 3\0"


def session_in(path: Path) -> str | None:
    """Two sentences about the session of a program whose files are no JSON; None if it is none."""
    if path.name.startswith(".aider.") or path.name == "aider.chat.history.md":
        return _session("Aider")
    if path.is_file():
        with path.open("rb") as file:
            return _session("Cursor, or another database") if file.read(16) == _SQLITE else None
    return None


def session_of(value: Any) -> str | None:
    """Two sentences about the session of a program that is not read; None if it is none."""
    found = as_mapping(next(iter(as_list(value)), value))
    name = next((name for name, keys in _SESSIONS if keys <= found.keys()), None)
    return _session(name) if name else None


def _session(name: str) -> str:
    return f"This is a session of {name}, which is not read. {_LOG}: {_PAGE}"


def what_is(value: Any) -> str:
    """Two sentences: what a file of no known format looks like, and what to do next."""
    return f"This is {looks_like(value)}, in which no list of chat messages is found. {_SAVE}: {_PAGE}"
