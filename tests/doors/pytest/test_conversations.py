"""Conversations on a world, run as users run them: the four agents of the example, and cassettes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .project import Project

AGENTS = ("right", "lying", "careless", "destructive")
FIRST = "asks-who-you-are-then-refunds"


def test_each_agent_is_told_what_it_did(desk: Project) -> None:
    models = [f"--tooleval-model={name}" for name in AGENTS]
    desk.run("--tooleval-report=out.json", "--tooleval-trials=2", *models, model=None)
    found = desk.rows()
    overall = {name: found[f"{FIRST}[{name}]"]["scores"]["overall"] for name in AGENTS}
    assert overall == {
        "right": 1.0,
        "lying": pytest.approx(3 / 5),
        "careless": pytest.approx(4 / 5),
        "destructive": 0.0,
    }
    assert found["refunds-in-two-halves[right]"]["outcome"] == "passed"
    reasons = {name: found[f"{FIRST}[{name}]"]["reason"].partition(" (")[0] for name in AGENTS}
    assert reasons == {
        "right": "",
        "lying": "turn 2: call 1: expected refund, got",
        "careless": 'Desk.orders["A1"].refunded: expected 40, got 80',
        "destructive": "turn 1: called refund, which is forbidden",
    }
    (trial, *_) = found[f"{FIRST}[careless]"]["trials"]
    said = [reply["prompt"] for reply in trial["transcript"]["replies"]]
    assert [bool(prompt) for prompt in said] == [False, True, False]


def test_a_prompt_with_a_world_is_a_turn_and_another_one_is_a_reply(desk: Project) -> None:
    suite = json.loads((desk.path / "refunds.tooleval.json").read_text())
    call = {"tool": "refund", "params": {"order": "A1", "amount": 40}}
    asked = {"prompt": "I am ada@example.com. Please refund order A1.", "expected_calls": [call]}
    judged = {"match": "state", "expected_text": [{"$number": 40}]}
    suite["test_cases"] = [
        {"id": "played", "world": True, **asked, **judged},
        {"id": "one-reply", **asked},
    ]
    desk.write("refunds.tooleval.json", json.dumps(suite))
    desk.run("--tooleval-report=out.json", *(f"--tooleval-model={name}" for name in AGENTS), model=None)
    found = {name: row["outcome"] for name, row in desk.rows().items()}
    assert {name: found[f"played[{name}]"] for name in AGENTS} == {
        "right": "passed",
        "lying": "failed",
        "careless": "failed",
        "destructive": "passed",
    }
    assert found["one-reply[right]"] == "passed"
    (trial,) = desk.rows()["one-reply[right]"]["trials"]
    assert len(trial["transcript"]["replies"]) == 1


def test_a_world_that_is_not_there_is_no_fault_of_the_agent(desk: Project) -> None:
    tools = [{"type": "function", "function": {"name": "refund"}}]
    case = {"id": "a", "turns": [{"prompt": "Hello", "expected_state": {"paid": 1}}]}
    suite = {"name": "Refunds", "world": "desk:Desc", "tools": tools, "test_cases": [case]}
    desk.write("refunds.tooleval.json", json.dumps(suite))
    result = desk.run(model="right")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*json:1: *'desk' has no class or function 'Desc', did you mean Desk?"])


def test_a_conversation_is_replayed_until_its_world_changes(desk: Project) -> None:
    replay = ("--tooleval-cassette=cassettes", "--tooleval-record=none")
    desk.run(replay[0], model="right").assert_outcomes(passed=2)
    desk.run(*replay, model="right").assert_outcomes(passed=2)
    desk.write("desk.py", (desk.path / "desk.py").read_text().replace('{"ok": True', '{"done": True'))
    missed = desk.run(*replay, "-k", FIRST, model="right")
    missed.assert_outcomes(errors=1, deselected=1)
    missed.stdout.fnmatch_lines(["*differs in tools_answer.world.code: *→*"])


def test_a_user_may_agree_and_end_the_conversation_in_one_message(project: Project) -> None:
    """The refund runs, and once. A recording that lacks it, as those of earlier versions do, says so."""
    project.write(
        "desk.py",
        """
        class Desk:
            def __init__(self):
                self.refunded = 0

            def refund(self, order: str, amount: int) -> str:
                self.refunded += amount
                return "refunded"


        def agent(messages, tools):
            if messages[-1]["role"] == "tool":
                return "Done."
            if "Yes" not in messages[-1]["content"]:
                return "Shall I refund 40 for A1?"
            return {"tool_calls": [{"name": "refund", "arguments": {"order": "A1", "amount": 40}}]}


        def user(messages, tools):
            return "Yes, please. ###STOP###" if "Shall I" in str(messages) else "My money back for A1!"
        """,
    )
    project.write(
        "tooleval.toml", "".join(f'[models.{n}]\ncallable = "desk:{n}"\n' for n in ("agent", "user"))
    )
    refund = {"tool": "refund", "params": {"order": "A1", "amount": 40}}
    case = {"id": "a", "user": {"goal": "Get it."}, "expected_calls": [refund], "match": "state"}
    suite = {"name": "Refunds", "world": "desk:Desk", "test_cases": [case]}
    project.write("refunds.tooleval.json", json.dumps(suite))
    options = ("--tooleval-user=user", "--tooleval-cassette=tapes")
    project.run(*options, "--tooleval-report=out.json").assert_outcomes(passed=1)
    (trial,) = project.rows()["a[agent]"]["trials"]
    assert trial["transcript"]["user"]["ending"] == "###STOP###"
    tape = project.path / "tapes/refunds.jsonl"
    lines = tape.read_text().splitlines(keepends=True)
    tape.write_text("".join(line for line in lines if '"Yes, please."' not in line))
    replay = project.run(*options, "--tooleval-record=none")
    replay.assert_outcomes(errors=1)
    replay.stdout.fnmatch_lines(["*the recording lacks the model's turn after the user's last words: *"])


def test_a_world_that_keeps_something_is_an_error_that_names_it(desk: Project) -> None:
    desk.write(
        "desk.py",
        """
        class Desk:
            def __init__(self, orders={"A1": {"refunded": 0}}):
                self.orders = orders

            def refund(self, order: str, amount: float) -> dict:
                self.orders[order]["refunded"] += amount
                return {"ok": True, "refunded": self.orders[order]["refunded"]}
        """,
    )
    result = desk.run("-k", FIRST, "--tooleval-trials=2", model="right")
    result.assert_outcomes(errors=1, deselected=1)
    result.stdout.fnmatch_lines(["*refunded: a new world does not start like the first*"])


def test_a_case_that_a_silent_agent_passes_is_an_error_that_no_gate_tolerates(desk: Project) -> None:
    desk.write(
        "agents.py",
        """
        import pathlib
        def right(messages, tools):
            pathlib.Path("asked.txt").touch()
            return "Done, I refunded 40."
        """,
    )
    code = (desk.path / "desk.py").read_text().replace("self.orders", "self._orders")
    desk.write("desk.py", code + "\nDesk.shop = 'ours'\n")
    suite = json.loads((desk.path / "refunds.tooleval.json").read_text())
    case: dict[str, Any] = {"prompt": "Refund A1, all of it.", "match": "state"}
    case["expected_calls"] = [{"tool": "refund", "params": {"order": "A1", "amount": 40}}]
    suite["test_cases"] = [{"id": "one", "turns": [case]}]
    desk.write("refunds.tooleval.json", json.dumps(suite, indent=1))
    gates = ("--tooleval-fail-under=0", "--tooleval-fail-over=errors=1")
    result = desk.run(*gates, model="right")
    assert result.ret == 1
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "refunds.tooleval.json:*: cannot be scored: *::one: an agent that makes no call passes: "
            "after what is expected, the state (Desk.shop) is as it was before; "
            'Desk._orders is private; keep it in a public attribute*"may_change_nothing": true'
        ]
    )
    assert not (desk.path / "asked.txt").exists()
    assert desk.run("--collect-only", model="right").ret == 0
    case["may_change_nothing"] = True
    desk.write("refunds.tooleval.json", json.dumps(suite))
    desk.run(model="right").assert_outcomes(passed=1)


def test_a_call_that_a_turn_forbids_ends_the_conversation(desk: Project) -> None:
    desk.write(
        "agents.py",
        """
        def destructive(messages, tools, call_tool):
            return "Refunded: " + call_tool("refund", {"order": "A1", "amount": 40})
        """,
    )
    desk.run("-k", FIRST, "--tooleval-report=out.json", model="destructive").assert_outcomes(
        failed=1, deselected=1
    )
    row = desk.rows()[f"{FIRST}[destructive]"]
    assert row["reason"] == "turn 1: called refund, which is forbidden"
    (reply,) = row["trials"][0]["transcript"]["replies"]
    assert reply["tool_answers"] == []


KEY = "sk-test-abcdefghijklmnop1234ZZ"
LEAKING = """
import os


