"""How large a regular expression becomes when it is compiled: some eat all memory of a machine."""

from __future__ import annotations

import re

MAX_PIECES = 10_000
_FLAGS = "abefiLmprsuw"
_SPACES_FLAG = re.compile(r"\(\?[a-zA-Z0-9-]*x")
_SPACES_FIRST = re.compile(rf"\(\?[{_FLAGS}]*x[{_FLAGS}]*\)")
_COUNT = re.compile(r"(?:[?*+]|\{(?=[0-9,])(?P<least>[0-9]*)(?P<range>,[0-9]*)?\})[?+]?")
_MEMBER = r"\\.|\[:\^?[a-zA-Z]+:\]"
_SET = rf"\[\^?(?:{_MEMBER}|(?!\[:)[^\\])(?:{_MEMBER}|(?!\[:)[^\\\]])*\]"
_COMMENT = r"\(\?\#[^\\)]*\)"
_SPACES = re.compile(rf"(\\.|{_SET}|{_COMMENT}|(?:\[|\(\?\#).*)|\s+|\#[^\n]*", re.DOTALL)
# `aside` is what may stand between a piece and its count; `odd` is left to `regex` to understand: fuzzy
# matching, sets in sets, some flags.
_PIECE = re.compile(
    rf"(?P<aside>{_COMMENT}|\(\?[{_FLAGS}]*(?:-[{_FLAGS}]+)?\))|(?P<count>{_COUNT.pattern})"
    rf"|(?P<set>{_SET})|(?P<odd>\(\?\#|\(\?[a-zA-Z-]*[xV]|\[|\{{[deis0-9])"
    r"|(?P<open>\()|(?P<close>\))|(?P<other>\\.|.)",
    re.DOTALL,
)
_SET_PIECE = 64  # characters of a set that take as much memory as a piece


def size_problem(pattern: str) -> str | None:
    """Why a pattern may not even be compiled: `regex` writes out all repetitions that must be there.

    `((a{100}){100}){100}` is a million pieces, and so are twenty nested groups with a plus.
    """
    start = _SPACES_FIRST.match(pattern)
    if start is None or "[:" in pattern:
        size = _size(pattern)
    else:
        size = _size(_SPACES.sub(r"\1", pattern[start.end() :]))
    if size is None and _SPACES_FLAG.search(pattern) is not None:
        return (
            "the flag x is only understood in (?x) at the beginning of the regular expression, with "
            "plain sets and comments; write it without"
        )
    if size is None:
        # As if every count were of all the others.
        size = len(pattern)
        for count in _COUNT.finditer(pattern):
            size = min(size * _copies(count), len(pattern) + MAX_PIECES + 1)
    if size > len(pattern) + MAX_PIECES:
        return (
            "the regular expression repeats too much: with counts such as {100} and + written out, "
            f"those of groups in groups multiplied, it has more than {MAX_PIECES:,} pieces; use smaller "
            "counts, or *"
        )
    return None


def _size(pattern: str) -> int | None:
    """How many pieces a pattern has, at least up to the limit; None when it cannot be told."""
    limit = len(pattern) + MAX_PIECES
    open_groups = [0]
    last = 0  # the size of what a count would repeat
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup
        if kind == "odd" or (kind == "close" and len(open_groups) == 1):
            return None
        if kind == "aside":
            continue
        if kind == "count":
            last *= _copies(piece) - 1
        elif kind == "open":
            open_groups.append(1)
            last = 0
            continue
        elif kind == "close":
            last = open_groups.pop()
        else:
            last = 1 + (len(piece[0]) // _SET_PIECE if kind == "set" else 0)
        open_groups[-1] += last
        if kind == "count":
            last = 0  # which cannot be repeated again
        if open_groups[-1] > limit:
            return open_groups[-1]
    return sum(open_groups)


def _copies(count: re.Match[str]) -> int:
    """How often a repetition is written out: as often as it must be there, and once for the rest."""
    if count["least"] is None:
        return 2 if count[0].startswith("+") else 1
    least = int(count["least"].lstrip("0")[:10] or 0)
    return max(1, least + (count["range"] is not None))
