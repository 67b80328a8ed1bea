"""Transcripts in place of a model, as a user of a CI job runs them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import calling

from pytest_tooleval import load_suite, score_messages
from pytest_tooleval.imports.records import Record
from pytest_tooleval.imports.span_dialects import model_call
from pytest_tooleval.imports.spans import trace_spans

from .project import WEATHER_TOOL, Project

EXAMPLE = Path(__file__).parents[3] / "examples" / "conversations"
TRACES = sorted((Path(__file__).parents[2] / "traces").glob("*.jsonl"))
TWO_TURNS = "asks-who-you-are-then-refunds"
FIRST = "I want my money back for order A1."
SECOND = "I am ada@example.com, and all of it, please."
WEATHER = {"id": "w", "prompt": "Weather in Paris?", "expected_tool": "get_weather"}


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def refunds(*amounts: float, says: str = "You get 40 back.") -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = [
        said("system", "The agent's own prompt."),
        said("user", FIRST),
        said("assistant", "Who are you?"),
        said("user", SECOND),
    ]
    for number, amount in enumerate(amounts):
        told.append(calling("refund", f"c{number}", order="A1", amount=amount))
        answer = json.dumps({"ok": True, "refunded": sum(amounts[: number + 1])})
        told.append({"role": "tool", "tool_call_id": f"c{number}", "content": answer})
    return [*told, said("assistant", says)]


def recorded(project: Project, *runs: dict[str, Any], file: str = "runs.jsonl") -> str:
    project.write(file, "".join(json.dumps(run) + "\n" for run in runs))
    return f"--tooleval-transcripts={file}"


@pytest.fixture
def desk(project: Project) -> Project:
    for name in ("desk.py", "refunds.tooleval.json"):
        shutil.copy(EXAMPLE / name, project.path / name)
    return project


def test_conversations_are_judged_on_fresh_worlds_as_score_messages_does(desk: Project) -> None:
    messages = {"right": refunds(40), "careless": refunds(40, 40), "lying": refunds()}
    runs = [{"case": f"Refunds::{TWO_TURNS}", "model": m, "messages": messages[m]} for m in messages]
    option = recorded(desk, *runs, {"messages": [said("user", "Hi\x1b[2J"), said("assistant", "Hi.")]})
    result = desk.run(option, "-k", TWO_TURNS, "--tooleval-report=out.json", model=None)
    suite = load_suite(desk.path / "refunds.tooleval.json")
    rows = desk.rows()
    assert set(rows) == {f"{TWO_TURNS}[{model}]" for model in messages}
    for model, told in messages.items():
        scored = score_messages(suite, suite.case(TWO_TURNS), told)
        row = rows[f"{TWO_TURNS}[{model}]"]
        assert row["scores"] == scored.values
        assert (row["outcome"] == "passed") is scored.passed
        assert row["reason"] == scored.mistake
    assert rows[f"{TWO_TURNS}[right]"]["outcome"] == "passed"
    result.stdout.fnmatch_lines(
        [
            "1 of 4 transcripts NOT JUDGED: no case matches",
            r'no case: runs.jsonl:4: no case has its id or begins with "Hi\x1b?2J"',
        ]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_call_that_was_blocked_is_not_played_and_the_result_says_so(desk: Project) -> None:
    retried = refunds(40, 40)
    retried[5]["content"] = '{"error": "503"}'
    twice = refunds(40, 40, 40)
    twice[5]["status"] = "rejected"
    runs = [{"case": TWO_TURNS, "model": m, "messages": t} for m, t in (("r", retried), ("t", twice))]
    files = ("--tooleval-report=out.json", "--tooleval-report=out.md")
    result = desk.run(recorded(desk, *runs), "-k", TWO_TURNS, *files, model=None)
    rows = desk.rows()
    assert [row["outcome"] for row in rows.values()] == ["passed", "failed"]
    line = 'turn 2: refund was answered {"error": "503"}, so it was not played on the world'
    (trial,) = rows[f"{TWO_TURNS}[r]"]["trials"]
    assert trial["not_played"] == [line]
    assert trial["calls_made"] == 2
    result.stdout.fnmatch_lines(
        [
            'Desk.orders?"A1"?.refunded: expected 40, got 80',
            '*calls refund(order="A1", amount=40) (refused)',
            "*1 call answered with an error and not played on the world; the first: "
            f"{TWO_TURNS}: {line.replace('[', '?')}",
        ]
    )
    assert f"- `{TWO_TURNS}` on `r`: `{line}`" in (desk.path / "out.md").read_text()


def test_a_trace_is_judged_and_reported_like_a_run(project: Project) -> None:
    calls = [{"tool": "get_weather", "params": {"city": city}} for city in ("Paris", "Rome")]
    turns = [{"prompt": "?", "expected_calls": [each]} for each in calls]
    suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": [{"id": "weather", "turns": turns}]}
    project.write("weather.tooleval.json", json.dumps(suite))
    spans = Path(__file__).parents[2] / "traces" / "pydantic_ai.jsonl"
    project.run(f"--tooleval-transcripts={spans}", "--tooleval-report=out.json", model=None)
    row = project.rows()["weather[gpt-4o]"]
    assert (row["outcome"], row["scores"]["overall"]) == ("passed", 1.0)
    (trial,) = row["trials"]
    assert (trial["prompt_tokens"], trial["cost_usd"], trial["served_model"]) == (200, 0.0009, "gpt-4o")


def broken_off(trace: Path) -> str:
    """The spans of a run whose first tool raised: it and all spans around it failed, and none follow."""
    documents = [json.loads(line) for line in trace.read_text().splitlines()]
    spans = [span for document in documents for span in trace_spans(Record(trace, 1, document))]
    _, second, *_ = sorted(span.start for span in spans if model_call(span) is not None)
    answered = {span.id for span in spans if model_call(span) is not None}
    for document in documents:
        for scope in (each for resource in document["resourceSpans"] for each in resource["scopeSpans"]):
            began = [span for span in scope["spans"] if int(span["startTimeUnixNano"]) < second]
            failed = {"status": {"code": 2, "message": "no such city"}}
            scope["spans"] = [span if span["spanId"] in answered else span | failed for span in began]
    return "".join(json.dumps(document) + "\n" for document in documents)


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_a_forbidden_call_is_a_failure_even_if_its_tool_raised(project: Project, trace: Path) -> None:
    project.write("spans.jsonl", broken_off(trace))
    case = {"id": "weather", "turns": [{"prompt": "?", "expected_calls": []}] * 2}
    rows = []
    for city in ("Paris", "Rome"):
        forbidden = {"forbidden_calls": [{"tool": "get_weather", "params": {"city": city}}]}
        suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": [case | forbidden]}
        project.write("weather.tooleval.json", json.dumps(suite))
        project.run("--tooleval-transcripts=spans.jsonl", "--tooleval-report=out.json", model=None)
        (row,) = project.rows().values()
        rows.append((row["outcome"], row["trials"][0].get("failure")))
    assert rows == [("failed", "forbidden_call"), ("error", None)]


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_gate_fails_if_a_run_names_a_case_that_there_is_not(
    project: Project, workers: Sequence[str]
) -> None:
    project.suite(WEATHER)
    messages = [said("user", "Weather in Paris?"), calling("get_weather", city="Paris")]
    right, other = ({"case": "w", "model": name, "messages": messages} for name in "ab")
    gate = "--tooleval-fail-under=0.9"
    option = recorded(project, right, {**other, "case": "W"}, {"messages": [said("user", "?")]})
    assert project.run(option, model=None).ret == 0
    result = project.run(option, gate, *workers, model=None)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*judged without*: runs.jsonl:2: these suites have no case W*"])
    option = recorded(project, right, other)
    assert project.run(option, gate, model=None).ret == 0


def test_a_conversation_that_ends_with_calls_broke_off(project: Project) -> None:
    turn = {
        "prompt": "Weather?",
        "expected_calls": [{"tool": "get_weather", "params": {"city": "Paris"}}],
    }
    case = {"id": "c", "turns": [turn], "max_rounds": 2, "mock_responses": {"get_weather": "ok"}}
    suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": [case]}
    project.write("s.tooleval.json", json.dumps(suite))
    call = calling("get_weather", city="Paris")
    messages = [said("user", "Weather?"), call, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    for more, outcome, reason in (
        ([], "error", "runs.jsonl:1: the transcript ends with calls that no reply follows"),
        ([call], "failed", "end: expected a reply without calls, got calls in every reply"),
        ([said("assistant", "Sunny.")], "passed", ""),
    ):
        option = recorded(project, {"case": "c", "messages": [*messages, *more]})
        project.run(option, "--tooleval-report=out.json", model=None)
        (row,) = project.rows().values()
        assert (row["outcome"], row["reason"]) == (outcome, reason)


def test_runs_of_one_case_by_one_model_are_its_trials(project: Project) -> None:
    project.suite(WEATHER)
    right: dict[str, Any] = {"id": "w"}
    right["messages"] = [said("user", "?"), calling("get_weather", city="Paris")]
    wrong = {"id": "w", "messages": [said("user", "?"), calling("get_time", city="Paris")]}
    right["usage"], right["cost_usd"] = {"prompt_tokens": 10, "completion_tokens": 2}, 0.5
    option = recorded(project, right, wrong, right)
    project.run(option, "--tooleval-report=out.json", model=None).assert_outcomes(failed=1)
    (row,) = project.rows().values()
    assert (row["passes"], row["answered"], row["model"]) == (2, 3, "transcript")
    assert [trial["prompt_tokens"] for trial in row["trials"]] == [10, None, 10]
    assert project.document()["run"]["spent"] == {}
    project.run(option, "--tooleval-pass=2/3", model=None).assert_outcomes(passed=1)
    # Two of any three would be another rule than two of four.
    project.run(option, "--tooleval-pass=1/2", model=None).assert_outcomes(errors=1)
    result = project.run(option, "--tooleval-trials=4", model=None)
    result.stdout.fnmatch_lines(["*transcripts of 3 of 4 trials; see --tooleval-trials*"])


def test_what_cannot_be_read_ends_the_run_with_its_place(project: Project) -> None:
    project.suite(WEATHER)
    project.write("logs/a.jsonl", '{"messages": [{"role": "robot"}]}\n{"messages": [\n')
    project.write("logs/b.json", '{"name": "what else lies there"}')
    result = project.run("--tooleval-transcripts=logs", model=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --tooleval-transcripts: cannot be read",
            "logs/a.jsonl:1:1: messages?0?.role: invalid enum value 'robot'",
            "logs/a.jsonl:2:1: invalid JSON: Input data was truncated",
            "logs/b.json:1:1: This is an object with the keys name, in which no list of chat *",
        ]
    )
    assert project.run("--tooleval-transcripts=logs").ret == pytest.ExitCode.USAGE_ERROR


def test_no_key_reaches_a_report(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "planted-0123456789")
    token = "ghp_" + "a" * 36
    project.suite(WEATHER)
    text = [said("user", "planted-0123456789"), said("assistant", f"I use {token}")]
    option = recorded(project, {"id": "w", "messages": text})
    result = project.run(option, "--tooleval-report=out.json", "-rA", model=None)
    written = (project.path / "out.json").read_text() + result.stdout.str()
    assert "planted-0123456789" not in written
    assert token not in written
    assert "I use ghp_" + "x" * 36 in written


def test_a_named_judge_reads_recorded_conversations(project: Project) -> None:
    answer = {"passed": False, "reason": "It never asks."}
    call = {"function": {"name": "verdict", "arguments": answer}}
    project.write("my_judge.py", f"def judge(messages, tools):\n    return {{'tool_calls': [{call}]}}\n")
    project.write("tooleval.toml", '[models.judge]\ncallable = "my_judge:judge"\n')
    case = {
        "id": "w",
        "user": {"goal": "You want to know the weather."},
        "expected_text": [{"$judge": "Asks where."}],
    }
    suite = {"name": "S", "tools": [WEATHER_TOOL], "test_cases": [case]}
    project.write("weather.tooleval.json", json.dumps(suite))
    talk = [said("user", "Hi."), said("assistant", "Hi."), said("user", "?"), said("assistant", "Rain.")]
    option = recorded(project, {"id": "w", "messages": talk})
    project.run(option, "--tooleval-report=out.json", model=None).assert_outcomes(errors=1)
    assert "set --tooleval-judge=MODEL" in project.rows()["w[transcript]"]["reason"]
    project.run(option, "--tooleval-report=out.json", "--tooleval-judge=judge", model=None)
    row = project.rows()["w[transcript]"]
    assert (row["outcome"], row["reason"]) == ("failed", 'judge: It never asks. ("Asks where.")')


def test_what_ended_without_a_usable_answer_never_passes(project: Project) -> None:
    project.suite({"id": "q", "prompt": "Hi", "expected_tool": None})
    written = '```json\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n```'
    parts = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    # The answer of the assistant, how the run ended, and what comes of it.
    ends: list[tuple[dict[str, Any], str, str]] = [
        (said("assistant", "") | {"refusal": "No."}, "", "refused"),
        (said("assistant", "") | parts, "", "refused"),
        (said("assistant", "S") | {"status": "incomplete"}, "", "cut_off"),
        (said("assistant", "") | {"finish_reason": "content_filter"}, "", "blocked"),
        (said("assistant", "S"), "length", "cut_off"),
        (said("assistant", "S"), "error", "error"),
        (said("assistant", ""), "stop", "empty_answer"),
        (said("assistant", ""), "tool_calls", "malformed_call"),
        (said("assistant", written), "", "unexpected_call"),
    ]
    runs = [
        {
            "model": f"{number} {end}",
            "messages": [said("user", "Hi"), answer],
            **({"finish_reason": reason} if reason else {}),
        }
        for number, (answer, reason, end) in enumerate(ends)
    ]
    project.run(recorded(project, *runs), "--tooleval-report=out.json", model=None)
    for row in project.rows().values():
        assert (row["trials"][0].get("failure") or row["outcome"]) == row["model"].split()[1]


@pytest.mark.parametrize(
    ("said", "name", "a", "b"),
    [
        ("weather?", "c0", "passed", "no transcript of this case"),
        ("refund!", "c0", "no transcript of this case", "passed"),
        ("hello", "B::c0", "no transcript of this case", "passed"),
        ("hello", "c0", "", ""),
        (None, "c0", "", ""),
    ],
)
def test_a_record_that_two_suites_know_belongs_to_one(
    project: Project, said: str | None, name: str, a: str, b: str
) -> None:
    """To the one whose prompt it answers; otherwise it is an error of both."""
    for file, prompt in (("a", "weather?"), ("b", "refund!")):
        case = {"id": "c0", "prompt": prompt, "expected_tool": "*"}
        suite = {"name": file.upper(), "tools": [WEATHER_TOOL], "test_cases": [case]}
        project.write(f"{file}.tooleval.json", json.dumps(suite))
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    call = {"id": "1", "type": "function", "function": function}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    asked = [] if said is None else [{"role": "user", "content": said}]
    project.write("t.jsonl", json.dumps({"case": name, "messages": [*asked, *messages]}))
    project.run("--tooleval-transcripts=t.jsonl", "--tooleval-report=out.json", model=None)
    rows = json.loads((project.path / "out.json").read_text())["cases"]
    both = (
        'names the case c0, which a.tooleval.json and b.tooleval.json have; name it "A::c0" or "B::c0"'
    )
    for row, expected in zip(rows, (a, b), strict=True):
        if expected == "passed":
            assert row["outcome"] == "passed"
        else:
            assert row["outcome"] == "error"
            assert (expected or both) in row["trials"][0]["error"]["message"]
