r"""Rewrite JSON Schema's patterns (ECMA-262 with the flag `u`) for the `regex` package.

`rewritten` reads a pattern once, from left to right, and writes each piece so that `regex` treats it as
ECMA-262 does, with four differences:

- A pattern may begin with `(?i)`, which makes it ignore case as `regex` does, almost as the flag `i`.
  Dotted capital I is i, and dotless i is I; `\p{Lu}` has every letter with case, `\P{Lu}` none.
- Any ASCII punctuation may be escaped: `\-` is `-`, as without the flag `u`.
- Properties have the names that `regex` knows: `\p{Alnum}` too, but not `\p{CWKCF}`.
- A group keeps its text when a loop around it starts again, where ECMA-262 resets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Ranges = Sequence[tuple[int, int]]

IGNORE_CASE = "(?i)"
MAX_COPIES = 100_000  # `regex` writes a{1000} out, with 300 bytes for each copy

_LAST = 0x10FFFF
_SETS: Mapping[str, Ranges] = {
    "d": ((0x30, 0x39),),
    "s": (
        *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
    ),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "b": 0x08}  # b only in sets
_OPENINGS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_LOOKING = ("(?=", "(?!", "(?<=", "(?<!")
_LOOKING_BACK = ("(?<=", "(?<!")
_UNESCAPED = {"]": r"\]", "}": r"\}"}
_MANY = 10**9  # far more than a text has

_NAME = re.compile(r"\(\?<([^\W\d][\w$]*|\$[\w$]*)>")
_REFERENCE = re.compile(r"\\(?:([1-9]\d*)|k<([^>]+)>)", re.ASCII)
_COUNT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}|[*+?]", re.ASCII)
_SCRIPT = "(?:Script|sc|Script_Extensions|scx)=(?:(?:[A-Z][a-z]+)(?:_[A-Z][a-z]+)*|Phags_Pa|SignWriting)"
# For users who know another dialect.
_HINTS = (
    (r"\A", "; write ^"),
    (r"\Z", "; write $"),
    (r"\z", "; write $"),
    ("(?P<", "; write (?<name>...)"),
    ("(?P=", r"; write \k<name>"),
    ("(?>", "; write (?:...)"),
    ("(?i", "; write (?i) at the very beginning"),
    (r"\p", r"; write a property such as \p{Letter} or \p{Script=Greek}"),
    (r"\P", r"; write a property such as \P{Letter} or \P{Script=Greek}"),
)


class PatternError(ValueError):
    """A pattern that ECMA-262 rejects, or that needs too much memory."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(f"{message} at position {at}")


def _ranges(ranges: Ranges) -> str:
    """Write ranges as the inside of a `regex` set."""
    return "".join(
        f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges
    )


def _others(ranges: Ranges) -> Ranges:
    """Return all other code points; the ranges must be in order."""
    starts = (0, *(last + 1 for _, last in ranges))
    ends = (*(first - 1 for first, _ in ranges), _LAST)
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start <= end]


_SET_TEXTS = {
    **{letter: _ranges(ranges) for letter, ranges in _SETS.items()},
    **{letter.upper(): _ranges(_others(ranges)) for letter, ranges in _SETS.items()},
}
# With `(?i)`, \W must lack what `regex` takes for an ASCII letter, or it would have that letter.
_ANY_CASE: Ranges = (*_SETS["w"], (0x130, 0x131), (0x17F, 0x17F), (0x212A, 0x212A))
_SET_TEXTS_ANY_CASE = {**_SET_TEXTS, "w": _ranges(_ANY_CASE), "W": _ranges(_others(_ANY_CASE))}


def _assertions(w: str) -> Mapping[str, str]:
    return {
        "^": r"\A",
        "$": r"\Z",
        r"\b": f"(?:(?<=[{w}])(?![{w}])|(?<![{w}])(?=[{w}]))",
        r"\B": f"(?:(?<=[{w}])(?=[{w}])|(?<![{w}])(?![{w}]))",
    }


_ASSERTIONS = _assertions(_SET_TEXTS["w"])
_ASSERTIONS_ANY_CASE = _assertions(_SET_TEXTS_ANY_CASE["w"])
_ANY = "[\\U00000000-\\U0010ffff]"
_NONE = "(?!)"
_NOT_LINE_END = f"[^{_ranges(_LINE_ENDS)}]"


def _pair(match: re.Match[str]) -> int:
    return 0x10000 + ((int(match[1], 16) - 0xD800) << 10) + int(match[2], 16) - 0xDC00


