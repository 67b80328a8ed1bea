"""Worlds: made, called, looked at, and what becomes of those that misbehave."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tooleval.errors import WorldError
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.worlds import play as play_module
from pytest_tooleval.worlds import world as world_module
from pytest_tooleval.worlds.plain import differences, json_like, look_up, path_text, plain, read_path
from pytest_tooleval.worlds.play import CallsToPlay, play
from pytest_tooleval.worlds.tools import tools_of
from pytest_tooleval.worlds.world import Memory, World, WorldSpec


def spec(folder: Path, code: str, target: str = "things:Things", **args: Any) -> WorldSpec:
    (folder / "things.py").write_text(textwrap.dedent(code), encoding="utf-8")
    return WorldSpec(target, folder, args)


def answer(world: WorldSpec, name: str, /, **arguments: Any) -> str:
    ((content,),) = play(world, [CallsToPlay([ToolCall(name, arguments)], [name])]).tool_answers
    return content


def test_methods_become_tools(tmp_path: Path) -> None:
    code = '''
    from typing import Literal

    class Base:
        async def look(self) -> str:
            """Look around."""
            return "dark"

    class Things(Base):
        def __init__(self, count=0):
            self.count = count

        def add(self, number: int, unit: Literal["m", "ft"] = "m", title: str | None = None) -> int:
            """Add a number.

            To what is there.

            Args:
                number: How much.
                unit (str, optional): Metres or feet.

            Returns:
                The sum.
            """
            self.count += number
            return self.count

        def _secret(self): ...
    '''
    look, add = tools_of(spec(tmp_path, "from __future__ import annotations\n" + textwrap.dedent(code)))
    assert look["function"]["description"] == "Look around."
    assert add["function"]["description"] == "Add a number.\n\nTo what is there."
    parameters = add["function"]["parameters"]
    assert parameters["required"] == ["number"]
    assert parameters["properties"]["number"] == {"type": "integer", "description": "How much."}
    assert parameters["properties"]["unit"]["description"] == "Metres or feet."
    assert parameters["properties"]["title"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


def test_calls_change_the_state_and_are_answered_as_json(tmp_path: Path) -> None:
    code = """
    import asyncio
    import datetime

    class Things:
        def __init__(self, start):
            self.items = [start]
            self._hidden = object()

        async def add(self, item):
            await asyncio.sleep(0)
            self.items.append(item)
            return {"at": datetime.date(2026, 1, 2), "items": {1, 1}}

        def fail(self, order):
            raise LookupError(f"there is no order {order}")
    """
    world = spec(tmp_path, code, start="a")
    calls = [ToolCall("ADD", {"item": "b"}), ToolCall("fail", {"order": 7}), ToolCall("add", {"no": 1})]
    calls += [ToolCall("remove", {}), ToolCall("add", None, "{"), ToolCall("_hidden", {})]
    played = play(world, [CallsToPlay(calls, ["add", "fail"])])
    first, *errors = map(json.loads, played.tool_answers[0])
    assert first == {"at": "2026-01-02", "items": [1]}
    assert errors[0] == {"error": "LookupError: there is no order 7"}
    assert errors[1]["error"].startswith("TypeError: ")
    assert errors[2:] == [
        {"error": "there is no tool 'remove'"},
        {"error": "the arguments are not a JSON object"},
        {"error": "there is no tool '_hidden'"},
    ]
    assert played.states == [{"Things": {"items": ["a", "b"]}}]
    assert play(world, [CallsToPlay([], [])]).states == [{"Things": {"items": ["a"]}}]


def test_a_method_answers_for_the_tool_of_a_server_with_its_name(tmp_path: Path) -> None:
    """As Claude Code names the tools of MCP servers."""
    code = """
    class Things:
        def get(self): return "one"
        def mcp__shop__get(self): return "two"
        def put_all(self): return "three"
    """
    names = ["mcp__things__get", "mcp__shop__get", "mcp__shop__put_all", "mcp__shop__", "mcp__a__b__get"]
    calls = [ToolCall(name, {}) for name in [*names, "mcp__other__get"]]
    played = play(spec(tmp_path, code), [CallsToPlay(calls, names)])
    assert played.tool_answers[0][:3] == ["one", "two", "three"]
    assert ["there is no tool" in answer for answer in played.tool_answers[0]] == [False] * 3 + [
        True
    ] * 3


def test_a_world_may_answer_all_calls_itself(tmp_path: Path) -> None:
    code = """
    class Things:
        def __init__(self): self.asked = []
        def __call__(self, name, arguments):
            self.asked.append(name)
            return arguments
    """
    world = spec(tmp_path, code)
    calls = [ToolCall("Look", {"name": "x"}), ToolCall("go", None, "{")]
    played = play(world, [CallsToPlay(calls, [])])
    assert list(map(json.loads, played.tool_answers[0])) == [
        {"name": "x"},
        {"error": "the arguments are not a JSON object"},
    ]
    assert played.states == [{"Things": {"asked": ["Look"]}}]


def test_several_objects(tmp_path: Path) -> None:
    code = """
    class One:
        def __init__(self): self.x = 1
        def one(self): return "1"

    class Two:
        def two(self): return {"two": self.__class__.__name__}

    def both(): return [One(), Two()]
    def twice(): return [One(), One()]
    """
    world = spec(tmp_path, code, "things:both")
    assert answer(world, "one") == "1"
    assert answer(world, "two") == '{"two": "Two"}'
    assert World(world).begin().state() == {"One": {"x": 1}, "Two": {}}
    with pytest.raises(WorldError, match="several objects of the class One"):
        World(WorldSpec("things:twice", tmp_path)).begin()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_at_all", "cannot import 'things': ModuleNotFoundError"),
        ("Thing = 1", "'things' has no class or function 'Things', did you mean Thing?"),
        ("class Things: pass", "made Things, which has no public methods"),
        (
            "class Things:\n  def __init__(self): self.x = 1 / 0\n  def go(self): ...",
            r"things:Things\(\) raised ZeroDivisionError: division by zero at things.py:2",
        ),
    ],
)
def test_worlds_that_cannot_be_made(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(WorldError, match=message):
        World(spec(tmp_path, code)).begin()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("things.py:Things", 'things.py is next to the suite: write "things:Things"'),
        ("evals.things:Things", 'things.py is next to the suite: write "things:Things"'),
        ("thing:Things", "there is no thing.py next to the suite"),
    ],
)
def test_a_world_that_is_not_found_says_where_it_would_be(
    tmp_path: Path, target: str, message: str
) -> None:
    made = spec(tmp_path, "class Things:\n  def go(self): ...")
    with pytest.raises(WorldError, match=message):
        World(WorldSpec(target, made.folder)).begin()


@pytest.mark.parametrize(
    "code",
    [
        "class Things:\n  orders = {}\n  def go(self): self.orders['a'] = 1",
        "class Things:\n  def __init__(self, orders={}): self.orders = orders\n"
        "  def go(self): self.orders['a'] = 1",
        "ALL = {}\nclass Things:\n  def __init__(self): self.orders = ALL\n"
        "  def go(self): self.orders['a'] = 1",
    ],
)
def test_a_world_that_keeps_something_is_named(tmp_path: Path, code: str) -> None:
    world = spec(tmp_path, code)
    answer(world, "go")
    with pytest.raises(
        WorldError, match=r"^Things\.orders\.a: a new world does not start like the first"
    ):
        answer(world, "go")


@pytest.mark.parametrize("code", ["ALL.append(1) or len(ALL)", "time.perf_counter()"])
def test_a_world_that_answers_otherwise_is_named(tmp_path: Path, code: str) -> None:
    world = spec(tmp_path, f"import time\nALL = []\nclass Things:\n  def go(self): return {code}")
    answer(world, "go")
    with pytest.raises(
        WorldError, match=r"^Things\.go answered .*, and something else after the same calls"
    ):
        answer(world, "go")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise RecursionError(text)", '{"error": "RecursionError: maximum recursion depth exceeded"}'),
        ("return f'Failed: {RecursionError(text)}'", "Failed: maximum recursion depth exceeded"),
        ("return {'error': text}", '{"error": "maximum recursion depth exceeded"}'),
    ],
)
def test_the_text_of_a_recursion_error_does_not_vary_with_the_stack(
    tmp_path: Path, code: str, expected: str
) -> None:
    world = spec(
        tmp_path,
        f"""
        TEXTS = iter([
            "maximum recursion depth exceeded",
            "maximum recursion depth exceeded in comparison",
            "maximum recursion depth exceeded in __instancecheck__",
            "maximum recursion depth exceeded while calling a Python object",
            "maximum recursion depth exceeded during compilation",
            "Stack overflow (used 8176 kB) while calling a Python object",
        ])

        class Things:
            def go(self):
                text = next(TEXTS)
                {code}
        """,
    )
    assert {answer(world, "go") for _ in range(6)} == {expected}


def test_what_is_no_json_is_an_error_that_names_the_method(tmp_path: Path) -> None:
    code = """
    class Odd:
        def __repr__(self): raise ValueError

    class Things:
        def go(self): return iter("")
        def nan(self): return float("nan")
        def odd(self): print("odd"); return Odd()
    """
    world = spec(tmp_path, code)
    for name in ("go", "nan", "odd"):
        with pytest.raises(
            WorldError, match=rf"^Things\.{name} returned something that is not JSON: "
        ) as raised:
            answer(world, name)
    assert str(raised.value).endswith(" (it printed: odd)")


def test_standard_output_is_given_back() -> None:
    """In a process of its own: elsewhere a world that hangs may still have it."""
    code = """
