"""Expected texts, with and without turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import score_messages
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.suite.load import parse_suite

from .cases import resolved, suite_of

BOX = """
class Box:
    def __init__(self):
        self.n = 0
    def add(self, by: int):
        self.n += by
        return self.n
"""


def said(text: str | None, *names: str) -> list[dict[str, Any]]:
    calls = [{"id": name, "type": "function", "function": {"name": name}} for name in names]
    answers = [{"role": "tool", "tool_call_id": name, "content": "1"} for name in names]
    return [{"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}, *answers]


def score(*messages: dict[str, Any], judged: dict[str, bool] | None = None, **case: Any) -> TrialResult:
    return score_messages(suite_of(None, **case), "one", messages, judged)


ONE: dict[str, Any] = {"expected_tool": "a", "expected_text": ["Hello", {"$not": "sorry"}]}
NONE: dict[str, Any] = {"expected_tool": None, "expected_text": ["Hello"]}
SEVERAL: dict[str, Any] = {"expected_calls": [{"tool": "a"}, {"tool": "b"}], "expected_text": ["Hello"]}
CHAIN: dict[str, Any] = {
    "multi_turn": True,
    "expected_tool": "b",
    "valid_prerequisites": ["a"],
    "optimal_hops": 2,
    "expected_text": ["Hello"],
}


@pytest.mark.parametrize(
    ("case", "messages", "value", "text", "failure"),
    [
        (ONE, said("Hello", "a"), 1.0, 1.0, None),
        (ONE, said("Hello, sorry", "a"), 2 / 3, 0.5, "wrong_text"),
        (ONE, said(None, "a"), 2 / 3, 0.5, "wrong_text"),
        (ONE, said("Hello", "b"), 2 / 3, 1.0, "wrong_tool"),
        (NONE, said("hello!"), 1.0, 1.0, None),
        (NONE, said("Bye"), 0.5, 0.0, "wrong_text"),
        (NONE, said("Hello", "a"), 0.5, 1.0, "unexpected_call"),
        (SEVERAL, said("Hello", "b", "a"), 1.0, 1.0, None),
        (SEVERAL, said("", "b", "a"), 0.5, 0.0, "wrong_text"),
        (CHAIN, [*said("Hello", "a"), *said(None, "b")], 1.0, 1.0, None),
        (CHAIN, [*said("Bye", "a"), *said(None, "b")], 0.5, 0.0, "wrong_text"),
        # The mean of the checks, times the efficiency, without the detour.
        (CHAIN, [*said(None, "a"), *said(None, "c"), *said("Bye", "b")], 0.5 * 2 / 3 - 0.1, 0.0, None),
    ],
)
def test_texts_are_checks_beside_the_calls(
    case: dict[str, Any], messages: list[dict[str, Any]], value: float, text: float, failure: str | None
) -> None:
    trial = score(*messages, **case)
    assert trial.values["overall"] == pytest.approx(value)
    assert trial.values["text"] == pytest.approx(text)
    assert trial.passed is (value == 1.0)
    assert failure in (None, trial.failure)


def test_the_text_changes_nothing_else() -> None:
    for fields in (ONE, NONE, SEVERAL, CHAIN):
        with_text, without = (
            resolved(None, **fields),
            resolved(None, **{**fields, "expected_text": None}),
        )
        assert with_text.tool_choice == without.tool_choice
        assert with_text.round_limit == without.round_limit
    assert "text" not in resolved(None, **{**CHAIN, "expected_text": None}).thresholds
    assert resolved(None, **CHAIN).thresholds["text"] == 1.0


def test_the_reason_is_the_text() -> None:
    assert score(*said("Bye", "a"), **ONE).mistake == 'text: expected "Hello", got "Bye"'
    chain = [*said("Bye", "a"), *said(None, "b")]
    assert score(*chain, **CHAIN).mistake == 'text: expected "Hello", got "Bye"'


def test_a_judge_reads_a_single_reply() -> None:
    case: dict[str, Any] = {"expected_tool": "a", "expected_text": [{"$judge": "Is polite."}]}
    assert score(*said("Please", "a"), judged={"Is polite.": True}, **case).passed
    assert score(*said("No", "a"), judged={"Is polite.": False}, **case).failure == "wrong_text"
    assert "nothing was said" in score(*said(None, "a"), judged={"Is polite.": True}, **case).mistake
    with_forbidden: dict[str, Any] = {**case, "forbidden_calls": ["b"]}
    assert score(*said("Please", "b"), **with_forbidden).failure == "forbidden_call"  # without a judge


def test_a_wrong_text_is_a_mutant() -> None:
    suite = suite_of(None, **ONE)
    (found,) = mutate_suite(suite).cases
    assert found.calls is not None
    assert "nothing_said" not in [each.kind for each in found.survivors]


def test_a_prompt_with_a_world_is_played(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_text(BOX, encoding="utf-8")
    case = {
        "id": "one",
        "prompt": "Add three.",
        "world": True,
        "expected_tool": "add",
        "expected_params": {"by": 3},
        "match": "state",
        "expected_state": {"n": 3},
        "expected_text": ["done"],
    }
    data = json.dumps({"name": "s", "world": "box:Box", "test_cases": [case]})
    suite = parse_suite(data, str(tmp_path / "s.tooleval.json"))

    def score(*by: int, text: str = "Done.") -> TrialResult:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Add three."}]
        for number, each in enumerate(by):
            function = {"name": "add", "arguments": json.dumps({"by": each})}
            call = {"id": f"c{number}", "type": "function", "function": function}
            answer = {"role": "tool", "tool_call_id": call["id"], "content": str(sum(by[: number + 1]))}
            messages += [{"role": "assistant", "content": None, "tool_calls": [call]}, answer]
        return score_messages(suite, "one", [*messages, {"role": "assistant", "content": text}])

    assert score(3).passed
    assert score(1, 2).passed
    assert score(1).mistake == "Box.n: expected 3, got 1"
    assert score(3, text="Sorry.").failure == "wrong_text"
    assert not score().passed
    (found,) = mutate_suite(suite).cases
    assert (found.unknown, found.survivors) == ("", ())
