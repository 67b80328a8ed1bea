"""The text of a failing case."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_tooleval import parse_suite
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.no_answer import NoAnswer
from pytest_tooleval.record.results import CaseResult, TrialResult
from pytest_tooleval.record.status import CallStatus
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.reports.text import render_case, render_transcript, show_call
from pytest_tooleval.scoring.trial import score_trial
from pytest_tooleval.suite.resolved import resolve

SUITE = parse_suite(
    """
    {"name": "Weather",
     "tools": [{"type": "function", "function": {"name": "get_weather"}}],
     "test_cases": [{"prompt": "Weather in Paris?", "expected_tool": "get_weather",
                     "expected_params": {"city": "Paris", "units": "celsius"}}]}
    """
)
CASE = resolve(SUITE, SUITE.test_cases[0])


def trial(*calls: ToolCall, text: str | None = None, number: int = 0, **fields: Any) -> TrialResult:
    message = {"role": "assistant", "content": text}
    prompt = tuple(dict(each) for each in CASE.messages)
    transcript = Transcript(prompt, (Reply(message=message, calls=calls, **fields),))
    return score_trial(CASE, transcript, trial=number).explain()


def result(*trials: TrialResult) -> CaseResult:
    return CaseResult(
        nodeid="weather.tooleval.json::paris[m]",
        suite="Weather",
        case="paris",
        model="m",
        outcome="failed",
        thresholds={"overall": 1.0},
        trials=trials,
        reason="overall 0.80 < 1.00 (wrong value)",
        file="weather.tooleval.json",
        line=12,
    )


def test_the_whole_text() -> None:
    failed = trial(ToolCall("get_weather", {"city": "Paris", "units": "kelvin"}))
    lines = render_case(result(failed)).splitlines()
    assert lines[0] == "overall 0.80 < 1.00 (wrong value)"
    assert lines[1] == "weather.tooleval.json:12: paris on m"
    text = "\n".join(lines)
    assert "needs 1.00" in text
    for part in ('"celsius"', '"kelvin"', "1 of 2 arguments right", "Weather in Paris?"):
        assert part in text
    assert 'assistant  calls get_weather(city="Paris", units="kelvin")' in text
    assert all(line == line.rstrip() for line in lines)


def test_what_was_expected_and_what_came_is_a_diff() -> None:
    failed = trial(ToolCall("get_weather", {"city": "London"}), ToolCall("get_weather", {}))
    lines = render_case(result(failed)).splitlines()
    assert lines[3:11] == [
        "  the answer",
        "    tool   get_weather",
        '  - city   "Paris"',
        '  + city   "London"     different text',
        '  - units  "celsius"    is missing',
        "",
        "  surplus call",
        "  + tool  get_weather  more often than expected",
    ]


def test_a_long_conversation_keeps_its_question() -> None:
    [reply] = (trial(ToolCall("get_weather", {"city": "Rome"})).transcript or Transcript()).replies
    prompt = tuple(dict(each) for each in CASE.messages)
    transcript = Transcript(prompt, (reply,) * 12)
    looped = score_trial(CASE, transcript).explain()
    lines = render_case(result(looped), whole=False).splitlines()
    question_at = lines.index("  user       Weather in Paris?")
    assert lines[question_at + 1] == "  (4 lines left out; -v shows all)"
    assert len(lines) == question_at + 2 + 8


def test_the_first_trial_that_failed_is_shown() -> None:
    right = trial(ToolCall("get_weather", {"city": "Paris", "units": "celsius"}))
    failed = trial(ToolCall("get_weather", {"city": "Rome", "units": "celsius"}), number=1)
    text = render_case(result(right, failed))
    assert "2 trials, overall: 1.00, 0.80; the first that failed:" in text
    assert '"Rome"' in text
    assert text.count("transcript") == 1


def test_trials_that_all_passed_alone_are_shown_by_the_first() -> None:
    right = trial(ToolCall("get_weather", {"city": "Paris", "units": "celsius"}))
    assert "transcript" in render_case(result(right))


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (trial(text="Sunny."), "assistant  Sunny."),
        (trial(), "assistant  (empty answer)"),
        (trial(text=" \n"), "assistant  (empty answer)"),
        (trial(text="Sun", finish_reason="length"), "(finish reason: length)"),
        (trial(no_answer=NoAnswer("refused", "\x1bNo.")), r"assistant  (refused: \x1bNo.)"),
        (
            trial(ToolCall("get_weather", {}), text='{"name": ...}', format="recovered"),
            "calls get_weather() (written as text)",
        ),
    ],
)
def test_answers_of_every_kind(reply: TrialResult, shown: str) -> None:
    assert shown in render_transcript(reply)


def test_calls_in_a_prompt_are_shown() -> None:
    function = {"name": "find", "arguments": '{"id": 1}'}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}
    shown = render_transcript(TrialResult(transcript=Transcript((message,))))
    assert shown.splitlines()[1:] == ["    assistant  calls find(id=1)"]


def test_a_role_is_harmless_too() -> None:
    message = {"role": "tool\x1b[2J\n::error::x", "content": "hello"}
    shown = render_transcript(TrialResult(transcript=Transcript((message,))))
    assert shown.replace("\n", "").isprintable()
    assert not any(line.startswith("::") for line in shown.splitlines())


def test_text_that_was_a_call_is_not_shown_twice() -> None:
    shown = render_transcript(trial(ToolCall("get_weather", {}), text="RAW", format="recovered"))
    assert "RAW" not in shown


def test_tool_answers_are_part_of_the_conversation() -> None:
    answer = {"role": "tool", "content": '{"flights": []}'}
    first = Reply(message={"role": "assistant"}, calls=(ToolCall("search", {}),), tool_answers=(answer,))
    shown = render_transcript(TrialResult(transcript=Transcript((), (first,))))
    assert shown.splitlines()[1:] == ["    assistant  calls search()", '    tool       {"flights": []}']


def test_calls_that_did_not_end_well_say_so() -> None:
    ends: dict[str, CallStatus | None] = {
        "ok": "ok",
        "down": "error",
        "stopped": "refused",
        "asking": "waiting",
        "lost": None,
        "open": None,
    }
    calls = tuple(ToolCall(name, {}, id=name) for name in ends)
    answers = tuple(
        {"role": "tool", "tool_call_id": name, "content": "?"} for name in ends if name != "open"
    )
    reply = Reply(
        message={"role": "assistant"}, calls=calls, tool_answers=answers, statuses=tuple(ends.values())
    )
    shown = render_transcript(TrialResult(transcript=Transcript((), (reply,))))
    assert re.findall(r"calls (.*)", shown) == [
        "ok()",
        "down() (error)",
        "stopped() (refused)",
        "asking() (waiting)",
        "lost() (unknown)",
        "open()",
    ]
    ours = structs.replace(reply, ran_by_suite=(True,) * len(calls))
    assert "unknown" not in render_transcript(TrialResult(transcript=Transcript((), (ours,))))


def test_no_transcript_is_no_text() -> None:
    assert render_transcript(TrialResult()) == ""


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (ToolCall("f", {"a": 1, "b": "x"}), 'f(a=1, b="x")'),
        (ToolCall("f", {}), "f()"),
        (ToolCall("", {}), "(no name)()"),
        (ToolCall("f", None, "Paris"), "f with malformed arguments: Paris"),
        (ToolCall("f", None, None), "f with malformed arguments: "),
        (ToolCall("\x1b[31m", {"\x07": "\u202e"}), '\\x1b[31m(\\x07="\\u202e")'),
    ],
)
def test_calls_in_one_line(call: ToolCall, shown: str) -> None:
    assert show_call(call) == shown


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3) | st.none(), st.text())
def test_whatever_a_model_says_is_shown_on_one_harmless_line(
    name: str, arguments: dict[str, str] | None, text: str
) -> None:
    call = ToolCall(name, arguments, None if arguments is not None else text)
    assert show_call(call).isprintable()
    rendered = render_case(result(trial(call, text=text)))
    assert rendered.replace("\n", "").isprintable()
    assert len(rendered.splitlines()) < 30


def test_megabytes_are_cut() -> None:
    call = ToolCall("n" * 10**6, {"a" * 10**6: ["b" * 10**6] * 3, "city": "c" * 10**6})
    text = render_case(result(trial(call, text="t" * 10**6)))
    assert len(text) < 10_000
