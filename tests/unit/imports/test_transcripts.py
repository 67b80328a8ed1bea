"""Which run belongs to which case, and how the calls of models in a trace become conversations."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval import load_suite
from pytest_tooleval.errors import Location, ModelError, SuiteError
from pytest_tooleval.imports.apply import apply
from pytest_tooleval.imports.files import import_files
from pytest_tooleval.imports.items import call_message
from pytest_tooleval.imports.transcripts import read_transcripts
from pytest_tooleval.record.names import NO_TOOLS
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.replies.messages import transcript_of
from pytest_tooleval.replies.outside_transcript import OutsideTranscript
from pytest_tooleval.run.transcripts import answers_of, find_transcripts
from pytest_tooleval.scoring.trial import score_transcript
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def suite_of(tmp_path: Path, *cases: dict[str, Any]) -> Suite:
    path = tmp_path / "s.tooleval.json"
    expecting = [{"expected_tool": None, **case} for case in cases]
    path.write_text(json.dumps({"name": "S", "tools": [], "test_cases": expecting}))
    return load_suite(path)


def run_of(*messages: dict[str, Any], **fields: Any) -> OutsideTranscript:
    return OutsideTranscript(Location("runs.jsonl", 1, 1, ""), messages, **fields)


def test_a_run_is_found_by_case_then_id_then_words(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, {"id": "a", "prompt": "Hi  there"}, {"id": "b", "prompt": "Bye"})
    for run, case in (
        (run_of(user("Bye"), case="a", id="b"), "a"),
        (run_of(user("Bye"), case="S::a"), "a"),
        (run_of(user("Bye"), id="a"), "a"),
        (run_of(user("Hi there"), reply("Hi"), user("More"), id="conv-7"), "a"),
        (run_of(user("Hi there"), case="Other::a"), None),
        (run_of(user("What?")), None),
        (run_of(reply("I begin.")), None),
    ):
        assert list(find_transcripts(suite, [run]).of_case) == ([case] if case else []), run


def test_of_cases_that_begin_alike_each_has_its_part(tmp_path: Path) -> None:
    longer = [user("Hi"), reply("Hi."), user("Weather?")]
    suite = suite_of(
        tmp_path,
        {"id": "short", "prompt": "Hi"},
        {"id": "long", "prompt": longer},
        {"id": "twin", "prompt": "Bye"},
        {"id": "other twin", "prompt": "Bye"},
    )
    runs = [run_of(*longer, reply("Rain.")), run_of(user("Hi"), reply("Hi.")), run_of(user("Bye"))]
    found = find_transcripts(suite, runs)
    first = runs[0]._replace(messages=runs[0].messages[:2])
    assert found.of_case == {"long": [runs[0]], "short": [first, runs[1]]}
    why = "begins like the cases twin, other twin; add the case to the transcript"
    assert found.unclear == [(runs[2], why)]


def test_a_recorded_request_is_of_the_case_with_its_whole_prompt(tmp_path: Path) -> None:
    calls = [call_message("a", "look", "{}")]
    loop = [user("Hi"), {"role": "assistant", "tool_calls": calls}]
    loop += [{"role": "tool", "tool_call_id": "a", "content": "1"}]
    suite = suite_of(tmp_path, {"id": "first", "prompt": "Hi"}, {"id": "second", "prompt": loop})
    requests = [
        run_of({"role": "system", "content": "Be brief."}, *loop[:2], answers_from=2),
        run_of(*loop, reply("One."), answers_from=3),
    ]
    found = find_transcripts(suite, requests)
    assert found.of_case == {"first": [requests[0]], "second": [requests[1]]}


def test_a_turn_of_several_keeps_its_conversation(tmp_path: Path) -> None:
    turns: list[dict[str, Any]] = [{"prompt": text, "expected_calls": []} for text in ("Hi", "Bye")]
    path = tmp_path / "s.tooleval.json"
    cases = [{"id": "one", "prompt": "Hi", "expected_tool": None}, {"id": "both", "turns": turns}]
    path.write_text(json.dumps({"name": "S", "tools": [], "test_cases": cases}))
    suite = load_suite(path)
    run = run_of(user("Hi"), reply("Hi."), user("Bye"), reply("Bye."))
    assert find_transcripts(suite, [run]).of_case == {"both": [run]}


Attributes = dict[str, Any]


def span(
    id: str, at: int, attributes: Attributes, parent: str = "", trace: str = "t", **more: Any
) -> dict[str, Any]:
    def value(each: Any) -> dict[str, Any]:
        if isinstance(each, float):
            return {"doubleValue": each}
        if isinstance(each, int):
            return {"intValue": str(each)}
        return {"stringValue": each if isinstance(each, str) else json.dumps(each)}

    return {
        "traceId": trace,
        "spanId": id,
        "parentSpanId": parent,
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 10),
        "attributes": [{"key": key, "value": value(each)} for key, each in attributes.items()],
        **more,
    }


def part(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        answer = {"type": "tool_call_response", "id": "c", "response": message["content"]}
        return {"role": "tool", "parts": [answer]}
    return {"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]}


CALL = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {}}]}


def chat(*given: dict[str, Any], output: dict[str, Any] | None, **more: Any) -> Attributes:
    parts = [each if "parts" in each else part(each) for each in given]
    out = [] if output is None else [output if "parts" in output else part(output)]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": parts,
        "gen_ai.output.messages": out,
        **more,
    }


def read(tmp_path: Path, *spans: dict[str, Any]) -> list[OutsideTranscript]:
    path = tmp_path / "spans.jsonl"
    lines = [{"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]} for each in spans]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"resourceLogs": []}]))
    return read_transcripts([path])


def gists(run: OutsideTranscript) -> str:
    return " ".join(each["role"][0] for each in run.messages)


def test_a_conversation_goes_on_in_another_trace_and_trials_stay_apart(tmp_path: Path) -> None:
    first, second = chat(user("Hi"), output=reply("Hi.")), chat(user("Hi"), output=reply("Ho."))
    runs = read(
        tmp_path,
        span("1", 1, first, trace="t1"),
        span("2", 2, first, trace="t2"),
        span("3", 3, second, trace="t3"),
        span("4", 4, chat(user("Hi"), reply("Ho."), user("?"), output=reply("!")), trace="t4"),
    )
    assert [gists(run) for run in runs] == ["u a", "u a", "u a u a"]


def test_what_a_tool_asks_within_is_an_inner_agents(tmp_path: Path) -> None:
    def calls(id: str, name: str) -> Attributes:
        part = {"type": "tool_call", "id": id, "name": name, "arguments": {}}
        return {"role": "assistant", "parts": [part]}

    def ran(id: str, name: str) -> Attributes:
        made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return {**made, "gen_ai.tool.call.id": id, "gen_ai.tool.call.result": "ok"}

    def agent(name: str) -> Attributes:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}

    ask, cancel = calls("c1", "billing"), calls("c2", "cancel")
    (run,) = read(
        tmp_path,
        span("a", 0, agent("triage")),
        span("1", 1, chat(user("Hi"), output=ask), parent="a"),
        span("2", 2, ran("c1", "billing"), parent="a"),
        span("b", 3, agent("accounts"), parent="2"),
        span("3", 4, chat(user("Within"), output=cancel), parent="b"),
        span("4", 5, ran("c2", "cancel"), parent="b"),
        span(
            "5", 6, chat(user("Within"), cancel, result("c2", "ok"), output=reply("Done.")), parent="b"
        ),
        span("6", 7, chat(user("Hi"), ask, result("c1", "Done."), output=reply("Bye.")), parent="a"),
    )
    replies = transcript_of(run.messages, offered=[NO_TOOLS]).replies
    assert [(each.agent, each.is_inner, [call.name for call in each.calls]) for each in replies] == [
        ("triage", False, ["billing"]),
        ("accounts", True, ["cancel"]),
        ("accounts", True, []),
        ("triage", False, []),
    ]
    assert [each["content"] for each in replies[0].tool_answers] == ["Done."]
    assert [each["content"] for each in replies[1].tool_answers] == ["ok"]


def test_what_a_tool_or_another_library_asks_within_is_no_run_of_its_own(tmp_path: Path) -> None:
    call = chat(user("Hi"), output=CALL)
    tool: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}
    tool |= {"gen_ai.tool.call.id": "c", "gen_ai.tool.call.result": {"ok": True}}
    (run,) = read(
        tmp_path,
        span("a", 0, {"gen_ai.operation.name": "invoke_agent", "tooleval.case": "x"}),
        span("1", 1, call, parent="a"),
        span("2", 2, call, parent="1"),
        span("3", 3, tool, parent="a"),
        span("4", 4, chat(user("Within"), output=reply("Done.")), parent="3"),
    )
    assert run.case == "x"
    assert gists(run) == "u a a t"
    assert run.messages[2]["inner"] is True
    assert run.messages[-1] == {"role": "tool", "tool_call_id": "c", "content": '{"ok": true}'}


FAILED: Attributes = {"status": {"code": 2}}
PAY = {"amount": 40}


def paid(id: str) -> Attributes:
    part = {"type": "tool_call", "id": id, "name": "pay", "arguments": PAY}
    return {"role": "assistant", "parts": [part]}


def result(id: str, text: str) -> Attributes:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": text}]}


def conventions(id: str, **more: Any) -> Attributes:
    """A tool's span by the conventions."""
    return {"gen_ai.tool.name": "pay", "gen_ai.tool.call.id": id, **more}


