"""Tests of agents in Python: a test that asks is a case, and its body is the scorer."""

from __future__ import annotations

import base64
import json
import re
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from pytest_tooleval.cli import main
from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.reports.pull_request import comment_text

from .project import TIME_TOOL, WEATHER_TOOL, Project, call, comparable, raising, right, wrong

APP = '''
import json

def agent(messages, tools, call_tool):
    """Refunds an order that it is told."""
    said = messages[-1]["content"]
    if "A1" not in said:
        return "Which order?"
    order = json.loads(call_tool("get_order", {"id": "A1"}))
    if "Refund" in said or "yes" in said:
        call_tool("refund", {"order": "A1", "amount": order["total"]})
        return "I refunded 40 euros."
    return "It is on its way."

def careless(messages, tools, call_tool):
    call_tool("refund", {"order": "A1", "amount": 400})
    return "done"

def broken(messages, tools):
    raise ConnectionError("no route")

def flaky(messages, tools, call_tool, trial):
    call_tool("get_order", {"id": "A1" if trial % 2 else "A2"})
    return "done"
'''
SHOP = '''
class Shop:
    def __init__(self):
        self.orders = {"A1": {"total": 40, "refunded": 0}}

    def get_order(self, id: str) -> dict:
        """Look up an order."""
        return self.orders[id]

    def refund(self, order: str, amount: float) -> str:
        """Pay money back."""
        self.orders[order]["refunded"] += amount
        return "done"
'''
HEAD = """
import asyncio
import functools
import os
import unittest

import pytest
from pytest import approx

from my_app import agent, broken, careless, flaky
from my_shop import Shop
from pytest_tooleval import ModelError, call, like

def get_weather(city: str) -> str:
    '''The weather in a city now.'''
    raise AssertionError("it never runs")
"""
REPORT = "--tooleval-report=out.json"


@pytest.fixture
def shop(project: Project) -> Project:
    project.write("my_app.py", APP)
    project.write("my_shop.py", SHOP)
    return project


def run(shop: Project, text: str, *args: str, model: str | None = None) -> pytest.RunResult:
    shop.write("test_it.py", HEAD + text)
    return shop.run("test_it.py", REPORT, *args, model=model)


def row_of(shop: Project) -> Mapping[str, Any]:
    (row,) = shop.document()["cases"]
    return row  # type: ignore[no-any-return]


ISSUE = """
def test_refund(tooleval):
    run = tooleval("Refund order A1", agent=agent, world=Shop)
    assert run.calls == [call("get_order", id="A1"), call("refund", order="A1", amount=approx(40))]
    assert run.world.orders["A1"]["refunded"] == 40
    assert "40" in run.text

def test_asks_first(tooleval):
    run = tooleval("I want my money back", agent=agent, world=Shop)
    assert not run.calls
    run.reply("Order A1, yes")
    assert call("refund", ..., order="A1") in run.calls      # further arguments are right, too

def test_weather(tooleval):               # a plain model: pytest --tooleval-model=openai/gpt-5
    run = tooleval("Weather in Paris?", tools=[get_weather])    # offered, not run
    assert run.calls == [call("get_weather", city="Paris")]

@pytest.mark.tooleval(trials=5, pass_rule="4/5")
async def test_flaky(tooleval):
    run = await tooleval.arun("Where is order A1?", agent=agent, world=Shop)
    assert call("get_order", id="A1") in run.calls
"""