import io, sys
from pytest_tooleval.worlds.output import captured_in
before, output = sys.stdout, io.StringIO()
with captured_in(output):
    print("captured")
    assert sys.stdout is not before
assert sys.stdout is before and output.getvalue() == "captured\\n"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_whatever_is_raised_is_an_answer(tmp_path: Path) -> None:
    code = """
    import asyncio
    import sys

    class Odd(Exception):
        def __str__(self): raise ValueError

    class Things:
        def stop(self): return next(iter([]))
        def leave(self): sys.exit(3)
        def odd(self): raise Odd
        def place(self): raise ValueError(f"no {object()}")
        async def cancel(self): raise asyncio.CancelledError
    """
    world = spec(tmp_path, code)
    found = [
        json.loads(answer(world, name))["error"] for name in ("stop", "leave", "odd", "place", "cancel")
    ]
    assert found == [
        "StopIteration",
        "SystemExit: 3",
        "Odd",
        "ValueError: no <object object>",
        "CancelledError",
    ]


MISTAKES = """
class Order:
    total = 40

class Things:
    def __init__(self): self.open, self.order = True, Order()
    def typo(self): return self.opne
    def of_order(self): return self.order.totl
    def of_class(self): return Order.totl
    def of_module(self):
        import json
        return json.dupms({})
    def name(self): return opne
    def unbound(self):
        if not self.open: x = 1
        return x
    def lacking(self):
        from json import dupms
    async def later(self): return self.opne
    def asserts(self): assert not self.open, "open"
    def fails(self):
        import pytest
        pytest.fail("open")
    def eval(self, formula): return eval(formula)
    def field(self, name): return getattr(self.order, name)
    def text(self, text): return text.upper()
    def none(self, name): return {}.get(name).total
"""
WRONG_VALUES = {
    "eval": {"formula": "1 + opne"},
    "field": {"name": "totl"},
    "text": {"text": 3},
    "none": {"name": "A1"},
}


