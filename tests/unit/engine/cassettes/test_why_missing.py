"""Which field of a question differs from what is recorded."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.engine.cassettes.questions import (
    canonical,
    canonical_question,
    definitions,
    summary,
)
from pytest_tooleval.engine.cassettes.why_missing import RecordedQuestions


def tool(**fields: Any) -> dict[str, Any]:
    function = {"name": "get_weather", "description": "Now.", "parameters": {"type": "object"}}
    return {"type": "function", "function": {**function, **fields}}


TOOL = tool()
ASKED: dict[str, Any] = {
    "version": 1,
    "model": "openai/m",
    "api_base": None,
    "messages": [{"role": "user", "content": "Weather in Paris?"}],
    "tools": [TOOL],
    "tool_choice": "required",
    "sampling": {"temperature": 0.0},
    "trial": 0,
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**copy.deepcopy(ASKED), **fields}


def read(folder: Path, *questions: dict[str, Any]) -> RecordedQuestions:
    """A cassette with a damaged first line and these questions."""
    lines = [
        json.dumps({"asked": summary(one), "answer": {}, "definitions": definitions(one)})
        for one in questions
    ]
    path = folder / "c.jsonl"
    path.write_text("\n".join(["damaged {", *lines]) + "\n")
    return RecordedQuestions(path)


@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        ({"sampling": {"temperature": 0.5}}, "sampling.temperature: 0.0 → 0.5"),
        (
            {"sampling": {"temperature": 0.0, "seed": 1}},
            "sampling.seed: (nothing) → 1",
        ),
        ({"model": "openai/n"}, 'model: "openai/m" → "openai/n"'),
        ({"tool_choice": "auto"}, 'tool_choice: "required" → "auto"'),
        ({"trial": 2}, "trial: 0 → 2"),
        (
            {"tools": [TOOL, {"type": "custom", "custom": {"name": "sh"}}, {"type": "tool_search"}]},
            "tools added: sh, tool_search",
        ),
        (
            {"messages": [{"role": "user", "content": "Weather in Rome?"}]},
            'messages: message 1, content: "Weather in Paris?" → "Weather in Rome?"',
        ),
        (
            {"messages": [*ASKED["messages"], {"role": "user", "content": "Now!"}]},
            "messages: 1 → 2",
        ),
        (
            {"tools": [tool(description="Now and later.")]},
            'get_weather.description: "Now." → "Now and later."',
        ),
        (
            {"tools": [tool(parameters={"type": "object", "required": ["city"]})]},
            'get_weather.parameters.required: (nothing) → ["city"]',
        ),
        ({"tools": [{**TOOL, "strict": True}]}, "get_weather.strict: (nothing) → true"),
        ({"tools": []}, "tools removed: get_weather"),
    ],
)
def test_the_field_that_differs_is_named(
    tmp_path: Path, fields: dict[str, Any], difference: str
) -> None:
    found = read(tmp_path, ASKED).nearest(changed(**fields))
    assert found is not None
    assert found.differences == (difference,)
    assert found.line == 2


def test_the_nearest_has_the_fewest_differences_and_the_likest_messages(tmp_path: Path) -> None:
    other = changed(messages=[{"role": "user", "content": "Book a flight to Oslo"}], trial=1)
    sent = changed(messages=[{"role": "user", "content": "Weather in Pau?"}])
    found = read(tmp_path, other, ASKED).nearest(sent)
    assert found is not None
    assert found.line == 3


def test_a_question_that_differs_in_its_tools_alone_is_found_whatever_else_is_recorded(
    tmp_path: Path,
) -> None:
    others = [changed(trial=trial) for trial in (1, 2)]
    questions = read(tmp_path, others[0], ASKED, others[1])
    found = questions.only_tools(changed(tools=[tool(description="Soon.")]))
    assert found is not None
    assert (found.line, found.text) == (
        3,
        'changed since the recording: get_weather.description: "Now." → "Soon."',
    )
    assert questions.only_tools(changed(tools=[], trial=3)) is None


def test_a_cassette_without_definitions_says_that_one_has_changed(tmp_path: Path) -> None:
    """An earlier version recorded only a hash of all tools."""
    old = {name: value for name, value in summary(ASKED).items() if name != "definitions"}
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"asked": old, "answer": {}}) + "\n")
    found = RecordedQuestions(path).only_tools(changed(tools=[tool(description="Soon.")]))
    assert found is not None
    assert found.differences == (
        'tools: the same names (["get_weather"]), but a definition has changed',
    )


def test_a_long_list_is_shown_from_where_it_differs(tmp_path: Path) -> None:
    towns = [f"town {number}" for number in range(100)]
    old, new = (tool(parameters={"enum": [*towns, last]}) for last in ("Oslo", "Rome"))
    found = read(tmp_path, changed(tools=[old])).nearest(changed(tools=[new]))
    assert found is not None
    [difference] = found.differences
    assert difference == (
        'get_weather.parameters.enum: …wn 98", "town 99", "Oslo"] → …wn 98", "town 99", "Rome"]'
    )


def test_a_long_text_is_shown_from_where_it_differs(tmp_path: Path) -> None:
    old = changed(messages=[{"role": "user", "content": "x" * 500 + " in Paris"}])
    new = changed(messages=[{"role": "user", "content": "x" * 500 + " in Rome"}])
    found = read(tmp_path, old).nearest(new)
    assert found is not None
    assert "in Paris" in found.differences[0]
    assert "in Rome" in found.differences[0]
    assert len(found.differences[0]) < 250


def test_an_empty_or_missing_cassette_has_no_nearest(tmp_path: Path) -> None:
    assert RecordedQuestions(tmp_path / "none.jsonl").nearest(ASKED) is None
    assert read(tmp_path).nearest(ASKED) is None


def test_null_is_not_what_is_missing(tmp_path: Path) -> None:
    recorded = changed(sampling={"temperature": 0.0, "seed": None})
    found = read(tmp_path, recorded).nearest(ASKED)
    assert found is not None
    assert found.differences == ("sampling.seed: null → (nothing)",)


@pytest.mark.parametrize(
    "tools", [None, [], [{"function": {"name": "é\ud800", "b": 1, "a": [True]}}] * 2]
)
def test_the_text_of_a_question_is_canonical_and_follows_its_tools(tools: list[Any] | None) -> None:
    sent: dict[str, Any] = {
        "model": "m",
        "trial": 0,
        "messages": [{"role": "user", "content": "“Paris”"}],
    }
    if tools is not None:
        sent["tools"] = tools
    for _ in range(2):  # the second time from the cache
        assert canonical_question(sent) == canonical(sent)
    others = copy.deepcopy(sent)
    others["tools"] = [*(tools or ()), {"function": {"name": "other"}}]
    assert canonical_question(others) == canonical(others)
