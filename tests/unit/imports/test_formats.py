"""Each format by a small file of our own: what it is taken for, and which cases it makes.

Every case passes with the answer that it was made of, or the import would leave it out. The readers were
also tried on files that others wrote. What they do not read, they refuse or leave out by name:

- anthropic: pydantic/pydantic-ai 4fda3898, tests/models/cassettes/test_anthropic; simonw/llm-anthropic
  3ae428f3, tests/cassettes (streams)
- openai: pydantic/pydantic-ai 4fda3898, tests/models/cassettes/test_openai and test_openai_responses;
  traceloop/openllmetry 93429cfb, packages/*/tests/**/cassettes (201 files, also of other providers)
- gemini: simonw/llm-gemini 2a8c855a, tests/cassettes/test_gemini (bodies as bytes); pydantic/pydantic-ai
  4fda3898, tests/models/cassettes/test_google; langchain-ai/langsmith-sdk bc8dd672,
  python/tests/integration_tests/cassettes/test_g*
- mcp_tools: jakemannix/mcp-proxy 4384b8a2, demo/mcp-snapshots (eight servers)
- claude_code: daaain/claude-code-log a641071a, test/test_data; simonw/claude-code-transcripts cad133d9,
  tests/sample_session.jsonl
- bedrock: pydantic/pydantic-ai 07b87749, tests/models/cassettes/test_bedrock; traceloop/openllmetry
  93429cfb, packages/opentelemetry-instrumentation-bedrock/tests (its binary streams are refused)
- promptfoo: promptfoo/promptfoo 028c62e9, examples/openai-tools-call/promptfooconfig.yaml; 6b894c94,
  examples/adaline-tool-call/promptfooconfig.yaml
- langchain: langfuse/langfuse 62751446, packages/shared/scripts/seeder/utils/chat_ml_json.json and
  framework-traces/langgraph-2025-08-22.json
- openai_batch: BerriAI/litellm, tests/openai_endpoints_tests/input.jsonl 1aedde15 and out.jsonl dd3137f6
  (no tools)
- otel: Arize-ai/phoenix 9478f954, tests/unit/pxi/evals/online_evals/fixtures/pxi_turn_trace.json;
  Arize-ai/openinference 1fe497f1, js/packages/openinference-vercel/test/__fixtures__/v6-spans (the AI
  SDK, no tools); grafana/tempo ad33aa8f, pkg/tempopb/trace.json (no messages)
- adk_evals: google/adk-samples e39b8067, python/agents/*/eval (15 sets); google/adk-python 7c670f63,
  tests/integration/fixture (13 sets)
- codex: daaain/claude-code-log 77458401, test/test_data/codex; simonw/claude-code-transcripts 871966d6,
  tests/sample_codex_session.jsonl
"""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tooleval.errors import Problem, SuiteError, ToolevalError
from pytest_tooleval.imports.apply import ImportOutcome, apply
from pytest_tooleval.imports.files import import_files
from pytest_tooleval.imports.formats import all_formats
from pytest_tooleval.imports.reading import read_files
from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.suite.load import parse_suite

