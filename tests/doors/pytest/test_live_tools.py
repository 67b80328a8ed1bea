"""`tools_from` and live chains: tools of a real MCP server, read and run, recorded and replayed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import PNG, picture
from click.testing import CliRunner
from nightly import at_night

from pytest_tooleval.cli import main

from .project import Project

pytestmark = pytest.mark.slow

SERVER = Path(__file__).with_name("live_server.py")

# Calls the tools of script.json one after the other, then says what the last one answered.
_AGENT = """
import json
from pathlib import Path

HERE = Path(__file__).parent


def answer(messages, tools):
    with open(HERE / "asked.log", "a") as log:
        log.write("1\\n")
    done = sum(message["role"] == "tool" for message in messages)
    name, arguments = json.loads((HERE / "script.json").read_text())[done]
    call = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": f"c{done}", "type": "function", "function": call}]}
"""
FIRST = ["find_station", {"city": "Paris"}]
LAST = ["get_weather", {"city": "S7"}]


class Live(Project):
    """A project whose runs may run the server's tools that only read, or what else `allow` says."""

    def run(self, *args: str, model: str | None = "agent", allow: str | None = "*") -> pytest.RunResult:
        options = [] if allow is None else [f"--tooleval-allow-tools={allow}"]
        return super().run(*options, *args, model=model)


@pytest.fixture
def live(pytester: pytest.Pytester, project: Project) -> Live:
    live = Live(pytester)
    live.write("my_agent.py", _AGENT)
    return live


def write(project: Project, *calls: Any, source: Any = None, **fields: Any) -> None:
    """A suite with one chain, in which the agent makes these calls."""
    project.write("script.json", json.dumps([*calls]))
    command = [sys.executable, str(SERVER), str(project.path / "server.log")]
    chain = {
        "id": "chain",
        "prompt": "What is the weather in Paris?",
        "multi_turn": True,
        "valid_prerequisites": ["find_station"],
        "expected_tool": "get_weather",
        "expected_params": {"city": "S7"},
        "live_tools": ["*"],
        **fields,
    }
    suite = {
        "name": "S",
        "tools_from": {"mcp": {"stdio": command}, **(source or {})},
        "test_cases": [chain],
    }
    project.write("s.tooleval.json", json.dumps(suite))


def answers(project: Project) -> list[Any]:
    """What the tools answered in the first trial."""
    replies = project.rows()["chain[agent]"]["trials"][0]["transcript"]["replies"]
    return [answer["content"] for one in replies for answer in one["tool_answers"]]


def test_a_chain_on_a_server_is_recorded_and_replayed_without_it(live: Live) -> None:
    write(live, FIRST, LAST)
    tape = "--tooleval-cassette=tapes"
    result = live.run(tape, "--tooleval-report=out.json")
    result.assert_outcomes(passed=1)
    assert answers(live) == ["station of Paris: S7"]
    # The server's own name; the call that ends the chain is scored and not run.
    assert live.log("server") == [["find.station", {"city": "Paris"}]]
    before = live.rows()["chain[agent]"]["scores"]
    (live.path / "server.log").unlink()
    # Nothing really runs, so nothing has to be allowed.
    replayed = live.run(tape, "--tooleval-record=none", "--tooleval-report=out.json", allow=None)
    replayed.assert_outcomes(passed=1)
    assert live.rows()["chain[agent]"]["scores"] == before
    assert answers(live) == ["station of Paris: S7"]
    assert not (live.path / "server.log").exists()


def test_a_picture_of_a_server_reaches_the_model_and_stays_in_its_recording(live: Live) -> None:
    parts = [{"type": "text", "text": "S7, from the north"}, picture()]
    source = (live.path / "my_agent.py").read_text()
    live.write("my_agent.py", source.replace("def answer", f"SHOWN = {parts!r}\n\n\ndef answer"))
    seen = "    assert done == 0 or messages[-1]['content'] == SHOWN\n    name, arguments"
    live.write(
        "my_agent.py", (live.path / "my_agent.py").read_text().replace("    name, arguments", seen)
    )
    write(live, ["find_station", {"city": "on a picture"}], LAST)
    tape = ("--tooleval-cassette=tapes", "--tooleval-report=out.json")
    live.run(*tape).assert_outcomes(passed=1)
    assert answers(live) == [parts]
    (path,) = (live.path / "tapes").glob("*.jsonl")
    assert path.read_text().count(PNG) == 1
    (live.path / "server.log").unlink()
    live.run(*tape, "--tooleval-record=none", allow=None).assert_outcomes(passed=1)
    assert answers(live) == [parts]
    assert not (live.path / "server.log").exists()