def inference(**more: Any) -> Attributes:
    """A tool's span by OpenInference, which has the id only in LangChain's message."""
    return {"openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": PAY, **more}


def langchain(id: str, status: str) -> Attributes:
    message = {"type": "tool", "data": {"content": "-", "tool_call_id": id, "status": status}}
    return {"output.value": message}


@pytest.mark.parametrize(
    ("spans", "statuses"),
    [
        ([span("t", 2, conventions("c1"), **FAILED), span("u", 4, conventions("c2"))], ["error", None]),
        ([span("t", 2, conventions("c1", **{"error.type": "ValueError"}))], ["error", None]),
        (
            [span("t", 2, conventions("c1", **{"pydantic_ai.tool.deferral.name": "ApprovalRequired"}))],
            ["waiting", None],
        ),
        (
            [
                span("t", 2, conventions("c1", **{"pydantic_ai.tool.deferral.name": "CallDeferred"})),
                span("u", 4, conventions("c2"), **FAILED),
            ],
            [None, "error"],
        ),
        # Without ids, the spans between two calls of the model are those of the first one's calls.
        ([span("t", 2, inference(), **FAILED), span("u", 4, inference())], ["error", None]),
        ([span("t", 2, inference()), span("u", 4, inference(), **FAILED)], [None, "error"]),
        ([span("t", 2, inference(**langchain("c2", "error")))], [None, "error"]),
        ([span("t", 2, inference(), **FAILED), span("u", 2, inference())], ["unknown", None]),
        ([span("t", 2, conventions("c1", **{"error.type": "TimeoutError"}))], ["unknown", None]),
        ([span("t", 2, inference(**{"input.value": {"amount": 1}}), **FAILED)], [None, None]),
        ([span("t", 2, inference(**{"tool.name": "look"}), **FAILED)], [None, None]),
        ([span("t", 2, inference(), trace="other", **FAILED)], [None, None]),
    ],
)
def test_what_became_of_a_call_is_read_from_the_span_of_its_tool(
    tmp_path: Path, spans: list[dict[str, Any]], statuses: list[str | None]
) -> None:
    first, second = (paid("c1"), result("c1", "503")), (paid("c2"), result("c2", "ok"))
    (run,) = read(
        tmp_path,
        span("1", 1, chat(user("Pay."), output=first[0])),
        span("2", 3, chat(user("Pay."), *first, output=second[0])),
        span("3", 5, chat(user("Pay."), *first, *second, output=reply("Paid."))),
        *spans,
    )
    assert [m.get("status") for m in run.messages if m["role"] == "tool"] == statuses


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """An item of OpenAI's Responses API."""
    return {"type": kind, **fields}