DATA = Path(__file__).parents[2] / "data" / "formats"
OSLO, BERGEN, PARIS, ROME, LIMA = (
    ("get_weather", city) for city in "Oslo Bergen Paris Rome Lima".split()
)
WITHOUT = ("get_weather", "")
NOTHING: list[tuple[str, str]] = []
# For each file the format, and the last words and the calls of each case.
CASES: dict[str, tuple[str, list[tuple[str, list[tuple[str, str]]]]]] = {
    "anthropic.jsonl": (
        "Anthropic messages",
        [("Weather in Oslo?", [OSLO]), ("Weather in Oslo?", [OSLO, BERGEN]), ("9C", NOTHING)],
    ),
    "adk_evals.json": (
        "evaluation sets of ADK",
        [("Oslo?", [OSLO]), ("Thanks!", NOTHING), ("Paris?", [PARIS, ROME])],
    ),
    "atif.json": ("runs of ATIF", [("Oslo?", [OSLO]), ("12C", NOTHING)]),
    "azure_evals.jsonl": (
        "rows of Azure AI evaluation",
        [("Oslo?", [OSLO]), ('{"temp": 12}', NOTHING), ("Paris?", [PARIS]), ("Hi", NOTHING)],
    ),
    "gemini_cli.json": (
        "sessions of Gemini CLI",
        [("Oslo?", [OSLO]), ("12C", NOTHING), ("Paris?", [PARIS])],
    ),
    "pydantic_ai.json": (
        "histories of Pydantic AI",
        [("Oslo?", [OSLO]), ('{"temp": 12}', NOTHING), ("Paris?", [PARIS]), ("offline", NOTHING)],
    ),
    "bedrock.jsonl": ("Bedrock messages", [("Oslo?", [OSLO]), ("offline", NOTHING)]),
    "claude_code.jsonl": (
        "Claude Code sessions",
        [
            ("Weather in Oslo and Bergen?", [OSLO, BERGEN]),
            ("9C", NOTHING),
            ("And Paris?", [PARIS]),
            ("And Rome?", [ROME]),
            ("Find the warmest city.", [ROME]),
            ("Now Lima.", [LIMA]),
        ],
    ),
    "claude_code.stream.jsonl": (
        "Claude Code sessions",
        [("Weather in Oslo?", [OSLO]), ("9C", NOTHING), ("And Paris?", [PARIS]), ("20C", NOTHING)],
    ),
    "codex.jsonl": (
        "Codex rollouts",
        [
            ("Weather in Oslo and Bergen?", [OSLO, BERGEN]),
            ("9C", [("apply_patch", "*** Begin Patch\n*** End Patch")]),
            ('{"output": "Success"}', NOTHING),
            ("Now Lima.", [LIMA]),
        ],
    ),
    "gemini.jsonl": (
        "Gemini messages",
        [("Oslo?", [OSLO]), ('{"temp": 12}', NOTHING), ("Bergen?", [BERGEN])],
    ),
    "langchain.jsonl": (
        "LangChain messages",
        [("Oslo?", [OSLO]), ("12C", NOTHING), ("Paris?", [PARIS]), ("Lima?", [LIMA])],
    ),
    "langfuse.json": (
        "Langfuse observations",
        [
            ("Oslo?", [OSLO]),
            ("12C", NOTHING),
            ("Paris?", [PARIS]),
            ("Rome?", [ROME]),
            ("Lima?", [LIMA]),
        ],
    ),
    "openhands.json": (
        "events of OpenHands",
        [("Oslo?", [OSLO, BERGEN]), ("timed out", NOTHING)],
    ),
    "otel.adk.json": (
        "spans of OpenTelemetry",
        [("Oslo?", [OSLO]), ('{"temp": 12}', NOTHING)],
    ),
    "otel.jaeger.json": ("spans of OpenTelemetry", [("Oslo?", [OSLO]), ("12C", NOTHING)]),
    "otel.mlflow.json": ("spans of OpenTelemetry", [("Oslo?", [OSLO]), ("12C", NOTHING)]),
    "openai_batch.*.jsonl": ("requests and answers of a batch", [("Oslo?", [OSLO])]),
    "promptfoo.yaml": (
        "configs of promptfoo",
        [
            ("Weather in Oslo?", [OSLO]),
            ("Weather in Paris?", [("get_weather", "")]),
            ("Weather in Rome?", [("get_weather", "")]),
            ("Weather in Lima?", [LIMA]),
            ("Weather in Nice?", [("get_weather", "Nice")]),
            ("Weather in Bonn?", [("get_weather", "")]),
            ("Weather in Kiel?", [("get_weather", "")]),
        ],
    ),
    "promptfoo_results.json": (
        "results of promptfoo",
        [("Oslo?", [OSLO]), ("Paris?", [PARIS]), ("Hi", NOTHING), ("Rome?", [ROME])],
    ),
    "vercel.jsonl": (
        "messages of the AI SDK",
        [
            ("Oslo?", [OSLO, BERGEN]),
            ("offline", NOTHING),
            ("Paris?", [PARIS]),
            ("15C", [ROME]),
            ("offline", NOTHING),
            ("Lima?", [LIMA]),
            ("20", NOTHING),
            ("Book Oslo.", [OSLO, ROME, LIMA]),
            ("Book Paris.", [PARIS, ROME]),
        ],
    ),
}
EXPECTATIONS = ("adk_evals.json", "promptfoo.yaml")


def imported(*names: str) -> tuple[ImportOutcome, list[str]]:
    paths = [path for name in names for path in sorted(DATA.glob(name))]
    found, lines = import_files(paths, None, has_tools=False)
    made = apply(found, "s")
    parse_suite(json.dumps(made.suite))
    return made, lines


def last_words(case: dict[str, Any]) -> str:
    prompt = case["prompt"]
    content = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def calls(case: dict[str, Any]) -> list[tuple[str, str]]:
    expected = case.get("expected_calls") or [
        {"tool": case["expected_tool"], "params": case.get("expected_params", {})}
    ]
    made = ((call["tool"], next(iter(call["params"].values()), "")) for call in expected)
    return [(tool, value) for tool, value in made if tool is not None]


@pytest.mark.parametrize("name", CASES)
def test_a_file_becomes_cases(name: str) -> None:
    title, expected = CASES[name]
    made, (line,) = imported(name)
    assert line.endswith(f" as {title}")
    assert [(last_words(case), calls(case)) for case in made.suite["test_cases"]] == expected


@pytest.mark.parametrize(
    "record",
    [
        {"query": "?", "expected_tool_use": [{"tool_name": "look", "tool_input": {}}]},
        {
            "eval_cases": [
                {
                    "conversation": [
                        {
                            "user_content": {"parts": [{"text": "?"}]},
                            "intermediate_data": {"tool_uses": [{"name": "look", "args": {}}]},
                        }
                    ]
                }
            ]
        },
    ],
)
def test_an_expected_call_without_arguments(record: Any, tmp_path: Path) -> None:
    """It has none, but where no arguments are given, any will do."""
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    tools = [{"name": "look", "description": "Look.", "inputSchema": schema}]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    given = json.dumps(record)
    expected = []
    for text in (given, given.replace("{}", "null")):
        (tmp_path / "records.json").write_text(text)
        found, _ = import_files(
            [tmp_path / "records.json", tmp_path / "tools.json"], None, has_tools=False
        )
        (case,) = apply(found, "s").suite["test_cases"]
        expected.append(case.get("expected_params", case.get("expected_calls")))
    assert expected == [{"id": {"$absent": True}}, None]