def test_a_tool_that_the_case_does_not_offer_is_not_run(live: Live) -> None:
    """The suite names it for other cases, and this case is complete without its permission."""
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [
        {"type": "function", "function": {"name": name, "parameters": parameters}}
        for name in ("find_station", "get_weather")
    ]
    write(live, ["delete_station", {"city": "Paris"}], LAST, live_tools=None, tools=tools)
    suite = json.loads((live.path / "s.tooleval.json").read_text())
    suite["live_tools"] = ["find_station", "delete_station"]
    live.write("s.tooleval.json", json.dumps(suite))
    live.run("--tooleval-report=out.json", allow="find_station").assert_outcomes(failed=1)
    assert answers(live) == ['{"error": "there is no tool \'delete_station\'"}']
    assert not (live.path / "server.log").exists()


def test_each_trial_has_a_session_and_an_answer_of_its_own(live: Live) -> None:
    """What a tool calls an error is an answer."""
    write(live, ["fails", {"city": "Paris"}], LAST)
    live.run("--tooleval-trials=3", "--tooleval-report=out.json")
    assert len(live.log("server")) == 3
    assert answers(live) == ["station of Paris: S7"]


def test_under_xdist(live: Live) -> None:
    write(live, FIRST, LAST)
    live.run("-n", "2", "--tooleval-allow-tools=*").assert_outcomes(passed=1)
    assert len(live.log("server")) == 1


@pytest.mark.parametrize(
    ("wanted", "allow", "missing"),
    [
        (["*"], None, "*"),
        (["find_station"], None, "find_station"),
        (["find_station", "delete_station"], "*", "delete_station"),
        (["delete_station"], "find_station", "delete_station"),
        (["delete_station"], "delete_station", ""),
        (["*", "DELETE_STATION"], "*,Delete_Station", ""),
        # A suite that wants what only reads gets no more, whatever is allowed.
        (["*"], "*,delete_station", "not wanted"),
        ([], "delete_station", "not wanted"),
    ],
)
def test_a_tool_runs_only_if_the_suite_wants_it_and_the_command_line_allows_it(
    live: Live, wanted: list[str], allow: str | None, missing: str
) -> None:
    """What may destroy only by its name; without the option nothing is asked."""
    write(live, ["delete_station", {"city": "Paris"}], LAST, live_tools=wanted)
    live.run("--tooleval-report=out.json", allow=allow)
    assert bool(live.log("server")) is (missing == "")
    (trial,) = live.rows()["chain[agent]"]["trials"]
    if missing == "not wanted":
        assert answers(live) == ['{"error": "delete_station is not available"}']
    elif missing:
        assert shlex.quote(f"--tooleval-allow-tools={missing}") in trial["error"]["message"]
        assert live.log("asked") == []


def test_a_replay_that_lacks_an_answer_needs_the_option(live: Live) -> None:
    """Neither is the model asked anew, nor the tool run."""
    write(live, FIRST, LAST)
    tape = "--tooleval-cassette=tapes"
    live.run(tape).assert_outcomes(passed=1)
    (path,) = (live.path / "tapes").glob("*.jsonl")
    listed, asked, run, *rest = path.read_text().splitlines(keepends=True)
    live.forget_calls()
    for kept in ([listed, asked, *rest], [listed, run, *rest]):
        path.write_text("".join(kept))
        result = live.run(tape, "--tooleval-report=out.json", allow=None)
        result.assert_outcomes(errors=1)
        (trial,) = live.rows()["chain[agent]"]["trials"]
        assert trial["error"]["message"].endswith("be replayed, and not all of it is recorded")
    assert live.log("asked") == live.log("server") == []