@pytest.mark.parametrize(
    "name",
    "typo of_order of_class of_module name unbound lacking later asserts fails".split(),
)
def test_a_mistake_in_the_code_is_no_answer(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        WorldError,
        match=rf"^Things\.{name} raised (\w*Error|Failed): .* at .*things\.py:\d+: a mistake",
    ):
        answer(spec(tmp_path, MISTAKES), name)


@pytest.mark.parametrize(("name", "arguments"), WRONG_VALUES.items(), ids=WRONG_VALUES)
def test_a_wrong_value_is_an_answer(tmp_path: Path, name: str, arguments: Mapping[str, Any]) -> None:
    assert json.loads(answer(spec(tmp_path, MISTAKES), name, **arguments)).keys() == {"error"}


def test_a_state_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    code = """
    import threading

    class Things:
        def __init__(self, depth):
            self.lock = threading.Lock()
            self.inner = []
            inner = self.inner
            for _ in range(depth):
                inner.append([])
                inner = inner[0]

        def go(self): ...
    """
    for _ in range(2):
        assert answer(spec(tmp_path, code, depth=1), "go") == "null"
    with pytest.raises(WorldError, match=r"^the state of Things cannot be read: RecursionError"):
        answer(spec(tmp_path, code, depth=10_000), "go")