def _property(match: re.Match[str]) -> str | None:
    r"""Return a property such as `\p{Lu}` as the inside of a `regex` set; None for an unknown one."""
    letter, whole, category, name = match.groups()
    values = [whole] if whole else [*([] if category else [f"{name}=Yes"]), f"gc={name}"]
    return next(filter(_is_known, (f"\\{letter}{{{value}}}" for value in values)), None)


def _is_known(inside: str) -> bool:
    import regex

    try:
        return bool(regex.compile(f"[{inside}]", regex.VERSION0, cache_pattern=False))
    except regex.error:
        return False


_CLASS = re.compile(r"\\([dDsSwW])")
_PROPERTY = re.compile(
    rf"\\([pP])\{{(?:(ASCII|Any|Assigned|{_SCRIPT})"
    r"|(General_Category=|gc=)?([A-Z][A-Za-z]*(?:_[A-Z][A-Za-z]*)*|cntrl|digit|punct|space))\}"
)
_ESCAPES: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], int]]] = (
    (re.compile(r"\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"), _pair),
    (re.compile(r"\\x([0-9A-Fa-f]{2})"), lambda match: int(match[1], 16)),
    (re.compile(r"\\u([0-9A-Fa-f]{4})"), lambda match: int(match[1], 16)),
    (re.compile(r"\\u\{0*((?:10|[0-9A-Fa-f])?[0-9A-Fa-f]{1,4})\}"), lambda match: int(match[1], 16)),
    (re.compile(r"\\c([A-Za-z])"), lambda match: ord(match[1]) % 32),
    (re.compile(r"\\0(?![0-9])"), lambda match: 0),
    (re.compile(r"\\([bfnrtv])"), lambda match: _CONTROLS[match[1]]),
    (re.compile(r"\\([!-/:-@\[-`{-~ ])"), lambda match: ord(match[1])),
)


def rewritten(pattern: str) -> str:
    """Rewrite a pattern for version 0 of `regex`. Raises PatternError."""
    return _Reader(pattern).text()


@dataclass(slots=True)
class _Group:
    """An open group. `size` counts its pieces, including the copies that `regex` makes."""

    opening: str
    at: int
    number: int = 0
    size: int = 0


