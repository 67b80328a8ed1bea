"""Broken suites made from valid ones: each loads, or is refused with a place and a reason."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import Problem, SuiteError
from pytest_tooleval.suite.lint import lint_suite
from pytest_tooleval.suite.load import parse_document
from pytest_tooleval.suite.resolved import resolve

pytestmark = pytest.mark.slow

SUITE: dict[str, Any] = {
    "name": "Weather",
    "description": "A suite with something of everything",
    "system_prompt": "Be brief.",
    "temperature": 0.5,
    "thresholds": {"overall": 0.8},
    "tools": [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": "A tool",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "city": {"type": "string", "enum": ["Paris", "Köln"]},
                        "days": {"type": "integer", "minimum": 1},
                        "near": {"$ref": "#/$defs/place"},
                    },
                    "$defs": {"place": {"type": "array", "items": {"type": "number"}}},
                    "required": ["city"],
                },
            },
        }
        for name in ("get_weather", "search", "book")
    ],
    "test_cases": [
        {
            "id": "first",
            "prompt": "Weather in Paris?",
            "expected_tool": ["get_weather", "search"],
            "expected_params": {"city": {"$any_of": ["Paris", {"$regex": "^P"}]}, "days": 3},
            "tags": ["slow", "v1.2"],
            "xfail": {"reason": "later", "strict": True},
            "weight": 2,
        },
        {
            "prompt": [
                {"role": "system", "content": "x"},
                {"role": "user", "content": [{"type": "text", "text": "Rain 🌧?"}]},
            ],
            "expected_calls": [
                {"tool": "get_weather", "params": {"days": {"$approx": {"value": 2, "abs": 1}}}},
                {"tool": "*", "params": None},
            ],
            "call_order": "strict",
            "metadata": {"a": [1, {"b": None}]},
        },
        {
            "prompt": "Book a flight",
            "expected_tool": "book",
            "expected_params": {"city": "Köln"},
            "multi_turn": True,
            "max_rounds": 5,
            "optimal_hops": 2,
            "valid_prerequisites": ["search"],
            "mock_responses": {
                "search": {
                    "$when": [{"params": {"city": "Paris"}, "answer": {"id": 1}}, {"answer": []}]
                },
                "get_weather": {"$sequence": [1, 2]},
            },
        },
        {"prompt": "Hello", "expected_tool": None, "tools": [], "skip": "why"},
    ],
}

STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    3.5,
    10**400,
    "",
    "x",
    " ",
    "a::b[c]",
    "\x00\x1b[31m\u202e",
    [],
    [None],
    [[]],
    [{}],
    {},
    {"": 0},
    {"$any_of": 1},
    {"$regex": "("},
    {"$sequence": {"$when": []}},
    {"type": "object", "properties": []},
    {"role": "user", "content": {}},
    {"tool": {}, "params": {}},
    json.loads("[" * 95 + "]" * 95),
]


def check(text: str | bytes) -> bool:
    """Whether a text is a suite; if it is not, the refusal must be of use."""
    try:
        suite, document = parse_document(text, "a.tooleval.json")
    except SuiteError as error:
        problems = error.problems
        suite = None
    if suite is None:
        check_problems(problems)
        return False
    check_problems(lint_suite(suite, document), least=0)
    for case in suite.test_cases:
        assert case.id
        assert case.line >= 1
        resolve(suite, case)
    return True


def check_problems(problems: Sequence[Problem], *, least: int = 1) -> None:
    assert len(problems) >= least
    for problem in problems:
        assert problem.path == "a.tooleval.json"
        assert problem.line >= 1
        assert problem.column >= 1
        assert problem.message
        assert str(problem).isprintable()


def containers(value: Any) -> list[Any]:
    found = []
    if isinstance(value, (dict, list)):
        found.append(value)
        for member in value.values() if isinstance(value, dict) else value:
            found += containers(member)
    return [container for container in found if container]


def pick(container: Any, rng: random.Random) -> Any:
    return rng.choice(list(container)) if isinstance(container, dict) else rng.randrange(len(container))


def replace(data: Any, rng: random.Random) -> None:
    container = rng.choice(containers(data))
    container[pick(container, rng)] = copy.deepcopy(rng.choice(STRANGE))


def remove(data: Any, rng: random.Random) -> None:
    container = rng.choice(containers(data))
    del container[pick(container, rng)]


def rename(data: Any, rng: random.Random) -> None:
    container = rng.choice([c for c in containers(data) if isinstance(c, dict)])
    key = rng.choice(list(container))
    at = rng.randrange(len(key) + 1)
    container[key[:at] + rng.choice(["", "x", "_", "\x1b", "é"]) + key[at + 1 :]] = container.pop(key)


def move(data: Any, rng: random.Random) -> None:
    source, target = rng.choice(containers(data)), rng.choice(containers(data))
    value = copy.deepcopy(source[pick(source, rng)])
    if isinstance(target, dict):
        target[rng.choice(["name", "tools", "prompt", "expected_tool", "params", "id"])] = value
    else:
        target.insert(rng.randrange(len(target) + 1), value)


def of_data(change: Callable[[Any, random.Random], None]) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        data = copy.deepcopy(SUITE)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            change(data, rng)
        return json.dumps(data, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)

    return make


def of_text(change: Callable[[str, int, random.Random], str]) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        text = json.dumps(SUITE, indent=1, ensure_ascii=False)
        return change(text, rng.randrange(len(text)), rng)

    return make


def bytes_flipped(rng: random.Random) -> bytes:
    raw = bytearray(json.dumps(SUITE, ensure_ascii=False).encode())
    for _ in range(rng.choice([1, 3])):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def encoded(rng: random.Random) -> bytes:
    text = json.dumps(SUITE, ensure_ascii=False).replace("🌧", "")
    return text.encode(rng.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp037"]))


JUNK = [
    ",",
    "}",
    "]",
    "{",
    "[",
    '"',
    "'",
    ":",
    "\\",
    "//",
    "\n",
    "\x00",
    "NaN",
    "1e999",
    "\\ud800",
    "\ud800",
    "[" * 2000,
]
WAYS: dict[str, Callable[[random.Random], str | bytes]] = {
    "value replaced": of_data(replace),
    "value removed": of_data(remove),
    "key changed": of_data(rename),
    "value moved": of_data(move),
    "cut off": of_text(lambda text, at, rng: text[:at]),
    "character removed": of_text(lambda text, at, rng: text[:at] + text[at + 1 :]),
    "junk put in": of_text(lambda text, at, rng: text[:at] + rng.choice(JUNK) + text[at:]),
    "part repeated": of_text(lambda text, at, rng: text[:at] + text[at - rng.randrange(300) :]),
    "byte changed": bytes_flipped,
    "encoding changed": encoded,
}


def test_the_suite_that_is_broken_is_valid_itself() -> None:
    assert check(json.dumps(SUITE))


@pytest.mark.parametrize("way", WAYS)
def test_forty_suites_broken_in_one_way(way: str) -> None:
    refused = sum(not check(WAYS[way](random.Random(f"{way} {seed}"))) for seed in range(40))
    assert refused >= 10, "these changes hardly break anything"


def test_strange_values_in_every_place() -> None:
    """A sixth of them in each place, and each of them in a sixth of the places."""
    data = copy.deepcopy(SUITE)
    number = itertools.count()
    for container in containers(data):
        for place in list(container) if isinstance(container, dict) else range(len(container)):
            kept = container[place]
            for container[place] in STRANGE[next(number) % 6 :: 6]:
                check(json.dumps(data))
            container[place] = kept


@given(
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from([replace, remove, rename, move]), max_size=8),
)
def test_suites_broken_in_several_ways(
    rng: random.Random, changes: list[Callable[[Any, random.Random], None]]
) -> None:
    data = copy.deepcopy(SUITE)
    for change in changes:
        if data:
            change(data, rng)
    check(json.dumps(data))


KEYS = st.sampled_from(
    ["name", "tools", "test_cases", "prompt", "expected_tool", "function", "$any_of", "x"]
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    )
)
def test_any_json_at_all(data: Any) -> None:
    check(json.dumps(data))


@given(st.text() | st.binary())
def test_any_text_at_all(text: str | bytes) -> None:
    assert not check(text)


@given(st.text('{}[]",:\\u0dD8/ \nteuNaI1.e-', max_size=60))
def test_nearly_json(text: str) -> None:
    assert not check(text)