@pytest.mark.parametrize(
    ("name", "place", "limit"), [("go", "Things.go", 2.0), ("__init__", "things:Things()", 3.0)]
)
def test_a_hang_is_an_error_that_names_the_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, place: str, limit: float
) -> None:
    monkeypatch.setattr(play_module, "TIME_LIMIT_S", limit / (6 if name == "__init__" else 1))
    hang = f"def {name}(self): print('here'); threading.Event().wait()"
    world = spec(tmp_path, f"import threading\nclass Things:\n  {hang}\n  def run(self): ...")
    with pytest.raises(WorldError) as raised:
        answer(world, "go")
    assert str(raised.value) == f"{place} gave no answer within {limit:g} s (it printed: here)"


def test_each_call_has_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1.0)
    monkeypatch.setitem(sys.modules, "clock", clock)
    for module in (play_module, world_module):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(play_module, "TIME_LIMIT_S", 0.5)
    code = """
    import clock, threading

    class Things:
        def go(self, s):
            clock.now += s
            if s > 0.5:
                threading.Event().wait()
    """
    world = spec(tmp_path, code)
    calls = [ToolCall("go", {"s": seconds}) for seconds in (0.2, 0.2, 0.2, 0.8)]
    assert play(world, [CallsToPlay(calls[:3], ["go"])]).tool_answers == [["null"] * 3]
    for chosen in (calls[3:], calls):
        with pytest.raises(WorldError, match=r"^Things\.go gave no answer within 0\.5 s$"):
            play(world, [CallsToPlay(chosen, ["go"])])


def test_too_long_an_answer_is_told_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "MAX_ANSWER", 10)
    world = spec(tmp_path, "class Things:\n  def go(self, n): return 'x' * n")
    assert answer(world, "go", n=10) == "x" * 10
    assert "the answer is too long: 11 characters, at most 10" in answer(world, "go", n=11)


def test_a_world_stays_in_one_thread(tmp_path: Path) -> None:
    code = """
    import sqlite3

    class Things:
        def __init__(self):
            self._db = sqlite3.connect(":memory:")
            self._db.execute("create table t (x)")

        def put(self, x):
            self._db.execute("insert into t values (?)", (x,))
            return self._db.execute("select count(*) from t").fetchone()
    """
    assert answer(spec(tmp_path, code), "put", x=1) == "[1]"


def test_two_folders_may_have_worlds_of_one_name(tmp_path: Path) -> None:
    worlds = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        worlds.append(spec(tmp_path / name, f"class Things:\n  def go(self): return '{name}'"))
    assert [answer(world, "go") for world in worlds] == ["a", "b"]


def test_a_world_whose_code_has_changed_is_a_new_one(tmp_path: Path) -> None:
    for number in (1, 2):
        code = f"class Things:\n  def __init__(self): self.n = {number}\n  def go(self): return self.n"
        assert answer(spec(tmp_path, code), "go") == str(number)