ASKS = item("mcp_approval_request", id="a", name="pay", arguments=json.dumps(PAY), server_label="s")
MADE = item("mcp_call", id="m", approval_request_id="a", name="pay", arguments=json.dumps(PAY))


@pytest.mark.parametrize(
    ("items", "status", "content"),
    [
        ([{"role": "tool", "content": "no", "status": "rejected"}], "refused", "no"),
        ([{"role": "tool", "content": "no", "is_error": True}], "error", "no"),
        ([{"role": "tool", "content": "no", "isError": True}], "error", "no"),
        ([item("function_call_output", call_id="c", output="", status="incomplete")], "error", ""),
        ([item("function_call_output", call_id="c", output="ok", status="completed")], None, "ok"),
        ([ASKS], "waiting", ""),
        (
            [ASKS, item("mcp_approval_response", approval_request_id="a", approve=False, reason="No.")],
            "refused",
            "No.",
        ),
        (
            [
                item("mcp_list_tools", tools=[]),
                ASKS,
                item("mcp_approval_response", approval_request_id="a", approve=True),
                {**MADE, "output": "ok", "status": "completed"},
            ],
            None,
            "ok",
        ),
        ([{**MADE, "approval_request_id": None, "error": "503"}], "error", "503"),
        ([{**MADE, "approval_request_id": None, "output": "", "status": "error"}], "error", ""),
    ],
)
def test_what_became_of_a_call_is_kept_of_messages_and_items(
    tmp_path: Path, items: list[dict[str, Any]], status: str | None, content: str
) -> None:
    call = item("function_call", call_id="c", name="pay", arguments=json.dumps(PAY))
    before = [call] if "mcp" not in str(items) else []
    messages = [user("Pay."), *before, *items, reply("Done.")]
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"messages": messages}))
    (run,) = read_transcripts([path])
    assert gists(run) == "u a t a"
    called, result = run.messages[1:3]
    assert called["tool_calls"][0]["function"] == {"name": "pay", "arguments": json.dumps(PAY)}
    assert result["tool_call_id"] == called["tool_calls"][0]["id"]
    assert (result.get("status"), result["content"]) == (status, content)


