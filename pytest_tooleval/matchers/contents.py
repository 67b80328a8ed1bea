"""Matchers for the contents of texts and lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..figures import score_text
from ..findings import Finding, Findings, Loc
from ..jsonschemas.patterns import pattern_problem, search
from ..text import fold, json_text
from .compare import MAX_UNORDERED, first_unpaired, in_text, matches, other_length, wrong_type_text
from .examples import guesses, inside, right_value
from .matcher import LIST, Matcher, Mismatch, matcher, matcher_key
from .modes import MODES, Mode
from .numerals import figures


class _Text(Matcher):
    expected = "a non-empty string"
    operand = {"type": "string", "minLength": 1}
    types = ("string",)

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, str) and operand != ""


@matcher
class Regex(_Text):
    key = "$regex"
    tier = "everyday"
    title = "matches the pattern"
    example = '"^P"'
    says = "a string in which the regular expression is found"
    expected = "a non-empty regular expression, as a string"

    def problems(self, operand: Any, at: Loc) -> Findings:
        problem = pattern_problem(operand)
        if problem is not None:
            yield Finding(at, problem)

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not isinstance(actual, str):
            return lambda: wrong_type_text(actual, "string")
        return None if search(operand, actual) else lambda: "the pattern does not match"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        from ..jsonschemas.pattern_examples import example

        yield example(operand)


@matcher
class Contains(Matcher):
    key = "$contains"
    tier = "everyday"
    types = ("string", "array")
    title = "contains"
    example = '"x"'
    says = (
        "a string that contains it (ignoring case, as `exact` does), or a list with such an item; give "
        'a list to require several, and `{"$contains": {"$any_of": ["x", "y"]}}` to require one of them'
    )
    expected = "what must be contained (an empty string or list is contained in everything)"
    holds_values = True

    def takes(self, operand: Any) -> bool:
        return operand not in ("", []) and not (isinstance(operand, list) and "" in operand)

    def problems(self, operand: Any, at: Loc) -> Findings:
        yield from super().problems(operand, at)
        if "" in _looked_for(operand):
            yield Finding(at, "an empty string, which every text contains; remove it")

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        return None if _contains(operand, actual, mode) else lambda: "does not contain it"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        parts = operand if isinstance(operand, list) else [operand]
        texts = [right_value(part, True, mode) for part in parts]
        if all(isinstance(text, str) for text in texts):
            yield " ".join(texts)
        yield [right_value(part, inside(schema, None), mode) for part in parts]


def outside_texts(expected: Any) -> list[Any]:
    """Return the parts of `$contains` in an expected value that cannot be found in a text."""
    return [
        part
        for member in _members(expected)
        if matcher_key(member) == Contains.key
        for part in _looked_for(member[Contains.key])
        if not isinstance(part, str) and matcher_key(part) not in (Regex.key, "$exact")
    ]


def _looked_for(operand: Any) -> list[Any]:
    """Return the values and matchers that `$contains` looks for with this operand."""
    parts = operand if isinstance(operand, list) else [operand]
    return [member for part in parts for member in _members(part)]


def _members(expected: Any) -> Iterator[Any]:
    """Yield an expected value, or the values in a matcher that combines values."""
    key = matcher_key(expected)
    if key not in ("$any_of", "$all_of", "$not", "$optional"):
        yield expected
        return
    for member in expected[key] if isinstance(expected[key], list) else [expected[key]]:
        yield from _members(member)


def _contains(operand: Any, actual: Any, mode: Mode) -> bool:
    wanted = operand if isinstance(operand, list) else [operand]
    if isinstance(actual, str):
        return all(in_text(part, actual, mode) for part in wanted)
    if isinstance(actual, (list, tuple)):
        return all(any(matches(part, member, mode) for member in actual) for part in wanted)
    return False


@matcher
class Fuzzy(_Text):
    similarity = 0.85
    # Similarity of longer strings takes too long, so these compare as in `exact`.
    longest = 10_000

    key = "$fuzzy"
    tier = "everyday"
    title = "is similar to"
    example = '"New York City"'
    says = f"a string at least {similarity:.0%} similar, ignoring case, with the same numbers"

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not isinstance(actual, str):
            return lambda: wrong_type_text(actual, "string")
        if MODES["exact"].same_text(operand, actual):
            return None
        if max(len(operand), len(actual)) > self.longest:
            return lambda: f"different text, and longer than {self.longest} characters"
        # A date or an id with one wrong digit is very similar, but wrong.
        if figures(operand).isdisjoint(figures(actual)):
            return lambda: "the numbers differ"
        score = _similarity(operand, actual)
        if score >= self.similarity:
            return None
        return lambda: f"similarity {score_text(score, [self.similarity])}, below {self.similarity:g}"


def _similarity(expected: str, actual: str) -> float:
    """Return the similarity of two strings, ignoring case: rapidfuzz's normalised InDel, 0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.ratio(fold(expected), fold(actual)) / 100


@matcher
class Unordered(Matcher):
    key = "$unordered"
    types = ("array",)
    title = "has the items, in any order (list)"
    example = "[a, b]"
    says = "a list of exactly these values or matchers, in any order"
    expected = f"a list of at most {MAX_UNORDERED} values or matchers"
    operand = {**LIST, "maxItems": MAX_UNORDERED}
    holds_values = True

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, list) and len(operand) <= MAX_UNORDERED

    def mismatch(self, operand: Any, actual: Any, mode: Mode) -> Mismatch | None:
        if not isinstance(actual, (list, tuple)):
            return lambda: wrong_type_text(actual, "list")
        if len(operand) != len(actual):
            return other_length(operand, actual)
        left = first_unpaired(operand, actual, mode)
        if left is None:
            return None
        return lambda: f"no item is left that matches {json_text(operand[left], 40)}"

    def examples(self, operand: Any, schema: Any, mode: Mode) -> Iterator[Any]:
        return guesses(operand, schema, mode)

    def named_values(self, operand: Any) -> Sequence[Any]:
        return list(operand)