def test_the_first_example(shop: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    result = run(shop, ISSUE, "--asyncio-mode=auto", model="builtin/lexical")
    result.assert_outcomes(passed=4)
    rows = shop.rows()
    assert rows.keys() == {
        "test_refund[agent]",
        "test_asks_first[agent]",
        "test_weather[builtin/lexical]",
        "test_flaky[agent]",
    }
    flaky = rows["test_flaky[agent]"]
    assert (flaky["passes"], flaky["answered"], flaky["pass_rule"]) == (5, 5, "4/5")
    first = rows["test_refund[agent]"]
    assert (first["suite"], first["file"], first["position"]) == ("test_it", "test_it.py", 0)
    assert first["scores"] == {"overall": 1.0, "arguments_valid": 1.0}
    assert first["called"] == ["get_order", "refund"]
    replies = rows["test_asks_first[agent]"]["trials"][0]["transcript"]["replies"]
    assert [each["prompt"] for each in replies if each["prompt"]] == [
        [{"role": "user", "content": "Order A1, yes"}]
    ]
    result.stdout.fnmatch_lines(["agent passed: 3 of 3 cases passed"])


def test_a_failure_reads_as_the_scorers_say_it(shop: Project) -> None:
    text = """
def test_careless(tooleval):
    run = tooleval("Refund order A1", agent=careless, world=Shop)
    assert run.calls == [call("get_order", id="A1"), call("refund", order="A1", amount=approx(40))]
"""
    result = run(shop, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       assert run.calls == *",
            "E       assert calls differ: call('get_order', id='A1') was not made",
            'E         call 1, refund: amount: expected "40 ± 4.0e-05", got 400',
            "E         made:     call('refund', order='A1', amount=400)",
            "*- transcript -*",
            '*calls refund(order="A1", amount=400)',
            "FAILED test_it.py::test_careless - *calls differ: call('get_order', id='A1') was not made",
            "careless FAILED: 0 of 1 case passed",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_tooleval/*")
    row = row_of(shop)
    assert row["reason"] == "calls differ: call('get_order', id='A1') was not made"
    assert row["trials"][0]["failure"] == "failed_assertion"


OUTCOMES = {
    "any_exception": ('tooleval("Hi A1", agent=agent, world=Shop).calls[9]', "failed", "IndexError: *"),
    "before_it_asks": ('assert 1 == 2; tooleval("Hi", agent=agent)', "failed", None),
    "no_answer": (
        'tooleval("Hi", agent=broken)',
        "errors",
        "my_app:broken raised ConnectionError: no route at *my_app.py:*",
    ),
    "not_even_caught": (
        'with pytest.raises(ModelError): tooleval("Hi", agent=broken)',
        "errors",
        "my_app:broken raised *",
    ),
    "never_asked": ("pass", "passed", None),
    "skips_itself": ('tooleval("Hi", agent=agent, tools=[]); pytest.skip("later")', "skipped", "later"),
    "fails_itself": ('tooleval("Hi", agent=agent, tools=[]); pytest.fail("bad")', "failed", "bad"),
    "empty_answer": (
        'tooleval("Hi", agent=lambda messages, tools: "", name="mute")',
        "failed",
        "empty answer: neither a text nor a call",
    ),
    "forbidden": (
        'tooleval("Hi", agent=careless, world=Shop, forbidden_calls=["refund"])',
        "failed",
        "*refund*forbidden*",
    ),
    "policy": (
        'tooleval("Hi", agent=careless, world=Shop, '
        'policies=[{"tool": "refund", "only_after": {"tool": "get_order"}}])',
        "failed",
        "*refund*get_order*",
    ),
    "limit": (
        'tooleval("Refund A1", agent=agent, world=Shop, thresholds={"max_calls": 1})',
        "failed",
        "*calls*",
    ),
    "judge": (
        'assert tooleval("Hi", agent=agent, tools=[]).judge("polite")',
        "errors",
        "the test asks a judge, but no judge is set*",
    ),
    "no_model": ('tooleval("Hi")', "skipped", None),
}


@pytest.mark.parametrize(("body", "outcome", "reason"), OUTCOMES.values(), ids=OUTCOMES)
def test_the_outcome_is_the_body_s(shop: Project, body: str, outcome: str, reason: str | None) -> None:
    result = run(shop, f"def test_it(tooleval):\n    {body}\n")
    result.assert_outcomes(**{outcome: 1})
    rows = shop.document()["cases"]
    if reason is None:
        assert rows == []
        return
    (row,) = rows
    assert row["outcome"] == {"errors": "error"}.get(outcome, outcome)
    pytest.LineMatcher([row["reason"]]).fnmatch_lines([reason])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


XFAIL = """
@pytest.mark.xfail(reason="known")
def test_it(tooleval):
    run = tooleval("Refund A1", agent={agent}, world=Shop)
    assert run.calls[0] == call("get_order", id="A1")
"""


def test_xfail_keeps_its_meaning(shop: Project) -> None:
    run(shop, XFAIL.format(agent="careless")).assert_outcomes(xfailed=1)
    row = row_of(shop)
    assert (row["outcome"], row["tolerated"], row["reason"]) == (
        "failed",
        True,
        "expected to fail: known",
    )
    run(shop, XFAIL.format(agent="agent")).assert_outcomes(xpassed=1)
    assert row_of(shop)["outcome"] == "passed"
    strict = XFAIL.replace('"known"', '"known", strict=True').format(agent="agent")
    run(shop, strict, "--tooleval-fail-under=0").assert_outcomes(failed=1)
    assert (row_of(shop)["outcome"], row_of(shop)["counted"]) == ("failed", False)
    run(shop, XFAIL.format(agent="broken")).assert_outcomes(errors=1)
    run(shop, XFAIL.format(agent='agent, forbidden_calls=["refnd"]')).assert_outcomes(failed=1)
    for broken in (
        'forbidden_calls=["refund"]',
        'policies=[{"tool": "refund", "only_after": "get_order"}]',
    ):
        run(shop, XFAIL.format(agent=f"careless, {broken}")).assert_outcomes(failed=1)


MISTAKES = {
    "of a suite": (
        'tooleval("Hi", agent=agent, expected_tool="get")',
        "tooleval() takes no expected_tool=; assert what you expect of the run, such as run.calls == *",
    ),
    "option": (
        'tooleval("Hi", agent=agent, trials=3)',
        "tooleval() takes no trials=; use --tooleval-trials",
    ),
    "typo": ('tooleval("Hi", agent=agent, wolrd=1)', "tooleval() takes no wolrd=, did you mean world?"),
    "twice": (
        'tooleval("Hi", agent=agent, tools=[]); tooleval("Hi", agent=agent, tools=[])',
        "*has asked already: run.reply(...) *@pytest.mark.parametrize*",
    ),
    "policy": (
        'tooleval("Hi", agent=agent, world=Shop, policies=[{"tool": "refnd", "at_most": 1}])',
        '*policies[[]0].tool: the tool "refnd" is not defined in the suite, did you mean "refund"?',
    ),
    "rounds": ('tooleval("Hi", agent=agent, tools=[], max_rounds=3)', "*max_rounds: nothing answers*"),
    "not_an_agent": (
        'tooleval("Hi", agent="gpt-5")',
        "*agent='gpt-5': expected an agent or a function*",
    ),
    "wrong_function": ('tooleval("Hi", agent=lambda: 1)', "*expected (messages, tools)*"),
    "no_method": (
        'tooleval("Hi", agent=agent, world=Shop, tools=[get_weather])',
        "*world: nothing answers the tools get_weather*",
    ),
    "world_raises": (
        'tooleval("Hi", agent=agent, world=functools.partial(Shop, 1))',
        "*world: my_shop:Shop() raised TypeError*",
    ),
    "loop": ('tooleval("Hi", agent=agent, loop="test")', '*loop="test" needs *await tooleval.arun*'),
    "no_world": ('tooleval("Hi", agent=agent, tools=[]).world', "*the run has no world; pass world=*"),
    "over": (
        'tooleval("A", agent=lambda m, t: {"role": "assistant", "tool_calls": [{"function": '
        '{"name": "get_weather", "arguments": "{}"}}]}, tools=[get_weather]).reply("go on")',
        "*the conversation is over: nothing answered its calls*",
    ),
    "identity_text": (
        'tooleval("Hi", agent=agent, identity="prompts/x.txt")',
        '*identity: expected a list of files, such as [[]"prompts/x.txt"]',
    ),
    "identity_missing": (
        'tooleval("Hi", agent=agent, identity=["x.txt"])',
        "*identity: there is no file *x.txt; paths start at the test's file",
    ),
    "score": ('tooleval("Hi", agent=agent, tools=[]).score("overall", 1)', "*'overall' is built in*"),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told_at_the_line_of_the_test(shop: Project, body: str, message: str) -> None:
    result = run(shop, f"def test_it(tooleval):\n    {body}\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E  *{message}"])
    result.stdout.no_fnmatch_line("*pytest_tooleval/*.py:*")
    result.stdout.no_fnmatch_line("During handling*")


HOSTILE = """
def says(messages, tools, call_tool):
    return "\\x1b[31mred\\n::error::x " + os.environ["OPENAI_API_KEY"]

def pays(messages, tools, call_tool):
    call_tool("refund", {"order": "A1", "amount": 1})
    return "done"

def test_skip(tooleval):
    pytest.skip(tooleval("Hi", agent=says).text)

def test_fail(tooleval):
    pytest.fail(tooleval("Hi", agent=says).text)

@pytest.mark.xfail
def test_xfail(tooleval):
    assert False, tooleval("Hi", agent=says).text

def test_forbidden(tooleval):
    tooleval("Hi", agent=pays, world=Shop, forbidden_calls=["refund"])
    pytest.skip("later")

@pytest.mark.tooleval(trials=2)
def test_forbidden_in_trials(tooleval):
    tooleval("Hi", agent=pays, world=Shop, forbidden_calls=["refund"])
    pytest.skip("later")
"""


def test_hostile_words_and_skips_hide_nothing(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-" + "Ab1" * 14)
    result = run(shop, HOSTILE, "--xfail-tb", "-rsx")
    result.assert_outcomes(failed=3, skipped=1, xfailed=1)
    shown = result.stdout.str() + (shop.path / "out.json").read_text()
    assert not [each for each in ("Ab1Ab1", "\x1b[31mred", "\n::error") if each in shown]
    result.stdout.fnmatch_lines(["forbidden  test_it.py::test_forbidden_in_trials*"])


SHOWN = """
KEY = os.environ["OPENAI_API_KEY"]

def test_positional(tooleval):
    run = tooleval("Hi", agent=agent)
    assert run.calls == [call("refund", {"order": "A1"})]

def test_matcher():
    like.regex(1, 2)

def test_unknown_matcher():
    like.contain("a")

def test_config(tooleval):
    tooleval("Hi", agent=agent, world=Shop, policies=[{"tool": "refnd", "at_most": 1}])

def test_error(tooleval):
    tooleval("Hi", agent=broken)

def test_key(tooleval):
    run = tooleval("Hi", agent=agent)
    assert KEY in run.text
"""


def test_what_is_shown_of_mistakes(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-" + "Ab1" * 14)
    monkeypatch.setenv("COLUMNS", "120")
    result = run(shop, SHOWN, "--showlocals", "--junitxml=j.xml")
    shown = result.stdout.str()
    assert "pytest_tooleval/python/" not in shown
    assert "Ab1Ab1Ab1" not in shown + (shop.path / "j.xml").read_text()
    result.stdout.fnmatch_lines_random(
        [
            "*_ ERROR at call of test_error _*",
            'FAILED test_it.py::test_config - policies[[]0].tool: the tool "refnd" is not defined*',
            "ERROR test_it.py::test_error - my_app:broken raised ConnectionError: no route at *",
            "FAILED test_it.py::test_positional - TypeError: call('refund', ...): give arguments*",
        ]
    )
    assert '<error message="failed on setup' in (shop.path / "j.xml").read_text()


def test_a_missing_key_is_named_once(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asks = "def test_{}(tooleval, tooleval_model):\n    tooleval('Hi', tools=[]{})\n"
    result = run(shop, asks.format("a", "") + asks.format("b", ""), model="openai/gpt-5")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.stderr.str().count("OPENAI_API_KEY is not set") == 1
    own = asks.format("c", ", agent=agent")
    run(shop, asks.format("a", "") + own, model="openai/gpt-5").assert_outcomes(errors=1, passed=1)


def test_no_verdict_skips_what_needs_a_model(shop: Project) -> None:
    own = "def test_own(tooleval):\n    tooleval('Hi', agent=agent)\n"
    asks = "def test_asks(tooleval, tooleval_model):\n    tooleval('Hi', tools=[])\n"
    helped = "def test_helped(tooleval):\n    ask = tooleval\n    ask('Hi', tools=[])\n"
    run(shop, own + asks).assert_outcomes(passed=1, skipped=1)
    for option, needs in {
        "--tooleval-fail-under=0.5": "a gate",
        "-otooleval_baseline=good": "tooleval_baseline=good",
    }.items():
        result = run(shop, own + asks, option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: no model is set, and {needs} needs one: *"])
        run(shop, own + helped, option).assert_outcomes(passed=1, failed=1)
    skips = "def test_skips(tooleval):\n    pytest.importorskip('no_such_framework')\n"
    for workers in ([], ["-n2"]):
        result = run(shop, skips, "-otooleval_preset=strict", *workers)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["FAILED: tooleval_preset=strict: no case was evaluated"])
    run(shop, own)
    shop.write("test_of_all.py", "import pytest\npytest.importorskip('no_such_framework')\n" + skips)
    for workers in ([], ["-n2"]):
        result = shop.run("-otooleval_preset=strict", *workers, model=None)
        result.assert_outcomes(passed=1, skipped=1)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["FAILED: test_of_all.py: every case was skipped; *"])
    assert shop.run(model=None).ret == 0
    shop.write("test_plain.py", "def test_plain(): pass\n")
    assert shop.run("test_plain.py", "-otooleval_preset=strict", model=None).ret == 0


def test_a_gated_test_must_ask(shop: Project) -> None:
    text = "def test_it(tooleval):\n    for city in []:\n        tooleval(city, agent=agent)\n"
    other = "def test_other(tooleval):\n    tooleval('Hi', agent=agent)\n"
    run(shop, text + other).assert_outcomes(passed=2)
    result = run(shop, text + other, "--tooleval-preset=strict")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["FAILED test_it.py::test_it - *asked nothing*", "strict: every trial *"]
    )
    shop.write("empty.tooleval.json", '{"name": "empty", "tools": [], "test_cases": []}')
    run(shop, other)
    empty = shop.run("-otooleval_preset=strict", model="openai/gpt-5")
    assert empty.ret == 1
    empty.stdout.fnmatch_lines(["FAILED: empty.tooleval.json: every case was skipped; *"])


BROKEN = """
def buggy(messages, tools):
    try:
        raise KeyError("answer")
    except KeyError as error:
        raise ValueError("no answer") from error

def test_agent(tooleval):
    tooleval("Hi", agent={agent}, name="it")

def test_other(tooleval):
    tooleval("Hi", agent=agent, name="it")
"""


@pytest.mark.parametrize(("agent", "fails"), [("broken", False), ("buggy", True)])
def test_only_outages_are_allowed_errors(shop: Project, agent: str, fails: bool) -> None:
    """The agent's own exception is a fault of what is tested."""
    result = run(shop, BROKEN.format(agent=agent), "--tooleval-fail-over=errors=90%")
    assert result.ret == fails


def test_without_secrets_a_test_without_a_recorded_answer_is_skipped(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a gate, too; what was recorded is judged."""
    asks = "def test_it(tooleval):\n    assert tooleval('{}', agent=agent).text == 'Which order?'\n"
    options = ("--tooleval-cassette=tapes", "--tooleval-fail-under=1")
    run(shop, asks.format("Hi"), *options).assert_outcomes(passed=1)
    monkeypatch.setenv("TOOLEVAL_WITHOUT_SECRETS", "1")
    for workers in ([], ["-n2"]):
        result = run(shop, asks.format("Hello"), *options, *workers)
        result.assert_outcomes(skipped=1)
        assert result.ret == 0
        assert row_of(shop)["outcome"] == "skipped"
    run(shop, asks.format("Hi").replace("Which", "What"), *options).assert_outcomes(failed=1)


def test_no_threshold_excuses_a_failed_assertion(shop: Project) -> None:
    text = "def test_it(tooleval):\n    assert not tooleval('Hi', agent=agent).text\n"
    for option in ("--tooleval-threshold=0", "-otooleval_threshold=overall=null"):
        run(shop, text, option).assert_outcomes(failed=1)


WORLDS = {
    "class": "Shop",
    "partial": "functools.partial(Shop)",
    "function": "lambda: Shop()",
    "instance": "Shop()",
    "functions": "[Shop().get_order, Shop().refund]",
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_what_answers_the_tools(shop: Project, world: str) -> None:
    text = f"""
def test_it(tooleval):
    run = tooleval("Refund order A1", agent=agent, world={world})
    assert [each.name for each in run.calls] == ["get_order", "refund"]
    assert run.text == "I refunded 40 euros."
"""
    run(shop, text).assert_outcomes(passed=1)
    many = run(shop, text.replace("\ndef", "\n@pytest.mark.tooleval(trials=3)\ndef"))
    if world == "Shop()":
        many.stdout.fnmatch_lines(["*3 trials would share this Shop; pass the class, or*"])
    else:
        many.assert_outcomes(passed=1)


def test_the_world_is_the_object_that_answered(shop: Project) -> None:
    """Also of an agent that returns its own conversation, and of one that calls nothing."""
    text = """
OWN = [
    {"role": "assistant", "tool_calls": [
        {"id": "1", "function": {"name": "refund", "arguments": '{"order": "A1", "amount": 3}'}}]},
    {"role": "tool", "tool_call_id": "1", "content": "done"},
    {"role": "assistant", "content": "Done."},
]

def test_instance(tooleval):
    shop = Shop()
    run = tooleval("Refund A1", agent=agent, world=shop)
    assert run.world is shop
    assert shop.orders["A1"]["refunded"] == 40

def test_silent(tooleval):
    run = tooleval("Hi", agent=agent, world=Shop)
    assert run.world.orders["A1"]["refunded"] == 0

def test_own(tooleval):
    run = tooleval("Hi", agent=lambda messages, tools: OWN, world=Shop)
    assert run.calls == [call("refund", order="A1", amount=3)]
    assert run.world.orders["A1"]["refunded"] == 3
    assert run.world.orders["A1"]["refunded"] == 3
"""
    run(shop, text).assert_outcomes(passed=3)


def test_a_mistake_in_the_world_is_no_answer(shop: Project) -> None:
    text = """
class Typo(Shop):
    def get_order(self, id: str) -> dict:
        return self.order[id]

def forgiving(messages, tools, call_tool):
    return "I could not." if "error" in call_tool("get_order", {"id": "A1"}) else "ok"

def test_it(tooleval):
    run = tooleval("Refund order A1", agent=forgiving, world=Typo)
    assert run.text == "I could not."
"""
    run(shop, text).assert_outcomes(errors=1)
    row = row_of(shop)
    assert row["outcome"] == "error"
    message = (
        "*Typo.get_order raised AttributeError: *'order'* at *test_it.py:*: a mistake in the world*"
    )
    assert fnmatch(row["reason"], message)


def test_what_a_run_knows(shop: Project) -> None:
    text = """
def test_it(tooleval):
    run = tooleval(["Where is A1?", "Refund A1"], agent=agent, world=Shop, system_prompt="Be brief.")
    assert [each["role"] for each in run.messages][:3] == ["system", "user", "assistant"]
    assert run.calls.count(call("get_order", id="A1")) == 2
    assert run.cost is None and run.usage.prompt_tokens is None and run.seconds >= 0
    run.score("brevity", 0.5, "4 words")
    assert "refund" in repr(run)
"""
    run(shop, text).assert_outcomes(passed=1)
    row = row_of(shop)
    assert row["scores"]["brevity"] == 0.5
    assert row["trials"][0]["scores"]["brevity"]["explanation"] == "4 words"
    below = run(shop, text, "--tooleval-threshold=brevity=0.6")
    below.assert_outcomes(failed=1)
    assert row_of(shop)["reason"] == "brevity 0.50 < 0.60"


TRIALS = """
@pytest.mark.tooleval(trials={trials}, pass_rule="{rule}")
def test_it(tooleval):
    run = tooleval("Where is A1?", agent=flaky, world=Shop)
    assert run.calls == [call("get_order", id="A1")]
"""


@pytest.mark.parametrize(
    ("trials", "rule", "outcome"), [(5, "2/5", "passed"), (5, "3/5", "failed"), (2, "any", "passed")]
)
def test_trials_run_the_body_again(shop: Project, trials: int, rule: str, outcome: str) -> None:
    result = run(shop, TRIALS.format(trials=trials, rule=rule))
    result.assert_outcomes(**{outcome: 1})
    row = row_of(shop)
    assert (row["passes"], row["answered"]) == (trials // 2, trials)
    if outcome == "failed":
        result.stdout.fnmatch_lines(
            [
                "*2 of 5 trials passed, needs 3: calls differ: call 1, get_order: id: *",
                "trials 1, 3, 5: calls differ: *",
            ]
        )


@pytest.mark.parametrize("options", [[], ["-q"]])
def test_a_preset_says_what_it_replaces(shop: Project, options: list[str]) -> None:
    """No model is named, so the header says nothing."""
    text = TRIALS.format(trials=5, rule="mean")
    result = run(shop, text, *options, "--tooleval-preset=strict", "-otooleval_pass=4/5")
    replaced = "tooleval: --tooleval-preset=strict replaces tooleval_pass: 4/5"
    assert result.outlines.count(replaced) == 1


def test_trials_are_asked_at_once(shop: Project) -> None:
    """Where all bodies get the same agent. Made in the body, it is asked trial by trial."""
    text = """
import threading

together = threading.Barrier(3, timeout=10)
asked = []

def slow(messages, tools):
    together.wait()
    return "ok"

def make():
    def agent(messages, tools):
        asked.append(len(asked))
        return "ok"
    return agent

@pytest.fixture(scope="module")
def made():
    return make()

@pytest.mark.tooleval(trials=3)
def test_in_the_module(tooleval):
    assert tooleval("Hi", agent=slow).text == "ok"

@pytest.mark.tooleval(trials=3)
def test_of_a_fixture(tooleval, made):
    tooleval("Hi", agent=made)
    assert len(asked) > 0

@pytest.mark.tooleval(trials=3)
def test_in_the_body(tooleval):
    before = len(asked)
    tooleval("Hi", agent=make())
    assert len(asked) == before + 1

@pytest.mark.tooleval(trials=2)
def test_replies(tooleval):
    run = tooleval("I want my money back", agent=agent, world=Shop)
    run.reply("A1, yes")
    assert run.world.orders["A1"]["refunded"] == 40
"""
    run(shop, text).assert_outcomes(passed=4)


ONE_QUESTION = {
    "another_prompt": ('tooleval(f"Hi {next(numbers)}", agent=agent)', "error"),
    "another_agent": ('tooleval("Hi", agent=[agent, careless][next(numbers)])', "error"),
    "another_world": (
        'tooleval("A1", agent=agent, world=[Shop, lambda: Shop()][next(numbers)])',
        "error",
    ),
    "the_same_code": ('tooleval("Hi A1", agent=agent, world=lambda: Shop())', "passed"),
    "nothing": ('next(numbers) or tooleval("Hi", agent=agent)', "failed"),
    "fails_before": ('assert not next(numbers); tooleval("Hi", agent=agent)', "failed"),
}


@pytest.mark.parametrize(("body", "outcome"), ONE_QUESTION.values(), ids=ONE_QUESTION)
def test_all_trials_ask_the_same(shop: Project, body: str, outcome: str) -> None:
    text = f"""
import itertools
numbers = itertools.count()

@pytest.mark.tooleval(trials=2)
def test_it(tooleval):
    {body}
"""
    result = run(shop, text)
    if outcome == "error":
        result.assert_outcomes(errors=1)
        assert row_of(shop)["reason"].startswith("trial 2 asked another question than the first")
    else:
        result.assert_outcomes(**{outcome: 1})


def test_a_failing_body_does_not_stop_the_others_but_a_skip_does(shop: Project) -> None:
    text = """
@pytest.mark.tooleval(trials=3, pass_rule="any")
def test_last(tooleval):
    run = tooleval("Hi", agent=agent)
    bodies.append(run)
    assert len(bodies) == 3

bodies, more = [], []

@pytest.mark.tooleval(trials=3)
def test_skip(tooleval):
    run = tooleval("Hi", agent=agent)
    more.append(run)
    if len(more) == 2:
        pytest.skip("enough")

def test_after():
    assert len(more) == 2
"""
    run(shop, text).assert_outcomes(passed=2, skipped=1)
    rows = shop.rows()
    assert rows["test_last[agent]"]["passes"] == 1
    assert rows["test_skip[agent]"]["outcome"] == "skipped"


FIXTURES = """
@pytest.fixture
def fresh():
    return []

@pytest.fixture(autouse=True)
def always():
    return []

@pytest.fixture(scope="module")
def shared():
    return []

@pytest.mark.tooleval({mark})
@pytest.mark.parametrize("order", ["A1"])
def test_it(tooleval, shared, tmp_path, monkeypatch, request, order{more}):
    tooleval(f"Where is {{order}}?", agent=agent, world=Shop)
"""


def test_trials_would_share_a_fixture_of_the_test(shop: Project) -> None:
    run(shop, FIXTURES.format(mark="trials=2", more="")).assert_outcomes(passed=1)
    refused = run(shop, FIXTURES.format(mark="trials=2", more=", fresh"))
    refused.assert_outcomes(failed=1)
    refused.stdout.fnmatch_lines(["*2 trials would share the fixture fresh, *shared_fixtures=True*"])
    allowed = FIXTURES.format(mark="trials=2, shared_fixtures=True", more=", fresh")
    run(shop, allowed).assert_outcomes(passed=1)


def test_pytest_warns_of_a_test_that_returns_its_comparison(shop: Project) -> None:
    text = """
def test_it(tooleval):
    return tooleval("Where is A1?", agent=agent, world=Shop).calls == []
"""
    # A warning, or in pytest 8.4 a failure.
    said = r"test_it returned <class 'bool'>|Expected None, but test returned False"
    assert re.search(said, run(shop, text).stdout.str())


def test_unknown_words_in_the_mark(shop: Project) -> None:
    text = '@pytest.mark.tooleval(trails=2)\ndef test_it(tooleval): tooleval("Hi", agent=agent)\n'
    result = run(shop, text)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *@pytest.mark.tooleval has no trails=, did you mean trials?"])


def test_in_unittest(shop: Project) -> None:
    text = """
class TestIt(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def ask(self, tooleval):
        self.tooleval = tooleval

    def test_right(self):
        run = self.tooleval("Where is A1?", agent=agent, world=Shop)
        self.assertEqual(run.calls, [call("get_order", id="A1")])

    def test_wrong(self):
        run = self.tooleval("Where is A1?", agent=agent, world=Shop)
        self.assertEqual(run.calls, [])
"""
    run(shop, text).assert_outcomes(passed=1, failed=1)
    outcomes = {id: row["outcome"] for id, row in shop.rows().items()}
    assert outcomes == {"TestIt.test_right[agent]": "passed", "TestIt.test_wrong[agent]": "failed"}
    many = run(shop, text, "--tooleval-trials=2")
    many.stdout.fnmatch_lines(["E *a method of unittest.TestCase runs once, so it cannot have trials"])


def test_skip_in_unittest_after_a_forbidden_call(shop: Project) -> None:
    text = """
class TestIt(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def ask(self, tooleval):
        self.tooleval = tooleval

    def test_it(self):
        self.tooleval("Where is A1?", agent=agent, world=Shop, forbidden_calls=["get_order"])
        self.skipTest("later")
"""
    result = run(shop, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E   called get_order, which is forbidden", "FAILED *is forbidden"])
    result.stdout.no_fnmatch_line("*Skipped: later*")
    result.stdout.no_fnmatch_line("During handling*")


def test_each_of_several_models(shop: Project) -> None:
    shop.suite(right("x"))
    shop.script("Weather in Paris?", calls=[call(city="Paris")])
    text = """
@pytest.mark.parametrize("city", ["Paris"])
def test_it(tooleval{more}, city):
    run = tooleval(f"Weather in {{city}}?", tools=[get_weather])
    assert run.calls == [call("get_weather", city="Paris")]
"""
    result = run(shop, text.format(more=""), model="agent,other")
    result.stdout.fnmatch_lines(
        ["E *several models (agent, other); request the fixture tooleval_model*"]
    )
    result = run(shop, text.format(more=", tooleval_model"), "-v", model="agent,other")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["test_it.py::test_it[[]Paris-agent] PASSED*"])
    assert shop.rows().keys() == {"test_it[Paris][agent]", "test_it[Paris][other]"}
    run(shop, text.format(more=", tooleval_model")).assert_outcomes(skipped=1)


TWO_AGENTS = """
def make(word):
    def agent(messages, tools):
        open("asked.log", "a").write("1\\n")
        return word
    return agent

@pytest.fixture(params=["one", "two"])
def agent_of(request):
    return make(request.param)

def test_fixture(tooleval, agent_of, request):
    assert tooleval("Hi", agent=agent_of).text == request.node.callspec.params["agent_of"]

@pytest.mark.parametrize("word", ["three", "four"])
def test_body(tooleval, word):
    assert tooleval("Hi", agent=make(word)).text == word
"""


def test_two_agents_of_one_name_never_share_an_answer(shop: Project) -> None:
    tape = "--tooleval-cassette=tapes"
    run(shop, TWO_AGENTS, tape).assert_outcomes(passed=4)
    assert (shop.path / "tapes" / "test_it.py.jsonl").exists()
    assert len(shop.log("asked")) == 4
    run(shop, TWO_AGENTS, tape, "--tooleval-record=none").assert_outcomes(passed=4)
    assert len(shop.log("asked")) == 4


@pytest.mark.parametrize("tape", [(), ("--tooleval-cassette=tapes",)])
def test_a_patched_agent_is_asked_in_each_test(shop: Project, tape: tuple[str, ...]) -> None:
    shop.write("my_llm.py", "def ask(messages):\n    raise AssertionError('patched in tests')\n")
    text = """
import my_llm

def asking(messages, tools):
    return my_llm.ask(messages)

@pytest.mark.parametrize("word", ["one", "two"])
def test_it(tooleval, monkeypatch, word):
    monkeypatch.setattr(my_llm, "ask", lambda messages: word)
    assert tooleval("Hi", agent=asking).text == word

def test_another(tooleval, monkeypatch):
    monkeypatch.setattr(my_llm, "ask", lambda messages: "three")
    assert tooleval("Hi", agent=asking).text == "three"
"""
    run(shop, text, *tape).assert_outcomes(passed=3)


def test_an_edited_agent_is_asked_again(shop: Project) -> None:
    text = """
import my_main

def test_it(tooleval):
    assert tooleval("Where is A1?", agent=agent, world=Shop, identity=["prompt.txt"]).calls
"""
    app = "import my_llm\n" + APP
    for file, content in {
        "prompt.txt": "Be brief.",
        "my_llm.py": "",
        "my_app.py": app,
        "my_main.py": "import my_handlers",  # which the agent looks up in a registry
        "my_handlers.py": "",
        "conftest.py": "import my_fixtures",
        "my_fixtures.py": "",
    }.items():
        shop.write(file, content)
    strict = ("--tooleval-cassette=tapes", "--tooleval-record=none")
    run(shop, text, "--tooleval-cassette=tapes").assert_outcomes(passed=1)
    run(shop, text + "# a comment in the test\n", *strict).assert_outcomes(passed=1)
    for file, edited in {
        "my_app.py": app + "\n# edited\n",
        "my_llm.py": "# edited\n",
        "prompt.txt": "Be rude.",
        "my_shop.py": SHOP + "\n# edited\n",
        "my_main.py": "import my_handlers  # edited",
        "my_handlers.py": "# edited",
        "conftest.py": "import my_fixtures  # edited",
        "my_fixtures.py": "# edited",
    }.items():
        before = (shop.path / file).read_text()
        shop.write(file, edited)
        run(shop, text, *strict).assert_outcomes(errors=1)
        assert "no recorded answer" in row_of(shop)["reason"]
        (shop.path / file).write_text(before)
    run(shop, text, *strict).assert_outcomes(passed=1)
    shop.write("my_llm.py", "# edited\n")
    run(shop, text, strict[0]).stdout.fnmatch_lines(["*asked again * before a change of my_llm.py"])
    run(shop, text.replace("prompt.txt", "none.txt")).stdout.fnmatch_lines(
        ["*identity: there is no file*"]
    )


def asks_after(shop: Project, text: str, changes: Sequence[tuple[str, str, bool]]) -> None:
    """Record `test_asks`, and replay it after each change of a text by another, which may ask again."""
    strict = ("--tooleval-cassette=tapes", "--tooleval-record=none", "-ktest_asks")
    run(shop, text, "--tooleval-cassette=tapes").assert_outcomes(passed=2)
    for old, new, asks in changes:
        outcome = {"errors": 1} if asks else {"passed": 1}
        run(shop, text.replace(old, new), *strict).assert_outcomes(**outcome, deselected=1)


def test_an_edited_assertion_asks_nobody(shop: Project) -> None:
    """Where the agent and the world stand in the test's file, too."""
    text = """
class Desk:
    def look(self) -> str:
        return "rain"

def teller(messages, tools, call_tool):
    return call_tool("look", {})

def test_asks(tooleval):
    wanted = "rain"
    assert tooleval("Hi", agent=teller, world=Desk).text == wanted

def test_other(tooleval):
    assert True
"""
    changes = [
        (".text == wanted", ".calls", False),
        ("assert True", "assert tooleval", False),
        ("def test_asks", "# a comment\ndef test_asks", False),
        ('wanted = "rain"', 'wanted = "sun"', True),
        ('return "rain"', 'return "snow"', True),
        ('call_tool("look", {})', 'call_tool("look")', True),
    ]
    asks_after(shop, text, changes)


def test_a_test_s_own_code_is_a_part_of_the_question(shop: Project) -> None:
    """Where agent and world stand elsewhere."""
    text = """
@pytest.fixture
def stock():
    return 40

def test_asks(tooleval, monkeypatch, stock):
    monkeypatch.setattr("my_shop.FULL", False, raising=False)
    made = functools.partial(Shop)
    assert tooleval("Where is A1?", agent=agent, world=made).calls

def test_other(tooleval):
    assert True
"""
    changes = [
        (").calls", ").text", False),
        ("assert True", "assert tooleval", False),
        ("return 40", "return 50", True),
        ("False, raising", "True, raising", True),
        ("functools.partial(Shop)", "functools.partial(Shop, *[])", True),
    ]
    asks_after(shop, text, changes)


ASYNC = """
@pytest.fixture
async def lock():
    return asyncio.Lock()

@pytest.mark.tooleval(trials=2, shared_fixtures=True)
async def test_on_the_tests_loop(tooleval, lock):
    loop = asyncio.get_running_loop()

    async def agent(messages, tools, call_tool):
        async with lock:
            assert asyncio.get_running_loop() is loop
            await call_tool("get_order", {"id": "A1"})
        return "shipped"

    run = await tooleval.arun("Where is A1?", agent=agent, world=Shop, loop="test")
    assert run.calls == [call("get_order", id="A1")]
    await run.areply("Thanks")
    assert len(run.calls) == 2

async def test_sync_in_async(tooleval):
    async def agent(messages, tools):
        await asyncio.sleep(0)
        return "shipped"
    assert tooleval("Where is A1?", agent=agent).text == "shipped"
"""


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_in_async_tests(shop: Project, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    text = ASYNC
    if mode == "strict":
        text = text.replace("\nasync def test", "\n@pytest.mark.asyncio\nasync def test")
        text = text.replace(
            "@pytest.fixture\nasync", "import pytest_asyncio\n@pytest_asyncio.fixture\nasync"
        )
    run(shop, text, f"--asyncio-mode={mode}").assert_outcomes(passed=2)


def test_under_xdist(shop: Project) -> None:
    pytest.importorskip("xdist")
    shop.write(
        "test_it.py",
        HEAD
        + "\n".join(
            f"def test_{n}(tooleval):\n    assert tooleval('Hi', agent=agent).text\n" for n in range(4)
        ),
    )
    shop.run("-n2", REPORT, model=None).assert_outcomes(passed=4)
    assert len(shop.document()["cases"]) == 4


def _asked_alike(shop: Project) -> tuple[str, str]:
    """Ten cases as a suite and as Python tests: seven right, two wrong, one without an answer."""
    made = [*(right(f"c{n}") for n in range(7)), wrong("c7"), wrong("c8"), raising("c9")]
    cases = [{**each, "param_scoring": "case_sensitive"} for each in made]
    shop.suite(*cases, file="alike.tooleval.json", name="test_alike")
    tools = [WEATHER_TOOL, TIME_TOOL]
    head = f"import my_agent\nfrom pytest_tooleval import call\n\nASKED = dict(tools={tools!r}, "
    head += "agent=my_agent.answer, name='agent', tool_choice='required')\n"
    bodies = [
        f"""
def test_{each["id"]}(tooleval):
    run = tooleval({each["prompt"]!r}, **ASKED)
    assert run.calls == [call("get_weather", city="Paris")]
"""
        for each in cases
    ]
    shop.write("test_alike.py", head + "".join(bodies))
    return "alike.tooleval.json", "test_alike.py"


@pytest.mark.parametrize(
    "options", [[], ["--tooleval-fail-under=0.7"], ["--tooleval-fail-under=0.9", "-n2"]]
)
def test_ten_cases_are_judged_alike_as_json_and_as_python(shop: Project, options: list[str]) -> None:
    found = []
    for file in _asked_alike(shop):
        result = shop.run(file, REPORT, "--tooleval-report=out.md", *options)
        document = shop.document()
        (model,) = comparable(document["models"])
        rows = {
            row["case"].removeprefix("test_"): (row["outcome"], row["counted"], row["tolerated"])
            for row in document["cases"]
        }
        outcomes = result.parseoutcomes()
        # An assertion holds or not, where a suite's score may be between.
        verdicts = [line.split("  0.78  ")[0] for line in result.outlines if line.startswith("agent ")]
        headline = (shop.path / "out.md").read_text().splitlines()[:4]
        read = msgspec.json.decode((shop.path / "out.json").read_bytes(), type=RowsDocument)
        comment = comment_text(read).partition("<details>")[0].replace("test_c", "c")
        comment = re.sub(r"(?m)^- `(c\d)`([^:]*): .*", r"- \1\2", comment)  # reasons and lines
        figures = {name: model[name] for name in ("passed", "failed", "errors", "trials", "pass_rate")}
        found.append(
            (
                result.ret,
                outcomes,
                rows,
                figures,
                comparable(document["gates"]),
                verdicts,
                headline,
                comment,
            )
        )
    as_json, as_python = found
    assert as_python == as_json


def test_reports_and_trends_have_python_cases(shop: Project) -> None:
    shop.write("test_it.py", HEAD + SIX.replace("def test_1", "@pytest.mark.smoke\ndef test_1"))
    files = [f"--tooleval-report=out.{ending}" for ending in ("html", "md", "csv", "json")]
    for _ in range(2):
        shop.run(*files, "--junitxml=j.xml", "-omarkers=smoke", model=None)
    names = [f"test_{number}" for number in range(6)]
    page = (shop.path / "out.html").read_text()
    packed = re.findall(r"\beJ[\w+/=]{100,}", page)
    data = b"".join(zlib.decompress(base64.b64decode(each)) for each in packed)
    assert all(f'"test_it.py::{name}"'.encode() in data for name in names)
    table = (shop.path / "out.csv").read_text().splitlines()
    assert [line.split(",")[4] for line in table[1:]] == names
    summary = (shop.path / "out.md").read_text()
    wrong = "calls differ: call('get_order', id='A1') was not made"
    assert f"- `test_1` on `careless`: `{wrong}` (`test_it.py:2" in summary
    tree = ET.parse(shop.path / "j.xml").getroot()[0]
    assert (tree.get("tests"), tree.get("failures"), tree.get("errors")) == ("6", "1", "1")
    assert tree.findall("*/failure")[0].get("message") == wrong
    for what, outcome in (("test_it", "4/4"), ("test_1", "failed")):
        trend = CliRunner().invoke(main, ["trend", what]).output
        assert len(re.findall(rf"(?m)^\d{{4}}.* {outcome} ", trend)) == 2, trend
    assert f"test_it.py::test_1 - {wrong}" in CliRunner().invoke(main, ["show", "latest"]).output


SIX = "".join(
    f"""
def test_{number}(tooleval):
    run = tooleval("Where is A1?{" " * number}", agent={agent}, world=Shop)
    assert run.calls == [call("get_order", id="A1")]
"""
    for number, agent in enumerate(["agent", "careless", "broken", "agent", "agent", "agent"])
)
ASKS_NOTHING = "\ndef test_plain(tooleval):\n    pass\n"


def test_shards_are_joined(shop: Project) -> None:
    """Python tests are shared out as cases are; one that asks nothing is none."""
    shop.suite(right("a"), right("b"))
    shop.write("test_it.py", HEAD + SIX + ASKS_NOTHING)
    found = []
    for number in (1, 2):
        shop.run(f"--tooleval-shard={number}/2", f"--tooleval-report=s{number}.json")
        document = shop.document(f"s{number}.json")
        found += [row["case"] for row in document["cases"]]
        assert document["run"]["shard"]["cases"] == 9
    assert sorted(found) == sorted(["a", "b", *(f"test_{number}" for number in range(6))])
    done = CliRunner().invoke(main, ["merge", "s1.json", "s2.json", "--report=all.json"])
    assert "2 shards joined: FAILED: 2 cases failed or without an answer" in done.output
    assert len(shop.document("all.json")["cases"]) == 8


def test_a_crashed_worker_leaves_an_error(shop: Project) -> None:
    pytest.importorskip("xdist")
    text = """
def dies(messages, tools):
    os._exit(3)

def test_dies(tooleval):
    tooleval("Hi", agent=dies)

def test_early(tooleval):
    os._exit(3)

def test_model(tooleval, tooleval_model):
    os._exit(3)

class TestMore:
    @pytest.mark.parametrize("id", ["a[b]::c"])
    def test_late(self, tooleval, id):
        tooleval("Where is A1?", agent=agent, world=Shop)
        os._exit(3)

def test_plain():
    os._exit(3)
"""
    shop.write("test_it.py", HEAD + text)
    shop.run("-n2", "--max-worker-restart=9", REPORT, model="builtin/lexical")
    rows = shop.rows()
    assert rows.keys() == {
        "test_dies[dies]",
        "test_early[(unknown)]",
        "test_model[builtin/lexical]",
        "TestMore.test_late[a[b]::c][agent]",
    }
    for row in rows.values():
        assert (row["outcome"], row["file"], row["suite"]) == ("error", "test_it.py", "test_it")
        assert row["reason"] == "the worker process died while it ran this test"
    assert rows["test_dies[dies]"]["prompt_text"] == "Hi"


CALL_MISTAKES = {
    'assert call("refnd", ...) not in run.calls': "*no tool is called 'refnd', did you mean refund?",
    'tooleval("Hi", agent=agent, forbidden_calls=[call("refund", ..., ordr=1)], world=Shop)': "*ordr*",
    'assert call("refund", ..., ordr="A1") not in run.calls': "*'refund' has no parameter 'ordr', did*",
    'assert call("get_order") not in run.calls': "*write call('get_order', ...) if further *",
    'assert run.calls.count(call("refnd")) == 0': "*no tool is called 'refnd', did you mean refund?",
    'assert run.calls == ["get_order"]': "*a call never equals a text; write [[]call('get_order', ...)*",
    'assert {"name": "refund"} not in run.calls': "*a call never equals {'name': 'refund'}; write *",
    'assert run.calls[0] != call("refnd", ...)': "*no tool is called 'refnd', did you mean refund?",
}


@pytest.mark.parametrize("mistake", CALL_MISTAKES)
def test_a_comparison_that_says_nothing_of_the_calls_is_no_pass(shop: Project, mistake: str) -> None:
    text = f"""
def test_it(tooleval):
    run = tooleval("Where is A1?", agent=agent, world=Shop)
    {mistake}
"""
    result = run(shop, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([CALL_MISTAKES[mistake]])
    assert "  transcript" not in result.stdout.str()


def test_a_call_has_the_name_of_the_tool_that_it_means(shop: Project) -> None:
    text = """
def odd(messages, tools, call_tool):
    call_tool("Get_Order", {"id": "A1"})
    return "There."

def test_it(tooleval):
    run = tooleval("Where is A1?", agent=odd, world=Shop)
    assert run.calls == [call("get_order", id="A1")]
    assert call("get_order", ..., id="A1") not in run.calls
"""
    result = run(shop, text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*call('get_order', ..., id='A1') was made: it is call 1"])


def test_a_test_without_a_model_is_not_evaluated(shop: Project) -> None:
    result = run(
        shop,
        """
def test_it(tooleval):
    tooleval("Where is A1?", world=Shop)
""",
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["1 test case was NOT EVALUATED: no model is set: *"])


def test_the_expectation_is_the_syntax_tree_of_the_function(shop: Project) -> None:
    first = """
@pytest.mark.parametrize("least", [1], ids=["few"])
def test_it(tooleval, least):
    run = tooleval("Where is A1?", agent=agent, world=Shop)
    assert len(run.calls) >= least
"""
    run(shop, first)
    same = first.replace("    assert", "    # a comment\n\n    assert").replace("def test", "\ndef test")
    result = run(shop, same, "--tooleval-baseline=latest")
    result.stdout.fnmatch_lines(["compared with latest (*): 1 case in both"])
    for edited in (same.replace(">= least", "> least - 1"), same.replace("[1]", "[0]")):
        run(shop, first)
        result = run(shop, edited, "--tooleval-baseline=latest")
        result.stdout.fnmatch_lines(["*compared with latest *: 1 with another prompt or expectation"])


SENTENCES = {
    "validate test_it.py": "a file of Python code, which is not read as data; expected a suite",
    "tools test_it.py": "a file of Python code, which is not read as data",
}


def test_commands_that_read_suites_do_not_read_python(shop: Project) -> None:
    shop.write("test_it.py", HEAD + SIX)
    for command, sentence in SENTENCES.items():
        done = CliRunner().invoke(main, command.split())
        assert f"test_it.py: {sentence}" in done.output, command
        assert done.exit_code


def test_options_that_cannot_do_it_with_python_tests_say_so(shop: Project) -> None:
    estimate = run(shop, SIX, "--tooleval-estimate", model="agent")
    estimate.stdout.fnmatch_lines(["not estimated: 6 Python tests, as only a run knows the prompts"])
    varied = run(shop, SIX, "--tooleval-variant=distractors:1", model="agent")
    varied.stdout.fnmatch_lines(["*variants change cases of suites; 6 Python tests will run unchanged"])


def test_a_run_s_python_tests_are_drafted_as_a_suite(shop: Project) -> None:
    run(shop, SIX)
    CliRunner().invoke(main, ["import", "draft", "latest", "--out=made.tooleval.json"])
    suite = shop.document("made.tooleval.json")
    assert [tool["function"]["name"] for tool in suite["tools"]] == ["get_order", "refund"]
    assert len(suite["test_cases"]) == 5
    assert suite["test_cases"][0]["$comment"] == 'called: get_order({"id": "A1"})'


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_events_name_python_tests(shop: Project, workers: str) -> None:
    pytest.importorskip("xdist")
    shop.write("test_it.py", HEAD + SIX)
    given = () if workers == "-n0" else (workers,)
    shop.run(*given, "--tooleval-events=events.jsonl", model=None)
    events = [json.loads(line) for line in (shop.path / "events.jsonl").read_text().splitlines()]
    kinds = Counter(event["event"] for event in events)
    assert (kinds["case_started"], kinds["case_done"]) == (6, 6)
    (collected,) = (event for event in events if event["event"] == "collected")
    assert collected["files"] == ["test_it.py"]
    (ended,) = (event for event in events if event["event"] == "run_ended")
    assert {each["model"]: each["identity"] for each in ended["run"]["models"]} == {
        name: f"callable:my_app:{name}" for name in ("agent", "careless", "broken")
    }
    assert ended["run"]["selected"] == 6


GATED = """
def test_wrong(tooleval):
    run = tooleval("Refund order A1", agent=careless, world=Shop)
    assert run.calls == [call("get_order", id="A1"), call("refund", order="A1", amount=approx(40))]

@pytest.mark.tooleval(trials=3, pass_rule="2/3")
def test_trials(tooleval):
    run = tooleval("Refund order A1", agent=careless, world=Shop)
    assert run.world.orders["A1"]["refunded"] == 40

def test_raises(tooleval):
    tooleval("Hi", agent=agent).calls[0]
"""


@pytest.mark.parametrize("options", [["-q"], ["-n2"], ["--tb=short"], ["--tb=no"], ["--tb=line"]])
def test_a_failure_that_a_gate_judges_is_shown_as_pytest_does(shop: Project, options: list[str]) -> None:
    shop.write("test_it.py", HEAD + GATED)
    result = shop.run(*options, "--tooleval-fail-under=0.1", model=None)
    lines = [line.rstrip() for line in result.outlines if not line.startswith("test_it.py:")]
    of_pytest = [
        "E       assert calls differ: call('get_order', id='A1') was not made",
        'E         call 1, refund: amount: expected "40 \u00b1 4.0e-05", got 400',
        "E       assert 400.0 == 40",
        '>       tooleval("Hi", agent=agent).calls[0]',
        "E       IndexError: list index out of range",
        "trials 1, 2, 3: 400.0 == 40",
    ]
    if options == ["--tb=short"]:
        of_pytest = [
            line.replace("E       ", "E   ").replace("E         ", "E     ") for line in of_pytest
        ]
        of_pytest.remove('>       tooleval("Hi", agent=agent).calls[0]')
    shown = [line for line in of_pytest if line in lines]
    assert shown == ([] if options[0] in ("--tb=no", "--tb=line") else of_pytest)


SHARED_WORLDS = """
SHOP = Shop()

@pytest.fixture(scope="module")
def shop():
    return Shop()

def late(messages, tools, call_tool):
    return agent(messages, tools, call_tool) if "yes" in messages[-1]["content"] else "Sure?"

class Desk:
    def close(self) -> None:
        pass

def answer(name, arguments):
    return {{"total": 40}}

@pytest.mark.tooleval(trials=3, pass_rule="any")
{}
"""
SHARED = {
    "lambda": "def test_it(tooleval):\n    tooleval('Refund A1', agent=agent, world=lambda: SHOP)",
    "module_fixture": (
        "def test_it(tooleval, shop):\n    tooleval('Refund A1', agent=agent, world=lambda: shop)"
    ),
    "one_of_two": (
        "def test_it(tooleval):\n    tooleval('Refund A1', agent=agent, world=lambda: (Desk(), SHOP))"
    ),
    "made_in_the_second_turn": (
        "def test_it(tooleval):\n    run = tooleval('A1', agent=late, world=lambda: SHOP)\n"
        "    run.reply('yes, A1')"
    ),
    "agent_of_the_body": (
        "def test_it(tooleval):\n    tooleval('Refund A1', "
        "agent=lambda messages, tools, call_tool: agent(messages, tools, call_tool), "
        "world=lambda: SHOP)"
    ),
    "seen_by_the_body": (
        "def test_it(tooleval):\n    run = tooleval('Refund A1', agent=agent, world=lambda: SHOP)\n"
        "    assert run.world.orders['A1']['refunded'] == 40"
    ),
}
KEPT = """
import my_shop

ORDERS = {{"A1": {{"refunded": 0}}}}
CONNECTION = None

class Desk:
    orders = {{"A1": {{"refunded": 0}}}}
    def refund(self, order: str) -> str:
        self.orders[order]["refunded"] += 40
        return "done"

class Private:
    def __init__(self):
        self._orders = dict(ORDERS)
    def refund(self, order: str) -> str:
        self._orders[order]["refunded"] += 40
        return "done"

class Counting(Desk):
    done = 0
    def __init__(self):
        self.orders = {{"A1": {{"refunded": 0}}}}
    def refund(self, order: str) -> str:
        Counting.done += 1
        return super().refund(order)

def _book(order):
    ORDERS[order]["refunded"] += 40

def refund(order: str) -> str:
    _book(order)
    return "done"

DESK = Counting()

def honest(messages, tools, call_tool, trial):
    if trial == 0 and "refund" in messages[-1]["content"]:
        call_tool("refund", {{"order": "A1"}})
    return "I refunded it."

def test_first(tooleval):
    assert tooleval("refund A1", agent=honest, world={world}).calls

def test_later(tooleval):
    run = tooleval("hi", agent=honest, world={world})
    assert run.world

@pytest.mark.tooleval(trials=3, pass_rule="any")
def test_trials(tooleval):
    run = tooleval("refund A1 now", agent=honest, world={world})
    assert run.world
"""
KEPT_BY = {
    "Desk": 'Desk.orders[[]"A1"].refunded',
    "Private": 'test_it[[]"ORDERS"][[]"A1"].refunded',
    "Counting": "Counting.done",
    "[refund]": 'test_it[[]"ORDERS"][[]"A1"].refunded',
    "functools.partial(Desk)": 'Desk.orders[[]"A1"].refunded',
}


@pytest.mark.parametrize(("world", "place"), KEPT_BY.items(), ids=KEPT_BY)
def test_a_world_must_not_begin_as_an_earlier_one_ended(shop: Project, world: str, place: str) -> None:
    result = run(shop, KEPT.format(world=world))
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines([f"*{place}: a new world does not start like the first one (*"])
    rows = {row["case"]: row["outcome"] for row in shop.document()["cases"]}
    assert rows == {"test_first": "passed", "test_later": "error", "test_trials": "error"}


def test_an_object_for_two_tests_and_an_attribute_for_all_trials(shop: Project) -> None:
    of_two = run(shop, KEPT.format(world="DESK"), "-k", "not trials")
    of_two.assert_outcomes(passed=1, errors=1, deselected=1)
    of_trials = run(shop, KEPT.format(world="lambda: Desk()"), "-k", "trials")
    of_trials.assert_outcomes(errors=1, deselected=2)


BEGUN_AFRESH = """
import datetime
import random
import my_shop

ORDERS = {"A1": {"refunded": 0}}
SEEN = []

def load():
    return {"A1": {"refunded": 0}}

class Clock(Shop):
    def __init__(self):
        super().__init__()
        self.opened, self._seed = datetime.datetime.now(), random.random()

class Copy:
    def __init__(self):
        self.orders = {id: dict(order) for id, order in ORDERS.items()}
        self.more = load()
    def refund(self, order: str, amount: float) -> str:
        self.orders[order]["refunded"] += amount
        self.more[order]["refunded"] += amount
        return "done"

class Table:
    def refund(self, order: str, amount: float) -> str:
        ORDERS[order]["refunded"] += amount
        return "done"

def pays(messages, tools, call_tool):
    SEEN.append(1)
    call_tool("refund", {"order": "A1", "amount": 40})
    SEEN.append(2)
    return "done"

@pytest.fixture
def orders(monkeypatch):
    monkeypatch.setitem(ORDERS, "A1", {"refunded": 0})

@pytest.fixture
def paid(monkeypatch):
    monkeypatch.setitem(ORDERS, "A1", {"refunded": 40})

@pytest.fixture
def loaded(monkeypatch):
    monkeypatch.setattr(f"{__name__}.load", lambda: {"A1": {"refunded": 40}})

@pytest.fixture
def fresh():
    return Copy()

@pytest.mark.parametrize("time", [1, 2])
@pytest.mark.parametrize("world", [Clock, Copy, Shop])
def test_it(tooleval, world, time):
    assert tooleval("Hi", agent=pays, world=world).world

def test_paid(tooleval, paid):
    assert tooleval("Hi", agent=pays, world=Copy).world.orders["A1"]["refunded"] == 80

def test_loaded(tooleval, loaded):
    assert tooleval("Hi", agent=pays, world=Copy).world.more["A1"]["refunded"] == 80

@pytest.mark.parametrize("time", [1, 2])
def test_table(tooleval, orders, time):
    assert tooleval("Hi", agent=pays, world=Table).calls

@pytest.mark.parametrize("time", [1, 2])
def test_fresh(tooleval, fresh, time):
    assert tooleval("Hi", agent=pays, world=fresh).world.orders["A1"]["refunded"] == 40

@pytest.mark.parametrize("start", [0, 40])
def test_closure(tooleval, start):
    def make():
        shop = Shop()
        shop.orders["A1"]["refunded"] = start
        return shop
    assert tooleval("Hi", agent=pays, world=make).world.orders["A1"]["refunded"] == start + 40

@pytest.mark.tooleval(trials=3)
def test_trials(tooleval):
    assert tooleval("Hi", agent=pays, world=Clock).world.orders["A1"]["refunded"] == 40
"""


def test_worlds_that_begin_afresh_may_differ(shop: Project) -> None:
    run(shop, BEGUN_AFRESH).assert_outcomes(passed=15)


OWN = {
    "class": "world=Shop",
    "lambda": "world=lambda: Shop()",
    "functions": "world=[Shop().get_order, Shop().refund]",
    "answers_any": "world=lambda: answer",
}


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_trials_must_not_share_a_world(shop: Project, text: str) -> None:
    result = run(shop, SHARED_WORLDS.format(text))
    result.assert_outcomes(errors=1)
    message = (
        'Shop.orders[[]"A1"].refunded: a new world does not start like the first one*make new objects*'
    )
    result.stdout.fnmatch_lines([f"ERROR test_it.py::test_it - {message}"])
    result.stdout.no_fnmatch_line("*pytest_tooleval/*")


@pytest.mark.parametrize("world", OWN.values(), ids=OWN)
def test_trials_with_worlds_of_their_own(shop: Project, world: str) -> None:
    text = f"def test_it(tooleval):\n    tooleval('Refund A1', agent=agent, {world})"
    run(shop, SHARED_WORLDS.format(text)).assert_outcomes(passed=1)
    assert row_of(shop)["passes"] == 3


UNAWAITED = {
    "async": ("async def test_it(tooleval):\n    tooleval.arun('Hi', agent=agent, tools=[])", "arun"),
    "sync": ("def test_it(tooleval):\n    tooleval.arun('Hi', agent=agent, tools=[])", "arun"),
    "reply": (
        "async def test_it(tooleval):\n    run = await tooleval.arun('Hi', agent=agent, tools=[])\n"
        "    run.areply('A1')",
        "areply",
    ),
    "judge": (
        "async def test_it(tooleval):\n    run = await tooleval.arun('Hi', agent=agent, tools=[])\n"
        "    assert run.ajudge('is polite')",
        "ajudge",
    ),
    "unittest": (
        "class TestIt(unittest.IsolatedAsyncioTestCase):\n    @pytest.fixture(autouse=True)\n"
        "    def asks(self, tooleval):\n        self.tooleval = tooleval\n\n"
        "    async def test_it(self):\n        self.tooleval.arun('Hi', agent=agent, tools=[])",
        "arun",
    ),
    "reply_in_unittest": (
        "class TestIt(unittest.IsolatedAsyncioTestCase):\n    @pytest.fixture(autouse=True)\n"
        "    def asks(self, tooleval):\n        self.tooleval = tooleval\n\n"
        "    async def test_it(self):\n"
        "        run = await self.tooleval.arun('Hi', agent=agent, tools=[])\n        run.areply('A1')",
        "areply",
    ),
    "trials": (
        "@pytest.mark.tooleval(trials=2, pass_rule='any')\nasync def test_it(tooleval):\n"
        "    await tooleval.arun('Hi', agent=agent, tools=[])\n    tooleval.arun('Hi', agent=agent)",
        "arun",
    ),
}


@pytest.mark.parametrize(("text", "name"), UNAWAITED.values(), ids=UNAWAITED)
def test_what_is_not_awaited_fails_the_test(shop: Project, text: str, name: str) -> None:
    pytest.importorskip("pytest_asyncio")
    result = run(shop, text, "--asyncio-mode=auto")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"test_it.py:*: *.{name} was not awaited; write await *.{name}(...)*"])
    result.stdout.no_fnmatch_line("*never awaited*")


def test_what_is_awaited_later_is_awaited(shop: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    text = """
async def test_it(tooleval):
    task = asyncio.create_task(tooleval.arun("Hi", agent=agent, tools=[]))
    run = await task
    await asyncio.gather(run.areply("A1"))
"""
    run(shop, text, "--asyncio-mode=auto").assert_outcomes(passed=1)


INVALID_CALLS = """
def calls(*made):
    def agent(messages, tools, call_tool):
        for name, arguments in made:
            call_tool(name, arguments)
        return "done"
    return agent

def replies(*made):
    tool_calls = [{{"name": name, "arguments": arguments}} for name, arguments in made]
    return lambda messages, tools: {{"role": "assistant", "tool_calls": tool_calls}}

class Any:
    def __call__(self, name, arguments):
        return "done"

def test_it(tooleval):
    tooleval("Go", {})
"""
WIRE = '("wire_all_money", {"to": "X"})'
WORDS = '("refund", {"order": "A1", "amount": "nine hundred"})'
GOOD = '("refund", {"order": "A1", "amount": 900})'
NOT_OFFERED = "wire_all_money: a tool that was not offered"
NO_NUMBER = "refund: *amount*nine hundred*"
OFF = 'thresholds={"arguments_valid": None}'
VALIDITY = {
    "unknown_tool": (f"agent=calls({WIRE}), world=Shop", NOT_OFFERED),
    "invalid": (f"agent=calls({WORDS}), world=Shop", NO_NUMBER),
    "invented": (
        'agent=calls(("get_order", {"id": "A1", "fast": True})), world=Shop',
        'get_order: *the tool has no parameter "fast"',
    ),
    "missing": ('agent=calls(("refund", {"order": "A1"})), world=Shop', "refund: *amount*"),
    "without_a_world": ('agent=replies(("get_weather", {"city": 1})), tools=[get_weather]', "*city*"),
    "of_no_tool": (f"agent=replies({WIRE}), tools=[get_weather]", NOT_OFFERED),
    "corrected": (f"agent=calls({WORDS}, {GOOD}), world=Shop", ""),
    "valid": (f"agent=calls({GOOD}), world=Shop", ""),
    "decorated": ('agent=calls(("mcp__shop__get_order", {"id": "A1"})), world=Shop', ""),
    "off": (f"agent=calls({WIRE}, {WORDS}), world=Shop, {OFF}", ""),
    "any_tool": (f"agent=calls({WIRE}), world=Any", ""),
    "no_tools": (f"agent=replies({WIRE})", ""),
    "no_schema": (
        'agent=replies(("free", {"x": 1})), tools=[{"type": "function", "function": {"name": "free"}}]',
        "",
    ),
}


@pytest.mark.parametrize(("words", "reason"), VALIDITY.values(), ids=VALIDITY)
def test_calls_must_be_valid_under_the_schemas_of_the_tools(
    shop: Project, words: str, reason: str
) -> None:
    result = run(shop, INVALID_CALLS.format(words))
    result.assert_outcomes(**{"failed" if reason else "passed": 1})
    pytest.LineMatcher([row_of(shop)["reason"]]).fnmatch_lines([reason])
    if reason:
        result.stdout.fnmatch_lines([f"E  *{reason}", "*- transcript -*"])
    if "no parameter" in reason:
        why = row_of(shop)["trials"][0]["scores"]["arguments_valid"]["explanation"]
        assert why.endswith(f"; to let it pass: {OFF}")


EXCEPTIONS = {
    "name": "undefined",
    "comparison": 'assert call("refnd", ...) not in run.calls',
    "asked_already": 'tooleval("Hi", agent=agent)',
    "index": "run.calls[9]",
}
WRONG_ANSWERS = {
    "assertion": "assert not run.calls",
    "pytest_fail": 'pytest.fail("bad")',
    "did_not_raise": "with pytest.raises(KeyError): pass",
}
EXCEPTION = """
class TestIt(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def asks(self, tooleval):
        self.tooleval = tooleval

    def test_it(self):
        tooleval = self.tooleval
        run = tooleval("Where is A1?", agent=agent, world=Shop)
        {0}

def test_it(tooleval):
    run = tooleval("Where is A1?", agent=agent, world=Shop)
    {0}

def test_right(tooleval):
    tooleval("Where is A1?", agent=agent, world=Shop)
"""


@pytest.mark.parametrize("body", EXCEPTIONS.values(), ids=EXCEPTIONS)
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_gate_tolerates_no_exception(shop: Project, body: str, workers: str) -> None:
    pytest.importorskip("xdist")
    run(shop, EXCEPTION.format(body), "--tooleval-fail-under=0.1", workers).assert_outcomes(
        failed=2, passed=1
    )
    for case in ("test_it[agent]", "TestIt.test_it[agent]"):
        row = shop.rows()[case]
        assert (row["outcome"], row["counted"], row["tolerated"]) == ("failed", False, False)
        assert row["trials"][0]["failure"] == "unexpected_exception"


@pytest.mark.parametrize("body", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_a_gate_tolerates_wrong_answers(shop: Project, body: str) -> None:
    assert run(shop, EXCEPTION.format(body), "--tooleval-fail-under=0.1").ret == 0
    for case in ("test_it[agent]", "TestIt.test_it[agent]"):
        row = shop.rows()[case]
        assert (row["outcome"], row["tolerated"]) == ("failed", True)
        assert row["trials"][0]["failure"] == "failed_assertion"


EXCEPTION_IN_TRIALS = """
numbers = iter(range(9))

@pytest.mark.tooleval(trials=3, pass_rule="{}")
def test_it(tooleval):
    run = tooleval("Where is A1?", agent=agent, world=Shop)
    number = next(numbers)
    assert number != 1
    if number == 2:
        undefined

def test_right(tooleval):
    tooleval("Where is A1?", agent=agent, world=Shop)
"""


def test_a_gate_tolerates_no_exception_of_a_trial(shop: Project) -> None:
    gate = "--tooleval-fail-under=0.1"
    for rule in ("all", "mean", "2/3"):
        result = run(shop, EXCEPTION_IN_TRIALS.format(rule), gate)
        result.assert_outcomes(failed=1, passed=1)
        assert "NameError: name 'undefined' is not defined" in shop.rows()["test_it[agent]"]["reason"]
        result.stdout.fnmatch_lines([">   *undefined", "FAILED test_it.py::test_it - *NameError: *"])
    # The rule says how many trials may fail, however they do.
    assert run(shop, EXCEPTION_IN_TRIALS.format("1/3"), gate).ret == 0


def test_thresholds_excuse_no_exception(shop: Project) -> None:
    text = """
def test_it(tooleval):
    run = tooleval("Hi", agent=agent, tools=[], thresholds={"overall": None, "brief": 1})
    run.score("brief", 1)
    undefined
"""
    run(shop, text).assert_outcomes(failed=1)


def test_a_merge_tolerates_no_exception(shop: Project) -> None:
    shop.write("test_it.py", HEAD + EXCEPTION.format("undefined"))
    for number in (1, 2):
        shop.run(f"--tooleval-shard={number}/2", f"--tooleval-report=s{number}.json", model=None)
    shards = ["merge", "s1.json", "s2.json", "--fail-under=0.1", "--report=all.json"]
    done = CliRunner().invoke(main, shards)
    assert done.exit_code == 1, done.output
    assert [row["outcome"] for row in shop.document("all.json")["cases"]] == [
        "failed",
        "failed",
        "passed",
    ]


XFAILS = """
@pytest.mark.xfail({})
def test_it(tooleval):
    run = tooleval("Where is A1?", agent=agent, world=Shop)
    {}

def test_right(tooleval):
    tooleval("Where is A1?", agent=agent, world=Shop)
"""
EXPECTED = {
    "any": ("", "undefined", "xfailed"),
    "this_one": ("raises=NameError", "undefined", "xfailed"),
    "another": ("raises=AssertionError", "undefined", "failed"),
    "strict": ("strict=True", "pass", "failed"),  # a right answer
}


@pytest.mark.parametrize(("mark", "body", "outcome"), EXPECTED.values(), ids=EXPECTED)
def test_xfail_keeps_its_meaning_with_a_gate(shop: Project, mark: str, body: str, outcome: str) -> None:
    result = run(shop, XFAILS.format(mark, body), "--tooleval-fail-under=0.1")
    result.assert_outcomes(**{outcome: 1}, passed=1)
    assert result.ret == (outcome == "failed")


NAMES = """
import functools
import others
from others import imported as here

class Desk:
    def __call__(self, messages, tools):
        return "ok"

    def answer(self, messages, tools):
        return "ok"

desk = Desk()
short = lambda messages, tools: "ok"
part = functools.partial(lambda word, messages, tools: word, "ok")

@pytest.fixture
def of_fixture():
    return Desk()

AGENTS = {
    "function": agent, "imported": here, "desk": desk, "short": short, "part": part, "Desk": Desk(),
    "answer": desk.answer, "kept": others.kept,
}

@pytest.mark.parametrize("word", AGENTS)
def test_it(tooleval, word):
    tooleval("Hi", agent=AGENTS[word])

def test_fixture(tooleval, of_fixture):
    tooleval("Hi", agent=of_fixture)

def test_named(tooleval):
    tooleval("Hi", agent=agent, name="My agent")

@pytest.mark.smoke
@pytest.mark.parametrize("x", [1])
def test_tagged(tooleval, tooleval_model, x):
    tooleval("Hi", agent=agent)
"""


def test_an_agent_has_the_name_of_its_variable(shop: Project) -> None:
    shop.write(
        "others.py",
        """
        def imported(messages, tools):
            return "ok"

        class Kept:
            def __call__(self, messages, tools):
                return "ok"

        kept = Kept()
        """,
    )
    shop.write("pytest.ini", "[pytest]\nmarkers = smoke\n")
    run(shop, NAMES, model="agent,other").assert_outcomes(passed=12)
    rows = shop.document()["cases"]
    models = {row["case"]: row["model"] for row in rows}
    names = {case[8:-1]: model for case, model in models.items() if case.startswith("test_it[")}
    assert names.pop("function") == "agent"
    assert all(case == model for case, model in names.items()), names
    assert models["test_fixture"] == "of_fixture"
    assert models["test_named"] == "My agent"
    # Not one case twice: the agent is the same for every model of the run.
    assert {row["case"] for row in rows if row["tags"] == ["smoke"]} == {
        "test_tagged[1-agent]",
        "test_tagged[1-other]",
    }


def test_a_judge_and_a_simulated_user(shop: Project) -> None:
    pytest.importorskip("pytest_asyncio")
    shop.write(
        "people.py",
        """
        def judge(messages, tools):
            passed = "euros" in messages[-1]["content"].partition("<conversation>")[2]
            arguments = {"reason": "It says euros.", "passed": passed}
            return {"tool_calls": [{"name": "verdict", "arguments": arguments}]}

        def user(messages, tools):
            return "Refund order A1" if len(messages) == 2 else "###STOP###"
        """,
    )
    tables = [f'[models.{name}]\ncallable = "people:{name}"\n' for name in ("judge", "user")]
    shop.write("tooleval.toml", "".join(tables))
    text = """
def test_judge(tooleval):
    run = tooleval("Refund A1", agent=agent, world=Shop)
    assert run.judge("Says how much.")

async def test_in_async(tooleval):
    run = await tooleval.arun("Where is A1?", agent=agent, world=Shop)
    assert not await run.ajudge("Says how much.")

def test_user(tooleval):
    run = tooleval("", user={"goal": "Get your money back."}, agent=agent, world=Shop)
    assert [each["content"] for each in run.messages if each["role"] == "user"] == ["Refund order A1"]
    assert run.world.orders["A1"]["refunded"] == 40
    run.reply("Thanks for A1")
    assert run.calls.count(call("get_order", ...)) == 2
"""
    options = ("--tooleval-judge=judge", "--tooleval-user=user", "--asyncio-mode=auto")
    run(shop, text, *options).assert_outcomes(passed=3)
    row = shop.rows()["test_judge[agent]"]
    (judged,) = row["trials"][0]["transcript"]["judged"]
    assert (judged["rubric"], judged["passed"], judged["model"]) == ("Says how much.", True, "judge")
