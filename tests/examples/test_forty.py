"""The page "Start with these forty": there are forty, and its lines work."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import pytest
from click.testing import CliRunner
from generated import ROOT, part

from pytest_tooleval.cli import main
from pytest_tooleval.settings.options import OPTIONS
from pytest_tooleval.suite.load import parse_suite

PAGE = (ROOT / "docs/get-started/forty.md").read_text(encoding="utf-8")
LINES = {
    kind: re.findall(r"^\| `(.*?)` \|", part(PAGE, f"everyday {kind}")[0], re.MULTILINE)
    for kind in ("fields", "matchers", "options", "commands")
}
TOOLS = [
    {"type": "function", "function": {"name": name}}
    for name in ("get_weather", "pay", "ship", "delete_account")
]
# What a field replaces, and what it needs.
WITH: dict[str, dict[str, Any]] = {
    "expected_calls": {"expected_tool": None},
    "turns": {"expected_tool": None, "prompt": None},
    "parametrize": {"prompt": "Weather in {{city}}?"},
}


def test_there_are_forty() -> None:
    assert {kind: len(lines) for kind, lines in LINES.items()} == {
        "fields": 15,
        "matchers": 8,
        "options": 10,
        "commands": 7,
    }


@pytest.mark.parametrize("line", LINES["fields"])
def test_a_field_makes_a_right_case(line: str) -> None:
    field = json.loads(f"{{{line}}}")
    case = {"prompt": "Weather in Paris?", "expected_tool": "get_weather"}
    case |= WITH.get(next(iter(field)), {}) | field
    read(**{name: value for name, value in case.items() if value is not None})


@pytest.mark.parametrize("line", LINES["matchers"])
def test_a_matcher_is_an_expected_value(line: str) -> None:
    read(prompt="?", expected_tool="get_weather", expected_params={"city": json.loads(line)})


def read(**case: Any) -> None:
    suite = {"name": "forty", "tools": TOOLS, "test_cases": [case]}
    parse_suite(json.dumps(suite).encode(), "forty.tooleval.json")


@pytest.mark.parametrize("line", LINES["options"])
def test_an_option_takes_its_value(line: str) -> None:
    name, _, value = line.removeprefix("--tooleval-").partition("=")
    OPTIONS[name.replace("-", "_")].value(value)


def test_commands_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in LINES["commands"]:
        _, *words = shlex.split(line)
        # The others need a log, or runs.
        words += [] if words[0] in ("new", "validate", "mutate") else ["--help"]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
