r"""Characters that a pattern with `(?i)` takes for the same, as ECMA-262 does with the flags `iu`.

Two characters are the same if their simple case folding is (Unicode's CaseFolding.txt, C and S). So the
Kelvin sign is `k` and the long s is `s`, but a dotted capital I and a dotless i are only themselves.
`regex` has other rules, even for `\p{Lu}` and `[^\W]`, so its own flag is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

Ranges = Sequence[tuple[int, int]]

_LAST_CASED = 0x1EFFF
# Since Unicode 15.1, later than some supported Pythons.
_LATER = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


@lru_cache(maxsize=1)
def _same() -> Mapping[int, frozenset[int]]:
    """Return each character that has others of the same folding, with all of these."""
    members: dict[str, set[int]] = {}
    for code in range(_LAST_CASED + 1):
        char = chr(code)
        folded = _folded(char)
        if folded != char:
            members.setdefault(folded, {ord(folded)}).add(code)
    classes = [frozenset(each) for each in members.values()]
    return {code: each for each in classes for code in sorted(each)}


def _folded(char: str) -> str:
    """Return the simple case folding of a character."""
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return _LATER.get(folded, folded)
    return _LATER.get(char, char)


def any_case(ranges: Ranges) -> Ranges:
    """Return the ranges with every character that is the same as one of theirs."""
    same = _same()
    inside: set[int] = set()
    for first, last in ranges:
        few = last - first < len(same)
        inside |= (
            same.keys() & range(first, last + 1) if few else {c for c in same if first <= c <= last}
        )
    others = {code for each in inside for code in same[each]} - inside
    return [*ranges, *((code, code) for code in sorted(others))]


@lru_cache(maxsize=256)
def others_of_class(inside: str) -> Ranges:
    r"""Return the characters that a class, the inside of a `regex` set, gains when case is ignored."""
    import regex

    one = regex.compile(f"[{inside}]", regex.VERSION0, cache_pattern=False)
    found = {code for code in _same() if one.match(chr(code))}
    return [(code, code) for code in sorted(_same()) if code not in found and found & _same()[code]]
