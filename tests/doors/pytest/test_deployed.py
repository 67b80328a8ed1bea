"""An agent at an address, from its table to the verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mock_server import MockServer

from .project import Project

TABLE = """
[models.shop]
url = "http://127.0.0.1:{port}/chat"
headers = {{ Authorization = "SHOP_AUTH" }}
request = {{ message = "$prompt", thread = "$conversation" }}
answer = {{ text = "/reply", calls = "/steps" }}
conversation = "/thread"
"""
PARIS = {"name": "get_weather", "arguments": {"city": "Paris"}}


def answer(path: str, body: dict[str, Any]) -> tuple[int, object]:
    """It calls the tool in the second turn of a conversation only."""
    steps = [PARIS] if body["thread"] else []
    return 200, {"reply": "Sunny.", "steps": steps, "thread": body["thread"] or "t-1"}


def test_a_conversation_is_asked_scored_and_replayed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_AUTH", "sk-planted-0123456789")
    paris = {"tool": "get_weather", "params": {"city": "Paris"}}
    turns = [{"prompt": "Hello", "expected_calls": []}, {"prompt": "Paris?", "expected_calls": [paris]}]
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
    suite = {"name": "Talk", "tools": [tool], "test_cases": [{"id": "talk", "turns": turns}]}
    project.write("talk.tooleval.json", json.dumps(suite))
    with MockServer(respond=answer) as server:
        project.write("tooleval.toml", TABLE.format(port=server.port))
        project.run("--tooleval-cassette=tapes", model="shop").assert_outcomes(passed=1)
        assert [body["thread"] for body in server.bodies] == [None, "t-1"]
    project.run("--tooleval-cassette=tapes", model="shop").assert_outcomes(passed=1)
    assert not [
        file for file in project.path.rglob("*") if file.is_file() and b"sk-planted" in file.read_bytes()
    ]
