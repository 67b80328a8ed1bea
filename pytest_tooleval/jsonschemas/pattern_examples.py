"""Guess short texts that a regular expression matches; callers must check them."""

from __future__ import annotations

import re

from .ecma import IGNORE_CASE
from .patterns import compile_pattern

_OPEN = re.compile(r"\((?:\?(?:<[A-Za-z_$][\w$]*>|:))?")
_LOOK = re.compile(r"\(\?<?[=!]")
_CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]")
_COUNT = re.compile(r"(?:[?*]|(?P<one>\+)|\{(?P<least>\d+)(?:,\d*)?\})\??")
_CHARACTERS = "a1A -_./:@,"
_MOST = 20  # repeats of one piece


def example(pattern: str) -> str:
    """Return a text that the pattern probably matches: first alternatives and fewest repeats."""
    return _choice(pattern.removeprefix(IGNORE_CASE), 0)[0]


def _choice(pattern: str, at: int) -> tuple[str, int]:
    first, at = _sequence(pattern, at)
    while pattern[at : at + 1] == "|":
        _, at = _sequence(pattern, at + 1)
    return first, at


def _sequence(pattern: str, at: int) -> tuple[str, int]:
    text = ""
    while at < len(pattern) and pattern[at] not in "|)":
        piece, at = _piece(pattern, at)
        count = _COUNT.match(pattern, at)
        if count is None:
            text += piece
            continue
        at = count.end()
        text += piece * min(_MOST, 1 if count["one"] else int(count["least"] or 0))
    return text, at


def _piece(pattern: str, at: int) -> tuple[str, int]:
    """Return a text for the piece that begins here, and the end of the piece."""
    if look := _LOOK.match(pattern, at):
        return "", _choice(pattern, look.end())[1] + 1
    if opening := _OPEN.match(pattern, at):
        text, at = _choice(pattern, opening.end())
        return text, at + 1
    if match := _CLASS.match(pattern, at):
        return _one_of(match[0], match[0][1:-1].partition("^")[0]), match.end()
    if pattern[at] == "\\":
        letter = pattern[at + 1 : at + 2]
        if letter in "dDwWsS":
            return _one_of(pattern[at : at + 2], ""), at + 2
        return "" if letter.isalnum() else letter, at + 2
    return {"^": "", "$": "", ".": "a"}.get(pattern[at], pattern[at]), at + 1


def _one_of(characters: str, named: str) -> str:
    """Return a character that the class matches: one that it names, or a common one."""
    one = compile_pattern(f"^{characters}$")
    return next((c for c in named + _CHARACTERS if one.search(c)), "")
