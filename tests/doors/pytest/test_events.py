"""`--tooleval-events`: what happens in a run, told line by line."""

from __future__ import annotations

import json
import os
from typing import TypeVar

import msgspec
import pytest
from generated import events_schema, results_schema
from jsonschema import Draft202012Validator
from msgspec import structs
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from pytest_tooleval.record.events import (
    CaseDone,
    CaseStarted,
    Collected,
    CollectionProblem,
    Decided,
    Estimated,
    Event,
    Progress,
    RunEnded,
    RunStarted,
)
from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.reports.estimate import estimate_lines

from .project import Project, case, raising, right, unreachable, wrong

pytestmark = pytest.mark.slow

FILE = "weather.tooleval.json"
EVENTS = "--tooleval-events=events.jsonl"
T = TypeVar("T")


def told(project: Project) -> list[Event]:
    lines = (project.path / "events.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Event) for line in lines]


def only(events: list[Event], type: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, type)]


def test_an_estimate_is_an_event(project: Project) -> None:
    project.suite(right("a"), right("b"))
    result = project.run(EVENTS, "--tooleval-estimate", model="agent")
    events = told(project)
    (estimated,) = only(events, Estimated)
    assert [(each.model, each.cases) for each in estimated.models] == [("agent", 2)]
    assert set(estimate_lines(estimated)) <= {line.rstrip() for line in result.outlines}
    assert not only(events, CaseStarted)
    assert isinstance(events[-1], RunEnded)


def test_a_run_is_told_from_its_start_to_its_end(project: Project) -> None:
    project.suite(right("a"), wrong("b"), unreachable("c"), right("d", skip="not now"))
    project.write("test_other.py", "def test_other(): pass")
    options = (
        "--tooleval-report=out.json",
        "--tooleval-fail-under=overall=0.2",
        "--tooleval-fail-over=errors=2",
    )
    project.run(EVENTS, *options, model="agent,other")
    lines = (project.path / "events.jsonl").read_text().splitlines()
    results = results_schema()
    registry = Registry().with_resource(results["$id"], DRAFT202012.create_resource(results))
    schema = Draft202012Validator(events_schema(), registry=registry)
    for line in lines:
        schema.validate(json.loads(line))
    events = told(project)
    document = project.document()
    started, collected = events[0], events[1]
    assert isinstance(started, RunStarted)
    assert started.root == str(project.path)
    assert started.run.status == "running"
    assert [model.model for model in started.run.models] == ["agent", "other"]
    assert collected == Collected(files=(FILE,), cases={"agent": 4, "other": 4})
    cases = [event.case for event in only(events, CaseDone)]
    by_position = sorted(cases, key=lambda case: case.position)
    # The gates decide at the end which counted cases are tolerated.
    settled = [structs.replace(case, tolerated=case.counted) for case in by_position]
    assert settled == msgspec.convert(document["cases"], list[CaseResult])
    assert [each.nodeid for each in only(events, CaseStarted)] == [each.nodeid for each in cases]
    judged, ended = events[-2:]
    assert judged == Decided(gates=msgspec.convert(document["gates"], tuple[Gate, ...]), baseline=None)
    assert isinstance(judged, Decided)
    assert len(judged.gates) == 4
    assert isinstance(ended, RunEnded)
    assert (ended.run.id, ended.run.exitstatus, ended.reason) == (started.run.id, 0, "")
    assert ended.reports == (str(project.path / "out.json"),)
    assert "events" not in ended.run.options


def test_answers_that_came_while_one_is_waited_for_are_told(project: Project) -> None:
    project.suite(*(case(str(number), {}) for number in range(3)))
    # The first case is answered only when the others are known to be.
    project.write(
        "my_agent.py",
        """
        import asyncio
        from pathlib import Path

        EVENTS = Path(__file__).with_name("events.jsonl")

        async def answer(messages, tools):
            while "(0)" in messages[-1]["content"] and '"answered":2' not in EVENTS.read_text():
                await asyncio.sleep(0.01)
            return "It rains."
        """,
    )
    project.run(EVENTS)
    assert only(told(project), Progress)[-1] == Progress(done=0, answered=2)