class Desk:
    def __init__(self):
        self.token = ""

    def refund(self, order: str) -> str:
        self.token = os.environ["OPENAI_API_KEY"]
        print("connecting with", self.token)
        return "paid with " + self.token

    def check(self, order: str) -> dict:
        raise ValueError("refused " + 1990 * "." + os.environ["OPENAI_API_KEY"])

    def close(self, order: str) -> object:
        print(os.environ["OPENAI_API_KEY"] + 290 * ".")
        return object()
"""
CALLING = """
def bot(messages, tools):
    name = messages[-1]["content"]
    if messages[-1]["role"] == "tool":
        return "done"
    function = {"name": name, "arguments": '{"order": "A1"}'}
    call = {"id": "1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
"""


@pytest.mark.parametrize(("status", "outcome"), [(None, "errors"), ("error", "passed")])
def test_an_expected_call_that_the_world_cannot_answer_is_no_pass(
    project: Project, status: str | None, outcome: str
) -> None:
    project.write("desk.py", "class Desk:\n    def check(self, order: str):\n        return {}[order]\n")
    project.write("calling.py", CALLING)
    project.write("tooleval.toml", '[models.bot]\ncallable = "calling:bot"\n')
    call = {"tool": "check", "params": {"order": "A1"}} | ({"status": status} if status else {})
    cases = [{"id": "one", "turns": [{"prompt": "check", "expected_calls": [call]}]}]
    suite = {"name": "Desk", "world": "desk:Desk", "test_cases": cases}
    project.write("desk.tooleval.json", json.dumps(suite))
    result = project.run(model="bot")
    result.assert_outcomes(**{outcome: 1}, warnings=int(outcome == "errors"))
    if outcome == "errors":
        result.stdout.fnmatch_lines(["*check answers *KeyError: 'A1'*; fix the world or the call, or*"])


def test_what_a_world_says_holds_no_secret(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    project.write("leaking.py", LEAKING)
    project.write("calling.py", CALLING)
    project.write("tooleval.toml", '[models.bot]\ncallable = "calling:bot"\n')

    def leak(id: str, name: str, **fields: Any) -> dict[str, Any]:
        expected = [{"tool": name, "params": {"order": "A1"}}]
        return {"id": id, "turns": [{"prompt": name, "expected_calls": expected}], **fields}

    cases = [
        leak("returned", "refund", match="state", results=True),
        leak("kept", "refund", expected_state={"token": "none"}),
        leak("typed", "refund", expected_state={"token": {"$type": "number"}}),
        leak("raised", "check", expected_state={"token": "none"}, match="contains"),
        leak("printed", "close"),
    ]
    suite = {"name": "Leaks", "world": "leaking:Desk", "test_cases": cases}
    project.write("leaks.tooleval.json", json.dumps(suite))
    files = ("report=out.json", "cassette=tapes")
    options = [f"--tooleval-{file}" for file in files]
    result = project.run("-v", "--junitxml=out.xml", *options, model="bot")

    result.assert_outcomes(passed=1, failed=3, errors=1)
    output = result.stdout.str()
    stand_in = "sk-" + "x" * (len(KEY) - 3)
    assert f"paid with {stand_in}" in output
    assert f"connecting with {stand_in}" in output
    assert "\n  the whole conversation\n" in output
    assert "the answer" not in output
    texts = [output, result.stderr.str()]
    written = [path for path in project.path.rglob("*") if path.is_file() and path.suffix != ".py"]
    assert {"out.json", "out.xml"} <= {path.name for path in written}
    texts += [path.read_bytes().decode(errors="replace") for path in written]
    # Not even the half of it that is left when something is cut.
    assert not [text for text in texts if KEY[:12] in text or KEY[-12:] in text]