def test_the_same_files_as_transcripts() -> None:
    names = CASES.keys() - {*EXPECTATIONS, "openai_batch.*.jsonl"}
    runs = read_transcripts([DATA / name for name in sorted(names)])
    assert {Path(run.at.path).name for run in runs} == names
    assert all(run.messages for run in runs)


@pytest.mark.parametrize("name", EXPECTATIONS)
def test_a_set_of_expectations_is_no_transcript(name: str) -> None:
    with pytest.raises(SuiteError, match=r"which holds no conversation"):
        read_transcripts([DATA / name])


def test_a_cassette_may_have_answers_of_several_apis(tmp_path: Path) -> None:
    made, lines = imported("openai")
    assert [line.partition(" as ")[2] for line in lines] == [
        "OpenAI messages",
        "Anthropic messages",
        "Gemini messages",
    ]
    assert [
        case["expected_params"]["city"] for case in made.suite["test_cases"]
    ] == "Oslo Paris Rome".split()
    for name in ("c1", "c2.yaml"):
        (tmp_path / name).write_text((DATA / "openai").read_text())
    (tmp_path / "other.yaml").write_text("a: 1")
    (tmp_path / "README").write_text("interactions: none")
    # An ambiguous pattern would never end here.
    (tmp_path / "LICENSE").write_text(" " * 200 + "\n\n" * 200 + "Apache License")
    found, lines = import_files([tmp_path], None, has_tools=False)
    assert len(lines) == 3
    assert len(apply(found, "s").suite["test_cases"]) == 3


SAID = {"role": "assistant", "content": "Hi"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [
                {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
                {
                    "type": "assistant",
                    "session_id": "s",
                    "message": {"role": "assistant", "content": "Hi"},
                },
            ],
            "this stream lacks the prompt: import the session below ~/.claude/projects",
        ),
        (
            [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}],
            "codex exec --json lacks the prompt: import the session that it wrote below ~/.codex",
        ),
    ],
)
def test_a_stream_without_its_prompt(tmp_path: Path, lines: list[Any], message: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(SuiteError, match=message):
        apply(import_files([path], None, has_tools=False)[0], "s")


def test_what_an_export_lacks_is_said(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    row = {"prompt": {"raw": "Hi"}, "vars": {}, "error": "429", "response": {"output": None}}
    tool = {"type": "TOOL", "id": "1", "name": "pay", "input": {"amount": 1}, "output": "ok"}
    for value, message in (
        ({"results": {"results": [row]}}, "the answer is an error from the provider"),
        ({"observations": [tool]}, "no observation of the type GENERATION"),
    ):
        path.write_text(json.dumps(value))
        with pytest.raises(SuiteError, match=message):
            read_transcripts([path])


def test_every_file_has_one_format() -> None:
    """And every format has a file, but those with tests of their own."""
    elsewhere = {"bfcl", "suite", "tools"}
    tried = {path.stem.partition(".")[0].replace("_", "-") for path in DATA.iterdir()}
    assert tried == all_formats().keys() - elsewhere


LEFT_OUT = {
    "adk_evals.json": [(85, "a turn without a text from the user, or a call without a name")],
    "anthropic.jsonl": [(3, "no usable answer: cut off: max_tokens")],
    "gemini.jsonl": [(3, "no usable answer: cut off: length")],
    "openai_batch.*.jsonl": [
        (1, "the answer is an error from the provider"),
        (3, "it has no answer: also name the file of answers"),
        (3, "its request is not here: also name the file of requests"),
    ],
    "promptfoo.yaml": [
        (1, "trajectory:tool-used: a number of calls, which a case cannot express"),
        (1, "no assertion names a tool that should be called"),
    ],
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_cannot_be_used_is_left_out_by_name(name: str) -> None:
    made, _ = imported(name)
    assert [(problem.line, problem.message) for problem in made.left_out] == LEFT_OUT[name]


def test_results_that_failed_say_so() -> None:
    statuses = {
        name: [
            message.get("status") for run in read_transcripts([DATA / name]) for message in run.messages
        ]
        for name in ("vercel.jsonl", "bedrock.jsonl")
    }
    assert "error" in statuses["vercel.jsonl"]
    assert "error" in statuses["bedrock.jsonl"]


def test_approvals_of_the_ai_sdk() -> None:
    *_, shown, sent = read_transcripts([DATA / "vercel.jsonl"])
    found = [
        [(each.get("approved"), each.get("status")) for each in run.messages if each["role"] == "tool"]
        for run in (shown, sent)
    ]
    assert found == [
        [(True, None), (None, "refused"), (None, "waiting")],
        [(True, None), (None, "refused")],
    ]


def test_saved_tools_of_mcp() -> None:
    made, (line,) = imported("mcp_tools.json")
    assert line.endswith(" as MCP tools")
    names = [tool["function"]["name"] for tool in made.suite["tools"]]
    assert names == ["get_weather", "files_read_all"]
    assert made.suite["metadata"] == {"mcp_names": {"files_read_all": "files/read.all"}}
    assert [problem.message.partition(":")[0] for problem in made.left_out] == ['"broken"']
    with pytest.raises(SuiteError, match="MCP tools, which holds no conversation"):
        read_transcripts([DATA / "mcp_tools.json"])


@pytest.mark.parametrize("named", [None, "mcp-tools"])
def test_a_tool_that_was_saved_without_a_schema_takes_anything(tmp_path: Path, named: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"name": "look", "description": "Find one."}]))
    found, _ = import_files([path], named, has_tools=False)
    made = apply(found, "s")
    (tool,) = made.suite["tools"]
    assert tool["function"]["parameters"] == {"type": "object"}
    assert made.remarks == ["saved without inputSchema, so any arguments do: look"]
    path.write_text("[5]")
    with pytest.raises(SuiteError, match="expected a tool with name and inputSchema, got 5"):
        import_files([path], "mcp-tools", has_tools=False)


