"""What a person reads: words with scores, the table, notes, the heartbeat."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main
from pytest_tooleval.plugin import terminal
from pytest_tooleval.run.observers import Wait

from .project import Project, call, case, failed, raising, right, wrong

RULE = "=*= tool calling =*="


def table(result: pytest.RunResult) -> list[list[str]]:
    """The cells of the table, header first."""
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if line.startswith(("model ", "suite ")))
    rows = []
    for line in lines[start:]:
        cells = re.split(r"  +", line.strip())
        if len(cells) < 4:
            break
        rows.append(cells)
    return rows


def test_words_letters_and_notes(project: Project) -> None:
    recovered = {"text": '{"name": "get_weather", "arguments": {"city": "Paris"}}'}
    project.suite(
        right("a"),
        wrong("b", trials=3),
        raising("c", "no luck"),
        right("d", skip=True),
        wrong("e", xfail=True),
        case("f", recovered),
        case("g", {"calls": [call(city="Paris")], "text": "Let me see."}),
    )
    project.run().stdout.fnmatch_lines(["weather.tooleval.json .FEsx..*"])
    result = project.run("-v", "-rAP", model="agent,other")
    result.stdout.fnmatch_lines(
        ["*::a[[]agent] PASSED 1.00*", "*::b[[]agent] FAILED 0.60*", "*::c[[]agent] ERROR*"]
    )
    result.stdout.fnmatch_lines(["3 trials, overall: 0.60, 0.60, 0.60; the first that failed:"])
    result.stdout.fnmatch_lines(["*transcript*", "*assistant  Let me see.", "*get_weather(city=*"])
    result.stdout.fnmatch_lines(
        [
            "agent: 1 error, not counted in any score; the first: *no luck*",
            "agent: 1 of ? calls written as text, which applications would miss; JSON is parsed by *",
        ]
    )
    # The short summary keeps the plain words.
    result.stdout.fnmatch_lines_random(
        [
            "PASSED weather.tooleval.json::a[[]agent]",
            failed('city: expected "Paris", got "London"*', "b[[]agent]"),
        ]
    )
    header, *rows = table(result)
    assert [row[0] for row in rows] == ["agent", "other"]
    assert [rows[0][header.index(name)] for name in ("rate", "passed", "errors")] == ["0.60", "3", "1"]
    assert not {"tokens", "cost"} & set(header)  # which are unknown


def test_several_suites_get_rows_of_their_own_and_a_total(project: Project) -> None:
    project.suite(right("a"), right("b"), file="one.tooleval.json", name="One")
    project.suite(wrong("c"), file="two.tooleval.json", name="Two")
    result = project.run()
    header, *rows = table(result)
    overall = header.index("overall")
    assert [(row[0], row[2], row[overall]) for row in rows] == [
        ("One", "2/2", "1.00"),
        ("Two", "0/1", "0.60"),
        ("all suites", "2/3", "0.87"),
    ]


def test_recovered_calls_are_noted(project: Project) -> None:
    project.suite(case("a", {"text": '{"name": "get_weather", "arguments": {"city": "Paris"}}'}))
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["agent: 1 of 1 call written as text, which applications *"])


def test_tokens_of_a_callable_are_counted(project: Project) -> None:
    paris = {"role": "assistant", "tool_calls": [{"function": call(city="Paris")}]}
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    answer = {"returns": {"choices": [{"message": paris}], "usage": usage}}
    project.suite(case("a", answer), case("b", answer))
    prices = "input_price = 1.0\noutput_price = 2.0\n"
    project.write("tooleval.toml", f'[models.agent]\ncallable = "my_agent:answer"\n{prices}')
    project.run().stdout.fnmatch_lines(["cost: $0.0022; spent in this run: $0.0022"])
    header, row = table(project.run("-v"))
    assert [row[header.index(name)] for name in ("tokens", "reasoning")] == ["2,100", "60"]


def test_narrow_terminals(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.suite(right("a"), wrong("b"), name="A suite with a rather long name for a table")
    for columns in ("20", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        result = project.run("-v")
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(
            ["model *cases*", "agent *1.00*", "agent FAILED: 1 of 2 cases passed"]
        )


def test_when_the_table_is_shown(project: Project) -> None:
    """With -qq, a failed gate is said all the same."""
    project.suite(right("a"), wrong("b"))
    shown = {
        options: project.run(*options.split()).stdout.str().count("tool calling")
        for options in ("", "-q", "-qq", "--no-summary", "--no-header", "-rN", "--tb=no", "--co")
    }
    assert [options for options, count in shown.items() if not count] == ["-qq", "--no-summary", "--co"]
    assert max(shown.values()) == 1
    lines = project.run("-qq", "--tooleval-fail-under=0.9").outlines
    assert "agent FAILED: 1 of 2 cases passed; pass_rate: 0.50 < 0.90, over 2 cases" in lines
    quiet = project.run("-qq", "--tooleval-fail-under=0.5").stdout.str()
    assert "agent" not in quiet.replace("[agent]", "")


def test_the_header_names_models_unless_switched_off(project: Project) -> None:
    project.suite(right("a"))
    line = "tooleval: agent; 7 requests at a time"
    for option, shown in (("-v", True), ("--no-header", False), ("-q", False)):
        assert (line in project.run("--tooleval-concurrency=7", option).stdout.str()) is shown


def test_a_long_wait_shows_a_sign_of_life(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_HEARTBEAT_S", 0.1)
    shown = terminal.Terminal.waited

    def waited(self: terminal.Terminal, wait: Wait) -> None:
        if wait.answered():
            shown(self, wait)
        if wait.answered() and wait.seconds > 0.1:
            project.write("go", "")

    monkeypatch.setattr(terminal.Terminal, "waited", waited)
    slow = {"calls": [call(city="Paris")], "until": "go"}
    project.suite(case("slow", slow), right("answered"), case("next", slow))
    result = project.run()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["tooleval: waiting for an answer for * s; 1 more case pending"])


@pytest.mark.parametrize("option", ["-s", "-pno:capture", "--capture=sys", "-pno:terminal"])
def test_a_sign_of_life_with_capturing_off(
    project: Project, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(terminal, "_HEARTBEAT_S", 0.05)
    project.suite(right("slow", delay=0.3))
    result = project.run(option, "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.OK
    assert project.rows()["slow[agent]"]["outcome"] == "passed"


def test_a_rerun_case_counts_once(project: Project) -> None:
    pytest.importorskip("pytest_rerunfailures")
    project.suite(wrong("a"), right("b"))
    result = project.run("--reruns=2", "-p", "rerunfailures")
    header, row = table(result)
    assert row[header.index("passed")] == "1/2"
    assert project.calls.count("a") == 3


def test_the_last_line_shows_the_run_from_where_pytest_was_started(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.suite(right("a"))
    project.pytester.makeini("[pytest]")
    beside = project.path.with_name("beside")
    beside.mkdir()
    for folder in (project.path, project.pytester.mkdir("below"), project.path.parent, beside):
        monkeypatch.chdir(folder)
        printed = project.run(str(project.path)).outlines
        (line,) = (line for line in printed if line.startswith("saved as "))
        words = shlex.split(line.partition("view: ")[2])
        shown = CliRunner().invoke(main, words[1:])
        assert (words[0], shown.exit_code) == ("tooleval", 0), shown.output
        assert line.split()[2].rstrip(";") in shown.output


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_recording_says_how_many_answers_it_holds(project: Project, workers: Sequence[str]) -> None:
    project.suite(right("a"), right("b"), wrong("c"), raising("d"))
    lines = project.run("--tooleval-cassette=evals/tapes", "--tooleval-trials=2", *workers).outlines
    assert f"6 replies recorded in {Path('evals/tapes')}" in lines
    project.suite(right("a"), right("b"), wrong("c"))
    again = project.run("--tooleval-cassette=evals/tapes", "--tooleval-trials=2")
    again.stdout.no_fnmatch_line("*replies recorded in*")


@pytest.mark.parametrize(
    ("option", "last"),
    [
        ("--tooleval-fail-under=0.5", "2 passed, 1 skipped, 1 xfailed, 1 failed (tolerated)"),
        (
            "--tooleval-fail-under=0.9",
            "2 passed, 1 skipped, 1 xfailed, 1 failed (counted by a failed gate), 1 gate failed",
        ),
        (
            "--tooleval-fail-under=suite:0.9",
            "2 passed, *1 failed (counted by a failed gate), 1 gate failed",
        ),
        ("--tooleval-threshold=overall=1", "1 failed, 2 passed, 1 skipped, 1 xfailed"),
    ],
)
def test_the_totals_are_those_of_the_cases(project: Project, option: str, last: str) -> None:
    """And the line of dots ends with 100%."""
    project.suite(right("a"), right("b"), wrong("c"), wrong("d", xfail=True), right("e", skip=True))
    project.run(option).stdout.fnmatch_lines(["weather.tooleval.json ..* [[]100%]", f"=* {last} in *"])