def test_an_agent_that_sends_only_what_is_new_is_followed_by_its_calls(tmp_path: Path) -> None:
    system, answer = {"role": "system", "content": "Be brief."}, {"role": "tool", "content": "7"}
    (run,) = read(
        tmp_path,
        span("1", 1, chat(system, user("Hi"), output=CALL)),
        span("2", 2, chat(system, answer, output=reply("Seven."))),
    )
    assert gists(run) == "s u a t a"


def test_a_run_that_broke_off_says_so_and_a_retry_mends_it(tmp_path: Path) -> None:
    failed = span("1", 1, chat(user("Hi"), output=None), status={"code": 2, "message": "overloaded"})
    (run,) = read(tmp_path, failed)
    assert run.error == "the last call of the model failed: overloaded"
    (run,) = read(tmp_path, failed, span("2", 2, chat(user("Hi"), output=reply("Hi."))))
    assert (run.error, gists(run)) == ("", "u a")
    # The call that failed has no messages; a span around that of the case says nothing of this run.
    error: Attributes = {"status": {"code": 2, "message": "timeout"}}
    agent = span("a", 0, {"gen_ai.operation.name": "invoke_agent", "tooleval.case": "x"}, parent="s")
    whole = span("s", 0, {}, **error)
    call = span("1", 1, chat(user("Hi"), output=reply("Hi.")), parent="a")
    assert [each.error for each in read(tmp_path, whole, agent, call)] == [""]
    (run,) = read(tmp_path, whole, {**agent, **error}, call)
    assert run.error == "a span around the run failed: timeout"


def test_of_conversations_in_the_span_of_a_case_the_one_with_its_words_counts(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, {"id": "x", "prompt": "Hi"})
    runs = read(
        tmp_path,
        span("a", 0, {"tooleval.case": "x"}),
        span("1", 1, chat(user("Is this safe? Hi"), output=reply("yes")), parent="a"),
        span("2", 2, chat(user("Hi"), output=reply("Hi.")), parent="a"),
    )
    found = find_transcripts(suite, runs)
    assert [gists(run) for run in found.of_case["x"]] == ["u a"]
    assert found.unclear == [(runs[0], "another conversation in the transcript of case x")]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"gen_ai.operation.name": "chat"}, "1:1: no span has messages; *"),
        (
            {"gen_ai.input.messages": '[{"role": "user", "par'},
            '1:1: gen_ai.input.messages: expected a list as JSON, got "[*LENGTH_LIMIT?',
        ),
        ({"gen_ai.input.messages": [{"role": "robot", "parts": [{"type": "text"}]}]}, "1:1: *'robot'"),
        ({"gen_ai.input.messages": "[" * 3000 + "]" * 3000}, "1:1: *expected a list*"),
        ({"llm.input_messages.0.message.tool_calls": 5}, "1:1: tool_calls: expected a list of *, got 5"),
        ({"llm.input_messages.0.message.contents": 5}, "1:1: contents: expected a list of *, got 5"),
        (
            {"gen_ai.prompt.0.role": "user", "gen_ai.completion.0.tool_calls": "x"},
            '1:1: tool_calls: expected a list of objects, got "x"',
        ),
        (
            {"gen_ai.prompt.0.role": "user", "gen_ai.completion.0": "refund"},
            '1:1: gen_ai.completion: expected a list of objects, got ["refund"]',
        ),
        (
            {"gen_ai.input.messages": [{"role": "user"}], "gen_ai.output.messages": ["refund"]},
            '1:1: the answer: expected a list of objects, got ["refund"]',
        ),
        (
            {"ai.prompt.messages": [{"role": "user"}], "ai.response.toolCalls": ["refund"]},
            '1:1: ai.response.toolCalls: expected a list of objects, got ["refund"]',
        ),
    ],
)
def test_spans_that_cannot_be_read_are_named(
    tmp_path: Path, attributes: Attributes, message: str
) -> None:
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, span("1", 1, attributes))
    pytest.LineMatcher([str(caught.value).partition("spans.jsonl:")[2]]).fnmatch_lines([message])