def test_tools_of_records_that_are_left_out_are_not_said_to_be_made(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]
    system = {"role": "system", "content": "Be brief."}
    path = tmp_path / "log.jsonl"
    lines = [{"messages": [system, *messages], "tools": [tool]}, {"messages": messages}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    suite = {"name": "s", "system_prompt": "Be brief.", "tools": [], "test_cases": []}
    made = apply(import_files([path], None, has_tools=False)[0], "s", suite)
    assert (len(made.left_out), made.remarks) == (1, [])


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_tools_that_are_not_recorded(name: str) -> None:
    """They are made of the calls, which is said, or read from another file."""
    made, _ = imported(name)
    assert any("the tools are not recorded: made " in remark for remark in made.remarks)
    both, lines = imported(name, "mcp_tools.json")
    assert len(lines) == 2
    assert not any("not recorded" in remark for remark in both.remarks)
    described = both.suite["tools"][0]["function"]["description"]
    assert described == "The weather of a city."


@pytest.mark.parametrize("encode", [bytes, gzip.compress, b"\0".join, b"\xff".join])
def test_bodies_of_cassettes_may_be_bytes(tmp_path: Path, encode: Callable[[Any], bytes]) -> None:
    exchange = json.loads((DATA / "gemini.jsonl").read_text().splitlines()[0])
    sent = json.dumps(exchange["response"]).encode()
    is_text = encode in (bytes, gzip.compress)
    body = base64.b64encode(encode(sent) if is_text else encode([sent, sent])).decode()
    (tmp_path / "test.yaml").write_text(
        f"interactions:\n- request:\n    body: {json.dumps(json.dumps(exchange['request']))}\n"
        f"  response:\n    body:\n      string: !!binary {body}\n"
    )
    if is_text:
        assert calls_in(tmp_path / "test.yaml") == [[OSLO]]
    else:
        with pytest.raises(SuiteError, match="not known here: an object with the keys body"):
            import_files([tmp_path / "test.yaml"], None, has_tools=False)


USE = {"name": "get_weather", "args": {"city": "Paris"}}
CONTENT = {"role": "model", "parts": [{"functionCall": USE}]}
CANDIDATE = {"content": CONTENT, "finishReason": "STOP"}
UNKNOWN = "the answer is of a kind that is not known here"
FAILED = "the answer is an error from the provider"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"response": {"candidates": [CANDIDATE]}}, [PARIS]),
        ({"candidates": [CANDIDATE]}, [PARIS]),
        ({"response": CANDIDATE}, [PARIS]),
        ({"response": json.dumps(CANDIDATE)}, [PARIS]),
        ({"response": CONTENT}, [PARIS]),
        ({"response": {"content": {"parts": CONTENT["parts"]}}}, [PARIS]),
        ({"response": {**CANDIDATE, "finishReason": "SAFETY"}}, "blocked: content_filter"),
        ({"response": None}, "no answer is recorded"),
        ({"response": CONTENT["parts"]}, "an object without a role"),
        ({"response": {"promptFeedback": {"blockReason": "SAFETY"}}}, UNKNOWN),
        ({"response": {"result": {"candidates": [CANDIDATE]}}}, UNKNOWN),
        (
            {"response": {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {}}]}},
            UNKNOWN,
        ),
        ({"response": "GenerateContentResponse(candidates=[Candidate(...)])"}, "what Python prints"),
        ({"response": {"error": {"code": 429}}}, FAILED),
        ({"response": {"status": {"code": 429}, "body": {"string": "Too many requests"}}}, FAILED),
        ({"response": "Too many requests", "status_code": 429}, FAILED),
        ({"reply": CANDIDATE}, "the answer has reply"),
    ],
)
def test_an_answer_in_another_form_is_read_or_refused(answer: Any, said: Any, tmp_path: Path) -> None:
    """It never becomes the last answer of the history."""
    exchange = json.loads((DATA / "gemini.jsonl").read_text().splitlines()[1])
    (tmp_path / "log.json").write_text(json.dumps([{"request": exchange["request"], **answer}]))
    if isinstance(said, str):
        with pytest.raises(SuiteError, match=said):
            calls_in(tmp_path / "log.json")
    else:
        assert calls_in(tmp_path / "log.json") == [said]


