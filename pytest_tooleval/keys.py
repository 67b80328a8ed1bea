"""Recognise keys, and replace them with stand-ins.

A stand-in keeps the public prefix and the length of a key (`sk-proj-xxxxxxxx`), and uses the provider's
characters, so that the usual patterns for leaked keys still match it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


class _Kind(NamedTuple):
    """A kind of key, which contains `mark` and consists of the patterns `prefix` and `rest`.

    A stand-in replaces the rest with `filler`, except for the parts that `kept` matches.
    """

    mark: str
    prefix: str
    rest: str
    filler: str = "x"
    # OpenAI and Anthropic put these into every key.
    kept: str = "T3BlbkFJ|AA$"


_KINDS = (
    _Kind("sk-", "sk-(?:proj|svcacct|admin|None)-", r"[\w-]{16,}"),
    _Kind("sk-ant-", r"sk-ant-(?:[a-z]+\d\d-)?", r"[\w-]{16,}"),
    _Kind("sk-or-v1-", "sk-or-v1-", "[0-9a-f]{32,}", "0"),
    # Short prefixes also occur within random text.
    _Kind("sk-", "(?<![_-])sk-", "[A-Za-z0-9]{20,}"),
    _Kind("hf_", "(?<![_-])hf_", "[A-Za-z0-9]{30,}"),
    _Kind("k_", "[prs]k_(?:live|test)_", "[A-Za-z0-9]{16,}"),
    _Kind("gsk_", "gsk_", "[A-Za-z0-9]{20,}"),
    _Kind("gh", "gh[oprsu]_", "[A-Za-z0-9]{20,}"),
    _Kind("github_pat_", "github_pat_", r"\w{20,}"),
    _Kind("glpat-", "glpat-", r"[\w-]{20,}"),
    _Kind("npm_", "npm_", "[A-Za-z0-9]{30,}"),
    _Kind("pypi-", "pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)?", r"[\w-]{16,}"),
    _Kind("AKIA", "AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])", "X"),
    _Kind("ASIA", "ASIA", "[A-Z0-9]{16}(?![A-Za-z0-9])", "X"),
    _Kind("AIza", "AIza", r"[\w-]{30,}"),
    _Kind("xox", "xox[abeoprs]-", r"[\w-]{10,}", "0", "-"),
    # A JSON Web Token, whose first part only names its algorithm. Matches in linear time.
    _Kind("eyJ", r"(?<![_-])eyJ[\w-]{10,}\.eyJ", r"[\w-]{10,}\.[\w-]{5,}", "x", r"\."),
)
_SHORTEST = 15
# Not within a word, but maybe after an escape in JSON or a URL, which ends in a letter.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))"
_FOUND = tuple(
    (each.mark, re.compile(f"{_START}({each.prefix}){each.rest}", re.ASCII)) for each in _KINDS
)
_PREFIXES = tuple((re.compile(each.prefix), each) for each in _KINDS)
# At least a digit or 20 letters, so that ordinary words do not match.
_BEARER = re.compile(r"\b([Bb]earer\s+)((?=[\w.~+/-]*(?:\d|[A-Za-z]{20}))[\w.~+/-]{19,}[\w+/-]={0,2})")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+(?:-[0-9A-Fa-f]+)*")
_UNKNOWN = _Kind("", "", "", "x", "(?!)")
_HASH_OR_UUID = _Kind("", "", "", "0", "-")
# Characters as they are escaped in JSON or a URL, and how often texts of JSON may be within each other.
_CODED = re.compile(r"(?:\\\\)+|\\(?:u[0-9A-Fa-f]{4}|[\"/bfnrt])|%(?:[2-7][0-9A-Fa-f]|0[9AaDd])")
_DEPTH = 6
_SHORT_CODES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = re.compile(r"\\.")  # in a pattern
_WORDS = (re.compile(r"[\w-]{6,}", re.ASCII), re.compile("[A-Za-z0-9]{6,}"))
_LETTER = re.compile("[A-Za-z]")


class PublicTexts:
    """Texts without secrets, such as a suite; keys that they name are not replaced.

    They name a key by at least six characters of what follows its public prefix. `read` returns JSON
    with the texts, and is called when something first looks like a key. `also` gets a key and its prefix
    and returns True for further public keys.
    """

    def __init__(
        self, read: Callable[[], Any], also: Callable[[str, str], bool] = lambda *_: False
    ) -> None:
        self._read = read
        self._also = also
        self._added: set[str] = set()

    def with_keys(self, also: Callable[[str], bool]) -> PublicTexts:
        """Return these texts, with the keys that `also` accepts added as public."""
        return PublicTexts(list, lambda key, prefix: also(key) or self.names(key, prefix))

    def add(self, text: str) -> None:
        """Treat the keys in another text as public."""
        for mark, pattern in _FOUND:
            if mark in text:
                self._added.update(match[0] for match in pattern.finditer(text))

    def names(self, key: str, prefix: str) -> bool:
        """True if a key is public; `prefix` is its public prefix."""
        if key in self._added or self._also(key, prefix):
            return True
        folded, known = key.casefold(), f"{prefix} T3BlbkFJ".casefold()
        return any(word in folded and word not in known for word in self._words)

    @functools.cached_property
    def _words(self) -> frozenset[str]:
        words: set[str] = set()
        for text in texts_in(self._read()):
            for each in {text, _ESCAPED.sub(" ", text)}:
                words.update(*(pattern.findall(each) for pattern in _WORDS))
        return frozenset(word.casefold() for word in words if _LETTER.search(word))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value, including keys of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from texts_in(member)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield str(name)
            yield from texts_in(member)


def stand_in(key: str) -> str:
    """Return the replacement for a key: of the same length, and always the same for the same key."""
    for pattern, kind in _PREFIXES:
        if match := pattern.match(key):
            return match[0] + _filled(key[match.end() :], kind)
    return _filled(key, _HASH_OR_UUID if _HEXADECIMAL.fullmatch(key) else _UNKNOWN)


def _filled(rest: str, kind: _Kind) -> str:
    return re.sub(f"({kind.kept})|.", lambda each: each[1] or kind.filler, rest, flags=re.DOTALL)


class _KeySpan(NamedTuple):
    """A key in a text, and its stand-in."""

    start: int
    end: int
    stand_in: str


def without_keys(text: str, public_texts: PublicTexts | None = None) -> str:
    """Replace everything that looks like a key, unless it is public.

    This covers keys that appear only once the escapes of JSON or a URL are read, even if only a part of
    the text is JSON. Everything but the keys stays as it is.
    """
    if len(text) < _SHORTEST:
        return text
    parts, done = [], 0
    for place in _keys_in(text, public_texts, _DEPTH):
        parts += [text[done : place.start], place.stand_in]
        done = place.end
    return "".join([*parts, text[done:]]) if parts else text


def _keys_in(text: str, public_texts: PublicTexts | None, depth: int) -> list[_KeySpan]:
    """The keys in a text and, up to this depth, in what its escapes mean; in order, without overlaps."""
    places = _plain_keys(text, public_texts)
    if depth and ("\\" in text or "%" in text):
        read = _CODED.sub(_decoded, text)
        if read != text and (inner := _keys_in(read, public_texts, depth - 1)):
            places = _merged([*places, *_coded(text, inner)])
    return places


def _plain_keys(text: str, public_texts: PublicTexts | None) -> list[_KeySpan]:
    spans: list[tuple[int, int]] = []

    def replace_key(match: re.Match[str], group: int, prefix: str) -> str:
        key = match[group]
        if public_texts is not None and public_texts.names(key, prefix):
            return match[0]
        spans.append(match.span(group))
        return match.string[match.start() : match.start(group)] + stand_in(key)

    clean = text
    for mark, pattern in _FOUND:
        if mark in clean:
            clean = pattern.sub(lambda match: replace_key(match, 0, match[1]), clean)
    if "earer" in clean:
        clean = _BEARER.sub(lambda match: replace_key(match, 2, ""), clean)
    # A stand-in is as long as its key, so the places are those in the text.
    return _merged(_KeySpan(start, end, clean[start:end]) for start, end in spans)


def _merged(places: Iterable[_KeySpan]) -> list[_KeySpan]:
    """In order, without keys that are part of another one."""
    merged: list[_KeySpan] = []
    for place in sorted(places, key=lambda each: (each.start, -each.end)):
        if not merged or place.start >= merged[-1].end:
            merged.append(place)
        elif place.end > merged[-1].end:
            before = merged.pop()
            merged.append(_KeySpan(before.start, place.end, before.stand_in + place.stand_in))
    return merged


def _coded(text: str, places: Iterable[_KeySpan]) -> Iterator[_KeySpan]:
    """The places in the text of places in what its escapes mean."""
    # How much longer the text is, up to the current escape.
    longer, codes = 0, _CODED.finditer(text)
    code = next(codes, None)

    def coded(place: int) -> int:
        nonlocal longer, code
        while code is not None and (begin := code.start() - longer) < place:
            size = len(_decoded(code))
            if begin + size > place:  # between two backslashes, each escaped
                return code.start() + 2 * (place - begin)
            longer += len(code[0]) - size
            code = next(codes, None)
        return place + longer

    for start, end, stand_in in places:
        yield _KeySpan(coded(start), coded(end), stand_in)


def _decoded(code: re.Match[str]) -> str:
    name = code[0][1:]
    if code[0][0] == "%":
        return chr(int(name, 16))
    if name[0] == "\\":
        return code[0][::2]
    return chr(int(name[1:], 16)) if name[0] == "u" else _SHORT_CODES.get(name, name)
