"""Records that read back as it was written, whatever a model has sent."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from builders import result_of
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.encoding import document_json, to_ascii_json, to_json
from pytest_tooleval.record.results import (
    CaseResult,
    CaseRow,
    Check,
    KeptCases,
    Score,
    TrialError,
    TrialResult,
)
from pytest_tooleval.record.run import Run
from pytest_tooleval.record.transcript import Measures, Reply, Transcript, measures_of, text_of
from pytest_tooleval.verdicts.summary import rows_document, whole_document

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(texts, children, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, json_values, max_size=3)
units = st.floats(0, 1)
amounts = st.none() | st.floats(0, 1e6)
counts = st.none() | st.integers(0, 10**9)

calls = st.builds(
    ToolCall,
    name=texts,
    arguments=st.none() | objects,
    raw_arguments=st.none() | texts,
    id=st.none() | texts,
)
messages = objects
replies = st.builds(
    Reply,
    message=messages,
    calls=st.lists(calls, max_size=3).map(tuple),
    format=st.sampled_from(["native", "recovered"]),
    tool_choice=st.none() | st.sampled_from(["required", "auto", "none"]),
    finish_reason=st.none() | texts,
    latency_s=amounts,
    prompt_tokens=counts,
    completion_tokens=counts,
    cost_usd=amounts,
    cached=st.booleans(),
)
transcripts = st.builds(
    Transcript,
    prompt=st.lists(messages, max_size=2).map(tuple),
    replies=st.lists(replies, max_size=2).map(tuple),
)
checks = st.builds(Check, what=texts, expected=texts, actual=texts, value=units, reason=texts)
scores = st.builds(
    Score, value=st.none() | units, explanation=texts, checks=st.lists(checks, max_size=2).map(tuple)
)
trials = st.builds(
    TrialResult,
    scores=st.dictionaries(texts, scores, max_size=2),
    passed=st.booleans(),
    failure=st.none() | st.sampled_from(["wrong_tool", "missing_call"]),
    calls_made=st.integers(0, 5),
    mistake=st.text(max_size=9),
    transcript=st.none() | transcripts,
    error=st.none() | st.builds(TrialError, kind=st.sampled_from(["timeout", "server"]), message=texts),
    trial=st.integers(0, 9),
)
case_results = st.builds(
    result_of,
    nodeid=texts,
    suite=texts,
    case=texts,
    model=texts,
    outcome=st.sampled_from(["passed", "failed", "error", "skipped"]),
    scores=st.dictionaries(texts, st.none() | units, max_size=2),
    thresholds=st.dictionaries(texts, units, max_size=2),
    trials=st.lists(trials, max_size=2).map(tuple),
    reason=texts,
    weight=st.floats(0.1, 10),
    tags=st.lists(texts, max_size=2).map(tuple),
    tool_choice=texts,
    file=texts,
    line=st.integers(0, 10**6),
)


@given(case_results)
def test_a_case_survives_json(result: CaseResult) -> None:
    assert msgspec.json.decode(to_json(result), type=CaseResult) == result


@given(case_results)
def test_the_same_json_is_read_without_transcripts(result: CaseResult) -> None:
    row = msgspec.json.decode(to_json(result), type=CaseRow)
    assert type(row) is CaseRow
    assert row == result.row()


def test_json_takes_what_models_write() -> None:
    text = to_json(["half of \ud800 a pair", math.nan, math.inf])
    assert json.loads(text) == ["half of ? a pair", None, None]


@given(texts, json_values | st.text() | st.binary(), st.none() | texts)
def test_parsing_a_call_never_raises_and_never_invents_arguments(
    name: str, arguments: object, id: str | None
) -> None:
    call = ToolCall.parse(name, arguments, id)
    assert (call.name, call.id) == (name, id)
    if call.arguments is None:
        assert isinstance(call.raw_arguments, str)
    elif isinstance(arguments, dict):
        assert call.arguments == arguments
    else:
        assert isinstance(arguments, str)
        assert json.loads(arguments) == call.arguments


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "null",
        "[]",
        "Paris",
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 1e400}',
        '{"a": [{"b": -1e400}]}',
        {"a": [{"b": float("inf")}]},
        '{"a": 1',
        '{"a":' * 100_000,
        '{"a": ' + "9" * 100_000 + "}",
        None,
        5,
        [],
        True,
        {1, 2},
    ],
)
def test_what_is_no_json_object_is_kept_as_it_came(raw: Any) -> None:
    call = ToolCall.parse("f", raw)
    if call.arguments is None:
        assert call.raw_arguments == raw or not isinstance(raw, str)
        assert isinstance(call.raw_arguments, str)
    else:  # a Python without a limit on the digits of integers
        assert "9" * 100 in str(raw)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity"])
def test_numbers_that_json_does_not_have_are_no_arguments(number: str) -> None:
    text = f'{{"a": [{{"b": {number}}}]}}'
    for arguments in (text, json.loads(text)):
        call = ToolCall.parse("f", arguments)
        assert call.arguments is None
        json.dumps(msgspec.to_builtins(call), allow_nan=False)


@pytest.mark.parametrize(("depth", "kept"), [(50, True), (199, True), (300, False), (900, False)])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ('{"a":[', "]}")])
def test_arguments_that_could_not_be_written_again_are_kept_as_text(
    depth: int, kept: bool, opening: str, closing: str
) -> None:
    depth //= len(closing)
    raw = opening * depth + "1" + closing * depth
    call = ToolCall.parse("f", raw)
    assert (call.arguments is not None) == kept
    assert call.raw_arguments == raw
    from_object = ToolCall.parse("f", json.loads(raw))
    assert (from_object.arguments is not None) == kept
    assert to_json(from_object)


@pytest.mark.parametrize(
    "given_call",
    [
        {"name": "f", "arguments": {"a": 1}},
        {"name": "f", "arguments": '{"a": 1}'},
        {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        ToolCall("f", {"a": 1}),
    ],
)
def test_calls_are_accepted_in_every_usual_shape(given_call: Any) -> None:
    call = ToolCall.coerce(given_call)
    assert (call.name, call.arguments) == ("f", {"a": 1})


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ("DROP", {"input": "DROP"}),
        ({"q": "DROP \xfc"}, {"input": '{"q": "DROP \xfc"}'}),
        (["DROP"], {"input": '["DROP"]'}),
        (None, {"input": ""}),
        (json.loads("[" * 300 + "]" * 300), None),
    ],
)
def test_what_a_custom_tool_got_is_text(given: Any, arguments: Any) -> None:
    call = ToolCall.coerce({"id": "c", "custom": {"name": "sql", "input": given}})
    assert (call.name, call.id, call.arguments) == ("sql", "c", arguments)
    assert call.readings is None or arguments


@pytest.mark.parametrize("given_call", [{}, {"name": None}, {"function": "f"}, {"name": ["f"]}])
def test_a_call_without_a_name_has_an_empty_one(given_call: dict[str, Any]) -> None:
    call = ToolCall.coerce(given_call)
    assert (call.name, call.arguments) == ("", None)


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_no_calls_are_one_reply_without_calls(nothing: Any) -> None:
    transcript = Transcript.from_calls(nothing)
    assert transcript.calls == ()
    assert len(transcript.replies) == 1


def _reply(**fields: Any) -> Reply:
    return Reply(message={"role": "assistant", "content": None}, **{"format": "native", **fields})


def test_its_calls_are_those_of_every_reply_in_order() -> None:
    first, second, third = (ToolCall(name, {}) for name in "abc")
    transcript = Transcript((), (_reply(calls=(first, second)), _reply(calls=(third,))))
    assert transcript.calls == (first, second, third)


def _measures(*replies: Reply) -> Measures:
    return measures_of(Transcript((), replies))


def test_sums_are_unknown_when_a_part_is() -> None:
    known = _reply(prompt_tokens=3, completion_tokens=1, cost_usd=0.5, latency_s=1.0)
    unknown = _reply(latency_s=2.0)
    both, one = _measures(known, unknown), _measures(known, known)
    assert (both.prompt_tokens, both.cost_usd, both.latency_s) == (None, None, 3.0)
    assert (one.prompt_tokens, one.completion_tokens, one.cost_usd) == (6, 2, 1.0)
    assert _measures().latency_s is None


def test_replayed_and_recovered_hold_for_the_whole_conversation() -> None:
    assert _measures(_reply(cached=True), _reply(cached=True)).cached
    assert not _measures(_reply(cached=True), _reply()).cached
    assert not _measures().cached
    assert _measures(_reply(), _reply(format="recovered")).format == "recovered"
    assert _measures(_reply()).format == "native"


def test_messages_are_the_whole_conversation() -> None:
    question, answer = {"role": "user", "content": "q"}, {"role": "tool"}
    made = _reply()
    transcript = Transcript((question,), (structs.replace(made, tool_answers=(answer,)), made))
    assert [message["role"] for message in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        (5, ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, "junk", {"text": "b"}], "a\nb"),
        ([{"text": 5}], ""),
    ],
)
def test_the_text_of_a_message(content: object, text: str) -> None:
    assert text_of({"role": "user", "content": content}) == text


@given(st.lists(case_results, max_size=3))
def test_a_document_in_parts_is_the_document(found: list[CaseResult]) -> None:
    """Whether its cases are there or read from their text one by one."""
    run = Run(id="1", started="2026-01-01T00:00:00Z", pytest_tooleval="0", pytest="9", python="3.10")
    document = whole_document(rows_document(run, found), tuple(found))
    kept = whole_document(document, KeptCases([to_json(each) for each in found]))
    assert "".join(document_json(kept)) == to_ascii_json(document)