@pytest.mark.parametrize("place", ["ini", "environment"])
def test_only_the_command_line_allows_tools(
    live: Live, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(live, FIRST, LAST)
    if place == "ini":
        live.write("pytest.ini", "[pytest]\naddopts = --tooleval-allow-tools=*")
    else:
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p tooleval --tooleval-allow-tools=find_station")
    result = live.run(allow=None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tooleval-allow-tools: give it on the command line itself*"])


def test_explain_knows_what_a_server_answered(live: Live) -> None:
    write(live, FIRST, LAST)
    live.run("--tooleval-cassette=tapes").assert_outcomes(passed=1)
    (path,) = (live.path / "tapes").glob("*.jsonl")
    command = ["cassette", "explain", str(path), "s.tooleval.json", "--model=agent"]
    whole = CliRunner().invoke(main, command)
    assert "1 conversation, 0 with missing answers" in whole.output
    listed, asked, run, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    run["key"] = "another"
    run["asked"]["arguments"]["city"] = "Oslo"
    path.write_text("".join(json.dumps(line) + "\n" for line in (listed, asked, run, *rest)))
    other = CliRunner().invoke(main, command)
    assert other.exit_code == 1
    assert 'differs in arguments.city: "Oslo" → "Paris"' in other.output


def test_no_cassette_makes_a_tool_run_that_may_destroy(live: Live) -> None:
    """Nor does one that is older than what the server says of its tools."""
    tape = "--tooleval-cassette=tapes"
    write(live, FIRST, LAST)
    live.run(tape).assert_outcomes(passed=1)
    (path,) = (live.path / "tapes").glob("*.jsonl")
    listed, asked = [json.loads(line) for line in path.read_text().splitlines()[:2]]
    tools = json.loads(listed["answer"]["message"]["content"])
    for tool in tools:
        tool["annotations"] = {"readOnlyHint": True}
    listed["answer"]["message"]["content"] = json.dumps(tools)
    (call,) = asked["answer"]["message"]["tool_calls"]
    call["function"]["name"] = "delete_station"
    path.write_text("".join(json.dumps(line) + "\n" for line in (listed, asked)))
    live.forget_calls()
    live.run(tape, "--tooleval-report=out.json").assert_outcomes(errors=1)
    (trial,) = live.rows()["chain[agent]"]["trials"]
    assert "delete_station: is not run, because the server" in trial["error"]["message"]
    assert live.log("server") == []


def test_a_mock_wins_over_the_server(live: Live) -> None:
    write(live, FIRST, LAST, mock_responses={"find_station": {"id": "S7"}}, live_tools=["find_station"])
    live.run("--tooleval-report=out.json", allow=None).assert_outcomes(passed=1)
    assert answers(live) == ['{"id": "S7"}']
    assert live.log("server") == []


@pytest.mark.parametrize(
    ("tool", "message"),
    [("dies", "dies: "), at_night("slow", "within 10 s"), ("huge", "more than 1 MiB")],
)
def test_a_server_that_fails_is_an_error_and_no_failure(live: Live, tool: str, message: str) -> None:
    write(live, [tool, {"city": "Paris"}], LAST)
    path = live.path / "s.tooleval.json"
    suite = json.loads(path.read_text())
    suite["tools_from"]["mcp"]["timeout"] = 10 if tool == "slow" else 30
    path.write_text(json.dumps(suite))
    result = live.run("--tooleval-report=out.json")
    result.assert_outcomes(errors=1)
    error = live.rows()["chain[agent]"]["trials"][0]["error"]
    assert error["kind"] == "tool_server"
    assert message in error["message"]
    assert "Traceback" not in result.stdout.str()


def test_drift_is_an_error_or_a_warning(live: Live) -> None:
    write(live, FIRST, LAST, source={"pin": "0" * 16})
    result = live.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["s.tooleval.json: tools_from: *have changed: pinned is 0000000000000000*"]
    )
    assert live.log("server") == []
    pin = result.stdout.str().partition('write "pin": "')[2][:16]
    write(live, FIRST, LAST, source={"pin": pin})
    live.run().assert_outcomes(passed=1)
    write(live, FIRST, LAST, source={"pin": "0" * 16, "on_drift": "warn"})
    live.run().assert_outcomes(passed=1, warnings=1)
    write(live, FIRST, LAST, source={"pin": "0" * 16, "on_drift": "warn"}, expected_tool="get_wether")
    result = live.run()
    # Drift may be why the suite no longer loads.
    result.assert_outcomes(errors=1, warnings=1)
    result.stdout.fnmatch_lines(
        ['*the tool "get_wether" is not defined*', "*pinned is 0000000000000000*"]
    )


def test_a_pin_is_of_the_server_and_not_of_what_was_once_recorded(live: Live) -> None:
    """Recorded tools that are not the pinned ones make room; drifted ones are not recorded."""
    tape = "--tooleval-cassette=tapes"
    fewer = live.path / "server.log.fewer"

    def found() -> str:
        write(live, FIRST, LAST, source={"pin": "0" * 16})
        return live.run().stdout.str().partition('write "pin": "')[2][:16]

    whole = found()
    fewer.touch()
    less = found()
    assert whole != less
    write(live, FIRST, LAST, source={"pin": whole})
    live.run(tape).assert_outcomes(errors=1)
    fewer.unlink()
    live.run(tape).assert_outcomes(passed=1)
    fewer.touch()
    write(live, FIRST, LAST, source={"pin": less})
    strict = live.run(tape, "--tooleval-record=none")
    strict.assert_outcomes(errors=1)
    strict.stdout.fnmatch_lines(
        [f"*recorded on the cassette *s.jsonl are not the pinned ones: *{whole}*"]
    )
    live.run(tape).assert_outcomes(passed=1)
    live.run(tape, "--tooleval-record=none").assert_outcomes(passed=1)


def test_a_server_that_cannot_be_started(live: Live) -> None:
    write(live, FIRST, LAST)
    path = live.path / "s.tooleval.json"
    path.write_text(path.read_text().replace(str(SERVER), "nowhere.py"))
    result = live.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["s.tooleval.json: tools_from: the MCP server *"])


