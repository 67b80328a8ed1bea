"""Small worlds that keep their state in many ways: no wrong agent passes, and no right one fails."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.scoring.trial import score_messages
from pytest_tooleval.suite.load import parse_suite
from pytest_tooleval.suite.model import Suite

# How a world begins, and what a refund does. Its state shows the change.
JUDGED = {
    "an attribute": ("self.done = {}", "self.done[order] = self.done.get(order, 0) + amount"),
    "a list": ("self.done = []", "self.done.append((order, amount))"),
    "a set": ("self.done = set(); self.n = 0", "self.n += 1; self.done.add((order, amount, self.n))"),
    "a deque": ("self.done = deque()", "self.done.append((order, amount))"),
    "an array": ("self.done = {'A1': array('d'), 'B2': array('d')}", "self.done[order].append(amount)"),
    "an ordered dict": ("self.done = OrderedDict(A1=0, B2=0)", "self.done[order] += amount"),
    "a read-only view": (
        "self._own = {'A1': 0, 'B2': 0}; self.done = MappingProxyType(self._own)",
        "self._own[order] += amount",
    ),
    "a default dict": ("self.done = defaultdict(int)", "self.done[order] += amount"),
    "a counter": ("self.done = Counter()", "self.done[order] += amount"),
    "a chain map": (
        "self.done = ChainMap({}, {'A1': 0, 'B2': 0})",
        "self.done[order] = self.done[order] + amount",
    ),
    "a user dict": ("self.done = UserDict(A1=0, B2=0)", "self.done[order] += amount"),
    "a user list": ("self.done = UserList()", "self.done.append([order, amount])"),
    "a dict with attributes": ("self.done = Sums()", "self.done.add(order, amount)"),
    "a list with attributes": ("self.done = Lines()", "self.done.add(order, amount)"),
    "an object": (
        "self.orders = {k: Order() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "slots": (
        "self.orders = {k: Slotted() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "a dataclass": (
        "self.orders = {k: Data() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "a field that repr leaves out": (
        "self.orders = {k: Hidden() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "a pydantic model": (
        "self.orders = {k: Model() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "pydantic's extra fields": (
        "self.orders = {k: Extra(refunded=0) for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "a msgspec struct": (
        "self.orders = {k: Packed() for k in ('A1', 'B2')}",
        "self.orders[order].refunded += amount",
    ),
    "a named tuple": (
        "self.orders = {'A1': Row(0), 'B2': Row(0)}",
        "self.orders[order] = Row(self.orders[order].refunded + amount)",
    ),
    "a Decimal": (
        "self.done = {k: Decimal(0) for k in ('A1', 'B2')}",
        "self.done[order] += Decimal(str(amount))",
    ),
    "a class attribute": ("pass", "self.total += amount; self.last = order"),
    "an enum": (
        "self.state = {k: Step.OPEN for k in ('A1', 'B2')}; self.n = {}",
        "self.state[order] = Step.DONE; self.n[order] = self.n.get(order, 0) + amount",
    ),
    "dates": (
        "self.at = []",
        "self.at.append({order: datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=amount)})",
    ),
    "lines of a log": ("self.log = []", "self.log.append(json.dumps({order: amount}))"),
    "keys that are numbers": ("self.done = {1: 0, 2: 0}", "self.done[int(order[1])] += amount"),
    "keys that are tuples": ("self.done = {}", "self.done[order, len(self.done)] = amount"),
    "two objects that share a part": (
        "self.a = self.b = {'A1': 0, 'B2': 0}",
        "self.a[order] += amount",
    ),
    "a part of itself": ("self.done = {'A1': 0, 'B2': 0}; self.me = self", "self.done[order] += amount"),
    "its own words, of a property": (
        "self._done = {'A1': 0, 'B2': 0}",
        "self._done[order] += amount",
        "return self._done",
    ),
    "its own words, of SQLite": (
        "self.db = sqlite3.connect(':memory:'); self.db.execute('create table r (o text, a real)')",
        "self.db.execute('insert into r values (?, ?)', (order, amount))",
        "return self.db.execute('select * from r').fetchall()",
    ),
    "an object with its own words": (
        "self.shop = Shop()",
        "self.shop.refund(order, amount)",
    ),
    "fractions": ("self.done = {}", "self.done[order] = self.done.get(order, 0) + Fraction(amount)"),
    "addresses": ("self.at = []", "self.at.append(ip_address(int(amount) + (order == 'B2')))"),
    "exceptions": ("self.errors = []", "self.errors.append(ValueError(order, amount))"),
    "a queue": ("self.jobs = queue.Queue()", "self.jobs.put((order, amount))"),
}
# Nothing shows the change.
REFUSED = {
    "a private attribute": ("self._done = {}", "self._done[order] = self._done.get(order, 0) + amount"),
    "a property": ("self._done = {'A1': 0, 'B2': 0}", "self._done[order] += amount"),
    "SQLite": (
        "self.db = sqlite3.connect(':memory:'); self.db.execute('create table r (o text, a real)')",
        "self.db.execute('insert into r values (?, ?)', (order, amount))",
    ),
    "a simple queue": ("self.jobs = queue.SimpleQueue()", "self.jobs.put((order, amount))"),
    "a global": ("pass", "ALL.append((order, amount))"),
    "a thread": ("self.done = []", "threading.Timer(60, self.done.append, [amount]).start()"),
    "a generator": ("self.steps = (n for n in range(9))", "next(self.steps)"),
    "nothing": ("self.done = 0", "pass"),
}
MODULE = """
import json, queue, sqlite3, threading
from array import array
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import ip_address
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from pydantic import BaseModel, ConfigDict

