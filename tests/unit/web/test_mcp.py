"""Tools of real MCP servers: previewed, imported, brought up to date, and read when a suite runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pytest_tooleval.suite.load import load_suite

pytest.importorskip("mcp", reason="the extra mcp is not installed")

SERVER = Path(__file__).parents[2] / "plugin" / "live_server.py"
PATH = "/api/import/mcp"
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Starts a server with seven tools, which logs its calls."""
    return [sys.executable, str(SERVER), str(tmp_path / "server.log")]


def test_a_preview_writes_nothing(client: TestClient, folder: Path, command: list[str]) -> None:
    before = sorted(folder.iterdir())
    answer = client.post(PATH, json={"stdio": command})
    assert answer.status_code == 200
    found = answer.json()
    assert found["server"]["name"] == "stations"
    assert [tool["function"]["name"] for tool in found["tools"]][:2] == ["find_station", "get_weather"]
    assert found["suite"]["metadata"]["mcp_names"] == {"find_station": "find.station"}
    assert len(found["suite"]["test_cases"]) == 7
    assert found["file"] is None
    assert sorted(folder.iterdir()) == before


def test_a_suite_is_written_and_brought_up_to_date(
    client: TestClient, folder: Path, command: list[str]
) -> None:
    body = {"stdio": command, "save": True, "name": "My stations"}
    made = client.post(PATH, json=body)
    assert made.status_code == 201
    file = made.json()["file"]
    assert file == "my-stations.tooleval.json"
    suite = load_suite(folder / file)
    assert suite.name == "My stations"
    assert {case.skip for case in suite.test_cases} == {"draft"}
    edited = json.loads((folder / file).read_text())
    edited["test_cases"] = [{**edited["test_cases"][1], "prompt": "Edited", "skip": False}]
    del edited["tools"][3:]
    (folder / file).write_text(json.dumps(edited, indent=4))
    answer = client.post(PATH, json={"stdio": command, "save": True, "file": file, "drafts": False})
    assert answer.status_code == 200
    assert len([line for line in answer.json()["changes"] if line.startswith("added")]) == 4
    changed = load_suite(folder / file)
    assert [case.prompt for case in changed.test_cases] == ["Edited"]
    assert len(changed.tools) == 7
    assert answer.json()["etag"] == client.get(f"/api/suites/{file}").json()["etag"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"stdio": ""},
        {"stdio": []},
        {"stdio": "'"},
        {"stdio": "no-such-command-anywhere"},
        {"stdio": "/"},
        {"stdio": "\x00"},
        {"stdio": ["true", 5]},
        {"stdio": "true", "headers": {"A": "B"}},
        {"stdio": "true", "timeout": 0},
        {"stdio": "true", "timeout": 1e9},
        {"stdio": "true"},
        {"http": "file:///etc/passwd"},
        {"http": "http://127.0.0.1:9/mcp"},
        {"http": "http://127.0.0.1:99999/mcp"},
        {"sse": "http://127.0.0.1:9/sse", "timeout": 5},
        {"http": "http://127.0.0.1:9/mcp", "sse": "http://127.0.0.1:9/sse"},
        {"http": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer secret"}},
        {"http": "http://127.0.0.1:9/mcp", "headers": {"X": "NOT_SET_ANYWHERE"}},
        {"url": "http://127.0.0.1:9/mcp"},
    ],
)
def test_servers_that_cannot_be_used(client: TestClient, body: dict[str, Any]) -> None:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert message
    assert "secret" not in message


def chain(command: list[str], **source: Any) -> dict[str, Any]:
    case = {
        "id": "chain",
        "prompt": "What is the weather in Paris?",
        "multi_turn": True,
        "valid_prerequisites": ["find_station"],
        "expected_tool": "get_weather",
        "expected_params": {"city": "S7"},
        "live_tools": ["*"],
    }
    return {
        "name": "Live",
        "tools_from": {"mcp": {"stdio": command}, **source},
        "test_cases": [case],
    }


AGENT = """
import json


def answer(messages, tools):
    done = sum(message["role"] == "tool" for message in messages)
    name, city = [("find_station", "Paris"), ("get_weather", "S7")][done]
    function = {"name": name, "arguments": json.dumps({"city": city})}
    call = {"id": f"c{done}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
"""


def test_tools_are_read_and_run_for_a_suite_with_tools_from(
    client: TestClient, folder: Path, run: Run, command: list[str], tmp_path: Path
) -> None:
    (folder / "live_agent.py").write_text(AGENT)
    (folder / "tooleval.toml").write_text('[models.agent]\ncallable = "live_agent:answer"\n')
    (folder / "live.tooleval.json").write_text(json.dumps(chain(command)))
    assert client.get("/api/suites/live.tooleval.json").json()["problems"] == []
    assert not (tmp_path / "server.log").exists()
    state = run(file="live.tooleval.json", models=["agent"])
    row = client.get(f"/api/history/{state['id']}").json()["cases"][0]
    assert row["outcome"] == "passed", row["reason"]
    assert json.loads((tmp_path / "server.log").read_text()) == ["find.station", {"city": "Paris"}]


def test_changed_tools_are_an_error_or_a_note(
    client: TestClient, folder: Path, run: Run, command: list[str]
) -> None:
    path = folder / "live.tooleval.json"
    path.write_text(json.dumps(chain(command, pin="0" * 16)))
    body = {"file": path.name, "models": ["baseline/lexical"]}
    refused = client.post("/api/tool-eval", json=body)
    assert refused.status_code == 422
    assert refused.json()["error"]["problems"][0]["field"] == "tools_from"
    path.write_text(json.dumps(chain(command, pin="0" * 16, on_drift="warn")))
    assert "have changed" in run(file=path.name)["problem"]
    path.write_text(json.dumps(chain(["no-such-command-anywhere"])))
    assert client.post("/api/tool-eval", json=body).status_code == 422
