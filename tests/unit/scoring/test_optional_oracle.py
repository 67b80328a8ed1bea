"""Answers to cases with optional calls, against a judge written from docs/concepts/scores.md alone."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import pytest

from pytest_tooleval import score_calls, score_messages
from pytest_tooleval.suite.model import Suite

NAMES = ("look", "pay")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": None}} for name in NAMES]
# Each seed makes a few hundred answers.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 6))]


def suite_of(**case: Any) -> Suite:
    return Suite.model_validate({"name": "s", "tools": TOOLS, "test_cases": [{"id": "one", **case}]})


def pair_score(expected: dict[str, Any], made: tuple[str, dict[str, Any]]) -> Fraction | None:
    name, arguments = made
    if name != expected["tool"]:
        return None
    params = expected.get("params")
    if not params:
        return Fraction(1)
    right = sum(arguments.get(key) == value for key, value in params.items())
    return Fraction(6, 10) + Fraction(4, 10) * Fraction(right, len(params))


def overall(
    expected: list[dict[str, Any]], made: list[tuple[str, dict[str, Any]]], match: str, order: str
) -> Fraction:
    """The score of the best pairing, tried one by one."""
    best = Fraction(0)
    for columns in itertools.permutations([*range(len(made)), *[None] * len(expected)], len(expected)):
        used = [j for j in columns if j is not None]
        if order == "strict" and used != sorted(used):
            continue
        scores = [
            None if j is None else pair_score(e, made[j]) for e, j in zip(expected, columns, strict=True)
        ]
        counting = sum(
            score is not None or not each.get("optional")
            for each, score in zip(expected, scores, strict=True)
        )
        over = {"contains": counting, "within": len(made)}.get(match, max(counting, len(made)))
        total = sum((score for score in scores if score is not None), Fraction(0))
        best = max(best, total / over if over else Fraction(1))
    return best


def answers(seed: int) -> list[tuple[list[dict[str, Any]], list[tuple[str, dict[str, Any]]], str, str]]:
    draw = random.Random(seed)

    def params() -> dict[str, Any]:
        return {key: draw.choice((1, 2)) for key in ("a", "b") if draw.random() < 0.6}

    found = []
    for _ in range(305):
        expected: list[dict[str, Any]] = []
        for _ in range(draw.randint(1, 4)):
            call: dict[str, Any] = {"tool": draw.choice(NAMES), "optional": draw.random() < 0.6}
            expected.append(call if draw.random() < 0.4 else {**call, "params": params()})
        made = [(draw.choice(NAMES), params()) for _ in range(draw.randint(0, 4))]
        match = draw.choice(("exact", "exact", "contains", "within"))
        found.append((expected, made, match, draw.choice(("any", "strict"))))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_to_optional_calls_score_as_the_page_says(seed: int) -> None:
    for expected, made, match, order in answers(seed):
        wanted = overall(expected, made, match, order)
        fields: dict[str, Any] = {"expected_calls": expected, "call_order": order}
        calls = [{"name": name, "arguments": arguments} for name, arguments in made]
        if match == "exact":
            found = score_calls(suite_of(prompt="?", **fields), "one", calls).scores["overall"]
        else:
            suite = suite_of(turns=[{"prompt": "?", "match": match, **fields}])
            wire = [{"id": str(i), "type": "function", "function": each} for i, each in enumerate(calls)]
            call_records = {"role": "assistant", "content": None, "tool_calls": wire}
            run: list[dict[str, Any]] = [
                {"role": "user", "content": "?"},
                *([call_records] if made else []),
                {"role": "assistant", "content": "done"},
            ]
            found = score_messages(suite, "one", run).scores["calls"]
        case = (expected, made, match, order, found.explanation)
        assert found.value == pytest.approx(float(wanted)), case
