"""Agents that do half the work, where the state does not show the other half."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.mutation.score import mutate_suite
from pytest_tooleval.scoring.evidence.half_work import unnoticed_calls
from pytest_tooleval.suite.load import load_suite

DESK = """
import io, sqlite3, threading, queue
import post
{more}
LOG = []

class Desk:
    def __init__(self):
        self.orders = {{"A1": 0}}
        self._lock = threading.Lock()
        {init}
    def get(self, order): return self.orders[order]
    def refund(self, order): self.orders[order] += 40; return {{"ok": True}}
    def send(self, to): {send}; return {{"ok": True}}
    {state}
"""
POST = """
SENT = []
def send(to): SENT.append(to)
"""
NOTHING = {"more": "", "init": "", "send": "pass", "state": ""}
INNER = (
    "class Mail:\n    def __init__(self): self._sent = []\n    def to(self, to): self._sent.append(to)\n"
)
STATE = "def _tooleval_state(self): return self.orders"
DB = "self.db = sqlite3.connect(':memory:'); self.db.execute('create table m (a)')"


@pytest.fixture(autouse=True)
def _imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "post", raising=False)


def suite(folder: Path, case: dict[str, Any] | None = None, **desk: str) -> Path:
    (folder / "desk.py").write_text(DESK.format(**{**NOTHING, **desk}))
    (folder / "post.py").write_text(POST)
    calls = [("get", {"order": "A1"}), ("refund", {"order": "A1"}), ("send", {"to": "ada"})]
    expected = [{"tool": name, "params": params} for name, params in calls]
    turn = {"prompt": "?", "match": "state", "expected_calls": expected}
    made = {"name": "S", "world": "desk:Desk", "test_cases": [{"turns": [turn], **(case or {})}]}
    path = folder / "s.tooleval.json"
    path.write_text(json.dumps(made))
    return path


def warnings(path: Path) -> list[str]:
    return [
        f"{'/'.join(map(str, each.loc[2:]))}: {each.message}"
        for each in unnoticed_calls(load_suite(path))
    ]


AT = "turns/0/expected_calls/2: an agent that leaves out send passes: "


@pytest.mark.parametrize(
    ("desk", "what"),
    [
        ({"init": "self.sent = []", "send": "self.sent.append(to)"}, None),
        # Nothing that anybody could look at.
        ({}, None),
        ({"init": "self._sent = []", "send": "self._sent.append(to)"}, '"Desk._sent"'),
        (
            {"more": INNER, "init": "self.mail = Mail()", "send": "self.mail.to(to)"},
            '"Desk.mail._sent"',
        ),
        ({"send": "LOG.append(to)"}, '"desk.LOG"'),
        ({"send": "post.send(to)"}, '"post.SENT"'),
        (
            {"init": "self.sent = []", "send": "self.sent.append(to)", "state": STATE},
            '"Desk.sent"',
        ),
        ({"init": DB, "send": "self.db.execute('insert into m values (1)')"}, '"Desk.db"'),
        # A SQLite connection that the state shows does not change by look-ups.
        ({"init": DB, "state": STATE}, None),
    ],
)
def test_a_call_whose_effect_no_state_shows_is_named(
    tmp_path: Path, desk: Any, what: str | None
) -> None:
    path = suite(tmp_path, **desk)
    found = f"{AT}it changes only {what}, which the state does not show"
    assert warnings(path) == ([found] if what else [])
    gaps = [
        (each.kind, each.gap, each.to)
        for case in mutate_suite(load_suite(path)).cases
        for each in case.survivors
        if each.gap == "not_compared"
    ]
    assert gaps == ([("missing_call", "not_compared", "turns[0]")] if what else [])


def test_what_is_behind_a_connection_may_be_a_change(tmp_path: Path) -> None:
    path = suite(tmp_path, init="self.out = io.StringIO()", send="self.out.write(to)")
    behind = 'what it changes may be behind "Desk.out", which the state does not show'
    assert warnings(path) == [
        f"{AT}{behind}".replace("2: ", "0: ").replace("send", "get"),
        f"{AT}{behind}",
    ]


@pytest.mark.parametrize(
    "case",
    [
        {"policies": [{"tool": "send", "at_least": 1}]},
        {"expected_calls": [{"tool": "send"}], "match": "contains"},
        {"results": True},
    ],
)
def test_what_another_check_notices_is_no_warning(tmp_path: Path, case: dict[str, Any]) -> None:
    send = "self._sent.append(to); return 'sent'"
    path = suite(tmp_path, case, init="self._sent = []", send=send)
    assert warnings(path) == []


def test_a_later_turn_begins_where_the_earlier_ones_lead(tmp_path: Path) -> None:
    path = suite(tmp_path, init="self._sent = []", send="self._sent += [to] * self.orders['A1']")
    made = json.loads(path.read_text())
    (turn,) = made["test_cases"][0]["turns"]
    first, second = turn["expected_calls"][:2], turn["expected_calls"][2:]
    refund = {"tool": "refund", "params": {"order": "A1"}}
    made["test_cases"][0]["turns"] = [
        {**turn, "expected_calls": first},
        {**turn, "expected_calls": [*second, refund]},
    ]
    path.write_text(json.dumps(made))
    (found,) = warnings(path)
    assert found.startswith("turns/1/expected_calls/0: an agent that leaves out send passes: it changes")
