"""Arguments under schemas against jsonschema on 20,000 generated cases, with exact numbers."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator, validators

from pytest_tooleval.jsonschemas.parameters import extra_paths
from pytest_tooleval.jsonschemas.validation import is_valid
from pytest_tooleval.record.calls import ToolCall, is_number

SCHEMAS, CALLS = 800, 25
NAMES = ("a", "b", "c")
# As JSON, so that the judge reads what was written, and no float.
NUMBERS = (
    *(
        "0",
        "-0.0",
        "1",
        "1.0",
        "10e-1",
        "0.1",
        "0.2",
        "0.3",
        "0.30",
        "0.07",
        "19.99",
        "4.35",
        "1.1",
        "-5",
    ),
    *(
        "2.5",
        "1e2",
        "100",
        "1E23",
        "1" + "0" * 23,
        "99999999999999991611392",
        "1e308",
        "1e-308",
        "5e-324",
    ),
    *("9007199254740993", "9007199254740992.0", "123456789.01", "1" + "0" * 400),
)
STEPS = ("1", "0.01", "0.1", "1e-2", "0.05", "2.5", "1e-308", "3", "1e22", "7.0")
OTHERS = ("true", "false", "null", '"a"', '"1"', '""')
TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _value(draw: random.Random, depth: int = 2) -> str:
    kind = draw.random()
    if depth and kind < 0.15:
        return f"[{', '.join(_value(draw, depth - 1) for _ in range(draw.randint(0, 3)))}]"
    if depth and kind < 0.25:
        return _object(draw, depth - 1)
    return draw.choice(NUMBERS if kind < 0.85 else OTHERS)


def _object(draw: random.Random, depth: int) -> str:
    names = [name for name in NAMES if draw.random() < 0.5]
    return "{" + ", ".join(f'"{name}": {_value(draw, depth)}' for name in names) + "}"


def _schema(draw: random.Random, depth: int = 1) -> str:
    keywords: dict[str, str] = {}
    if draw.random() < 0.3:
        keywords["type"] = json.dumps(draw.choice((*TYPES, ["integer", "null"], ["number", "string"])))
    for name in LIMITS:
        if draw.random() < 0.1:
            keywords[name] = draw.choice(NUMBERS)
    if draw.random() < 0.3:
        keywords["multipleOf"] = draw.choice(STEPS)
    if draw.random() < 0.15:
        keywords["enum"] = f"[{', '.join(_value(draw) for _ in range(4))}]"
    if draw.random() < 0.05:
        keywords["const"] = _value(draw)
    if draw.random() < 0.2:
        keywords["uniqueItems"] = draw.choice(("true", "false"))
    if depth and draw.random() < 0.3:
        keywords["items"] = _schema(draw, depth - 1)
    if depth and draw.random() < 0.2:
        several = draw.choice(("anyOf", "oneOf", "allOf"))
        keywords[several] = f"[{_schema(draw, depth - 1)}, {_schema(draw, depth - 1)}]"
    if depth and draw.random() < 0.1:
        keywords["not"] = _schema(draw, depth - 1)
    if depth and draw.random() < 0.3:
        keywords |= _members(draw, depth - 1)
    return "{" + ", ".join(f'"{key}": {value}' for key, value in keywords.items()) + "}"


def _members(draw: random.Random, depth: int) -> dict[str, str]:
    names = [name for name in NAMES if draw.random() < 0.8]
    members = ", ".join(f'"{name}": {_schema(draw, depth)}' for name in names)
    more = {"additionalProperties": draw.choice(("true", "false", "{}"))}
    return {
        "properties": f"{{{members}}}",
        "required": json.dumps([name for name in names if draw.random() < 0.1]),
        **(more if draw.random() < 0.5 else {}),
    }


def _judge(schema: str) -> Any:
    def number(checker: Any, value: Any) -> bool:
        return is_number(value) or isinstance(value, Fraction)

    def integer(checker: Any, value: Any) -> bool:
        return number(checker, value) and Fraction(value).denominator == 1

    make: Any = validators.extend
    types = Draft202012Validator.TYPE_CHECKER.redefine_many({"number": number, "integer": integer})
    exact = json.loads(schema, parse_float=Fraction)
    # Our own rule: a schema with properties has no others, unless it says so.
    return make(Draft202012Validator, type_checker=types)({"additionalProperties": False, **exact})


def test_arguments_are_valid_where_jsonschema_says_so() -> None:
    draw = random.Random(29)
    counts = {True: 0, False: 0}
    for _ in range(SCHEMAS):
        members = {"type": '"object"', **_members(draw, 1)}
        text = "{" + ", ".join(f'"{key}": {value}' for key, value in members.items()) + "}"
        schema, judge = json.loads(text), _judge(text)
        for _ in range(CALLS):
            given = _object(draw, 2)
            right = judge.is_valid(json.loads(given, parse_float=Fraction))

            arguments = ToolCall.parse("t", given).arguments or {}
            # The judge does not know that the rule also holds inside the arguments.
            invented = [path for path in extra_paths(schema, arguments) if len(path) == 1]
            valid = is_valid(schema, arguments) and not invented
            assert valid is right, (text, given)
            counts[right] += 1

    assert sum(counts.values()) == 20_000
    assert min(counts.values()) > 5_000
