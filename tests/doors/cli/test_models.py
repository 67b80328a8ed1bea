"""`tooleval models`: what is configured, and what works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from mock_server import MockServer

from pytest_tooleval.cli import main
from pytest_tooleval.engine import probes

PROBES = [probe.name for probe in probes.PROBES]


def invoke(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["models", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return done


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def local(folder: Path, server: MockServer) -> None:
    (folder / "tooleval.toml").write_text(
        f'[models.local]\nmodel = "openai/qwen"\napi_base = "{server.base_url}"\n', encoding="utf-8"
    )


def says(request: dict[str, Any]) -> dict[str, Any]:
    """A server that calls the tool once for each city, unless it is told not to."""
    if request.get("tool_choice") == "none":
        return {"role": "assistant", "content": "I cannot look."}
    if form := request.get("response_format"):
        (name,) = form["json_schema"]["schema"]["required"]
        return {"role": "assistant", "content": json.dumps({name: "France"})}
    cities = [city for city in ("Paris", "Rome") if city in request["messages"][-1]["content"]]
    calls = [
        {
            "id": f"call_{city}",
            "type": "function",
            "function": {"name": "get_weather", "arguments": f'{{"city": "{city}"}}'},
        }
        for city in cities
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_the_models_of_a_config_are_listed(project: Path) -> None:
    (project / "tooleval.toml").write_text(
        '[models.claude-3]\nmodel = "anthropic/claude-sonnet-5"\n[models.agent]\ncallable = "a:b"\n'
    )
    lines = [line.split() for line in invoke().output.splitlines()]
    address = "https://api.anthropic.com"
    assert lines[1][:4] == ["claude-3", "anthropic/claude-sonnet-5", address, "ANTHROPIC_API_KEY"]
    assert lines[2][:3] == ["agent", "a:b", "Python"]


def test_the_models_are_those_of_the_project_around_a_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[tool.pytest.ini_options]\n[tool.tooleval.models.agent]\ncallable = "a:b"\n'
    (project / "pyproject.toml").write_text(text)
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    assert "a:b" in invoke().output


def test_without_a_config_it_says_how_to_begin(project: Path) -> None:
    assert "[tool.tooleval.models.NAME]" in invoke().output


def test_each_way_of_asking_is_tried(project: Path) -> None:
    with MockServer(script=says, faults={"refuse-required": 1}) as server:
        local(project, server)
        done = invoke("check", "local")
    rows = {line[:22].strip(): line[22:].split() for line in done.output.splitlines()[2:]}
    assert rows["the defaults"][:3] == ["yes", "tool_choice:", "auto"]
    assert rows["tool_choice required"][:3] == ["no", "tool_choice:", "auto"]
    others = {name: cells[0] for name, cells in rows.items() if name in PROBES[2:]}
    assert others == dict.fromkeys(PROBES[2:], "yes")
    assert done.exit_code == 0


def test_a_model_that_calls_nothing_fails_with_what_it_said(project: Path) -> None:
    with MockServer(script=lambda request: {"role": "assistant", "content": "No."}) as server:
        local(project, server)
        done = invoke("check", "local")
    assert "called nothing, said 'No.'" in done.output
    assert done.exit_code == 1


def test_a_form_that_is_ignored_or_refused_does_not_work(project: Path) -> None:
    with MockServer(script=lambda request: {"role": "assistant", "content": "France."}) as server:
        local(project, server)
        done = invoke("check", "local")
    (row,) = (line for line in done.output.splitlines() if line.startswith("response_format "))
    assert row.split()[1] == "no"
    (project / "tooleval.toml").write_text('[models.lexical]\nmodel = "builtin/lexical"\n')
    done = invoke("check", "lexical")
    assert "response_format: response_format is set by the case, and would not be sent" in done.output
    assert done.exit_code == 0


def test_a_server_that_is_not_there_is_asked_once(project: Path) -> None:
    with MockServer() as server:
        local(project, server)
    done = invoke("check", "local")
    assert done.output.count("no connection") == 1
    assert "tool_choice auto" not in done.output
    assert done.exit_code == 1
