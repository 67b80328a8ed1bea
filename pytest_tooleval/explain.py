"""Texts for messages about suite files: values, paths and JSON errors in plain English."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Collection, Iterable
from itertools import islice
from typing import Any

from .text import ELLIPSIS, printable

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_BARE_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null", "nil": "null"}
_MOST_COMPARED = 500
_QUOTES = "'`‘’‚“”„«»"


def show(value: Any, limit: int = 60) -> str:
    """Return a value as JSON on one line, shortened and safe for a terminal."""
    if isinstance(value, str) and len(value) > limit:
        return show(value[:limit], limit + 2)[:-1] + f'{ELLIPSIS}"'
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = f"({type(value).__name__})"
    return printable(text if len(text) <= limit or isinstance(value, str) else text[:limit] + ELLIPSIS)


def show_number(digits: str) -> str:
    """Return the text of a number, shortened."""
    return digits if len(digits) <= 30 else f"{digits[:12]}… ({len(digits)} characters)"


def describe(value: Any) -> str:
    """Return a value with its JSON type: `the string "hot"`, `the number 5`, `null`."""
    if value is None or isinstance(value, bool):
        return show(value)
    if isinstance(value, str):
        return f"the string {show(value)}" if value else "an empty string"
    if isinstance(value, (int, float)):
        return f"the number {show_number(show(value, 10_000))}"
    if isinstance(value, list):
        return f"the list {show(value)}" if value else "an empty list"
    return f"the object {show(value)}" if value else "an empty object"


def field_path(loc: Iterable[str | int]) -> str:
    """Return a path such as `test_cases[3].expected_params["first name"]`."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part) and len(part) <= 80:
            text += f".{part}" if text else part
        else:
            text += f"[{show(part)}]"
    return text


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, ignoring case, underscores and hyphens.

    None if no name is similar, or if there are too many to compare.
    """
    compared = tuple(islice(known, _MOST_COMPARED + 1))
    return _nearest(name[:200], compared) if len(compared) <= _MOST_COMPARED else None


# Cached, as a file may have the same mistake in thousands of cases.
@functools.lru_cache(maxsize=256)
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    plain = {other.casefold().replace("_", "").replace("-", ""): other for other in known}
    folded = name.casefold().replace("_", "").replace("-", "")
    near = difflib.get_close_matches(folded, list(plain), n=1, cutoff=0.7)
    return plain[near[0]] if near else None


def listing(names: Collection[str], limit: int = 12) -> str:
    """Return names in quotes: `"a", "b" and 3 more`."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(show, islice(names, limit))) + more


def explain_syntax(text: str, offset: int, reason: str) -> tuple[int, str]:
    """Explain a JSON error as an offset and a message.

    `offset` and `reason` are those of `json.JSONDecodeError`. They depend on the version of Python, so
    the text itself is also examined.
    """
    at = _next_visible(text, offset)
    before = len(text[:at].rstrip()) - 1
    if reason.startswith("Unterminated string"):
        return offset, 'a string begins here and has no closing "'
    if reason.startswith("Invalid control character"):
        return offset, _control_character(text[offset])
    if reason.startswith("Invalid \\u"):
        return offset, "\\u in a string needs four hexadecimal digits; write a plain backslash as \\\\"
    if reason.startswith("Invalid \\"):
        return offset, "unknown escape in a string; write a backslash as \\\\"
    if at == len(text):
        return before + 1, "the file ends before the suite is complete; it looks cut off"
    if text.startswith(("//", "/*", "#"), at):
        return at, 'JSON has no comments; write it as "$comment": "..."'
    if reason.startswith("Extra data"):
        if text[at] == "{":
            return at, "a second object after the suite; a file holds one suite, with all its cases"
        return at, f"unexpected {show(text[at])} after the end of the suite; remove it"
    if text[at] in "]}" and before >= 0 and text[before] == ",":
        return before, f"a trailing comma before {text[at]}; remove the comma"
    after = _next_visible(text, at + 1)
    is_first = before < 0 or text[before] in "{[:,"
    if text[at] == "," and text[after : after + 1] in ("]", "}") and not is_first:
        return at, f"a trailing comma before {text[after]}; remove the comma"
    if text[at] in _QUOTES:
        return at, f'JSON puts keys and strings in double quotes ("), got {text[at]}'
    return at, _unexpected(text, at, reason)


def _unexpected(text: str, at: int, reason: str) -> str:
    match = _BARE_WORD.match(text, at)
    word = match[0][:40] if match else ""
    got = show(word) if word else show(text[at])
    if reason.startswith("Expecting property name"):
        if word:
            return f'keys need double quotes: "{word}"'
        return f"expected a key in double quotes, got {got}"
    if reason.startswith("Expecting ':'"):
        return f"expected a colon (:) after the key, got {got}"
    if reason.startswith("Expecting ','"):
        if text[at] in "]}:":
            return f"expected a comma or the bracket that closes this object or list, got {got}"
        if text[at].isdigit():
            return "invalid number; write it without leading zeros or extra signs"
        return f"a comma is missing before {got}" if word else "a comma is missing before this"
    if word in _PYTHON_WORDS:
        return f"{word} is not JSON; write {_PYTHON_WORDS[word]}"
    if word:
        return f'expected a value, got {word}; strings need double quotes: "{word}"'
    if text[at] == "," or text[at] in "]}":
        return f"a value is missing before {got}"
    if text[at] in ".+":
        return "a number begins with a digit or a minus: write 0.5 for .5, and 5 for +5"
    return f"expected a value, got {got}"


def _control_character(char: str) -> str:
    if char in "\n\r":
        return 'a line break inside a string; write it as \\n, or close the string with "'
    name = "a tab" if char == "\t" else f"the control character U+{ord(char):04X}"
    escape = "\\t" if char == "\t" else f"\\u{ord(char):04x}"
    return f"{name} inside a string; write it as {escape}"


def _next_visible(text: str, offset: int) -> int:
    return len(text) - len(text[offset:].lstrip(" \t\n\r"))
