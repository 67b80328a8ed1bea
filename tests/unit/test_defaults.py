"""No page states another default or limit than the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_tooleval.cli.blame import blame
from pytest_tooleval.engine.cassettes.folders import KEPT_RUNS
from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.matchers.modes import DEFAULT_MODE, MODES
from pytest_tooleval.mutation.mutants import MOST_TOOLS
from pytest_tooleval.mutation.wrong_agents import MAX_AGENTS
from pytest_tooleval.scoring.assignment import MAX_EXPECTED
from pytest_tooleval.settings.options import OPTIONS
from pytest_tooleval.suite.case import DEFAULT_MAX_ROUNDS, DEFAULT_MAX_TURNS
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.resolved import merged_thresholds
from pytest_tooleval.worlds.play import TIME_LIMIT_S
from pytest_tooleval.worlds.world import MAX_ANSWER

ROOT = Path(__file__).parents[2]
# As one line each, because a sentence may continue on the next.
PAGES = {
    path.relative_to(ROOT).as_posix(): " ".join(path.read_text(encoding="utf-8").split())
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
}
[_TRIALS] = (parameter.default for parameter in blame.params if parameter.name == "trials")
_RETRY = RetryPolicy()
_WORDS = {"two": 2, "three": 3, "five": 5, "ten": 10}
# What a sentence says, with the number in a group, and what the code has.
STATED: dict[str, object] = {
    r"`max_rounds`[^.]*?(?:\(default (\w+)\)|, (\w+) by default|; default (\w+))": DEFAULT_MAX_ROUNDS,
    r"`max_turns`[^|]*\|[^|]*Default: (\w+)": DEFAULT_MAX_TURNS,
    r"(\w+) requests at a time \(`--tooleval-concurrency`\)": OPTIONS["concurrency"].default,
    r"`--tooleval-concurrency` \((\w+)\)": OPTIONS["concurrency"].default,
    r"`--tooleval-max-drop` \(default (\w+)\)": OPTIONS["max_drop"]
    .help.partition("default: ")[2]
    .strip(")"),
    r"has (\w+) seconds to answer; `--tooleval-timeout`": OPTIONS["timeout"].default,
    r"`--trials` sets the number of trials \(default: (\w+),": _TRIALS,
    r"\| 429, [^|]*\| at most (\w+) \|": _RETRY.rate_limit_attempts,
    r"\| timeouts \| at most (\w+) \|": _RETRY.timeout_attempts,
    r"\| 408, [^|]*\| at most (\w+) \|": _RETRY.attempts,
    r"\| an unreadable answer: [^|]*\| at most (\w+) of": _RETRY.unreadable_answers,
    r"answers of the last (\w+) runs": KEPT_RUNS,
    r"at most (\w+) of the case's other tools": MOST_TOOLS,
    r"at most (\w+) for each test": MAX_AGENTS,
    r"can expect at most (\w+) calls": MAX_EXPECTED,
    r"A method may take (\w+) s": int(TIME_LIMIT_S),
    r"answers of more than (\w+) MiB": MAX_ANSWER // 2**20,
}
_USUAL = json.dumps({"name": "s", "tools": [], "test_cases": [{"prompt": "?", "expected_tool": None}]})


@pytest.mark.parametrize("sentence", STATED)
def test_a_default_is_stated_as_the_code_has_it(sentence: str) -> None:
    found = [
        (page, _WORDS.get(number, number))
        for page, text in PAGES.items()
        for match in re.finditer(sentence, text)
        for number in match.groups()
        if number
    ]
    assert found, "no page says so; take the sentence out of the table"
    assert [(page, str(number)) for page, number in found if str(number) != str(STATED[sentence])] == []


def test_a_metric_on_by_default_has_a_threshold() -> None:
    [case] = parse_suite(_USUAL, "s").test_cases
    on = merged_thresholds(case, MODES[DEFAULT_MODE])
    said = {name for text in PAGES.values() for name in re.findall(r"`(\w+)`, on by default", text)}
    assert said
    assert said <= on.keys()
