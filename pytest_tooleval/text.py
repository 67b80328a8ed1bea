"""Make text from models and suites safe to show, without escape sequences or hidden characters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

ELLIPSIS = "…"
# The limit for values shown whole, as a model's answer may have megabytes.
MOST_SHOWN = 2000
# In a log, GitHub's runner obeys `::command::` at the start of a line and `##[command]` anywhere, Azure
# Pipelines `##vso[command]`, and TeamCity `##teamcity[command]`.
_COMMAND = re.compile(r"^([^\S\n]*)::", re.MULTILINE)
_BRACKETED = re.compile(r"##(\w*)\[")


def printable(text: str, *, keep_newlines: bool = False) -> str:
    """Escape every character that a terminal could obey or hide.

    These are control characters (such as the ESC of ANSI sequences), bidirectional controls, zero-width
    characters, unusual spaces and lone surrogates. CI runner commands are also escaped: the bracket of
    `##[` and `##vso[`, and `::` at the start of a line. `keep_newlines` keeps newlines and tabs.
    """
    if text.isprintable():
        return _without_commands(text) if "##" in text or "::" in text else text
    kept = "\n\t" if keep_newlines else ""
    safe = (c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)
    return _without_commands("".join(safe))


def _without_commands(text: str) -> str:
    return _BRACKETED.sub(r"##\1\\x5b", _COMMAND.sub(r"\1\\x3a:", text))


def to_nfc(text: str) -> str:
    """Return the text in Unicode's form NFC, in which `é` is always one code point."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return the text for comparisons that ignore case."""
    return text.casefold() if text.isascii() else to_nfc(to_nfc(text).casefold())


def folded_words(text: str) -> str:
    """Return the text for comparisons that ignore case, white space and commas."""
    return " ".join(fold(text).replace(",", "").split())


def shorten(text: str, limit: int = 80) -> str:
    """Return at most `limit` characters; an ellipsis replaces the rest."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def shown(text: str, limit: int = 80) -> str:
    """Return at most `limit` characters, safe to show."""
    # Cut first, as escaping megabytes to show a line would be slow.
    return shorten(printable(shorten(text, limit + 1)), limit)


def json_text(value: Any, limit: int = 80) -> str:
    """Return a value as JSON on one line, safe to show and at most `limit` characters long."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (RecursionError, ValueError, TypeError):
        text = f"({type(value).__name__} that cannot be shown)"
    return shown(text, limit)


def plural(number: int, noun: str) -> str:
    """Return `1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def first_few(texts: Sequence[str], most: int = 8) -> str:
    """Return `a, b, c and 2 more`."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def near(name: str, names: Iterable[str], prefix: str = "") -> str:
    """Return `, did you mean ...?` with up to three names, prefixed; empty if there are none.

    These are the rows of the case with this name, such as `stage[won]` of `stage`, or similar names.
    """
    from difflib import get_close_matches

    known = list(dict.fromkeys(names))
    rows = (each for each in known if each.startswith(f"{name}["))
    similar = [*islice(rows, 3)] or get_close_matches(name, known, n=3, cutoff=0.6)
    return f", did you mean {' or '.join(prefix + each for each in similar)}?" if similar else ""


def read_number(text: str) -> float:
    """Return the number; for anything else -1, which no range includes."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def read_share(text: str) -> float:
    """Return the share that `0.9` or `90%` names; for anything else -1."""
    share = read_number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    return share if share >= 0 else -1.0


def local_time(iso: str) -> str:
    """Return a time in ISO 8601 as local time, to the minute."""
    return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M")


def align_rows(rows: Sequence[Sequence[str]], texts: Iterable[int] = ()) -> list[str]:
    """Rows of equal length as lines; the columns `texts` are aligned left, others right."""
    left = set(texts)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def canonical(value: Any) -> str:
    """A text that is the same for equal JSON values, whatever the order of keys."""
    return json.dumps(value, sort_keys=True)
