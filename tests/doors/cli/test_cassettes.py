"""`tooleval cassette explain`: which answers are missing, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_tooleval.cli import main
from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.cassettes.questions import key_of
from pytest_tooleval.engine.exchange.chat import ChatAnswer
from pytest_tooleval.engine.models.names import resolve_models
from pytest_tooleval.engine.models.tables import read_tables
from pytest_tooleval.engine.replay import first_missing
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.suite.load import load_suite
from pytest_tooleval.suite.resolved import resolve

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
CASES = [
    {"id": town, "prompt": f"Rain in {town}?", "expected_tool": "get_weather"}
    for town in ("oslo", "rome")
]


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["cassette", "explain", *arguments, "--model=served"])


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cassette with the answer to the first of two cases."""
    monkeypatch.chdir(tmp_path)
    Path("tooleval.toml").write_text(
        '[models.served]\nmodel = "openai/mock"\napi_base = "http://x/v1"\n'
    )
    suite_file = Path("s.tooleval.json")
    suite_file.write_text(json.dumps({"name": "s", "tools": [TOOL], "test_cases": CASES}))
    suite = load_suite(suite_file)
    [spec] = resolve_models(["served"], read_tables(tmp_path))
    cassette = Cassette(tmp_path / "tapes" / "s.jsonl")
    asked = first_missing(
        TrialRequest(Job(resolve(suite, suite.test_cases[0]), spec, cassette=cassette))
    )
    assert asked is not None
    answer = ChatAnswer({"role": "assistant", "content": "No."}, "stop")
    cassette.add(key_of(asked), asked, answer)
    return cassette.path


def test_what_is_missing_is_named_with_the_field_that_differs(recorded: Path) -> None:
    result = explain(str(recorded), "s.tooleval.json")
    assert result.exit_code == 1
    assert "rome[served]" in result.output
    assert "oslo[served]" not in result.output
    assert "messages" in result.output
    assert "2 conversations, 1 with missing answers" in result.output


def test_nothing_is_missing(recorded: Path) -> None:
    result = explain(str(recorded), "s.tooleval.json", "--case=oslo")
    assert (result.exit_code, "rome" in result.output) == (0, False)
    assert explain(str(recorded), "s.tooleval.json", "--case=oslo", "--temperature=0.5").exit_code == 1


def test_a_folder_is_no_cassette(recorded: Path) -> None:
    result = explain("tapes", "s.tooleval.json")
    assert result.exit_code == 2
    assert f"tapes is a folder; name a file in it, such as {Path('tapes', 's.jsonl')}" in result.output
    assert "there is no cassette nowhere" in explain("nowhere", "s.tooleval.json").output