def calls_in(path: Path) -> list[list[tuple[str, str]]]:
    found, _ = import_files([path], None, has_tools=False)
    return [calls(case) for case in apply(found, "s").suite["test_cases"]]


USER = {"role": "user", "content": "Oslo?"}
REPLY = {"role": "assistant", "content": "Done."}
TOOL: dict[str, Any] = {"name": "get_weather", "parameters": {"type": "object"}}
LOOKED_UP = {
    "role": "assistant",
    "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}],
}
FOUND = {"role": "tool", "tool_call_id": "1", "content": "ok"}


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [USER, REPLY], "tool_calls": [USE]},
        {"messages": [USER, LOOKED_UP, FOUND], "tools_called": ["get_weather"]},
        {"messages": [USER, LOOKED_UP, FOUND], "trace": {"tool_calls": [USE]}},
        {"values": {"messages": [{"type": "human", "content": "?"}, REPLY]}, "tool_calls": [USE]},
        {"messages": [USER, REPLY], "toolConfig": {"tools": [{"toolSpec": TOOL}]}, "tool_calls": [USE]},
    ],
)
def test_a_call_beside_the_conversation_is_not_lost(record: Any, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps([{"tools": [TOOL], **record}]))
    with pytest.raises(SuiteError, match="of a kind that is not known here, and that may be a call"):
        calls_in(tmp_path / "log.json")


CODEX_LINES: list[dict[str, Any]] = [
    {"type": "response_item", "payload": {"role": "user", "content": "Oslo?"}},
    {"type": "response_item", "payload": {"role": "assistant", "content": "Done."}},
]
CLAUDE_LINES: list[dict[str, Any]] = [
    {"sessionId": "s", "type": kind, "uuid": kind, "message": {"role": kind, "content": text}}
    for kind, text in (("user", "Oslo?"), ("assistant", "Done."))
]
CLEAR = {"tool_name": "get_weather", "tool_input": {"city": "Oslo"}}
LISTED = {"type": "tool_call", "name": "get_weather", "input": {"city": "Oslo"}}


@pytest.mark.parametrize(
    ("lines", "line", "is_call"),
    [
        (CODEX_LINES, {"type": "event_msg", "payload": LISTED}, True),
        (CODEX_LINES, {"type": "event_msg", "payload": {"type": "done", "calls": [LISTED]}}, True),
        (CODEX_LINES, {"type": "tool", "payload": CLEAR}, True),
        (CODEX_LINES, LISTED, True),
        (CODEX_LINES, {"type": "event_msg", "payload": {"type": "mcp_tool_call_end", **CLEAR}}, False),
        (CODEX_LINES, {"type": "event_msg", "payload": {"type": "token_count", "input": {}}}, False),
        (CLAUDE_LINES, {"type": "tool", "uuid": "2", "message": {"role": "tool", **CLEAR}}, True),
        (CLAUDE_LINES, {"type": "assistant", "uuid": "2", "message": {"role": "tool", **CLEAR}}, True),
        (CLAUDE_LINES, {"type": "tool_use", **CLEAR}, True),
        (CLAUDE_LINES, {"type": "progress", "uuid": "2", "data": CLEAR}, False),
        (CLAUDE_LINES, {"type": "ai-title", "title": "Weather"}, False),
    ],
)
def test_an_unknown_line_of_a_session_may_be_a_call(
    lines: list[dict[str, Any]], line: dict[str, Any], is_call: bool, tmp_path: Path
) -> None:
    whole = [lines[0], {"sessionId": "s", **line}, lines[1]]
    (tmp_path / "session.jsonl").write_text("\n".join(map(json.dumps, whole)))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    (tmp_path / "tools.json").write_text(json.dumps([{"name": "get_weather", "parameters": schema}]))
    found, _ = import_files([tmp_path / "session.jsonl", tmp_path / "tools.json"], None, has_tools=False)
    problems = [each.message for each in found.answers if isinstance(each, Problem)]
    assert any("may be a call" in problem for problem in problems) is is_call


ADK_USE = {"parts": [{"function_call": USE}]}