def test_cases_are_checked_against_the_servers_tools(live: Live) -> None:
    write(live, FIRST, LAST, expected_tool="get_wether")
    missed = '*the tool "get_wether" is not defined in the MCP server*did you mean "get_weather"?*'
    live.run().stdout.fnmatch_lines([missed])
    strict = live.run("--tooleval-cassette=tapes", "--tooleval-record=none")
    strict.stdout.fnmatch_lines(["*tools_from: the tools of * are not recorded in *"])
    # A single turn runs nothing.
    write(live, FIRST, multi_turn=False, valid_prerequisites=[], expected_tool="find_station")
    live.run().stdout.fnmatch_lines(['*live_tools: only for multi-turn cases; add "multi_turn": true*'])


# Refunds twice, then reports what the server said last. Dies as it is asked again after the first, while
# there is a file `die`.
_CLERK = """
import json
import os
from pathlib import Path

HERE = Path(__file__).parent


def answer(messages, tools):
    with open(HERE / "asked.log", "a") as log:
        log.write("1\\n")
    told = [message["content"] for message in messages if message["role"] == "tool"]
    if told and (HERE / "die").exists():
        os._exit(3)
    name, amount = ("refund", 20) if len(told) < 2 else ("report", int(told[-1].split()[0]))
    call = {"name": name, "arguments": json.dumps({"amount": amount})}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": f"c{len(told)}", "type": "function", "function": call}]}
"""


@pytest.fixture
def clerk(live: Live) -> Live:
    live.write("my_agent.py", _CLERK)
    refunds = {"expected_tool": "report", "expected_params": {"amount": 40}, "live_tools": ["refund"]}
    write(live, **refunds, valid_prerequisites=["refund"])
    return live


@pytest.mark.parametrize("clock", [at_night(False), True])
def test_a_resumed_chain_finds_the_server_as_it_left_it(clerk: Live, clock: bool) -> None:
    """Also where the server never answers twice alike."""
    if clock:
        (clerk.path / "server.log.clock").touch()
    tape = ("--tooleval-cassette=tapes", "--tooleval-allow-tools=refund")
    die = clerk.path / "die"
    die.touch()
    clerk.run_subprocess(*tape, model="agent")
    assert clerk.log("server") == [["refund", {"amount": 20}]]
    die.unlink()
    asked = len(clerk.log("asked"))
    clerk.run(*tape, "--tooleval-report=out.json", allow=None).assert_outcomes(passed=1)
    assert [answer.split()[0] for answer in answers(clerk)] == ["20", "40"]
    # What the model has said already is asked again only if the server no longer says the same.
    assert len(clerk.log("asked")) == asked + (3 if clock else 2)
    replayed = clerk.run(*tape[:1], "--tooleval-record=none", allow=None)
    replayed.assert_outcomes(passed=1)


def test_a_second_model_has_answers_of_its_own(clerk: Live) -> None:
    tape = "--tooleval-cassette=tapes"
    clerk.run(tape, allow="refund").assert_outcomes(passed=1)
    clerk.write("other_agent.py", "from my_agent import answer")
    clerk.write("tooleval.toml", '[models.other]\ncallable = "other_agent:answer"')
    clerk.run(tape, model="other", allow="refund").assert_outcomes(passed=1)
    assert len(clerk.log("server")) == 4
