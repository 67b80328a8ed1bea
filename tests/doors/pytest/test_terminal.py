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

from .project import Project
from .project import call
from .project import case
from .project import failed
from .project import raising
from .project import right
from .project import wrong

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


def test_verbose_shows_the_score_beside_the_word(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"), right("d", skip=True))
    result = project.run("-v")
    result.stdout.fnmatch_lines(
        ["*::a[[]agent] PASSED 1.00*", "*::b[[]agent] FAILED 0.60*", "*::c[[]agent] ERROR*"]
    )


def test_the_short_summary_keeps_the_plain_words(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    result = project.run("-rA", "-v")
    result.stdout.fnmatch_lines(
        [
            "PASSED weather.tooleval.json::a[[]agent]",
            failed('city: expected "Paris", got "London"', "b[[]agent]"),
        ]
    )


def test_the_letters_stay_what_they_are(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"), wrong("d", xfail=True))
    project.run().stdout.fnmatch_lines(["weather.tooleval.json .FEx*"])


def test_one_row_per_model(project: Project) -> None:
    project.suite(right("a"), wrong("b"), raising("c"))
    header, *rows = table(project.run(model="agent,other"))
    assert header == ["model", "rate", "passed", "errors", "overall"]
    assert rows == [["agent", "0.50", "1/2", "1", "0.80"], ["other", "0.50", "1/2", "1", "0.80"]]


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


def test_weights_count_in_means(project: Project) -> None:
    project.suite(right("a", weight=3.0), wrong("b"))
    header, row = table(project.run())
    assert row[header.index("overall")] == "0.90"


def test_errors_are_named_apart(project: Project) -> None:
    project.suite(right("a"), raising("b", "no luck"))
    project.run().stdout.fnmatch_lines(
        ["agent: 1 error, not counted in any score; the first: *no luck*"]
    )


def test_recovered_calls_are_noted(project: Project) -> None:
    project.suite(case("a", {"text": '{"name": "get_weather", "arguments": {"city": "Paris"}}'}))
    result = project.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["agent: 1 answer had calls written as text (recovered)"])


def test_unknown_tokens_and_cost_have_no_column(project: Project) -> None:
    project.suite(right("a"))
    header, row = table(project.run("-v"))
    assert not {"tokens", "cost"} & set(header)
    assert len(header) == len(row)


def test_tokens_of_a_callable_are_counted(project: Project) -> None:
    project.suite(right("a"), right("b"))
    project.write(
        "counted.py",
        """
        def answer(messages, tools):
            call = {"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}
            return {
                "choices": [{"message": {"role": "assistant", "tool_calls": [call]}}],
                "usage": {
                    "prompt_tokens": 1000,
                    "completion_tokens": 50,
                    "completion_tokens_details": {"reasoning_tokens": 30},
                },
            }
        """,
    )
    prices = "input_price = 1.0\noutput_price = 2.0\n"
    project.write("tooleval.toml", f'[models.counted]\ncallable = "counted:answer"\n{prices}')
    project.run(model="counted").stdout.fnmatch_lines(["cost: $0.0022; spent in this run: $0.0022"])
    header, row = table(project.run("-v", model="counted"))
    assert [row[header.index(name)] for name in ("tokens", "reasoning")] == ["2,100", "60"]


@pytest.mark.parametrize("color", ["yes", "no", "auto"])
def test_colours_only_when_asked_for(project: Project, color: str) -> None:
    project.suite(right("a"), wrong("b"), raising("c"))
    text = project.run("-v", f"--color={color}").stdout.str()
    assert ("\x1b[" in text) == (color == "yes")


@pytest.mark.parametrize("columns", ["20", "40", "80"])
def test_narrow_terminals(project: Project, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    project.suite(right("a"), wrong("b"), name="A suite with a rather long name for a table")
    result = project.run("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["model *cases*", "agent *1.00*", "agent FAILED: 1 of 2 cases passed"])


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("", True),
        ("-q", True),
        ("-qq", False),
        ("--no-summary", False),
        ("--no-header", True),
        ("-v", True),
        ("-rN", True),
        ("--tb=no", True),
    ],
)
def test_when_the_table_is_shown(project: Project, options: str, shown: bool) -> None:
    project.suite(right("a"), wrong("b"))
    text = project.run(*options.split()).stdout.str()
    assert ("tool calling" in text) == shown
    assert text.count("tool calling") <= 1


def test_the_header_names_models_unless_switched_off(project: Project) -> None:
    project.suite(right("a"))
    line = "tooleval: agent; 7 requests at a time"
    assert line in project.run("--tooleval-concurrency=7").stdout.str()
    assert line not in project.run("--tooleval-concurrency=7", "--no-header").stdout.str()
    assert line not in project.run("--tooleval-concurrency=7", "-q").stdout.str()


def test_collect_only_shows_no_table(project: Project) -> None:
    project.suite(right("a"))
    assert "tool calling" not in project.run("--co").stdout.str()


def test_a_long_wait_shows_a_sign_of_life(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_HEARTBEAT_S", 0.3)
    project.suite(right("slow", delay=1.2), right("next"))
    result = project.run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["tooleval: waiting for an answer for * s; 1 more case*"])


def test_no_sign_of_life_without_a_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_HEARTBEAT_S", 0.1)
    project.suite(right("slow", delay=0.8))
    result = project.run("-p", "no:terminal", "--tooleval-report=out.json")
    assert result.ret == pytest.ExitCode.OK
    assert project.rows()["slow[agent]"]["outcome"] == "passed"


def test_a_sign_of_life_with_capturing_off(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_HEARTBEAT_S", 0.1)
    project.suite(right("slow", delay=0.8))
    for option in ("-s", "-pno:capture", "--capture=sys"):
        result = project.run(option)
        result.assert_outcomes(passed=1)


def test_a_failing_case_shows_every_trial_that_matters(project: Project) -> None:
    project.suite(wrong("a"), trials=3)
    result = project.run()
    result.stdout.fnmatch_lines(["3 trials, overall: 0.60, 0.60, 0.60; the first that failed:"])


def test_reasons_with_odd_text_do_not_break_the_table(project: Project) -> None:
    project.suite(case("a", {"error": "first line\nsecond line\n\x1b[31m"}))
    result = project.run()
    result.stdout.fnmatch_lines(["agent: 1 error*first line second line*"])


def test_transcripts_are_shown_for_passed_cases_on_request(project: Project) -> None:
    project.suite(case("a", {"calls": [call(city="Paris")], "text": "Let me see."}))
    result = project.run("-rP")
    result.stdout.fnmatch_lines(["*transcript*", "*assistant  Let me see.", "*get_weather(city=*"])


def test_a_rerun_case_counts_once(project: Project) -> None:
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
    run = project.run_subprocess if workers else project.run
    lines = run("--tooleval-cassette=evals/tapes", "--tooleval-trials=2", *workers).outlines
    assert f"6 answers recorded in {Path('evals/tapes')}" in lines
    project.suite(right("a"), right("b"), wrong("c"))
    again = project.run("--tooleval-cassette=evals/tapes", "--tooleval-trials=2")
    again.stdout.no_fnmatch_line("*answers recorded in*")


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


def test_a_run_with_a_failed_gate_ends_in_red(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    gates = ("--tooleval-fail-under=0.9", "--tooleval-fail-under=overall=0.9")
    result = project.run(*gates, "--color=yes")
    assert "2 gates failed" in result.outlines[-1]
    assert result.outlines[-1].startswith("\x1b[31m=")
    assert result.stdout.str().count("0.50 < 0.90") == 1


def test_very_quiet_a_failed_gate_is_still_said(project: Project) -> None:
    project.suite(right("a"), wrong("b"))
    lines = project.run("-qq", "--tooleval-fail-under=0.9").outlines
    assert "agent FAILED: 1 of 2 cases passed; pass_rate: 0.50 < 0.90, over 2 cases" in lines
    assert "agent" not in project.run("-qq", "--tooleval-fail-under=0.5").stdout.str().replace(
        "[agent]", ""
    )


def test_an_undecided_gate_is_no_comfort_for_what_never_passes(project: Project) -> None:
    """4 of 13 cases wrong in all of 5 trials is no news to pass over."""
    project.suite(*(wrong(f"w{i}") for i in range(4)), *(right(f"r{i}") for i in range(9)), trials=5)
    gate = ("--tooleval-fail-under=0.85", "--tooleval-confidence=0.95", "--tooleval-report=out.json")
    result = project.run(*gate, "--color=yes")
    assert result.ret == pytest.ExitCode.OK
    (line,) = (line for line in result.outlines if "agent INCONCLUSIVE" in line)
    assert line.startswith("\x1b[1m\x1b[31m")
    assert "9 of 13 cases passed, 4 tolerated; 4 FAILED IN EVERY TRIAL" in line
    (judged,) = project.document()["gates"]
    assert (
        ", over 13 cases (65 trials), 4 of which FAILED IN EVERY TRIAL; about 7 more"
        in judged["message"]
    )