def test_under_xdist_the_controller_tells(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"), right("d"))
    project.run(EVENTS, "-n2")
    events = told(project)
    assert isinstance(events[0], RunStarted)
    assert only(events, Collected) == [Collected(files=(FILE,), cases={"agent": 4})]
    outcomes = {event.case.case: event.case.outcome for event in only(events, CaseDone)}
    assert outcomes == {"a": "passed", "b": "failed", "c": "error", "d": "passed"}
    assert isinstance(events[-1], RunEnded)
    assert events[-1].run.exitstatus == 1
    assert events[-1].run.spent["agent"].answers == 3


@pytest.mark.parametrize(
    ("conftest", "options", "exitstatus", "reason"),
    [
        ("", ("-x",), 1, "stopping after 1 failures"),
        ("def pytest_runtest_setup(item): raise KeyboardInterrupt", (), 2, "KeyboardInterrupt"),
        ("import pytest\ndef pytest_runtest_setup(item): pytest.exit('enough')", (), 2, "enough"),
        ("def pytest_runtest_protocol(item): 1 / 0", (), 3, "internal error: ZeroDivisionError: *"),
    ],
)
def test_a_run_that_is_cut_short_says_why(
    project: Project, conftest: str, options: tuple[str, ...], exitstatus: int, reason: str
) -> None:
    project.suite(wrong("a"), right("b"))
    project.write("conftest.py", conftest)
    # Inside this process Ctrl-C would end this test, too.
    run = project.run_subprocess if reason == "KeyboardInterrupt" else project.run
    run(EVENTS, *options)
    events = told(project)
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.run.exitstatus == exitstatus
    pytest.LineMatcher([ended.reason]).fnmatch_lines([reason])
    assert len(only(events, CaseDone)) == (1 if options else 0)


def test_problems_of_the_collection(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "very-secret-key")
    project.write(FILE, '{"name": "x", "test_cases": [{"promt": "very-secret-key"}]}')
    project.write("inner/conftest.py", "import os; raise ValueError(os.environ['MY_API_KEY'])")
    project.run(EVENTS)
    first, second = only(told(project), CollectionProblem)
    assert {first.nodeid, second.nodeid} == {FILE, "inner"}
    assert f"{FILE}:1:30: test_cases[0].expected_tool" in first.message + second.message
    assert "very-secret-key" not in (project.path / "events.jsonl").read_text()
    ended = told(project)[-1]
    assert isinstance(ended, RunEnded)
    assert ended.run.exitstatus == 2
    assert ended.reason == "2 errors during collection"


def test_a_usage_error_leaves_no_stream(project: Project) -> None:
    project.suite(right("a"))
    for option, message in {
        "trials=0": "expected 1 to *",
        "events=": "expected a file *",
        "events=1": "expected a file *",
        "events=999": "cannot be written: Bad file descriptor",
        "events=no/such": "cannot be written: No such *",
    }.items():
        done = project.run(EVENTS, f"--tooleval-{option}")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines([f"ERROR: --tooleval-{option}: {message}"])
        assert not (project.path / "events.jsonl").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows passes no descriptors on")
def test_a_reader_that_goes_does_not_end_the_run(project: Project) -> None:
    project.suite(right("a"), right("b"))
    reading, writing = os.pipe()
    option = f"--tooleval-events={writing}"
    with project.started(option, pass_fds=[writing]) as process:
        os.close(writing)
        with open(reading, "rb", buffering=0) as file:
            line = file.readline()
        output, _ = process.communicate()
    assert isinstance(msgspec.json.decode(line, type=Event), RunStarted)
    assert process.returncode == 0
    assert "2 passed" in output
    assert f"{option}: stopped writing events: Broken pipe" in output