def adk_set(turn: dict[str, Any], **case: Any) -> dict[str, Any]:
    turns = [{"user_content": {"parts": [{"text": "?"}]}, **turn}]
    return {"eval_cases": [{"conversation": turns, **case}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (adk_set({"intermediate_data": ADK_USE}), PARIS),
        (adk_set({"agent_content": ADK_USE}), PARIS),
        (adk_set({"agentContent": ADK_USE, "intermediateData": {"tool_uses": [USE]}}), PARIS),
        (adk_set({"intermediate_data": [ADK_USE]}), "in a form that is not read"),
        (adk_set({"final_response": ADK_USE}), "in a form that is not read"),
        ({"query": "?", "reference": "Hi", "tool_use": [{"tool": "look", "args": {}}]}, "not read"),
        (
            adk_set({"intermediate_data": ADK_USE}, session_input={"state": {"user": "Ann"}}),
            {"$comment": 'the state of the session: {"user": "Ann"}'},
        ),
        (
            {"data": [{"query": "?", "reference": "Hello!"}], "initial_session": {}},
            {"expected_text": ["Hello!"]},
        ),
        (
            {"query": "?", "expected_tool_use": [{"tool_name": "get_weather"}], "reference": "12C."},
            {"$comment": "the reference of the answer: 12C."},
        ),
    ],
)
def test_what_a_set_of_adk_expects(value: Any, expected: Any, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "get_weather", "parameters": schema}]))
    (tmp_path / "set.json").write_text(json.dumps(value))
    found, _ = import_files([tmp_path / "set.json", tools], None, has_tools=False)
    if isinstance(expected, str):
        assert expected in found.left_out[0].message
        return
    (case,) = apply(found, "s").suite["test_cases"]
    assert calls(case) == [expected] if isinstance(expected, tuple) else case.items() >= expected.items()


PNG = "data:image/png;base64,AA=="
PDF = "data:application/pdf;base64,AA=="


@pytest.mark.parametrize(
    ("name", "part", "expected"),
    [
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": "AA=="}}, PNG),
        ("gemini", {"inline_data": {"mime_type": "image/png", "data": "AA=="}}, PNG),
        ("gemini", {"fileData": {"mimeType": "image/png", "fileUri": "https://a.b/c"}}, "https://a.b/c"),
        ("gemini", {"inlineData": {"mimeType": "application/pdf", "data": "AA=="}}, PDF),
        ("gemini", {"inlineData": {"mimeType": "audio/wav", "data": "AA=="}}, "wav"),
        ("gemini", {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a"}}, None),
        (
            "anthropic",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}},
            PNG,
        ),
        (
            "anthropic",
            {"type": "image", "source": {"type": "url", "url": "https://a.b/c"}},
            "https://a.b/c",
        ),
        (
            "anthropic",
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="},
            },
            PDF,
        ),
        ("anthropic", {"type": "image", "source": {"type": "file", "file_id": "f"}}, None),
    ],
)
def test_files_in_a_prompt_are_kept_or_refused(
    name: str, part: dict[str, Any], expected: str | None, tmp_path: Path
) -> None:
    """None becomes a text in its place."""
    if name == "gemini":
        record = json.loads((DATA / "gemini.jsonl").read_text().splitlines()[0])
        record["request"]["contents"][0]["parts"].append(part)
    else:
        tools = [{"name": "get_weather", "input_schema": {"type": "object"}}]
        asked = {"role": "user", "content": [{"type": "text", "text": "Oslo?"}, part]}
        use = {"type": "tool_use", "id": "1", "name": "get_weather", "input": {}}
        record = {"tools": tools, "messages": [asked, {"role": "assistant", "content": [use]}]}
    (tmp_path / "log.json").write_text(json.dumps([record]))
    found, _ = import_files([tmp_path / "log.json"], None, has_tools=False)
    if expected is None:
        with pytest.raises(SuiteError, match="the prompt has a part of the type"):
            apply(found, "s")
        return
    (case,) = apply(found, "s").suite["test_cases"]
    text, kept = case["prompt"][-1]["content"]
    assert text == {"type": "text", "text": "Oslo?"}
    assert expected in kept[kept["type"]].values()


ONE_TEST = "[{vars: {city: Oslo}, assert: [{type: tool-call-f1, value: [get_weather]}]}]"


def _only(label: str) -> str:
    return ONE_TEST.replace(
        "assert:", f"assertScoringFunction: file://s.js, prompts: ['{label}'], assert:"
    )


def promptfoo_cases(folder: Path, prompts: str, tests: str) -> list[dict[str, Any]]:
    (folder / "tools.json").write_text(json.dumps([{"name": "get_weather"}, {"name": "look"}]))
    (folder / "ask.txt").write_text("Weather in {{city}}?\n---\nBriefly: {{ city }}?")
    (folder / "chat.json").write_text(json.dumps([{"role": "user", "content": "{{city}}?"}]))
    (folder / "tests.yaml").write_text(ONE_TEST)
    (folder / "promptfooconfig.yaml").write_text(
        f"prompts: {prompts}\ntests: {tests}\n"
        "providers: [{id: 'openai:gpt-4o', config: {tools: 'file://tools.json'}}]\n"
    )
    found, _ = import_files([folder / "promptfooconfig.yaml"], None, has_tools=False)
    cases: list[dict[str, Any]] = apply(found, "s").suite["test_cases"]
    return cases