def test_numbers_and_ids_of_spans_may_be_anything(tmp_path: Path) -> None:
    tool = {"gen_ai.tool.name": "f", "gen_ai.tool.call.result": "7"}
    strange = {"arrayValue": {"values": [{"stringValue": "c"}]}}
    spans = [
        span("1", 1, chat(user("Hi"), output=CALL), trace="t1", startTimeUnixNano="1" * 31 + "x"),
        span("2", 2, tool, trace="t1"),
        span("3", 3, chat(user("Hi"), CALL, user("?"), output=reply("Hi.")), trace="t3"),
    ]
    names = ("gen_ai.conversation.id", "gen_ai.tool.call.id", "session.id")
    for name, each in zip(names, spans, strict=True):
        each["attributes"].append({"key": name, "value": strange})
    assert [gists(run) for run in read(tmp_path, *spans)] == ["u a u a"]


def test_a_chain_that_repeats_messages_is_no_call_of_a_model(tmp_path: Path) -> None:
    prompt = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Hi"}
    answer = {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Hi.",
    }
    (run,) = read(
        tmp_path,
        span("1", 1, {"openinference.span.kind": "CHAIN", **prompt}),
        span("2", 2, {"openinference.span.kind": "LLM", **prompt, **answer}, parent="1"),
    )
    assert gists(run) == "u a"


WORD = {"role": "assistant", "parts": [{"type": "text", "content": "Sure"}]}
NO = {"role": "assistant", "parts": [{"type": "refusal", "content": "No."}]}
BODY = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "refusal": "No."}}]}


def flat(given: str, output: str, message: str = "") -> Attributes:
    """A question and its answer, as OpenInference and OpenLLMetry write them."""
    return {
        f"{given}.0.{message}role": "user",
        f"{given}.0.{message}content": "Hi",
        f"{output}.0.{message}role": "assistant",
        f"{output}.0.{message}content": "Sure",
    }


INFERENCE = flat("llm.input_messages", "llm.output_messages", "message.")
LLMETRY = flat("gen_ai.prompt", "gen_ai.completion")


@pytest.mark.parametrize(
    ("attributes", "ended"),
    [
        (chat(user("Hi"), output={**WORD, "finish_reason": "length"}), "cut off: length"),
        (chat(user("Hi"), output=NO), "refused: No."),
        (
            chat(user("Hi"), output=WORD, **{"gen_ai.response.finish_reasons": ["SAFETY"]}),
            "blocked: SAFETY",
        ),
        (INFERENCE | {"llm.finish_reason": "length"}, "cut off: length"),
        (INFERENCE | {"output.value": BODY}, "refused: No."),
        (LLMETRY | {"gen_ai.completion.0.finish_reason": "content_filter"}, "blocked: content_filter"),
        (
            chat(user("Hi"), output={**WORD, "finish_reason": "error"}),
            "spans.jsonl:1: the provider ended the answer with error",
        ),
        (chat(user("Hi"), output={**WORD, "finish_reason": "stop"}), "None"),
    ],
)
def test_how_the_last_answer_of_a_trace_ended(
    tmp_path: Path, attributes: Attributes, ended: str
) -> None:
    suite = suite_of(tmp_path, {"id": "a", "prompt": "Hi"})
    (answer,) = answers_of(resolve(suite, suite.case("a")), read(tmp_path, span("a", 1, attributes)))
    found = answer if isinstance(answer, ModelError) else answer.no_answer
    assert str(found).removeprefix(f"{tmp_path}/") == ended


