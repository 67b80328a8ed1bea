"""The shape of matchers: which `$` keys there are and what may stand behind them.

A matcher is an object with one `$` key that stands in place of an expected value. What a matcher
accepts is decided in `scoring.matchers`; here is only what may be written, so that a suite with a
typo is refused when it is loaded and not when a model answers.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ..record.calls import is_nested_deeper
from ..record.calls import is_number
from .modes import DEFAULT_MODE

Path = tuple["str | int", ...]
Found = Iterator[tuple[Path, str]]

ANY_OF = "$any_of"
OPTIONAL = "$optional"
EXACT = "$exact"
REGEX = "$regex"
CONTAINS = "$contains"
APPROX = "$approx"
SCHEMA = "$schema"
MATCHERS = (ANY_OF, OPTIONAL, EXACT, REGEX, CONTAINS, APPROX, SCHEMA)

MAX_DEPTH = 100
_APPROX_KEYS = ("value", "abs", "rel")
_MOST_PIECES = 100_000  # some 30 MB
_ASIDE = re.compile(r"\s|\(\?(?:#[^)]*|[a-zA-Z-]+)\)")  # what may stand between a piece and its count
_PIECE = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>\()|(?P<close>\))"
    r"|(?P<count>[?*+]|\{(?P<least>\d*)(?P<range>,\d*)?\})|."
)


def matcher_key(value: Any) -> str | None:
    """The `$` key that makes an object a matcher; None for a plain value."""
    if isinstance(value, dict):
        for key in value:
            if key.startswith("$"):
                return str(key)
    return None


def matcher_problems(value: Any, path: Path = (), *, param_scoring: str = DEFAULT_MODE) -> Found:
    """What is wrong with the matchers in expected params, as pairs of a path and a message.

    `value` is a whole params object: its own keys are the names of parameters, even those that
    begin with `$`. Under `param_scoring="regex"` plain strings are patterns and must compile.
    """
    patterns = param_scoring == "regex"
    if isinstance(value, dict):
        for name, expected in value.items():
            yield from _value(expected, (*path, name), 1, optional=True, patterns=patterns)
    else:
        yield from _value(value, path, 1, optional=False, patterns=patterns)


def _value(value: Any, path: Path, depth: int, *, optional: bool, patterns: bool) -> Found:
    if depth > MAX_DEPTH:
        yield path, f"nested deeper than {MAX_DEPTH} levels; make the expected value flatter"
        return
    key = matcher_key(value)
    if key is not None:
        yield from _matcher(value, key, path, depth, optional=optional, patterns=patterns)
    elif isinstance(value, dict):
        for name, expected in value.items():
            yield from _value(expected, (*path, name), depth + 1, optional=True, patterns=patterns)
    elif isinstance(value, list):
        for index, expected in enumerate(value):
            yield from _value(expected, (*path, index), depth + 1, optional=False, patterns=patterns)
    elif isinstance(value, str) and patterns:
        yield from _regex(value, path)


def _matcher(
    value: dict[str, Any], key: str, path: Path, depth: int, *, optional: bool, patterns: bool
) -> Found:
    if key not in MATCHERS:
        yield (*path, key), _unknown(key)
        return
    if len(value) > 1:
        others = ", ".join(json.dumps(other) for other in value if other != key)
        yield (
            path,
            f'a matcher is an object with one "$" key, but "{key}" stands beside {others}; '
            f'write data that really has such a key as {{"{EXACT}": {{...}}}}',
        )
        return
    operand, inside = value[key], (*path, key)
    if key == ANY_OF:
        yield from _any_of(operand, inside, depth, patterns=patterns)
    elif key == OPTIONAL:
        if not optional:
            yield (
                path,
                f'"{OPTIONAL}" says that a key may be absent, so it must be the value of a key; '
                "here it has no meaning",
            )
        yield from _value(operand, inside, depth + 1, optional=False, patterns=patterns)
    elif key == EXACT:
        if is_nested_deeper(operand, MAX_DEPTH):
            yield inside, f"nested deeper than {MAX_DEPTH} levels; make the expected value flatter"
    elif key == REGEX:
        yield from _regex(operand, inside)
    elif key == CONTAINS:
        yield from _contains(operand, inside, depth)
    elif key == APPROX:
        yield from _approx(operand, inside)
    else:
        yield from schema_problems(operand, inside)


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), MATCHERS, n=1)
    meant = f', did you mean "{near[0]}"?' if near else ";"
    return (
        f"unknown matcher{meant} known are {', '.join(MATCHERS)}; "
        f'data that really has such a key is written as {{"{EXACT}": {{...}}}}'
    )


def _any_of(operand: Any, path: Path, depth: int, *, patterns: bool) -> Found:
    if not isinstance(operand, list):
        yield path, f"expected a list of values or matchers, got {_kind(operand)}"
        return
    for index, member in enumerate(operand):
        yield from _value(member, (*path, index), depth + 1, optional=False, patterns=patterns)


def _regex(operand: Any, path: Path) -> Found:
    if not isinstance(operand, str):
        yield path, f"expected a regular expression as a string, got {_kind(operand)}"
        return
    problem = pattern_problem(operand)
    if problem is not None:
        yield path, problem


def pattern_problem(pattern: str) -> str | None:
    """Why a regular expression cannot be used, or None."""
    import regex

    if not pattern:
        return "an empty regular expression matches everything; write one that tests something"
    if _pieces(_ASIDE.sub("", pattern)) > _MOST_PIECES:
        return (
            f"the regular expression repeats too much: with its counts written out, it has more than "
            f"{_MOST_PIECES:,} pieces; use smaller counts, or *"
        )
    try:
        # Not cached: of patterns that nobody has vetted, all would stay in memory.
        regex.compile(pattern, cache_pattern=False)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        return f"the regular expression does not compile: {reason}"
    return None


def _pieces(pattern: str) -> int:
    """About how many pieces `regex` makes of a pattern: it writes out what must be there.

    `((a{100}){100}){100}` is a million, and takes 300 MB. A server's schema may ask for more than that.
    """
    groups, last = [0], 0
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup
        if kind == "open":
            groups.append(0)
            last = 0
        elif kind == "close":
            last = groups.pop() if len(groups) > 1 else 0
            groups[-1] += last
        elif kind == "count":
            last *= max(1, _copies(piece)) - 1
            groups[-1] += last
        else:
            last = 1
            groups[-1] += 1
        if groups[-1] > _MOST_PIECES:
            break
    return sum(groups)


def _copies(count: re.Match[str]) -> int:
    """As often as it must be there, and once for the rest."""
    if count["least"] is None:
        return 2 if count[0] == "+" else 1
    return int(count["least"].lstrip("0")[:9] or 0) + (count["range"] is not None)


def _contains(operand: Any, path: Path, depth: int) -> Found:
    if operand in ("", []):
        yield path, f"an empty {_kind(operand)[2:]} is contained in everything; name what must be there"
        return
    members = operand if isinstance(operand, list) else [operand]
    for index, member in enumerate(members):
        inside = (*path, index) if isinstance(operand, list) else path
        if member == "":
            yield inside, "an empty string is contained in everything; name what must be there"
        yield from _value(member, inside, depth + 1, optional=False, patterns=False)


def _approx(operand: Any, path: Path) -> Found:
    if not isinstance(operand, dict):
        yield path, f'expected an object such as {{"value": 3.14, "abs": 0.01}}, got {_kind(operand)}'
        return
    for key in operand:
        if key not in _APPROX_KEYS:
            near = difflib.get_close_matches(str(key), _APPROX_KEYS, n=1)
            meant = f', did you mean "{near[0]}"?' if near else ""
            yield (*path, key), f"unknown field{meant or '; known are value, abs and rel'}"
    if "value" not in operand:
        yield path, '"value" is missing: the number to be near to'
    elif not _is_finite(operand["value"]):
        yield (*path, "value"), f"expected a finite number, got {_kind(operand['value'])}"
    if "abs" not in operand and "rel" not in operand:
        yield path, 'a tolerance is missing: "abs" (absolute) or "rel" (a share of the value)'
    for key in ("abs", "rel"):
        if key in operand and not (_is_finite(operand[key]) and operand[key] >= 0):
            got = operand[key] if _is_finite(operand[key]) else _kind(operand[key])
            yield (*path, key), f"expected a finite number of at least 0, got {got}"


def schema_problems(schema: Any, path: Path = ()) -> Found:
    """What is wrong with a JSON Schema (draft 2020-12), as pairs of a path and a message."""
    if not isinstance(schema, (dict, bool)):
        yield path, f"expected a JSON Schema as an object, got {_kind(schema)}"
        return
    from jsonschema import Draft202012Validator
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    checker.checks("regex", raises=ValueError)(_check_pattern)
    metaschema = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=checker)
    try:
        for error in metaschema.iter_errors(schema):
            reason = str(error.cause) if error.cause is not None else error.message[:200]
            yield (*path, *error.absolute_path), f"not a valid JSON Schema: {reason}"
    except RecursionError:
        yield path, "the JSON Schema is nested too deeply; make it flatter"


def _check_pattern(text: object) -> bool:
    problem = pattern_problem(text) if isinstance(text, str) and text else None
    if problem is not None:
        raise ValueError(problem)
    return True


def _is_finite(value: object) -> bool:
    return is_number(value) and (isinstance(value, int) or math.isfinite(value))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
