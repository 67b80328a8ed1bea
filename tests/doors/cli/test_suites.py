from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from pytest_tooleval import __version__
from pytest_tooleval.cli import main
from pytest_tooleval.suite.schema import suite_schema
from pytest_tooleval.web.suite_files import SuiteFolder

GOOD = '{"name": "s", "test_cases": [{"prompt": "Hello", "expected_tool": null}]}'
WARNED = '{"name": "s", "test_cases": [{"prompt": "Hello", "expected_tool": "*"}]}'
BAD = '{"name": "s",\n "temperature": "hot", "test_cases": []}'


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner()


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.tooleval.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_version(runner: CliRunner) -> None:
    assert runner.invoke(main, ["--version"]).output == f"tooleval, version {__version__}\n"


def test_help_is_quick() -> None:
    code = (
        "import sys\n"
        "from pytest_tooleval.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'pydantic', 'jsonschema', 'litellm', 'pytest', 'regex', 'rapidfuzz'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "validate" in done.stdout


def _pages(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it, on a screen of 80 columns."""
    context = click.Context(command, info_name=name, max_content_width=80, terminal_width=80)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from _pages(below, f"{name} {each}")


def test_help_fits_a_screen_and_begins_with_the_purpose() -> None:
    assert len(main.list_commands(click.Context(main))) <= 17
    for name, text in _pages(main, "tooleval"):
        lines = text.splitlines()
        assert lines[2].startswith("  "), name
        # The first page has all commands, and merging all options of gates and reports.
        assert len(lines) <= 24 or name in ("tooleval", "tooleval merge"), name


def test_schema_to_the_terminal(runner: CliRunner) -> None:
    assert json.loads(runner.invoke(main, ["schema"]).output) == suite_schema()
    assert json.loads(runner.invoke(main, ["schema", "--out=-"]).output) == suite_schema()


def test_schema_to_a_file(runner: CliRunner, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    assert runner.invoke(main, ["schema", "--out", str(file)]).output == f"wrote {file}\n"
    assert json.loads(file.read_text(encoding="utf-8")) == suite_schema()


def test_schema_to_a_place_that_cannot_be_written(runner: CliRunner, tmp_path: Path) -> None:
    done = runner.invoke(main, ["schema", "--out", str(tmp_path / "none" / "schema.json")])
    assert done.exit_code == 1
    assert "cannot write" in done.output


def test_validate_a_good_suite(runner: CliRunner, tmp_path: Path) -> None:
    done = runner.invoke(main, ["validate", str(write(tmp_path, "a", GOOD))])
    assert done.exit_code == 0
    assert done.output == "1 suite, 1 case: 0 problems, 0 warnings\n"


def test_validate_a_folder(runner: CliRunner, tmp_path: Path) -> None:
    bad = write(tmp_path, "b", BAD)
    warned = write(tmp_path, "sub/c", WARNED)
    write(tmp_path, ".git/d", BAD)
    write(tmp_path, "node_modules/x/e", BAD)
    (tmp_path / "other.json").write_text("{}")
    done = runner.invoke(main, ["validate", str(tmp_path), str(bad)])
    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f'{bad}:2:17: temperature: expected a number from 0 to 2, got the string "hot"',
        f"{warned}:1:30: warning: test_cases[0]: a call is expected, but there are no tools to call",
        "1 suite, 1 case; 1 file unusable: 1 problem, 1 warning",
    ]


def test_warnings_fail_only_when_strict(runner: CliRunner, tmp_path: Path) -> None:
    file = str(write(tmp_path, "a", WARNED))
    assert runner.invoke(main, ["validate", file]).exit_code == 0
    assert runner.invoke(main, ["validate", "--strict", file]).exit_code == 1


def test_a_table_of_models_that_is_wrong_keeps_no_suite_from_its_checks(
    runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(write(tmp_path, "a", GOOD))
    (tmp_path / "tooleval.toml").write_text('[models.a]\nmodl = "x"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(main, ["validate", file])
    assert (result.exit_code, result.output) == (0, "1 suite, 1 case: 0 problems, 0 warnings\n")


def test_metrics_of_third_parties(runner: CliRunner, tmp_path: Path) -> None:
    file = str(write(tmp_path, "a", GOOD.replace("null}", 'null, "thresholds": {"tone": 1}}')))
    output = runner.invoke(main, ["validate", file]).output
    assert "unknown metric" in output
    assert output.endswith("1 file unusable: 1 problem, 0 warnings\n")
    assert runner.invoke(main, ["validate", "--metric", "tone", file]).exit_code == 0


def test_nothing_to_check_is_an_error(runner: CliRunner, tmp_path: Path) -> None:
    done = runner.invoke(main, ["validate", str(tmp_path)])
    assert done.exit_code == 2
    assert "no *.tooleval.json file in the folder" in done.output
    assert runner.invoke(main, ["validate"]).exit_code == 2


def test_a_file_that_is_not_there(runner: CliRunner, tmp_path: Path) -> None:
    done = runner.invoke(main, ["validate", str(tmp_path / "none.json")])
    assert done.exit_code == 1
    assert done.output.endswith(": there is no such file\n1 file unusable: 1 problem, 0 warnings\n")


def test_output_holds_nothing_that_a_terminal_obeys(runner: CliRunner, tmp_path: Path) -> None:
    text = json.dumps({"name": "s", "test_cases": [], "\x1b[31m": "\x9b\u202e"}, ensure_ascii=False)
    done = runner.invoke(main, ["validate", str(write(tmp_path, "a", text.replace("\x1b", "\\u001b")))])
    assert all(line.isprintable() for line in done.output.splitlines())


WORLD = """
import random

class Desk:
    def __init__(self):
        self.refunded = 0
        self._seen = random.random()
    def refund(self, amount: float):
        self.refunded += amount
        return {"refunded": self.refunded}
    def draw(self):
        return self._seen
"""


@pytest.mark.parametrize(
    ("turn", "case", "finding"),
    [
        ({"expected_calls": [("refund", 3)], "expected_state": {"refunded": 3}}, {}, None),
        ({"expected_calls": [("refund", 3)]}, {"expected_state": {"refunded": 3}}, None),
        (
            {"expected_calls": [("refund", "3")]},
            {},
            r"expected_calls[0]: refund answers ",
        ),
        ({"expected_calls": [("refund", "3")], "match": "contains"}, {}, None),
        (
            {"expected_calls": [("refund", 3)], "expected_state": {"refunded": 4}},
            {},
            "expected_state.refunded: the expected calls do not lead to this: they lead to 3",
        ),
        (
            {"expected_calls": [("refund", 3)]},
            {"expected_state": {"refunds": 4}},
            "expected_state.refunds: the expected calls do not lead to this: does not exist; "
            'Desk has "refunded"',
        ),
        (
            {"expected_calls": [("draw", None)]},
            {},
            "and something else after the same calls in another world",
        ),
    ],
)
def test_expected_calls_are_played(
    runner: CliRunner, tmp_path: Path, turn: dict[str, Any], case: dict[str, Any], finding: str | None
) -> None:
    (tmp_path / "desk.py").write_text(WORLD)
    calls = [
        {"tool": tool, "params": {} if amount is None else {"amount": amount}}
        for tool, amount in turn["expected_calls"]
    ]
    turns = [{"prompt": "Hello", **turn, "expected_calls": calls}]
    suite = {"name": "s", "world": "desk:Desk", "test_cases": [{"turns": turns, **case}]}
    file = write(tmp_path, "s", json.dumps(suite, indent=1))
    result = runner.invoke(main, ["validate", str(file)])
    assert result.exit_code == (finding is not None), result.output
    if finding is not None:
        assert finding in result.output
        place, _, _ = result.output.partition(": ")
        assert int(place.split(":")[-2]) > 5


@pytest.mark.parametrize(
    ("turns", "case", "finding"),
    [
        # Other calls than the expected ones may lead to the state.
        ([{"calls": [3]}, {"expected_state": {"refunded": 5}}], {}, None),
        ([{"calls": [3]}, {}], {"expected_state": {"refunded": 5}}, None),
        ([{"calls": [3], "match": "contains", "expected_state": {"refunded": 5}}], {}, None),
        ([{"calls": [3, 2], "match": "within", "expected_state": {"refunded": 3}}], {}, None),
        ([{"calls": [3], "expected_state": {"refunded": 4}}, {}], {}, "they lead to 3"),
        ([{"calls": [3]}, {"calls": [2]}], {"expected_state": {"refunded": 6}}, "they lead to 5"),
        ([{"calls": [3]}, {"calls": [], "expected_state": {"refunded": 4}}], {}, "they lead to 3"),
    ],
)
def test_whether_a_suite_is_right_is_said_alike(
    runner: CliRunner,
    pytester: pytest.Pytester,
    turns: list[dict[str, Any]],
    case: dict[str, Any],
    finding: str | None,
) -> None:
    """By validate, by pytest and by the page."""
    (pytester.path / "desk.py").write_text(WORLD)
    for turn in turns:
        turn["prompt"] = "Hello"
        if "calls" in turn:
            amounts = turn.pop("calls")
            turn["expected_calls"] = [{"tool": "refund", "params": {"amount": each}} for each in amounts]
    cases = [{"id": "one", "turns": turns, **case}, {"prompt": "Hi", "expected_tool": None}]
    suite = {"name": "s", "world": "desk:Desk", "test_cases": cases}
    file = write(pytester.path, "s", json.dumps(suite))

    said = [
        runner.invoke(main, ["validate", str(file)]).output,
        str(pytester.runpytest_inprocess("--tooleval-model=builtin/lexical").stdout),
        str(SuiteFolder(pytester.path).examine(file.read_bytes(), file.name, lint=True).warnings),
    ]

    found = ["the expected calls do not lead to this" in each for each in said]
    assert found == [finding is not None] * 3, said
    assert all(finding is None or finding in each for each in said)


def test_what_a_state_does_not_show_is_told(runner: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "desk.py").write_text(
        "class Desk:\n"
        "  def __init__(self): self.status, self._paid = 'open', 0\n"
        "  def cancel(self): self.status = 'cancelled'\n"
        "  def pay(self): self._paid += 40\n"
    )
    turn: dict[str, Any] = {
        "prompt": "?",
        "expected_calls": [{"tool": "cancel"}, {"tool": "pay"}],
        "match": "state",
    }
    suite = {"name": "s", "world": "desk:Desk", "test_cases": [{"turns": [turn]}]}
    result = runner.invoke(main, ["validate", str(write(tmp_path, "s", json.dumps(suite)))])
    assert result.exit_code == 0
    assert (
        "warning: test_cases[0].turns[0].expected_calls[1]: an agent that leaves out pay passes: it "
        'changes only "Desk._paid", which the state does not show' in result.output
    )
    # A case in which only this call is expected is judged by nothing at all.
    turn["expected_calls"] = [{"tool": "pay"}]
    result = runner.invoke(main, ["validate", str(write(tmp_path, "s", json.dumps(suite)))])
    assert result.exit_code == 1
    assert "test_cases[0]: an agent that makes no call passes" in result.output
    (tmp_path / "desk.py").write_text(
        "class Desk:\n  def __init__(self): self._paid = 0\n  def pay(self): self._paid += 40\n"
    )
    turn["results"] = True
    result = runner.invoke(main, ["validate", str(write(tmp_path, "s", json.dumps(suite)))])
    assert result.exit_code == 1
    assert "test_cases[0]: the world shows no state: Desk._paid is private" in result.output


def test_a_world_that_cannot_be_had_is_one_problem(runner: CliRunner, tmp_path: Path) -> None:
    case = {
        "turns": [{"prompt": "Hello", "expected_calls": [{"tool": "a", "params": {}}], "match": "state"}]
    }
    tools = [{"type": "function", "function": {"name": "a"}}]
    suite = {"name": "s", "world": "no.package:World", "tools": tools, "test_cases": [case, case]}
    result = runner.invoke(main, ["validate", str(write(tmp_path, "s", json.dumps(suite)))])
    assert result.output.count(": world: the expected calls cannot be run: cannot import 'no.pack") == 1
    assert "1 problem, 1 warning" in result.output


def test_help_lists_every_command_once_in_sections(runner: CliRunner) -> None:
    output = runner.invoke(main, ["--help"]).output
    titles = [line for line in output.splitlines() if line.endswith(":")]
    assert titles == ["Options:", "Everyday:", "Advanced:"]
    listed = [
        line.split()[0] for line in output.partition("Everyday:")[2].splitlines() if line[2:3].isalpha()
    ]
    commands = [name for name in listed if name in main.list_commands(click.Context(main))]
    assert sorted(commands) == sorted(main.list_commands(click.Context(main)))
