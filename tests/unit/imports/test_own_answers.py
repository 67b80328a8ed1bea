"""A case passes with the very answer that it came from, or the answer is left out with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import call, tool
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import SuiteError
from pytest_tooleval.imports.apply import ImportOutcome, apply
from pytest_tooleval.imports.files import import_files
from pytest_tooleval.imports.format import Source
from pytest_tooleval.imports.formats.otel import FORMAT as OTEL
from pytest_tooleval.imports.records import read_records
from pytest_tooleval.replies.messages import gist_of
from pytest_tooleval.replies.outside_transcript import OutsideTranscript
from pytest_tooleval.scoring.trial import score_messages
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import messages_of

from .test_chats import CALLED, SHAPES

ORDERS = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}
BOOK = {"type": "object", "properties": {"id": {}, "days": {}}, "required": ["id"]}
TOOLS = [tool("weather"), tool("orders", ORDERS), tool("book", BOOK), tool("now", {})]
TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))
WITH_TOOLS = [path for path in TRACES if path.stem != "openinference_agents"]


def answer(content: object = None, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = {"tool_calls": list(calls)} if calls else {}
    return {"role": "assistant", "content": content, **made, **fields}


def imported(
    folder: Path, reply: dict[str, Any], existing: dict[str, Any] | None = None, **fields: Any
) -> ImportOutcome:
    log = folder / "log.jsonl"
    messages = [{"role": "user", "content": "Go."}, reply]
    log.write_text(json.dumps({"messages": messages, "tools": TOOLS, **fields}), encoding="utf-8")
    return apply(import_files([log], None, has_tools=False)[0], "log", existing)


def written(text: str) -> str:
    return f"<tool_call>{text}</tool_call>"


PARIS = {"name": "weather", "arguments": {"city": "Paris"}}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (answer("Which city?"), None),
        (answer(None, call("weather", '{"city": "Paris"}')), {"city": "Paris"}),
        (answer(written(json.dumps(PARIS))), {"city": "Paris"}),
        (answer(None, call(json.dumps(PARIS), "{}")), {"city": "Paris"}),
        (answer(None, call("now")), {}),
        (answer(None, call("orders")), {"q": {"$absent": True}, "n": {"$absent": True}}),
        (answer(None, call("Orders")), {"q": {"$absent": True}, "n": {"$absent": True}}),
        (answer(None, call("book", '{"id": null}')), {"id": None}),
    ],
)
def test_what_an_answer_makes_a_case_expect(
    tmp_path: Path, reply: dict[str, Any], expected: Any
) -> None:
    suite = parse_suite(json.dumps(imported(tmp_path, reply).suite))
    (case,) = suite.test_cases
    assert case.expected_params == expected
    assert (case.expected_tool is None) == (expected is None)
    assert score_messages(suite, case, [reply]).passed


def test_a_call_without_arguments_expects_none(tmp_path: Path) -> None:
    suite = parse_suite(json.dumps(imported(tmp_path, answer(None, call("orders"))).suite))
    other = answer(None, call("orders", '{"q": "cancelled", "n": 1}'))
    assert not score_messages(suite, suite.test_cases[0], [other]).passed


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answer(refusal="I cannot."), "no usable answer: refused: I cannot."),
        (answer([{"type": "refusal", "refusal": "No."}]), "no usable answer: refused: No."),
        (answer(""), "no usable answer: empty answer: neither a text nor a call"),
        (answer(" ", reasoning_content="Hm."), "no usable answer: empty answer: neither a text"),
        (answer("It is", finish_reason="length"), "no usable answer: cut off: length"),
        (answer("", finish_reason="tool_calls"), "no call could be read"),
        (answer("", finish_reason="error"), "the provider ended the answer with error"),
        (answer(None, call("book")), "the arguments of book break the tool's schema: 'id'"),
        (answer(None, call("weather", r'{"city": "\ud83d"}')), "is half of a character"),
    ],
)
def test_answers_that_make_no_case(tmp_path: Path, reply: dict[str, Any], reason: str) -> None:
    with pytest.raises(SuiteError) as caught:
        imported(tmp_path, reply)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (1, 1)
    assert reason in problem.message


def test_the_settings_of_an_existing_suite_count(tmp_path: Path) -> None:
    reply = answer(None, call("weather", '{"city": "Paris"}', id="a"), call("now", id="b"))
    suite: dict[str, Any] = {"name": "s", "tools": TOOLS, "test_cases": []}
    limited = {**suite, "thresholds": {"max_calls": 1, "politeness": 0.5}}
    with pytest.raises(SuiteError, match="its own case would fail with this answer: max_calls: 2"):
        imported(tmp_path, reply, limited)
    assert imported(tmp_path, reply, {**limited, "thresholds": {"politeness": 0.5}}).counts == [
        "1 case added"
    ]


def test_a_suite_with_conversations_gets_more_cases(tmp_path: Path) -> None:
    talk = {"turns": [{"prompt": "Go.", "expected_text": ["ok"]}]}
    existing = {"name": "s", "tools": TOOLS, "test_cases": [talk]}
    made = imported(tmp_path, answer(None, call("now")), existing)
    assert [case.get("prompt") for case in made.suite["test_cases"]] == [None, "Go."]


TEXTS = st.sampled_from(
    ["", " ", "Sure.", written(json.dumps(PARIS)), json.dumps([PARIS]), written("{")]
)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just({"$regex": "a"})
ARGUMENTS = st.dictionaries(st.sampled_from(["city", "q", "n", "id", "days"]), VALUES, max_size=2)
NAMES = st.sampled_from(["weather", "orders", "book", "now", "Orders", "unknown", json.dumps(PARIS)])
CALLS = st.builds(call, NAMES, st.builds(json.dumps, ARGUMENTS), st.sampled_from(["a", "b"]))
ENDINGS = st.sampled_from([None, "stop", "length", "tool_calls", "content_filter", "refusal", "error"])


@given(
    content=TEXTS | st.none(),
    calls=st.lists(CALLS, max_size=3),
    finish_reason=ENDINGS,
    refusal=st.sampled_from([None, "No."]),
    choice=st.sampled_from(["auto", "required", "none"]),
)
def test_any_answer(
    tmp_path_factory: pytest.TempPathFactory,
    content: str | None,
    calls: list[dict[str, Any]],
    choice: str,
    **fields: Any,
) -> None:
    reply = answer(content, *calls, **fields)
    try:
        made = imported(tmp_path_factory.mktemp("log"), reply, tool_choice=choice)
    except SuiteError as error:
        (problem,) = error.problems
        assert problem.message
        assert (problem.line, problem.column) == (1, 1)
    else:
        suite = parse_suite(json.dumps(made.suite))
        assert score_messages(suite, suite.test_cases[0], [reply]).passed


@pytest.mark.parametrize("record", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_records(tmp_path: Path, record: object) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(record), encoding="utf-8")
    suite = parse_suite(json.dumps(apply(import_files([log], None, has_tools=False)[0], "log").suite))
    assert score_messages(suite, suite.test_cases[0], [CALLED]).passed


@pytest.mark.parametrize("path", WITH_TOOLS, ids=lambda path: path.stem)
def test_every_format_of_traces(path: Path) -> None:
    suite = parse_suite(
        json.dumps(apply(import_files([path], None, has_tools=False)[0], "traces").suite)
    )
    items = OTEL.read([Source(path, read_records(path)[0])])
    runs = [item for item in items if isinstance(item, OutsideTranscript)]
    for case in suite.test_cases:
        prompt = [gist_of(message) for message in messages_of(suite, case)]
        answers = [
            run.messages[len(prompt)]
            for run in runs
            if [gist_of(message) for message in run.messages[: len(prompt)]] == prompt
        ]
        assert any(score_messages(suite, case, [each]).passed for each in answers)