@pytest.mark.parametrize(
    ("prompts", "tests", "expected"),
    [
        ("['{{city}}?', 'And {{city}}?']", ONE_TEST, ["Oslo?", "And Oslo?"]),
        ("'file://ask.txt'", "['file://tests.yaml']", ["Weather in Oslo?", "Briefly: Oslo?"]),
        ("[ask.txt]", "'file://tests.yaml'", ["Weather in Oslo?", "Briefly: Oslo?"]),
        ("[{id: 'file://chat.json'}]", ONE_TEST, ["Oslo?"]),
        ("""['[{"role": "user", "content": "{{city}}?"}]']""", ONE_TEST, ["Oslo?"]),
        ("[{label: a, raw: '1 {{city}}'}, '2 {{city}}']", _only("a"), ["1 Oslo"]),
        ("[{label: 'g:a', raw: '1 {{city}}'}, '2 {{city}}']", _only("g:*"), ["1 Oslo"]),
        ("['{{city}}?']", _only("b"), 'prompts: no prompt has the label "b"'),
        ("[ask.py]", ONE_TEST, "only files of YAML and JSON are read"),
        ("[other.txt]", ONE_TEST, "the prompt other.txt cannot be read"),
        ("['{{city}}?']", "'file://tests.csv'", "only files of YAML and JSON are read"),
        ("['{{city}}?']", "[tests.yaml]", "expected a test or file://..."),
        ("['{{ city | upper }}?']", ONE_TEST, "a prompt with a template"),
    ],
)
def test_prompts_and_tests_of_promptfoo(prompts: str, tests: str, expected: Any, tmp_path: Path) -> None:
    if isinstance(expected, str):
        with pytest.raises(SuiteError, match=expected):
            promptfoo_cases(tmp_path, prompts, tests)
    else:
        assert [last_words(case) for case in promptfoo_cases(tmp_path, prompts, tests)] == expected


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        ("{type: is-valid-openai-tools-call}", {}),
        ("{type: not-trajectory:tool-used, value: look}", {"forbidden_calls": ["look"]}),
        ("{type: llm-rubric, value: 'Names {{city}}.'}", "llm-rubric: Names Oslo."),
        ("{type: latency, threshold: 900}", {"thresholds": {"max_latency_s": 0.9}}),
        ("{type: cost, threshold: 0.01}", {"thresholds": {"max_cost_usd": 0.01}}),
        ("{type: tool-call-f1, value: [get_weather], threshold: 0.5}", "tool-call-f1: threshold 0.5"),
        ("{type: contains, value: sunny}", '{"type": "contains", "value": "sunny"}'),
        ("{type: javascript, value: output.length > 0}", "output.length > 0"),
    ],
)
def test_every_assertion_of_promptfoo_is_translated_or_named(
    assertion: str, expected: Any, tmp_path: Path
) -> None:
    tests = (
        f"[{{vars: {{city: Oslo}}, assert: [{{type: tool-call-f1, value: get_weather}}, {assertion}]}}]"
    )
    (case,) = promptfoo_cases(tmp_path, "['{{city}}?']", tests)
    comment = case.pop("$comment", "")
    if isinstance(expected, str):
        assert expected in comment
    else:
        assert case == {**case, **expected}
        assert comment == ""


def test_how_a_test_of_promptfoo_scores_its_assertions_is_said(tmp_path: Path) -> None:
    (case,) = promptfoo_cases(tmp_path, "[{label: a, raw: '{{city}}?'}]", _only("a"))
    assert 'assertScoringFunction: "file://s.js"' in case["$comment"]


def test_the_config_of_promptfoo_is_found_in_a_folder(tmp_path: Path) -> None:
    promptfoo_cases(tmp_path, "['{{city}}?']", ONE_TEST)
    (tmp_path / "chat.json").unlink()
    _, lines = import_files([tmp_path], None, has_tools=False)
    assert any(line.endswith("1 record as configs of promptfoo") for line in lines)


def _span(**attributes: Any) -> dict[str, Any]:
    times = {"start_time": "2026-01-01T00:00:00.5Z", "end_time": "2026-01-01T00:00:01Z"}
    return {"context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, **times, **attributes}


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]}]
CALLED = {"type": "tool_call", "id": "c", "name": "get_weather", "arguments": {"city": "Oslo"}}
GEN_AI = {
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [CALLED]}]),
}
PHOENIX = {
    "openinference": {"span": {"kind": "LLM"}},
    "llm": {
        "input_messages": [{"message": {"role": "user", "content": "Oslo?"}}],
        "output_messages": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "tool_call": {
                                "id": "c",
                                "function": {"name": "get_weather", "arguments": "{}"},
                            }
                        }
                    ],
                }
            }
        ],
    },
}
OTLP = {
    "scopeSpans": [
        {
            "spans": [
                {"attributes": [{"key": key, "value": {"stringValue": v}} for key, v in GEN_AI.items()]}
            ]
        }
    ]
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"batches": [OTLP]}),
        json.dumps({"trace": {"resourceSpans": [OTLP]}}),
        json.dumps(_span(attributes=GEN_AI), indent=4)
        + "\n"
        + json.dumps(_span(attributes={}), indent=4),
        json.dumps([_span(attributes=PHOENIX)]),
        json.dumps(
            {
                "context.trace_id": "t",
                "context.span_id": "s",
                "attributes.openinference.span.kind": "LLM",
                "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Oslo?"}],
                "attributes.llm.output_messages": [
                    {
                        "message.role": "assistant",
                        "message.tool_calls": [
                            {
                                "tool_call.function.name": "get_weather",
                                "tool_call.function.arguments": "{}",
                            }
                        ],
                    }
                ],
            }
        ),
        json.dumps(
            [
                {
                    "spanContext": {"traceId": "t", "spanId": "s"},
                    "startTime": [1770131992, 242000000],
                    "endTime": [1770131994, 0],
                    "status": {"code": 0},
                    "attributes": GEN_AI,
                }
            ]
        ),
    ],
    ids=["tempo", "tempo v2", "console", "phoenix", "phoenix table", "javascript"],
)
def test_spans_beside_otlp(tmp_path: Path, text: str) -> None:
    file = tmp_path / "spans.json"
    file.write_text(text)
    (run,) = read_transcripts([file])
    user, reply = run.messages
    assert user["content"] == "Oslo?"
    found, _ = import_files([file], None, has_tools=False)
    assert [calls(case) for case in apply(found, "s").suite["test_cases"]] in ([[OSLO]], [[WITHOUT]])
    assert [call["function"]["name"] for call in reply["tool_calls"]] == ["get_weather"]


