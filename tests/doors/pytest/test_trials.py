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
    ("rule", "cities", "outcome", "reason"),
    [
        ("mean", [P, P, P], "passed", ""),
        ("2/3", [E, P, P], "passed", ""),
        (
            "2/3",
            [P, F, F],
            "failed",
            '1 of 3 trials passed, needs 2: city: expected "Paris", got "London"',
        ),
        ("any", [E, F, F], "error", "agent: my_agent:answer raised ValueError: the agent is broken*"),
    ],
)
def test_the_rule_makes_the_verdict(
    trials: Project, rule: str, cities: list[str], outcome: str, reason: str
) -> None:
    several = [] if "/" in rule else ["--tooleval-trials=3"]
    result = ask(trials, cities, f"--tooleval-pass={rule}", *several)
    row = trials.rows()["a[agent]"]
    assert row["outcome"] == outcome
    assert (row["pass_rule"], row["passes"]) == (rule, cities.count(P))
    assert row["scored"] == 3 - cities.count(E)
    assert result.ret == (0 if outcome == "passed" else 1)
    result.stdout.fnmatch_lines([f"*{reason}"] if reason else [])


def test_pass_at_k_is_in_the_table_and_in_reports(trials: Project) -> None:
    xml = ("--junitxml=out.xml", "-ojunit_family=xunit1")
    result = ask(
        trials, [P, F, P], "--tooleval-trials=3", "-v", "--tooleval-fail-under=pass^1=0.6", *xml
    )
    result.stdout.fnmatch_lines(["model *pass@3  pass^3*", "agent *1.00    0.00*"])
    result.stdout.fnmatch_lines(["agent passed: *; pass^1: 0.67 >= 0.60*"])
    reliability = trials.document()["models"][0]["reliability"]
    assert reliability["trials"] == 3
    assert reliability["pass@k"] == pytest.approx({"1": 2 / 3, "2": 1.0, "3": 1.0})
    assert reliability["pass^k"] == pytest.approx({"1": 2 / 3, "2": 1 / 3, "3": 0.0})
    assert 'name="tooleval.passes" value="2/3"' in (trials.path / "out.xml").read_text()


@pytest.mark.parametrize(
    ("options", "a", "b"),
    [
        ((), ("2/3", 3), ("any", 2)),
        (("--tooleval-trials=5",), ("2/3", 3), ("any", 5)),
        (("--tooleval-preset=nightly",), ("2/3", 3), ("any", 5)),
        # A stricter rule keeps the trials of the file, and a counted one brings its own.
        (("--tooleval-pass=all",), ("all", 3), ("all", 2)),
        (("--tooleval-preset=strict",), ("all", 3), ("all", 2)),
        (("--tooleval-pass=1/2",), ("1/2", 2), ("1/2", 2)),
        (("--tooleval-pass=2/4", "-otooleval_trials=5"), ("2/4", 4), ("2/4", 4)),
    ],
)
def test_the_rule_of_the_file(
    trials: Project, options: tuple[str, ...], a: tuple[str, int], b: tuple[str, int]
) -> None:
    trials.suite(right("a", **RULE), right("b"), trials=2, **{"pass": "any"})
    ask(trials, [P] * 5, *options)
    rows = trials.rows()
    found = [(rows[name]["pass_rule"], len(rows[name]["trials"])) for name in ("a[agent]", "b[agent]")]
    assert found == [a, b]


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


def test_reliability_says_which_cases_it_is_of(project: Project) -> None:
    project.suite(right("a", trials=3), right("b", trials=3), wrong("c"))
    result = project.run("-v")
    result.stdout.fnmatch_lines(["agent: pass@3 and pass^3 are over 2 of 3 cases; *"])
    assert "pass@3" not in project.run().stdout.str()  # nor is the column there
    project.suite(right("a"), right("b"))
    assert "pass@3 and" not in project.run("-v", "--tooleval-trials=3").stdout.str()
