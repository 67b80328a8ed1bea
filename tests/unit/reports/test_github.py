"""GitHub: commands that say one thing each, whatever the text, and no more than GitHub shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from pytest_tooleval.record.results import EXPECTED_FAILURE
from pytest_tooleval.reports import github
from pytest_tooleval.reports.markdown import markdown_text

from .samples import any_text, comparison, document, gate, row, trial

FAILED = row("failed", trial(0, 0.6))
ERROR = row("error", case="rome", reason="no connection")
TOLERATED = row("failed", trial(0, 0.6), counted=True, case="oslo", reason="overall 0.60 < 1.00")


@pytest.fixture(autouse=True)
def _no_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


def parse(command: str) -> tuple[str, dict[str, str], str]:
    """Level, properties and message as the runner reads them (actions/runner, ActionCommand.cs)."""
    assert command.startswith("::")
    info, _, data = command[2:].partition("::")
    level, _, given = info.partition(" ")
    properties = dict(pair.split("=", 1) for pair in given.split(",") if pair)
    return level, {name: unescape(value) for name, value in properties.items()}, unescape(data)


def unescape(text: str) -> str:
    for token, replacement in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(token, replacement)
    return text


def test_gates_come_first_and_misses_are_warnings() -> None:
    gates = (gate(True), gate(False, "0.80 < 0.90, too low"))
    found = document(TOLERATED, ERROR, FAILED, gates=gates, baseline=comparison())
    parsed = [parse(command) for command in github.annotations(found)]
    assert [(level, properties["title"]) for level, properties, _ in parsed] == [
        ("error", "gate: overall of gpt-4o"),
        ("error", "baseline"),
        ("error", "paris[gpt-4o] failed"),
        ("error", "rome[gpt-4o] error"),
        ("warning", "oslo[gpt-4o] failed, counted by a failed gate"),
    ]
    assert "file" not in parsed[0][1]
    assert parsed[0][2] == "0.80 < 0.90, too low"


def test_another_plugin_may_annotate_the_failures() -> None:
    found = document(FAILED, ERROR, TOLERATED, gates=(gate(False),))
    titles = [parse(command)[1]["title"] for command in github.annotations(found, failures=False)]
    assert titles == ["rome[gpt-4o] error", "oslo[gpt-4o] failed, counted by a failed gate"]


def test_ten_of_a_kind_and_no_more() -> None:
    ten = [row("failed", case=f"case-{n}") for n in range(10)]
    assert len(github.annotations(document(*ten))) == 10
    cases = [*ten, FAILED, *(row("failed", case=f"miss-{n}", counted=True) for n in range(12))]
    parsed = [parse(command) for command in github.annotations(document(*cases, gates=(gate(False),)))]
    assert [level for level, _, _ in parsed] == ["error"] * 10 + ["warning"] * 10
    assert parsed[0][1]["title"] == "gate: overall of gpt-4o"
    assert (parsed[9][1], parsed[19][1]) == ({"title": "3 more"}, {"title": "3 more"})
    assert parsed[9][2].startswith("and 3 more that GitHub does not show")


def file_of(case: dict[str, Any], *places: Path | None) -> str:
    [command] = github.annotations(document(case), True, *places)
    return parse(command)[1]["file"]


def test_files_are_relative_to_the_repository() -> None:
    repository, root = Path("/repo"), Path("/repo/evals")
    assert file_of(FAILED, root, repository) == "evals/weather.tooleval.json"
    assert file_of(FAILED, repository, repository) == "weather.tooleval.json"
    assert file_of(row("failed", file="../a.json"), root, repository) == "a.json"
    assert file_of(FAILED, root) == "weather.tooleval.json"
    assert file_of(FAILED) == "weather.tooleval.json"


def test_a_file_outside_of_the_repository_has_its_full_path() -> None:
    outside = Path("/elsewhere")
    assert file_of(FAILED, outside, Path("/repo")) == (outside / "weather.tooleval.json").as_posix()


def test_an_unknown_line_is_left_out() -> None:
    [command] = github.annotations(document(row("failed", line=0)))
    assert set(parse(command)[1]) == {"file", "title"}


def test_the_documented_escapes() -> None:
    case = row("failed", file="a:b,c%d.json", case="50%", reason="100% wrong: a, b\r\n::error::c")
    [command] = github.annotations(document(case))
    assert command == (
        "::error file=a%3Ab%2Cc%25d.json,line=21,title=50%25[gpt-4o] failed"
        "::100%25 wrong: a, b\\r\\n::error::c"
    )


@given(any_text, any_text)
def test_hostile_text_is_one_command_with_the_properties_of_ours(one: str, two: str) -> None:
    case = row("failed", file=one, case=two, model=one, reason=two)
    for command in github.annotations(document(case, gates=(gate(False, one, name=two),))):
        assert command.isprintable()
        level, properties, message = parse(command)
        assert level == "error"
        assert set(properties) <= {"file", "line", "title"}
        assert properties["title"].startswith("gate: ") or properties["title"].endswith(" failed")
        assert message
        # Read back as it was, but for control characters.
        assert message in (show(one), show(two), "(no reason given)")


def show(text: str) -> str:
    from pytest_tooleval.text import printable

    return printable(text)


def test_summaries_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("from another tool\n")
    github.append_step_summary(path, markdown_text(document(FAILED, reason="größer")))
    github.append_step_summary(path, "no newline")
    text = path.read_bytes().decode("utf-8")
    assert text.startswith("from another tool\n## Tool calling: FAILED\n")
    assert text.endswith("no newline\n")
    assert "\r" not in text


def test_the_room_that_is_left_in_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert github.room_in_step_summary(path) == 1024 * 1024 - 1
    path.write_bytes(b"x" * 1_000_000)
    text = "y" * github.room_in_step_summary(path)
    github.append_step_summary(path, text)
    assert path.stat().st_size == 1024 * 1024
    assert github.room_in_step_summary(path) == 0


# ------------------------------------------------------------------- the files that the docs show

CI = Path(__file__).parents[3] / "examples/ci"


def workflow(name: str) -> dict[Any, Any]:
    yaml = pytest.importorskip("yaml")
    found: dict[Any, Any] = yaml.safe_load((CI / name).read_text(encoding="utf-8"))
    return found


def test_the_workflow_for_github_can_be_read() -> None:
    found = workflow("github.yml")
    # YAML 1.1 reads the key `on` as true.
    assert set(found[True]) == {"pull_request", "schedule", "workflow_dispatch"}
    for job in found["jobs"].values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        [command] = [step["run"] for step in job["steps"] if step.get("run", "").startswith("pytest")]
        assert "\n" not in command
    assert set(found["jobs"]) == {"replay", "nightly"}


def test_the_pipeline_for_gitlab_can_be_read() -> None:
    found = workflow("gitlab.yml")
    shared = found[".tooleval"]
    assert shared["artifacts"]["reports"]["junit"] == "junit.xml"
    assert shared["stage"] in found["stages"]
    for name in ("replay", "nightly"):
        assert found[name]["extends"] == ".tooleval"
        command = found[name]["script"][-1]
        assert command.startswith("pytest evals ")
        assert "\n" not in command


def test_every_option_of_the_files_exists(pytestconfig: pytest.Config) -> None:
    text = (CI / "github.yml").read_text("utf-8") + (CI / "gitlab.yml").read_text("utf-8")
    named = set(re.findall(r"--tooleval-([a-z-]+)", text))
    assert {f"tooleval_{name.replace('-', '_')}" for name in named} <= set(vars(pytestconfig.option))


def test_an_expected_failure_is_nothing_to_tell() -> None:
    expected = row("failed", tolerated=True, reason=f"{EXPECTED_FAILURE}: not yet")
    assert github.annotations(document(expected)) == []
