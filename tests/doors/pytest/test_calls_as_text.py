"""Local servers that return calls as text, that cannot parse them, or that only stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mock_server import MockServer

from .project import Project, case

PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
WRITTEN = f"Let me look.\n<tool_call>{PARIS}</tool_call>"
CUT = '<tool_call>{"name": "get_weather", "arguments": {"ci'
TABLE = """
[models.local]
model = "openai/local"
api_base = "{url}"
{more}
"""


def local(project: Project, server: MockServer, more: str = "") -> None:
    project.write("tooleval.toml", TABLE.format(url=server.base_url, more=more))


def text(content: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda request: {"role": "assistant", "content": content}


def fails(message: str, status: int = 500) -> Callable[[str, dict[str, Any]], tuple[int, object]]:
    return lambda path, request: (status, {"error": {"code": 500, "message": message}})


def test_a_call_written_as_text_counts_and_names_the_option_that_reads_it(project: Project) -> None:
    project.suite(case("c", {}), case("none", {}, expected_tool=None, expected_params=None))
    with MockServer(script=text(WRITTEN)) as server:
        local(project, server)
        gate = "--tooleval-fail-over=recovered=0"
        result = project.run(gate, "--tooleval-report=out.json", model="local")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "local: 2 of 2 calls written as text, *; Hermes is parsed by vLLM --tool-call-parser *",
            "local FAILED: *; recovered: 2 of 2 cases with a call written as text, 0 allowed",
        ]
    )
    model = project.document()["models"][0]
    assert (model["native_calls"], model["recovered_calls"], model["lost_calls"]) == (0, 2, 0)
    assert model["dialects"] == {"Hermes": 2}


QUOTING = "error parsing tool call: raw='{}', err=invalid character"
ARGUMENTS = "Failed to parse tool call arguments as JSON: missing quote"
NOT_PARSED = "Failed to parse input at pos 13: {}"


@pytest.mark.parametrize("status", [500, 200])
@pytest.mark.parametrize(
    ("message", "outcome", "reason"),
    [
        (
            "Failed to parse tool call arguments as JSON: missing quote",
            "error",
            "*could not parse the model*",
        ),
        (
            "XML syntax error on line 3: element <parameter> closed by </function>",
            "error",
            "*could not*",
        ),
        (NOT_PARSED.format("gibberish"), "error", "*could not parse*"),
        (NOT_PARSED.format(WRITTEN), "error", "*a readable call of get_weather (Hermes: vLLM *"),
        (NOT_PARSED.format(CUT), "failed", "malformed call: content: a Hermes call: *"),
        (QUOTING.format('{"city": "Par'), "failed", "malformed call: *could not parse the model*Par*"),
    ],
)
def test_a_server_that_cannot_parse_a_call_is_asked_once(
    project: Project, message: str, outcome: str, reason: str, status: int
) -> None:
    project.suite(case("c", {}))
    with MockServer(respond=fails(message, status)) as server:
        local(project, server)
        project.run("--tooleval-report=out.json", "--tooleval-cassette=tapes", model="local")
        assert server.requests == 1
    row = project.rows()["c[local]"]
    assert row["outcome"] == outcome
    assert _matches(row["reason"], reason)


def _matches(found: str, pattern: str) -> bool:
    from fnmatch import fnmatch

    return fnmatch(found, pattern.replace("[", "[[]"))


def test_a_forbidden_call_that_the_server_could_not_parse_fails(project: Project) -> None:
    project.suite(case("c", {}, forbidden_calls=["get_time"]))
    written = WRITTEN.replace("get_weather", "get_time")
    with MockServer(respond=fails(NOT_PARSED.format(written))) as server:
        local(project, server)
        project.run("--tooleval-report=out.json", model="local").assert_outcomes(failed=1)
    assert project.rows()["c[local]"]["trials"][0]["failure"] == "forbidden_call"


@pytest.mark.parametrize(("forbidden", "exit_code"), [([], 0), (["get_time"], 1)])
def test_no_gate_tolerates_what_may_be_a_forbidden_call(
    project: Project, forbidden: list[str], exit_code: int
) -> None:
    project.suite(case("c", {}, forbidden_calls=forbidden), case("d", {}))

    def respond(path: str, request: dict[str, Any]) -> tuple[int, object] | None:
        is_first = "(c)" in request["messages"][-1]["content"]
        return fails(ARGUMENTS)(path, request) if is_first else None

    right = {"function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}, "id": "1"}
    called = {"role": "assistant", "content": None, "tool_calls": [{**right, "type": "function"}]}
    with MockServer(respond=respond, script=lambda _: called) as server:
        local(project, server)
        gates = ("--tooleval-fail-over=errors=50%", "--tooleval-fail-under=0.5")
        assert project.run(*gates, model="local").ret == exit_code


def test_required_without_a_call_says_how_to_ask_otherwise(project: Project) -> None:
    project.suite(case("c", {}))
    with MockServer(script=text("It is sunny.")) as server:
        local(project, server)
        project.run("--tooleval-report=out.json", model="local").assert_outcomes(failed=1)
    assert '"tool_choice": "auto" asks without it' in project.rows()["c[local]"]["reason"]


def chunks(*deltas: dict[str, Any]) -> bytes:
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


@pytest.mark.parametrize("more", ["", "stream = true"])
def test_a_stream_is_joined_asked_for_or_not(project: Project, more: str) -> None:
    def part(**function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "id": "a", "function": function}]}

    stream = chunks(part(name="get_weather", arguments='{"city"'), part(arguments=': "Paris"}'))
    project.suite(case("c", {}))
    with MockServer(respond=lambda path, request: (200, stream)) as server:
        local(project, server, more)
        project.run(model="local").assert_outcomes(passed=1)
        assert bool(server.bodies[0].get("stream")) is bool(more)


NAMED = {"name": "get_weather", "arguments": '{"city": "Paris"}'}


def calls(id: str, **function: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}


@pytest.mark.parametrize(("suite", "model"), [("shop_", ""), ("", 'tool_prefix = "shop_"')])
def test_a_prefix_is_on_the_wire_and_not_in_cases(project: Project, suite: str, model: str) -> None:
    history = [
        {"role": "user", "content": "Rome?"},
        calls("1", **NAMED),
        {"role": "tool", "tool_call_id": "1", "content": "Rain."},
        {"role": "user", "content": "And Paris?"},
    ]
    talk = case(
        "talk", {}, expected_params=None, multi_turn=True, valid_prerequisites=["get_time"],
        mock_responses={"get_time": "Noon."},
    )  # fmt: skip
    project.suite(case("c", {}, prompt=history), talk, **({"tool_prefix": suite} if suite else {}))

    def script(request: dict[str, Any]) -> dict[str, Any]:
        if "(talk)" in str(request["messages"][-1]["content"]):
            return calls("2", name="shop_get_time", arguments="")
        return calls("3", **{**NAMED, "name": "shop_get_weather"})

    with MockServer(script=script) as server:
        local(project, server, model)
        project.run(model="local").assert_outcomes(passed=2)
        sent = [tool for body in server.bodies for tool in body["tools"]]
        for message in (message for body in server.bodies for message in body["messages"]):
            sent += message.get("tool_calls", ())
    assert {each["function"]["name"] for each in sent} == {"shop_get_weather", "shop_get_time"}