class _Reader:
    """Reads one pattern: `_pieces` has the output so far, the rest of the pattern begins at `_at`."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._any_case = pattern.startswith(IGNORE_CASE)
        self._assertions = _ASSERTIONS_ANY_CASE if self._any_case else _ASSERTIONS
        self._classes = _SET_TEXTS_ANY_CASE if self._any_case else _SET_TEXTS
        self._at = len(IGNORE_CASE) if self._any_case else 0
        self._pieces = [IGNORE_CASE] if self._any_case else []
        self._open = [_Group("", self._at)]
        self._closed: set[int] = set()
        self._names: dict[str, int] = {}
        self._groups = 0
        self._references: list[tuple[int, str, str]] = []
        self._repeatable = 0  # the size of the last piece; 0 if it cannot be repeated

    def text(self) -> str:
        while self._at < len(self._pattern):
            self._piece(self._pattern[self._at])
        if len(self._open) > 1:
            raise PatternError("a group without its )", self._open[-1].at)
        for at, number, name in self._references:
            if name not in self._names and not 0 < _count(number) <= self._groups:
                raise PatternError(f"there is no group {name or number}", at)
        return "".join(self._pieces)

    def _piece(self, char: str) -> None:
        if char == "(":
            self._begin()
        elif char == ")":
            self._end()
        elif char == "|":
            self._put("|", 1)
        elif char in "*+?{":
            self._repeat()
        elif char == "[":
            self._put(self._set(), 0, 1)
        elif char == "\\":
            self._escape()
        elif char in "^$":
            self._put(self._assertions[char], 1)
        elif char == ".":
            self._put(_NOT_LINE_END, 1, 1)
        elif char in _UNESCAPED:
            raise PatternError(
                f"{char} without its opening bracket (write {_UNESCAPED[char]})", self._at
            )
        else:
            self._put(_literal(ord(char)), 1, 1)

    def _put(self, piece: str, length: int, size: int = 0) -> None:
        """Write a piece for `length` characters of the pattern; with a size, it can be repeated."""
        self._pieces.append(piece)
        self._at += length
        self._repeatable = size
        self._grow(size)

    def _grow(self, size: int) -> None:
        group = self._open[-1]
        group.size += size
        if group.size > MAX_COPIES + len(self._pattern):
            raise PatternError(f"counts that ask for more than {MAX_COPIES:,} characters", self._at)

    def _begin(self) -> None:
        opening = next((each for each in _OPENINGS if self._pattern.startswith(each, self._at)), "(")
        named = _NAME.match(self._pattern, self._at)
        group = _Group(opening, self._at)
        if opening == "(":
            if named is None and self._pattern.startswith("(?", self._at):
                raise self._unknown(self._pattern[self._at : self._at + 3])
            self._groups += 1
            group.number = self._groups
        if named is not None:
            if named[1] in self._names:
                raise PatternError(f"a second group {named[1]}", self._at)
            self._names[named[1]] = group.number
        self._put(opening, len(named[0] if named else opening))
        self._open.append(group)

    def _end(self) -> None:
        if len(self._open) == 1:
            raise PatternError(r") without its opening bracket (write \))", self._at)
        group = self._open.pop()
        if group.number:
            self._closed.add(group.number)
        self._put(")", 1, max(1, group.size))
        if group.opening in _LOOKING:
            self._repeatable = 0

    def _repeat(self) -> None:
        count = _COUNT.match(self._pattern, self._at)
        if count is None:
            raise PatternError(r"{ that begins no count such as {2,5} (write \{)", self._at)
        if not self._repeatable:
            raise PatternError(f"{count[0]} after nothing that can be repeated", self._at)
        least, most = _count(count[1] or "1"), _count(count[3] or str(_MANY))
        if count[2] and most < least:
            raise PatternError(f"{count[0]} counts down", self._at)
        quantifier = f"{{{least},}}" if count[3] and most == _MANY else count[0]
        self._grow(self._repeatable * (max(1, least) - 1))
        lazy = self._pattern[count.end() : count.end() + 1] == "?"
        self._put(quantifier + "?" * lazy, len(count[0]) + lazy)

    def _escape(self) -> None:
        two = self._pattern[self._at : self._at + 2]
        if two in self._assertions:
            self._put(self._assertions[two], 2)
        elif reference := _REFERENCE.match(self._pattern, self._at):
            self._refer(reference)
        else:
            member = self._member()
            self._put(_literal(member) if isinstance(member, int) else f"[{member}]", 0, 1)

    def _refer(self, reference: re.Match[str]) -> None:
        """Write a reference, which matches nothing if its group has not matched yet."""
        if any(group.opening in _LOOKING_BACK for group in self._open):
            raise PatternError(f"{reference[0]} in a look-behind, which is not supported", self._at)
        number, name = reference[1] or "", reference[2] or ""
        self._references.append((self._at, number, name))
        group = self._names.get(name, _count(number))
        piece = f"(?({group})\\g<{group}>|)" if group in self._closed else "(?:)"
        self._put(piece, len(reference[0]), 1)

    def _set(self) -> str:
        """Read a set such as [a-z]."""
        begin = self._at
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        members = []
        while not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise PatternError("a set without its ]", begin)
            members.append(self._range())
        self._at += 1
        if members:
            return f"[{'^' if negated else ''}{''.join(members)}]"
        return _ANY if negated else _NONE

    def _range(self) -> str:
        at, first = self._at, self._member()
        rest = self._pattern[self._at : self._at + 2]
        if rest[:1] != "-" or rest[1:] in ("]", ""):
            return _ranges([(first, first)]) if isinstance(first, int) else first
        self._at += 1
        last = self._member()
        if not (isinstance(first, int) and isinstance(last, int) and first <= last):
            raise PatternError(f"{self._pattern[at : self._at]} is not a range of characters", at)
        return _ranges([(first, last)])

    def _member(self) -> int | str:
        r"""Read a character, or a class such as \d, which becomes the inside of a `regex` set."""
        if self._pattern[self._at] != "\\":
            self._at += 1
            return ord(self._pattern[self._at - 1])
        for escape, meaning in _ESCAPES:
            if match := escape.match(self._pattern, self._at):
                self._at = match.end()
                return meaning(match)
        if match := _CLASS.match(self._pattern, self._at):
            self._at = match.end()
            return self._classes[match[1]]
        match = _PROPERTY.match(self._pattern, self._at)
        if match and (inside := _property(match)):
            self._at = match.end()
            return inside
        raise self._unknown(self._pattern[self._at : self._at + 2])

    def _unknown(self, what: str) -> PatternError:
        hints = (hint for start, hint in _HINTS if self._pattern.startswith(start, self._at))
        return PatternError(f"{what} means nothing in ECMA-262{next(hints, '')}", self._at)


def _literal(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\U{code:08x}"


def _count(digits: str) -> int:
    """Read a number; one with many digits becomes `_MANY`, which is also too large."""
    return int(digits or 0) if len(digits) < 10 else _MANY