def test_spans_without_messages_name_their_attributes(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    file.write_text(json.dumps([_span(attributes={"gcp.vertex.agent.llm_request": "{}"})] * 9))
    with pytest.raises(SuiteError) as caught:
        read_transcripts([file])
    (problem,) = caught.value.problems
    assert "no span has messages" in problem.message
    assert problem.message.endswith("; attributes: gcp.vertex.agent.llm_request")


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "!"}], "OpenAI messages"),
        ([{"type": "human", "content": "Hi"}, {"type": "ai", "content": "!"}], "LangChain messages"),
    ],
)
def test_a_file_of_messages_is_one_conversation(tmp_path: Path, messages: list[Any], title: str) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(messages))
    (batch,) = read_files([file])
    assert batch.format.title == title
    (run,) = read_transcripts([file])
    assert [message["content"] for message in run.messages] == ["Hi", "!"]


DAMAGE = st.sampled_from([None, True, 0, "", "x", [], {}, [None], {"type": "text"}, ["x"], "user"])


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.json*")))
@settings(max_examples=30)
@given(data=st.data())
def test_no_damage_breaks_a_reader(name: str, data: st.DataObject) -> None:
    text = (DATA / name).read_text()
    is_lines = name.endswith(".jsonl")
    whole = [json.loads(line) for line in text.splitlines()] if is_lines else [json.loads(text)]
    holder: Any = whole
    for _ in range(data.draw(st.integers(1, 9))):
        inner = data.draw(_members(holder))
        holder = inner if inner and isinstance(inner, (dict, list)) else holder
    keys = sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))
    holder[data.draw(st.sampled_from(keys))] = data.draw(DAMAGE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_text("\n".join(map(json.dumps, whole)))
        with suppress(SuiteError, ToolevalError):
            import_files([file], None, has_tools=False)


def _members(holder: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(holder.values() if isinstance(holder, dict) else holder))


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"action": "run", "args": {"command": "rm"}}, 'an event "run" without the reply of the model'),
        (
            {
                "action": "run",
                "args": {},
                "tool_call_metadata": {
                    "tool_call_id": "t9",
                    "model_response": {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
                },
            },
            "without the reply",
        ),
        ({"action": "condensation", "args": {}}, 'an event "condensation" without the reply'),
        (
            {"action": "run", "args": {}, "tool_call_metadata": {"tool_call_id": "t"}},
            "without the reply",
        ),
        ({"note": "?"}, "expected an event, got the object"),
    ],
)
def test_events_of_openhands_without_their_reply_are_refused(
    event: dict[str, Any], why: str, tmp_path: Path
) -> None:
    file = tmp_path / "trajectory.json"
    events = json.loads((DATA / "openhands.json").read_text("utf-8"))
    file.write_text(json.dumps([*events, {"source": "agent", **event}]), "utf-8")
    with pytest.raises(SuiteError, match=why):
        import_files([file], None, has_tools=False)


LONG = {"cities": [f"City {n}" for n in range(40)]}


def _with_long_answers(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_long_answers(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _with_long_answers(each) for key, each in value.items()}
    given = "content" if made.get("part_kind") == "tool-return" else ""
    named = {key: LONG for key in (given, "tool_result") if key in made}
    return {**made, **named, **({"response": LONG} if isinstance(made.get("response"), dict) else {})}


@pytest.mark.parametrize("name", ["pydantic_ai.json", "azure_evals.jsonl", "gemini_cli.json"])
def test_an_answer_of_a_tool_is_kept_whole(name: str, tmp_path: Path) -> None:
    text = (DATA / name).read_text("utf-8")
    parts = text.splitlines() if name.endswith("l") else [text]
    file = tmp_path / name
    file.write_text(
        "\n".join(json.dumps(_with_long_answers(json.loads(each))) for each in parts), "utf-8"
    )
    answers = [each["content"] for run in read_transcripts([file]) for each in run.messages]
    assert json.dumps(LONG) in answers


@pytest.mark.parametrize("name", all_formats())
def test_a_file_of_another_format_is_refused_in_words(name: str) -> None:
    for path in sorted(each for each in DATA.iterdir() if each.suffix in (".json", ".jsonl")):
        with suppress(ToolevalError):
            found, _ = import_files([path], name, has_tools=False)
            assert found.suite or found.tools or found.answers, path
