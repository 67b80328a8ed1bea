"""`tooleval blame`: three changes of a suite, of which one breaks cases."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builders import git, tool
from click.testing import CliRunner

from pytest_tooleval.cli import main

OLD = {
    "get_weather": "Weather forecast for a city.",
    "find_flight": "Search for flights to a city.",
    "get_time": "The current time in a city.",
}
TOOL = "get_weather"
WORSE = "Weather forecast for Paris: say rain?"
CASES = [
    {
        "id": "rain",
        "prompt": "Does the weather forecast for Paris say rain?",
        "expected_tool": "get_weather",
    },
    {"id": "fly", "prompt": "Search for flights to Oslo.", "expected_tool": "find_flight"},
    {"id": "time", "prompt": "What is the current time in Rome?", "expected_tool": "get_time"},
]


AGENT = """
from pathlib import Path

ASKED = Path(__file__).with_name("asked")


def answer(messages, tools):
    is_today = "New." in str(tools)
    wrong = is_today and not (ASKED.exists() and "today" in ASKED.read_text())
    with ASKED.open("a") as file:
        file.write("today " if is_today else "before ")
    return {"tool_calls": [{"name": "get_time" if wrong else "find_flight", "arguments": {}}]}
"""


PAID = """
from pathlib import Path


def answer(messages, tools):
    with Path(__file__).with_name("asked").open("a") as file:
        file.write(".")
    name = "get_time" if "New." in str(tools) else "find_flight"
    return {"tool_calls": [{"name": name, "arguments": {}}], "usage": {"cost": 0.01}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, OLD)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "old")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, tools: Mapping[str, str], prompt: str = "Be brief.") -> None:
    offered = [tool(name, description=text) for name, text in tools.items()]
    suite: dict[str, Any] = {"name": "Travel", "system_prompt": prompt, "tools": offered}
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "travel.tooleval.json").write_text(json.dumps({**suite, "test_cases": CASES}))


def blame(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["blame", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


MODEL = "--tooleval-model=builtin/lexical"


def test_the_change_that_breaks_cases_is_named(folder: Path) -> None:
    broken = {**OLD, "find_flight": WORSE}
    write(folder, {**broken, "get_time": "The current time of day in a city."}, prompt="Be kind.")
    output = blame("main", MODEL, "--trials=3")
    assert "builtin/lexical" in output  # the estimate
    assert "3 changes:\n  the new system prompt\n  the new description of find_flight\n" in output
    assert "newly broken case" in output
    _, _, lines = output.partition("\nthe new description of find_flight breaks\n")
    assert lines
    assert all(line.endswith(": fails 3 of 3 trials, without it 0 of 3") for line in lines.splitlines())


@pytest.mark.nightly
def test_a_flaky_case_is_asked_anew_and_everything_replays(folder: Path) -> None:
    # Today's first answer is wrong and selects the case; all others are right.
    (folder / "agent.py").write_text(AGENT)
    (folder / "tooleval.toml").write_text('[models.flaky]\ncallable = "agent:answer"\n')
    write(folder, {**OLD, "get_time": "New."})
    arguments = ("main", "--tooleval-model=flaky", "--tooleval-cassette=tapes", "--trials=3", "-k=fly")
    output = blame(*arguments)
    assert output.endswith(
        "fly: may have failed by chance (fails 0 of 3 trials today, 0 of 3 before); "
        "more --trials can tell\n"
    )
    asked = (folder / "asked").read_text()
    # With a single change, reverting it is the same as everything.
    assert (asked.count("today"), asked.count("before")) == (1 + 3, 1 + 3)
    assert blame(*arguments, "--tooleval-record=none").splitlines()[-1] == output.splitlines()[-1]
    assert (folder / "asked").read_text() == asked


@pytest.mark.nightly
def test_two_changes_that_break_a_case_together_or_each(folder: Path) -> None:
    write(folder, {**OLD, "find_flight": WORSE, "get_time": WORSE})
    output = blame("main", ".", MODEL, "--trials=3")
    assert "reverting two at a time" in output
    both = "of find_flight and the new description of get_time together break\n  rain"
    assert both in output


def test_nothing_is_broken(folder: Path) -> None:
    assert blame("main", MODEL).endswith("no case that passes as of main fails today\n")


@pytest.mark.nightly
def test_a_case_without_an_answer_as_of_the_revision_is_not_called_unbroken(folder: Path) -> None:
    write(folder, {**OLD, "find_flight": WORSE})
    only_today = "travel.tooleval.json::rain[builtin/lexical]"
    assert blame("main", only_today, MODEL).endswith(
        "rain: no answer as of main, so not compared\nno other case that passes as of main fails today\n"
    )


def test_a_case_without_an_answer_today_is_not_called_unbroken(folder: Path) -> None:
    only_earlier = "travel.tooleval.json::rain[builtin/lexical, against:main]"
    assert "rain: no answer today, so not compared\n" in blame("main", only_earlier, MODEL)


def test_the_limit_of_cost_holds_for_all_steps_together(folder: Path) -> None:
    (folder / "agent.py").write_text(PAID)
    (folder / "tooleval.toml").write_text('[models.paid]\ncallable = "agent:answer"\n')
    write(folder, {**OLD, "get_time": "New."})
    limit = ("--tooleval-max-cost=0.06", "--tooleval-concurrency=1")
    output = blame("main", "--tooleval-model=paid", "-k=fly", *limit)
    assert (folder / "asked").read_text() == 6 * "."
    assert "not answered" in output
    # The first step takes all of it.
    (folder / "asked").unlink()
    output = blame("main", "--tooleval-model=paid", "-k=fly", "--tooleval-max-cost=0.02", limit[1])
    assert (folder / "asked").read_text() == 2 * "."
    assert output.endswith("fly: not answered today, so nothing is blamed\n")


def test_what_pytest_cannot_run(folder: Path) -> None:
    result = CliRunner().invoke(main, ["blame", "nowhere", MODEL])
    assert result.exit_code == 2
    assert "git knows no revision 'nowhere'" in result.output
