"""Several trials of a case: rules for the verdict, pass@k and pass^k."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from .project import Project
from .project import right
from .project import wrong

# Answers by turns: each prompt has a list of cities, one for each trial, in any order of asking.
_AGENT = """
import json
import threading
from pathlib import Path

HERE = Path(__file__).parent
lock = threading.Lock()
asked = {}


async def answer(messages, tools):
    prompt = messages[-1]["content"]
    with lock:
        number = asked[prompt] = asked.get(prompt, -1) + 1
        with open(HERE / "calls.log", "a", encoding="utf-8") as handle:
            handle.write(json.dumps(prompt) + "\\n")
    city = json.loads((HERE / "cities.json").read_text())[number]
    if city == "error":
        raise ValueError("the agent is broken")
    arguments = json.dumps({"city": city})
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}]}
"""
P, F, E = "Paris", "London", "error"
RULE: dict[str, Any] = {"pass": "2/3"}


@pytest.fixture
def trials(project: Project) -> Project:
    project.write("my_agent.py", _AGENT)
    project.suite(right("a"))
    return project


def ask(project: Project, cities: Sequence[str], *options: str) -> pytest.RunResult:
    project.write("cities.json", json.dumps(cities))
    return project.run(*options, "--tooleval-report=out.json", "--tooleval-history=off")


@pytest.mark.parametrize(
    ("rule", "cities", "outcome"),
    [
        ("mean", [P, P, F], "failed"),
        ("all", [P, P, P], "passed"),
        ("all", [P, P, F], "failed"),
        ("any", [F, F, P], "passed"),
        ("any", [F, F, F], "failed"),
        ("2/3", [P, F, P], "passed"),
        ("2/3", [P, F, F], "failed"),
        # Trials without an answer make an error only where the verdict hangs on them.
        ("any", [E, F, P], "passed"),
        ("any", [E, F, F], "error"),
        ("all", [E, F, P], "failed"),
        ("all", [E, P, P], "error"),
        ("2/3", [E, P, P], "passed"),
        ("2/3", [E, P, F], "error"),
        ("mean", [E, F, F], "error"),
    ],
)
def test_the_rule_makes_the_verdict(trials: Project, rule: str, cities: list[str], outcome: str) -> None:
    several = [] if "/" in rule else ["--tooleval-trials=3"]
    result = ask(trials, cities, f"--tooleval-pass={rule}", *several)
    row = trials.rows()["a[agent]"]
    assert row["outcome"] == outcome
    assert (row["pass_rule"], row["passes"]) == (rule, cities.count(P))
    assert row["scored"] == 3 - cities.count(E)
    assert result.ret == (0 if outcome == "passed" else 1)


def test_the_reason_counts(trials: Project) -> None:
    result = ask(trials, [P, F, F], "--tooleval-pass=2/3")
    result.stdout.fnmatch_lines(['1 of 3 trials passed, needs 2: city: expected "Paris", got "London"'])


def test_the_table_has_pass_at_k(trials: Project) -> None:
    result = ask(trials, [P, F, P], "--tooleval-trials=3", "-v")
    result.stdout.fnmatch_lines(["model *pass@3  pass^3*", "agent *1.00    0.00*"])
    reliability = trials.document()["models"][0]["reliability"]
    assert reliability["trials"] == 3
    assert reliability["pass@k"] == pytest.approx({"1": 2 / 3, "2": 1.0, "3": 1.0})
    assert reliability["pass^k"] == pytest.approx({"1": 2 / 3, "2": 1 / 3, "3": 0.0})


def test_junit_counts_the_trials(trials: Project) -> None:
    ask(
        trials,
        [P, F, P],
        "--tooleval-trials=3",
        "--junitxml=out.xml",
        "-ojunit_family=xunit1",
    )
    assert 'name="tooleval.passes" value="2/3"' in (trials.path / "out.xml").read_text()


def test_the_rule_of_the_file(trials: Project) -> None:
    trials.suite(right("a", **RULE), right("b"), trials=2, **{"pass": "any"})
    ask(trials, [P, F, P])
    rows = trials.rows()
    assert (rows["a[agent]"]["outcome"], len(rows["a[agent]"]["trials"])) == ("passed", 3)
    assert (rows["b[agent]"]["pass_rule"], len(rows["b[agent]"]["trials"])) == ("any", 2)


@pytest.mark.parametrize("options", [["--tooleval-trials=5"], ["--tooleval-preset=nightly"]])
def test_a_rule_of_the_file_sets_its_trials_itself(trials: Project, options: list[str]) -> None:
    trials.suite(right("a", **RULE), right("b"))
    ask(trials, [P], *options)
    assert [len(row["trials"]) for row in trials.rows().values()] == [3, 5]


@pytest.mark.parametrize("options", [["--tooleval-preset=strict"], ["--tooleval-pass=all"]])
def test_a_stricter_rule_keeps_the_trials_of_the_file(trials: Project, options: list[str]) -> None:
    trials.suite(right("a", **RULE), right("b"))
    ask(trials, [P, P, F, P], *options)
    rows = trials.rows()
    assert (rows["a[agent]"]["outcome"], rows["a[agent]"]["scored"]) == ("failed", 3)
    assert len(rows["b[agent]"]["trials"]) == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--tooleval-preset=nightly"],
        ["-otooleval_trials=5"],
        ["-otooleval_trials=auto", "--tooleval-fail-under=pass^1=0.5", "--tooleval-confidence=0.9"],
    ],
)
def test_a_rule_of_the_command_line_sets_the_trials(trials: Project, options: list[str]) -> None:
    trials.suite(right("a"))
    ask(trials, [P], "--tooleval-pass=1/2", *options)
    assert len(trials.rows()["a[agent]"]["trials"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tooleval-pass=most"], "expected mean, all, any, or K/N"),
        (["--tooleval-pass=6/5"], "expected mean, all, any, or K/N"),
        (["--tooleval-pass=0/5"], "expected mean, all, any, or K/N"),
        (["--tooleval-pass=4/5", "--tooleval-trials=3"], "contradicts --tooleval-trials=3"),
        (["--tooleval-pass=4/10001"], "(N up to 10000)"),
        (
            ["--tooleval-trials=99999999"],
            "--tooleval-trials=99999999: expected 1 to 10000, auto, or auto:MAX",
        ),
    ],
)
def test_rules_that_cannot_be(trials: Project, options: list[str], message: str) -> None:
    result = ask(trials, [P], *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pass": "most"}, 'test_cases[[]0].pass: expected "mean", "all", "any", or "K/N"*'),
        ({"pass": "3/2"}, "test_cases[[]0].pass: 3 of 2 trials can never pass"),
        (
            {"pass": "2/3", "trials": 4},
            'test_cases[[]0].trials: "pass": "2/3" asks 3 times*remove trials',
        ),
    ],
)
def test_rules_that_cannot_be_in_a_file(trials: Project, fields: dict[str, Any], message: str) -> None:
    trials.suite(right("a", **fields))
    result = ask(trials, [P])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*weather.tooleval.json:*{message}"])


def test_a_counted_rule_on_the_command_line_says_how_many_trials(trials: Project) -> None:
    trials.suite(right("a", trials=2))
    ask(trials, [P, P, P], "--tooleval-pass=2/3")
    assert trials.rows()["a[agent]"]["scored"] == 3


def test_pass_at_k_is_by_weight_in_the_table_as_in_the_gate(project: Project) -> None:
    project.suite(right("a", weight=3), wrong("b"))
    result = project.run("--tooleval-trials=2", "--tooleval-fail-under=pass^2=0.7")
    result.stdout.fnmatch_lines(["model *pass^2*", "agent *0.75"])
    result.stdout.fnmatch_lines(["agent passed: *; pass^2: 0.75 >= 0.70*"])


def test_reliability_says_which_cases_it_is_of(project: Project) -> None:
    project.suite(right("a", trials=3), right("b", trials=3), wrong("c"))
    result = project.run("-v")
    result.stdout.fnmatch_lines(["agent: pass@3 and pass^3 are over 2 of 3 cases; *"])
    assert "pass@3" not in project.run().stdout.str()  # nor is the column there
    project.suite(right("a"), right("b"))
    assert "pass@3 and" not in project.run("-v", "--tooleval-trials=3").stdout.str()
