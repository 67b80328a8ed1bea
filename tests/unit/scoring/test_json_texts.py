"""`$json` in `expected_text`: the whole text of a message is JSON, and as expected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tooleval import ScoringError, SuiteError, TrialResult, score_messages
from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.suite.load import parse_suite

from .cases import suite_of

SCHEMA = {
    "type": "object",
    "properties": {"sky": {"enum": ["clear", "rain"]}, "degrees": {"type": "integer"}},
    "required": ["sky", "degrees"],
    "additionalProperties": False,
}
RIGHT = '{"sky": "clear", "degrees": 21}'
FORM: dict[str, Any] = {"$schema": SCHEMA}


def score(text: str, expected: Any, **case: Any) -> TrialResult:
    suite = suite_of(None, expected_tool=None, expected_text=[expected], **case)
    return score_messages(suite, "one", [{"role": "assistant", "content": text}])


@pytest.mark.parametrize(
    ("text", "expected", "wrong"),
    [
        (RIGHT, FORM, ""),
        (f"\n {RIGHT}\n", FORM, ""),
        (f"```json\n{RIGHT}\n```", FORM, ""),
        (f"```\n{RIGHT}\n```\n", FORM, ""),
        (f"Here: {RIGHT}", FORM, "its whole text is not JSON"),
        (f"{RIGHT} {RIGHT}", FORM, "its whole text is not JSON"),
        (f"```json\n{RIGHT}\n```\nAnything else?", FORM, "its whole text is not JSON"),
        ('{"sky": "clear", "sky": "rain", "degrees": 21}', FORM, "its whole text is not JSON"),
        ('{"sky": "clear", "degrees": NaN}', FORM, "its whole text is not JSON"),
        ("{'sky': 'clear', 'degrees': 21}", FORM, "its whole text is not JSON"),
        ("[" * 100_000, {"$type": "array"}, "its whole text is not JSON"),
        ('{"sky": "snow", "degrees": 21}', FORM, "sky: 'snow' is not one of"),
        (RIGHT, {"sky": "clear"}, ""),
        (RIGHT, {"sky": "Clear", "degrees": {"$gte": 20}}, ""),
        (RIGHT, {}, ""),
        ("[]", {}, "is a list, not an object"),
        (RIGHT, {"sky": "rain"}, "sky: different"),
        (RIGHT, {"wind": 3}, "wind is missing"),
        (RIGHT, {"wind": {"$optional": 3}}, ""),
        (RIGHT, {"sky": {"$absent": True}}, "sky: "),
        ("[1, 2]", [1, 2], ""),
        ("[2, 1]", {"$unordered": [1, 2]}, ""),
        ("21", 21, ""),
        ("21", 22, "different value"),
        ("null", None, ""),
        ("true", 1, "is true, not a number"),
    ],
)
def test_the_whole_text_is_the_expected_json(text: str, expected: Any, wrong: str) -> None:
    trial = score(text, {"$json": expected})
    assert (trial.failure, trial.values["text"]) == (("wrong_text", 0.0) if wrong else (None, 1.0))
    assert trial.mistake.startswith(f"text: {wrong}" if wrong else ""), trial.mistake
    # What no message may be.
    assert score(text, {"$not": {"$json": expected}}).passed == bool(wrong)


def test_one_of_the_messages_of_a_turn_is_the_json() -> None:
    turns = [{"prompt": "?", "expected_text": [{"$json": {"sky": "clear"}}]}]
    suite = suite_of(None, prompt=None, turns=turns)

    def said(*texts: str) -> TrialResult:
        call = {"id": "a", "type": "function", "function": {"name": "a", "arguments": "{}"}}
        *first, last = texts
        messages: list[dict[str, Any]] = [{"role": "user", "content": "?"}]
        for text in first:
            messages.append({"role": "assistant", "content": text, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": "a", "content": "clear"})
        return score_messages(suite, "one", [*messages, {"role": "assistant", "content": last}])

    assert said("Let me see.", RIGHT).passed
    trial = said("Let me see.", '{"sky": "rain"}')
    assert (trial.passed, trial.mistake) == (False, "text: sky: different text")
    assert not said("Let me see.", "The sky is clear.").passed


def test_values_compare_as_the_case_says() -> None:
    assert score('{"sky": "CLEAR"}', {"$json": {"sky": "clear"}}).passed
    exact = score('{"sky": "CLEAR"}', {"$json": {"sky": "clear"}}, param_scoring="case_sensitive")
    assert exact.mistake == "text: sky: case differs"
    with pytest.raises(ScoringError, match=r"expected_text\.sky: "):
        score('{"sky": "' + "a" * 60_000 + '"}', {"$json": {"sky": {"$regex": "(a+)+b"}}})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ({"$json": {"$shema": {}}}, r"\$json.\$shema: .*did you mean \"\$schema\""),
        ({"$json": {"sky": {"$enum": []}}}, r"\$json.sky.\$enum: "),
        ({"$json": {"$schema": {"type": "objekt"}}}, r"\$json.\$schema.type: "),
        ({"$json": {"$absent": True}}, "only works as the value of a key"),
        ({"$json": '{"sky": "clear"}'}, r"\$json: a text would be a JSON string; write a value, or a"),
        ({"$not": {"$json": {"$shema": {}}}}, r"\$not.\$json.\$shema"),
        ({"$jso": {}}, r'did you mean "\$json"'),
    ],
)
def test_validate_refuses(text: Any, problem: str) -> None:
    test = {"id": "one", "prompt": "?", "expected_tool": None, "expected_text": [text]}
    suite = {"name": "s", "tools": [], "test_cases": [test]}
    with pytest.raises(SuiteError, match=problem):
        parse_suite(json.dumps(suite), "s.tooleval.json")


def test_the_word_of_a_user_is_no_json() -> None:
    policy = {"tool": "a", "only_after": {"user": {"$json": {}}}}
    tools = [{"type": "function", "function": {"name": "a"}}]
    test = {"id": "one", "turns": [{"prompt": "?", "expected_calls": [{"tool": "a"}]}]}
    suite = {"name": "s", "tools": tools, "test_cases": [test], "policies": [policy]}
    with pytest.raises(SuiteError, match=r"user.\$json: unknown"):
        parse_suite(json.dumps(suite), "s.tooleval.json")


@pytest.mark.parametrize(
    "case",
    [
        {"expected_tool": "a", "expected_text": [{"$json": FORM}]},
        {"expected_tool": None, "expected_text": [{"$json": {"sky": "clear", "degrees": 21}}, "clear"]},
        {"prompt": None, "turns": [{"prompt": "?", "expected_text": [{"$json": FORM}]}]},
        {"prompt": None, "turns": [{"prompt": "?"}], "expected_text": [{"$json": [1, {"$gte": 2}]}]},
    ],
)
def test_mutate_breaks_it(case: dict[str, Any]) -> None:
    (found,) = mutate_suite(suite_of(None, **case)).cases
    assert found.unknown == ""
    assert "wrong_form" not in [each.kind for each in found.survivors]
    (loose,) = mutate_suite(suite_of(None, **case, thresholds={"overall": 0.0})).cases
    assert "wrong_form" in [each.kind for each in loose.survivors]