def test_a_cost_below_0_is_unknown(tmp_path: Path) -> None:
    spent = {"operation.cost": -5.0, "gen_ai.usage.input_tokens": -3.0, "gen_ai.usage.output_tokens": 2}
    (run,) = read(tmp_path, span("a", 1, chat(user("Hi"), output=reply("Hi."), **spent)))
    assert (run.usage.cost_usd, run.usage.prompt_tokens, run.usage.completion_tokens) == (None, None, 2)


@pytest.mark.parametrize(
    ("field", "amount"), [("cost_usd", -5), ("latency_s", -1), ("usage", {"prompt_tokens": -1})]
)
def test_no_chat_transcript_costs_less_than_0(tmp_path: Path, field: str, amount: object) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"messages": [user("Hi")], field: amount}))
    with pytest.raises(
        SuiteError, match=rf"runs\.jsonl:1:1: a conversation\.{field}.*: expected .* >= 0"
    ):
        read_transcripts([path])


HUMAN = {"type": "human", "content": "hi"}
CONVERTED = {"toolConfig": {"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": {}}}}]}}


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [user("hi"), {**reply("ok"), "tool_calls": ["refund"]}]},
        {"messages": [user("hi"), {**reply("ok"), "content": ["refund", {"type": "thinking"}]}]},
        {"messages": [HUMAN, {"type": "ai", "content": "ok", "tool_calls": ["refund"]}]},
        {"messages": [HUMAN, {"type": "ai", "content": "ok", "tool_calls": {"name": "refund"}}]},
        {"contents": [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": ["refund"]}]},
        {"contents": [{"parts": [{"text": "hi"}]}, {"role": "model", "parts": [["refund"]]}]},
        {
            "contents": [
                {"parts": [{"text": "a"}]},
                {"role": "model", "parts": [{"functionCall": "refund"}]},
            ]
        },
        {"messages": [user("hi"), {"role": "assistant", "parts": [{"type": "step-start"}, "refund"]}]},
        {"messages": [user("hi"), {**reply("ok"), "toolInvocations": ["refund"]}]},
        {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, "refund"]},
        {"prompt": [user("hi")], "completion": [reply("ok"), "refund"]},
        {"messages": [user("hi"), {**reply("ok"), "content": [{"toolUse": "refund"}]}], **CONVERTED},
        {
            "eval": {"task": "t"},
            "samples": [{"messages": [user("hi"), {**reply("ok"), "tool_calls": ["refund"]}]}],
        },
    ],
    ids=range(13),
)
def test_what_may_be_a_call_is_kept_or_refused(tmp_path: Path, value: Any) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value))
    runs: list[OutsideTranscript] = []
    with suppress(SuiteError):
        runs = read_transcripts([tmp_path / "t.json"])
    assert all("refund" in json.dumps(run.messages) for run in runs)


RECORDINGS = """
atif azure_evals bedrock claude_code codex gemini gemini_cli langchain
langfuse otel promptfoo_results pydantic_ai vercel
""".split()
DATA = Path(__file__).parents[2] / "data/formats"


@pytest.mark.parametrize(
    "name", ["openai", *(path.name for name in RECORDINGS for path in DATA.glob(f"{name}.*"))]
)
def test_an_imported_suite_passes_on_the_file_it_was_made_of(tmp_path: Path, name: str) -> None:
    path = DATA / name
    suite = parse_suite(json.dumps(apply(import_files([path], None, has_tools=False)[0], name).suite))
    found = find_transcripts(suite, read_transcripts([path]))
    assert not found.unclear
    for case in suite.test_cases:
        resolved = resolve(suite, case)
        for answer in answers_of(resolved, found.of_case.get(str(case.id), [])):
            assert isinstance(answer, Transcript), answer
            assert score_transcript(resolved, answer).passed, case.id
    # With another argument in the file, it fails.
    (tmp_path / name).write_text(re.sub(r'(\\*")Oslo(\\*")', r"\1Elsewhere\2", path.read_text()))
    with suppress(SuiteError):
        other = find_transcripts(suite, read_transcripts([tmp_path / name]))
        judged = 0
        for case in suite.test_cases:
            resolved = resolve(suite, case)
            expects = "Oslo" in f"{case.expected_params} {case.expected_calls}"
            for answer in answers_of(resolved, other.of_case.get(str(case.id), [])) if expects else ():
                is_right = isinstance(answer, Transcript) and score_transcript(resolved, answer).passed
                judged += 1
                assert not is_right, case.id
        assert judged