def test_differences_and_paths() -> None:
    one = {"Desk": {"orders": {"A1": {"refunded": 40, "log": [1]}}, "open": True}}
    other = {"Desk": {"orders": {"A1": {"refunded": 20.0, "log": [1, 2]}}, "open": 1}}
    found = [path_text(path) for path, _, _ in differences(one, other)]
    assert found == ['Desk.orders["A1"].refunded', 'Desk.orders["A1"].log[1]', "Desk.open"]
    assert list(differences({"a": 1}, {"a": 1.0})) == []
    for text in ("orders.A1.log[0]", 'Desk.orders["A1"].log.0'):
        path, value = look_up(one, read_path(text) or ())
        assert (path[0], value) == ("Desk", 1)
    assert read_path("a..b") is None
    assert read_path("") is None


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({1: 5}, {"1": 5}, ["W.kept[1]", 'W.kept["1"]']),
        ({1: 0, "1": 5}, {1: 5}, ["W.kept[1]", 'W.kept["1"]']),
        ({1: 5, None: 6}, {1.0: 5, None: 6}, []),
        ({True: 5}, {1: 5}, ["W.kept[True]", "W.kept[1]"]),
        ({"a": Decimal("40")}, {"a": Decimal("40.00")}, []),
        ({"a": Decimal("40")}, {"a": Decimal("40.01")}, ["W.kept.a"]),
        ({"a": Decimal("40")}, {"a": Decimal("sNaN")}, ["W.kept.a"]),
        ({"a": Decimal("NaN")}, {"a": Decimal("NaN")}, []),
        ({"a": Decimal("40")}, {"a": "40"}, []),
    ],
)
def test_keys_and_amounts_that_json_lacks(one: Any, other: Any, found: list[str]) -> None:
    states = [plain({"W": {"kept": kept}}) for kept in (one, other)]
    assert [path_text(path) for path, _, _ in differences(*states)] == found


def test_a_path_names_other_keys_and_amounts_by_their_text() -> None:
    state = plain({"W": {"kept": {1: {"a": Decimal("40.0")}, dt.date(2026, 3, 2): 5}}})
    for text in ("kept[1]", "W.kept.1", 'kept["1"]'):
        value = json_like(look_up(state, read_path(text) or ())[1], {"a": "40.0"})
        assert (value, type(value["a"])) == ({"a": "40.0"}, str)
    whole = json_like(look_up(state, ("kept",))[1])
    assert [type(key) for key in whole] == [str, str]
    assert whole["2026-03-02"] == 5


def test_a_cassette_knows_a_world_by_its_code_whatever_its_line_ends(tmp_path: Path) -> None:
    world = spec(tmp_path, "class Things:\n    pass\n")
    before = world.identity
    (tmp_path / "things.py").write_bytes(b"class Things:\r\n    pass\r\n")
    assert replace(world, memory=Memory()).identity == before
    (tmp_path / "things.py").write_bytes(b"class Things:\n    done = 1\n")
    assert replace(world, memory=Memory()).identity != before


def test_arguments_arrive_as_the_objects_that_parameters_name(tmp_path: Path) -> None:
    code = """
    from __future__ import annotations
    import datetime as dt
    from dataclasses import dataclass
    from decimal import Decimal
    from enum import Enum
    from pydantic import BaseModel

    class Size(Enum):
        SMALL = "s"

    @dataclass
    class Line:
        item: str
        size: Size

    class Order(BaseModel):
        lines: list[Line]

    class Things:
        def at(self, when: dt.datetime): return when.year
        def pay(self, amount: Decimal): return type(amount).__name__
        def order(self, order: Order, size: Size | None = None): return order.lines[0].size.name
        def plain(self, number: int): return number
    """
    world = spec(tmp_path, code)
    assert answer(world, "at", when="2026-01-01T00:00:00Z") == "2026"
    assert answer(world, "pay", amount=1.5) == "Decimal"
    assert answer(world, "order", order={"lines": [{"item": "a", "size": "s"}]}) == "SMALL"
    assert answer(world, "plain", number="5") == "5"  # as the model wrote it
    assert "when: Input should be" in answer(world, "at", when="soon")
    assert "order.lines.0.size" in answer(world, "order", order={"lines": [{"item": "a", "size": "x"}]})


def test_a_parameter_that_only_type_checkers_know_refuses_the_world(tmp_path: Path) -> None:
    code = """
    from __future__ import annotations
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        from orders import Order

    class Things:
        def go(self, order: Order): ...
    """
    with pytest.raises(WorldError, match=r"Things.go: the annotation of order cannot be resolved"):
        World(spec(tmp_path, code)).begin()