ALL = []

class Sums(dict):
    def __init__(self): self.total = 0
    def add(self, order, amount): self.total += amount * (1 if order == "A1" else 7)

class Lines(list):
    def __init__(self): super().__init__(); self.sums = {}
    def add(self, order, amount): self.sums[order] = self.sums.get(order, 0) + amount

class Order:
    def __init__(self): self.refunded = 0

class Slotted:
    __slots__ = ("refunded",)
    def __init__(self): self.refunded = 0

@dataclass
class Data:
    refunded: float = 0

@dataclass
class Hidden:
    refunded: float = field(default=0, repr=False)

class Model(BaseModel):
    refunded: float = 0

class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")

class Packed(msgspec.Struct):
    refunded: float = 0

class Row(NamedTuple):
    refunded: float

class Step(Enum):
    OPEN = "open"
    DONE = "done"

class Shop:
    def __init__(self): self._rows = []
    def refund(self, order, amount): self._rows.append((order, amount))
    def _tooleval_state(self): return {"rows": self._rows}

class Desk:
    total = 0
    last = ""
    def __init__(self):
        {begin}
    def refund(self, order: str, amount: float) -> str:
        {refund}
        return "ok"
    def {state}(self):
        {look}
"""
A1, B2 = {"order": "A1", "amount": 40}, {"order": "B2", "amount": 10}
WRONG = {
    "nothing": [],
    "half": [A1],
    "twice": [A1, B2, B2],
    "wrong amount": [A1, {**B2, "amount": 11}],
    "wrong order": [{**A1, "order": "B2"}, {**B2, "order": "A1"}],
}


def suite_of(folder: Path, begin: str, refund: str, look: str = "") -> Suite:
    state = "_tooleval_state" if look else "_unused"
    code = MODULE
    for name, text in (("begin", begin), ("refund", refund), ("state", state), ("look", look or "pass")):
        code = code.replace(f"{{{name}}}", text)
    (folder / "desk.py").write_text(textwrap.dedent(code), encoding="utf-8")
    expected = [{"tool": "refund", "params": params} for params in (A1, B2)]
    turns = [{"prompt": "Refund both.", "expected_calls": expected}]
    case = {"id": "one", "turns": turns, "match": "state"}
    data = {"name": "s", "world": "desk:Desk", "test_cases": [case]}
    return parse_suite(json.dumps(data), str(folder / "s.tooleval.json"))


def passes(suite: Suite, made: list[dict[str, Any]]) -> bool:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Refund both."}]
    for number, arguments in enumerate(made):
        function = {"name": "refund", "arguments": json.dumps(arguments)}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "ok"})
    messages.append({"role": "assistant", "content": "Done, I refunded both."})
    return score_messages(suite, "one", messages).passed


@pytest.mark.parametrize("name", JUDGED)
def test_only_the_right_agent_passes(tmp_path: Path, name: str) -> None:
    suite = suite_of(tmp_path, *JUDGED[name])
    assert passes(suite, [A1, B2])
    assert {wrong: passes(suite, made) for wrong, made in WRONG.items()} == dict.fromkeys(WRONG, False)


@pytest.mark.parametrize("name", REFUSED)
def test_a_change_that_no_state_shows_judges_nobody(tmp_path: Path, name: str) -> None:
    suite = suite_of(tmp_path, *REFUSED[name])
    for made in ([A1, B2], *WRONG.values()):
        with pytest.raises(ScoringError, match="an agent that makes no call passes"):
            passes(suite, made)
