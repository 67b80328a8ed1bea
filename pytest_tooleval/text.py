"""Text from models and suites made safe to show: no escape sequences, no invisible characters."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

ELLIPSIS = "…"
# GitHub's runner obeys `::command::` at the start of a line of a log, and `##[command]` anywhere, as do
# Azure Pipelines `##vso[command]` and TeamCity `##teamcity[command]`.
_COMMAND = re.compile(r"^([^\S\n]*)::", re.MULTILINE)
_BRACKETED = re.compile(r"##(\w*)\[")


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """Write every character that a terminal could obey or hide as a visible escape.

    These are control characters (the ESC of ANSI sequences among them), bidirectional controls,
    zero-width characters, spaces other than the plain one, and lone surrogates; also what gives
    orders in the log of a CI job: the bracket of `##[` and `##vso[`, and `::` that begins a
    line. With `keep_newlines` a newline and a tab stay what they are.
    """
    if text.isprintable():
        return _without_commands(text) if "##" in text or "::" in text else text
    kept = "\n\t" if keep_newlines else ""
    shown = "".join(c if c.isprintable() or c in kept else _escaped(c) for c in text)
    return _without_commands(shown)


def _without_commands(text: str) -> str:
    return _BRACKETED.sub(r"##\1\\x5b", _COMMAND.sub(r"\1\\x3a:", text))


def _escaped(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shorten(text: str, limit: int = 80) -> str:
    """At most `limit` characters; what is cut from the end is marked by an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def shown(text: str, limit: int = 80) -> str:
    """At most `limit` characters, all of them safe."""
    # Cut first: escaping a text of megabytes to show a line of it would be slow.
    return shorten(printable(shorten(text, limit + 1)), limit)


def json_text(value: Any, limit: int = 80) -> str:
    """A value as JSON on one line, safe to show and at most `limit` characters long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (RecursionError, ValueError, TypeError):
        text = f"({type(value).__name__} that cannot be shown)"
    return shown(text, limit)


def counted(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def score_text(value: float | None) -> str:
    """`0.85`; a dash for what is unknown or does not apply."""
    return "-" if value is None else f"{value:.2f}"


def local_time(iso: str) -> str:
    """A time in ISO 8601 as it is here, to the minute."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M")
