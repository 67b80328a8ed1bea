"""How recorded calls ended, by each format that says it, whatever the agent says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import parse_suite
from pytest_tooleval.imports.error_texts import CLAUDE_CODE, CODEX, LANGCHAIN, OPENAI_AGENTS, status_by
from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.scoring.trial import score_messages

from .test_transcripts import chat, span

Lines = list[dict[str, Any]]
ARGS = {"order": "A1", "amount": 40}
SUITE = parse_suite(
    json.dumps(
        {
            "name": "S",
            "tools": [{"type": "function", "function": {"name": "refund", "parameters": {}}}],
            "test_cases": [
                {
                    "id": "refund",
                    "turns": [
                        {
                            "prompt": "Refund A1.",
                            "expected_calls": [{"tool": "refund", "params": ARGS, "status": "ok"}],
                            "expected_text": ["Refunded"],
                        }
                    ],
                }
            ],
        }
    )
)
USER = {"role": "user", "content": "Refund A1."}
SAID = {"role": "assistant", "content": "Refunded 40."}
CALL = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": json.dumps(ARGS)}}


def own(*answer: dict[str, Any]) -> Lines:
    made = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    tools = [{"role": "tool", "tool_call_id": "c", **each} for each in answer]
    return [{"messages": [USER, made, *tools, SAID]}]


def items(*output: dict[str, Any]) -> Lines:
    call = {"type": "function_call", "call_id": "c", "name": "refund", "arguments": json.dumps(ARGS)}
    outputs = [{"type": "function_call_output", "call_id": "c", **each} for each in output]
    return [{"messages": [USER, call, *outputs, SAID]}]


def blocks(**result: Any) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "c", "name": "refund", "input": ARGS}
    answer = {"type": "tool_result", "tool_use_id": "c", **result}
    return [USER, {"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}, SAID]


def anthropic(**result: Any) -> Lines:
    return [{"messages": blocks(**result)}]


def claude_code(**result: Any) -> Lines:
    lines: Lines = []
    for number, message in enumerate(blocks(**result)):
        about = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None}
        lines.append({"type": message["role"], "sessionId": "s", **about, "message": message})
    return lines


def codex(text: str) -> Lines:
    messages = items({"output": text})[0]["messages"]
    payloads = [{"type": "message", **each} if "role" in each else each for each in messages]
    return [{"type": "response_item", "payload": each} for each in payloads]


def langchain(content: str, status: str = "success") -> Lines:
    call = {"name": "refund", "args": ARGS, "id": "c", "type": "tool_call"}
    data = [
        ("human", {"content": "Refund A1."}),
        ("ai", {"content": "", "tool_calls": [call]}),
        ("tool", {"content": content, "tool_call_id": "c", "status": status}),
        ("ai", {"content": "Refunded 40."}),
    ]
    return [{"messages": [{"type": kind, "data": each} for kind, each in data]}]


def vercel(**part: Any) -> Lines:
    shown = {
        "type": "tool-refund",
        "toolCallId": "c",
        "input": ARGS,
        "state": "output-available",
        **part,
    }
    said = {"type": "text", "text": "Refunded 40."}
    user = {"role": "user", "parts": [{"type": "text", "text": "Refund A1."}]}
    return [{"messages": [user, {"role": "assistant", "parts": [shown, said]}]}]


def spans(text: str = "", **more: Any) -> Lines:
    call = {"type": "tool_call", "id": "c", "name": "refund", "arguments": ARGS}
    made = {"role": "assistant", "parts": [call]}
    told = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": text}]}
    attributes = {"gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c", **more.pop("attributes", {})}
    found = [
        span("1", 1, chat(USER, output=made)),
        span("2", 2, attributes, **more),
        span("3", 3, chat(USER, made, told, output=SAID)),
    ]
    return [{"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}]


DONE = json.dumps({"ok": True})
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was"
)
FAILED = "An error occurred while running the tool. Please try again."
# By format and status, the lines of a file. Formats lack what they cannot say.
RECORDED: dict[str, dict[str | None, Callable[[], Lines]]] = {
    "chat messages": {
        "ok": lambda: own({"content": DONE}),
        "error": lambda: own({"content": "503", "status": "error"}),
        "refused": lambda: own({"content": "no", "status": "refused"}),
        "waiting": lambda: own({"content": "", "status": "waiting"}),
        None: lambda: own({"content": "?", "status": "unknown"}),
    },
    "items of the Responses API": {
        "ok": lambda: items({"output": DONE, "status": "completed"}),
        "error": lambda: items({"output": f"{FAILED} Error: 503"}),
        "refused": lambda: items({"output": "Tool execution was not approved."}),
        None: lambda: items({"output": "Tool 'refund' timed out after 3 seconds."}),
    },
    "Anthropic": {
        "ok": lambda: anthropic(content=DONE),
        "error": lambda: anthropic(content="503", is_error=True),
        None: lambda: anthropic(content="timed out", is_error=True),
    },
    "Claude Code": {
        "ok": lambda: claude_code(content=DONE),
        "error": lambda: claude_code(content="<tool_use_error>503</tool_use_error>"),
        "refused": lambda: claude_code(content=REJECTED, is_error=True),
        None: lambda: claude_code(content="Command timed out after 2m", is_error=True),
    },
    "Codex": {
        "ok": lambda: codex(DONE),
        "refused": lambda: codex("exec command rejected by user"),
    },
    "LangChain": {
        "ok": lambda: langchain(DONE),
        "error": lambda: langchain("503", "error"),
        "refused": lambda: langchain("User rejected the tool call for `refund` with id c", "error"),
        None: lambda: langchain("ReadTimeout('timed out')", "error"),
    },
    "AI SDK": {
        "ok": lambda: vercel(output={"ok": True}),
        "error": lambda: vercel(state="output-error", errorText="503"),
        "refused": lambda: vercel(state="output-denied"),
        "waiting": lambda: vercel(state="approval-requested"),
        None: lambda: vercel(state="output-error", errorText="deadline exceeded"),
    },
    "spans": {
        "ok": lambda: spans(DONE),
        "error": lambda: spans("503", status={"code": 2}),
        "waiting": lambda: spans(attributes={"pydantic_ai.tool.deferral.name": "ApprovalRequired"}),
        None: lambda: spans("?", attributes={"error.type": "TimeoutError"}),
    },
}
ROWS = [(name, status) for name, statuses in RECORDED.items() for status in statuses]


@pytest.mark.parametrize(("format", "status"), ROWS)
def test_a_recorded_call_ended_as_its_format_says(
    tmp_path: Path, format: str, status: str | None
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, RECORDED[format][status]())))
    (run,) = read_transcripts([path])
    assert run.messages[0]["content"] == "Refund A1."
    trial = score_messages(SUITE, "refund", run.messages[1:])
    assert trial.transcript is not None
    assert trial.transcript.replies[0].statuses == (status,)
    assert trial.passed == (status == "ok")
    if status != "ok":
        assert f"call 1: status: expected ok, got {status or 'unknown'}" in str(trial.mistake)


# A text of one library is an ordinary text in a transcript of another, as is one of no library.
ORDINARY = [
    own({"content": f"{FAILED} Error: 503"}),
    own({"content": "Error: 503 Service Unavailable"}),
    own({"content": "<tool_use_error>503</tool_use_error>"}),
    items({"output": "<tool_use_error>503</tool_use_error>"}),
    items({"output": "Error: 503\n Please fix your mistakes."}),
    items({"output": f"The manual says: {FAILED}"}),
    items({"output": "Error: an order of 1931, by Ada."}),
    anthropic(content=REJECTED),
    claude_code(content="Tool execution was not approved."),
    codex(FAILED),
    langchain("Error: a play by Ada."),
    langchain("exec command rejected by user"),
]


@pytest.mark.parametrize("lines", ORDINARY)
def test_an_ordinary_text_is_no_error(tmp_path: Path, lines: Lines) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    (run,) = read_transcripts([path])
    trial = score_messages(SUITE, "refund", run.messages[1:])
    assert trial.transcript is not None
    assert trial.transcript.replies[0].statuses == ("ok",)


@pytest.mark.parametrize("library", [OPENAI_AGENTS, LANGCHAIN, CLAUDE_CODE, CODEX])
def test_a_text_of_a_library_is_the_whole_text(library: Any) -> None:
    for status, texts in (("error", library.error), ("refused", library.refused)):
        for each in texts:
            text = each.replace("{}", "503\nor so")
            assert status_by(library, text) == ("unknown" if "timed out" in text else status)
            assert status_by(library, f"It said: {text}") is None
            if not each.endswith("{}"):
                assert status_by(library, f"{text} Then all went well.") is None
    assert status_by(CLAUDE_CODE, "<tool_use_error></tool_use_error>") == "error"
    assert status_by(CLAUDE_CODE, "<tool_use_error>") is None
    assert (
        status_by(LANGCHAIN, "Error invoking tool 'x' with kwargs {} with error:\n Please fix") is None
    )
