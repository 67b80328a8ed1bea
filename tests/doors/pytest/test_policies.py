"""Policies as users see them: in a live run, in a recorded one, from `validate` and from `mutate`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from builders import calling
from click.testing import CliRunner

from pytest_tooleval.cli import main

from .project import Project

AGENTS = ("right", "careless")
FIRST = "asks-who-you-are-then-refunds"
ONCE = {"tool": "*fund", "at_most": 1}
LOOKED = {
    "tool": "ref*",
    "only_after": {"tool": "get_*", "params": {"order": {"$same": "/order"}}},
}
NOT_TWICE = 'policy *fund at most 1 time: refund(order="A1", amount=40): called 2 times'


def with_policies(desk: Project, *policies: dict[str, Any]) -> None:
    suite = json.loads((desk.path / "refunds.tooleval.json").read_text(encoding="utf-8"))
    suite["policies"] = policies
    desk.write("refunds.tooleval.json", json.dumps(suite))


def test_a_live_agent_keeps_or_breaks_them(desk: Project) -> None:
    with_policies(desk, ONCE)
    models = [f"--tooleval-model={name}" for name in AGENTS]
    result = desk.run("-k", FIRST, "--tooleval-report=out.json", *models, model=None)
    result.assert_outcomes(passed=1, failed=1)
    rows = desk.rows()
    row = rows[f"{FIRST}[careless]"]
    assert (row["scores"]["policies"], row["trials"][0]["failure"]) == (0.0, "broken_policy")
    assert row["reason"].startswith(NOT_TWICE)
    assert rows[f"{FIRST}[right]"]["scores"]["policies"] == 1.0
    assert rows[f"{FIRST}[right]"]["thresholds"] == {
        "overall": 1.0,
        "arguments_valid": 1.0,
        "policies": 1.0,
    }
    assert NOT_TWICE in result.stdout.str()


def test_a_recorded_conversation_does_too(desk: Project) -> None:
    with_policies(desk, LOOKED)
    said = [{"role": "user", "content": "I want my money back for order A1."}]
    said += [{"role": "assistant", "content": "Who are you?"}]
    said += [{"role": "user", "content": "I am ada@example.com, and all of it, please."}]
    refund = [calling("refund", "r", order="A1", amount=40)]
    refund += [{"role": "tool", "tool_call_id": "r", "content": '{"ok": true, "refunded": 40}'}]
    refund += [{"role": "assistant", "content": "You get 40 back."}]
    looked = [calling("get_order", "g", order="A1")]
    order = {"customer": "ada@example.com", "total": 40, "refunded": 0}
    looked += [{"role": "tool", "tool_call_id": "g", "content": json.dumps(order)}]
    runs = {"looked": [*said, *looked, *refund], "blind": [*said, *refund]}
    lines = [
        {"case": f"Refunds::{FIRST}", "model": model, "messages": told} for model, told in runs.items()
    ]
    desk.write("runs.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    options = ("--tooleval-transcripts=runs.jsonl", "--tooleval-report=out.json", "-k", FIRST)
    desk.run(*options, model=None)
    rows = desk.rows()
    assert rows[f"{FIRST}[looked]"]["scores"]["policies"] == 1.0
    blind = rows[f"{FIRST}[blind]"]
    assert (blind["outcome"], blind["trials"][0]["failure"]) == ("failed", "broken_policy")
    assert 'no earlier call of get_*(order="A1")' in blind["reason"]


def test_validate_and_mutate_know_them(desk: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.path)
    runner, file = CliRunner(), "refunds.tooleval.json"
    with_policies(desk, {**LOOKED, "tool": "refnd"})
    output = runner.invoke(main, ["validate", file]).output
    assert 'policies[0].tool: the tool "refnd" is not defined' in output
    with_policies(desk, ONCE, {"tool": "get_order", "never_after": "refund"})
    output = runner.invoke(main, ["mutate", file]).output
    assert "no case would notice" not in output
    off = json.loads((desk.path / file).read_text())
    desk.write(file, json.dumps({**off, "thresholds": {"policies": None}}))
    output = runner.invoke(main, ["mutate", file]).output
    assert "policies[0]: *fund at most 1 time: no case would notice a call that breaks it" in output
