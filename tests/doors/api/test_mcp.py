"""Tools of real MCP servers: previewed, imported, and brought up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pytest_tooleval.suite.load import load_suite
from pytest_tooleval.web.responses import ApiError, error_response

pytestmark = pytest.mark.slow

SERVER = Path(__file__).parents[1] / "pytest" / "live_server.py"
PATH = "/api/import/mcp"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Starts a server with nine tools, which logs its calls."""
    return [sys.executable, str(SERVER), str(tmp_path / "server.log")]


def test_a_preview_writes_nothing(client: TestClient, folder: Path, command: list[str]) -> None:
    before = sorted(folder.iterdir())
    answer = client.post(PATH, json={"stdio": command})
    assert answer.status_code == 200
    found = answer.json()
    assert found["server"]["name"] == "stations"
    assert [tool["function"]["name"] for tool in found["tools"]][:2] == ["find_station", "get_weather"]
    assert found["suite"]["metadata"]["mcp_names"] == {"find_station": "find.station"}
    assert len(found["suite"]["test_cases"]) == 9
    assert found["file"] is None
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("give one with --header NAME=VARIABLE", "give one with “Headers”"),
        ("; try --sse", "; try “URL (HTTP with SSE, older)”"),
        ("no answer within 5 s (--timeout)", "no answer within 5 s"),
        ("allowed by --tooleval-max-cost, because", "allowed by “Max cost”, because"),
        ("--tooleval-record=new does", "“Record: new” does"),
        ("the page has no --tooleval-shard=1/2", "the page has no --tooleval-shard=1/2"),
    ],
)
def test_errors_name_the_controls_of_the_page(message: str, shown: str) -> None:
    body = error_response(ApiError(422, message)).body
    assert json.loads(bytes(body))["error"]["message"] == shown


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
    assert len([line for line in answer.json()["changes"] if line.startswith("added")]) == 6
    changed = load_suite(folder / file)
    assert [case.prompt for case in changed.test_cases] == ["Edited"]
    assert len(changed.tools) == 9
    assert answer.json()["etag"] == client.get(f"/api/suite?file={file}").json()["etag"]


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
