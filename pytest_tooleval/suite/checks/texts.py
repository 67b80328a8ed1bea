"""Texts that a message must contain, and matchers on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...explain import describe, nearest, show
from ...findings import Finding, Findings, Loc
from ...jsonschemas.patterns import pattern_problem
from ...matchers.matcher import value_findings
from ...record.calls import is_number
from ...text import folded_words
from .scope import Scope

_OF_USER = ("$regex", "$number", "$not")
_NEGATED = (*_OF_USER, "$json")
_ALL = (*_NEGATED, "$judge")


def text_errors(scope: Scope) -> Findings:
    for index, text in enumerate(scope.part.expected_text or ()):
        yield from _text(text, (*scope.at, "expected_text", index))


def text_findings(text: Any, at: Loc) -> Findings:
    """The problems of a text that a message contains, or of a matcher on it."""
    if isinstance(text, dict) and text.keys() == {"$judge"}:
        yield Finding((*at, "$judge"), "not allowed here: a judge reads the assistant", at_key=True)
    else:
        yield from _text(text, at, _OF_USER)


def _text(text: Any, at: Loc, keys: Sequence[str] = _ALL) -> Findings:
    *first, last = (f'{{"{key}": ...}}' for key in keys)
    example = f"a text, {', '.join(first)} or {last}"
    if isinstance(text, str):
        if not text.strip():
            yield Finding(at, "an empty text, which every message contains")
        elif not folded_words(text):
            message = 'commas are ignored, so every message contains it; write {"$regex": ","}'
            yield Finding(at, message)
        return
    if not isinstance(text, dict) or len(text) != 1:
        yield Finding(at, f"expected {example}, got {describe(text)}")
        return
    ((key, operand),) = text.items()
    if key == "$judge" and key not in keys:
        message = "not allowed in $not, where it would pass if the judge is unsure; say it in the rubric"
        yield Finding((*at, key), message, at_key=True)
    elif key not in keys:
        near = nearest(key, keys)
        hint = f", did you mean {show(near)}?" if near else f"; expected {example}"
        yield Finding((*at, key), f"unknown{hint}", at_key=True)
    elif key == "$not":
        yield from _text(operand, (*at, key), tuple(each for each in keys if each in _NEGATED))
    elif key == "$json" and isinstance(operand, str):
        message = 'a text would be a JSON string; write a value, or a matcher such as {"$schema": {...}}'
        yield Finding((*at, key), message)
    elif key == "$json":
        yield from value_findings(operand, (*at, key))
    elif key == "$judge" and (not isinstance(operand, str) or not operand.strip()):
        yield Finding((*at, key), f"expected a rubric, got {describe(operand)}")
    elif key == "$number" and not is_number(operand):
        yield Finding((*at, key), f"expected a number, got {describe(operand)}")
    elif key == "$regex":
        if not isinstance(operand, str) or not operand:
            yield Finding((*at, key), f"expected a regular expression, got {describe(operand)}")
        elif problem := pattern_problem(operand):
            yield Finding((*at, key), problem)