def test_static_class_and_wrapped_methods_are_tools(tmp_path: Path) -> None:
    code = """
    import functools

    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs): return function(*args, **kwargs)
        return inner

    class Things:
        @staticmethod
        def fixed(a: int): return a
        @classmethod
        def of_class(cls, a: int): return a + 1
        @functools.lru_cache
        def cached(self, a: int): return a + 2
        @logged
        def wrapped(self, a: int): return a + 3
    """
    world = spec(tmp_path, code)
    names = [tool["function"]["name"] for tool in tools_of(world)]
    assert names == ["fixed", "of_class", "cached", "wrapped"]
    assert [answer(world, name, a=1) for name in names] == ["1", "2", "3", "4"]


def test_an_object_as_a_key_is_named(tmp_path: Path) -> None:
    code = """
    class Key: ...
    class Things:
        def __init__(self): self.orders = {Key(): 1}
        def go(self): ...
    """
    with pytest.raises(
        WorldError, match=r"Things cannot be read: TypeError: an object is a key, a .*Key; use"
    ):
        World(spec(tmp_path, code)).begin()


def test_sets_in_answers_have_one_order(tmp_path: Path) -> None:
    code = """
    from dataclasses import dataclass
    from pydantic import BaseModel
    @dataclass
    class Data: names: set
    class Model(BaseModel): names: set[str]
    class Things:
        def go(self):
            names = {"b", "a", "d", "c"}
            return {"plain": names, "data": Data(names), "model": Model(names=names)}
    """
    ordered = ["a", "b", "c", "d"]
    expected = {"plain": ordered, "data": {"names": ordered}, "model": {"names": ordered}}
    assert json.loads(answer(spec(tmp_path, code), "go")) == expected


def test_a_cassette_knows_the_package_of_a_world(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "desk.py").write_text(
        "from .prices import PRICE\nclass Desk:\n  def look(self): return PRICE\n"
    )
    (package / "prices.py").write_text("PRICE = 1\n")
    world = WorldSpec("shop.desk:Desk", tmp_path)
    before = world.identity["code"]
    (package / "prices.py").write_text("PRICE = 2\n")
    assert None not in (before, replace(world, memory=Memory()).identity["code"])
    assert replace(world, memory=Memory()).identity["code"] != before
    assert WorldSpec("json:JSONDecoder", tmp_path).identity["code"] is None


def test_nan_equals_nan() -> None:
    nan = float("nan")
    assert list(differences({"a": [nan]}, {"a": [nan]})) == []
    assert len(list(differences({"a": nan}, {"a": 1.0}))) == 1


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (plain(Decimal("40")), 40),
        (plain(Decimal("0.1")), 0.1),
        (0.1 + 0.2, 0.3),
        ('{"a": 1.0}', '{"a":1}'),
        (
            plain(dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)),
            plain(dt.datetime(2026, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
        ),
    ],
)
def test_what_means_the_same_differs_only_exactly(one: Any, other: Any, exact: bool) -> None:
    assert bool(list(differences({"a": one}, {"a": other}, is_exact=exact))) is exact


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), ("40", 40), (1e9, 1e9 + 1), (1e-12, 2e-12), ("[", "{"), ("[" * 99_999, "{" * 99_999)],
)
def test_what_means_something_else_differs(one: Any, other: Any) -> None:
    assert list(differences({"a": one}, {"a": other}))


def test_numbers_arrive_as_annotated_but_for_benchmarks(tmp_path: Path) -> None:
    code = """
    from typing import Union

    class Things:
        def show(self, a: float, b: int, c: "float | None" = None, d: Union[int, float] = 0, e=0) -> str:
            return repr([a, b, c, d, e])
    """
    world = spec(tmp_path, code)
    assert answer(world, "show", a=1, b=2.0, c=3, d=4, e=5) == "[1.0, 2, 3.0, 4, 5]"
    assert answer(world, "show", a=True, b=2.5, c=None, d=4.0) == "[True, 2.5, None, 4.0, 0]"
    assert answer(replace(world, is_exact=True), "show", a=1, b=2.0, c=3) == "[1, 2.0, 3, 0, 0]"
