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


REFUND = {"name": "refund", "arguments": {"order": "A1"}}
FUNCTION = {"name": "refund", "arguments": '{"order": "A1"}'}
# A call's answer by its status, in the documents of two APIs.
RESPONSES: dict[str, dict[str, Any]] = {
    "ok": {"output": "done", "status": "completed"},
    "error": {"output": "503", "status": "incomplete"},
    "unknown": {"output": '{"error": "timed out"}'},
}
MESSAGES: dict[str, dict[str, Any]] = {
    "ok": {"content": "done"},
    "error": {"content": "503", "is_error": True},
    "unknown": {"content": "timed out", "is_error": True},
}
# By the form of the answer and the status of its only call, which the agent always says went well.
ENDS: dict[str, dict[str, dict[str, Any]]] = {
    "pointers": {
        status: {"reply": "Refunded.", "steps": [{**REFUND, "state": status, "output": "?"}]}
        for status in ("ok", "error", "refused", "waiting", "unknown")
    },
    "responses": {
        status: {
            "output": [
                {"type": "function_call", "call_id": "c", **FUNCTION},
                {"type": "function_call_output", "call_id": "c", **output},
                {"type": "message", "content": [{"type": "output_text", "text": "Refunded."}]},
            ]
        }
        for status, output in RESPONSES.items()
    },
    "messages": {
        status: {
            "content": [
                {"type": "tool_use", "id": "c", "name": "refund", "input": {"order": "A1"}},
                {"type": "tool_result", "tool_use_id": "c", **result},
                {"type": "text", "text": "Refunded."},
            ]
        }
        for status, result in MESSAGES.items()
    },
}
POINTERS = '{ text = "/reply", calls = "/steps", result = "/output", status = "/state" }'


@pytest.mark.parametrize("form", ENDS)
def test_a_call_that_did_not_end_well_is_no_success(project: Project, form: str) -> None:
    ended = {"tool": "refund", "params": {"order": "A1"}, "status": "ok"}
    tool = {"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}
    cases = [
        {"id": status, "turns": [{"prompt": status, "expected_calls": [ended]}]} for status in ENDS[form]
    ]
    project.write("s.tooleval.json", json.dumps({"name": "S", "tools": [tool], "test_cases": cases}))
    with MockServer(respond=lambda path, body: (200, ENDS[form][body["message"]])) as server:
        answer = POINTERS if form == "pointers" else f'"{form}"'
        project.write(
            "tooleval.toml",
            f'[models.shop]\nurl = "http://127.0.0.1:{server.port}/chat"\n'
            f'request = {{ message = "$prompt" }}\nanswer = {answer}\n',
        )
        ran = project.run(model="shop")
    ran.assert_outcomes(passed=1, failed=len(cases) - 1)
    ran.stdout.fnmatch_lines_random(
        [f"*call 1: status: expected ok, got {status}*" for status in ENDS[form] if status != "ok"]
    )
