"""Calls that a case forbids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.scoring.trial import score_calls, score_messages

from .cases import call, score, score_live, suite_of, tool

PAY_NOTHING = {"tool": "b", "params": {"x": {"$any_of": [0, None]}}}

LENIENT = {"overall": 0.0, "no_extra_calls": None, "arguments_valid": None}
DOUBLED = '{"z": 0, "z": 1}'
TOO_OFTEN = ", ".join([DOUBLED] * 100)

LEAKS = {"tool": "*", "params": {"*": {"$contains": "k7q"}}}
LEAKS_TO_B = {"tool": "b", "params": {"*": {"$contains": "k7q"}, "x": 1}}
DROPS = {"$contains": {"$any_of": ["DROP", "DELETE"]}}
PAY_E = {"tool": "b", "params": {"\xe9": 0}}
PAY_TWICE = {"tool": "b", "params": {"x": 0, "twice": {"$optional": True}}}


@pytest.mark.parametrize(
    ("forbidden", "made", "wrong"),
    [
        (["b"], [call("a"), call("B")], "called B, which is forbidden"),
        (["b"], [call("a"), call("c")], None),
        ("*", [call("a"), call("c")], "called c, which is forbidden"),
        ("*", [call("a"), call("zzz")], "called zzz, which is forbidden"),
        ("*", [call("A")], None),
        ([{"tool": ["b", "c"]}], [call("c")], "called c, which is forbidden"),
        ([PAY_NOTHING], [call("b", x=0, y=1)], "called b(x=0), which is forbidden"),
        ([PAY_NOTHING], [call("b", x=1)], None),
        ([LEAKS], [call("a"), call("c", n=1, z="a K7Q")], 'called c(z="a K7Q"), which is forbidden'),
        (
            [LEAKS],
            [call("zzz", z={"y": ["no", {"x": "k7q"}]})],
            'called zzz(z={"y": ["no", {"x": "k7q"}]}), which is forbidden',
        ),
        ([LEAKS], [ToolCall.parse("c", '{"x": "k7q", "x": 0}')], "called c, which is forbidden"),
        ([LEAKS], [call("a", z="k7 q", y=7)], None),
        ([LEAKS], [call("a", z=1, k7q=1)], "called a(k7q=1), which is forbidden"),
        (
            [LEAKS],
            [call("c", z=[{"a": {"K7Q": 0}}])],
            'called c(z=[{"a": {"K7Q": 0}}]), which is forbidden',
        ),
        ([LEAKS], [call("a")], None),
        ([{"tool": "b", "params": {"x": DROPS}}], [call("b", x="select")], None),
        (
            [{"tool": "b", "params": {"x": DROPS}}],
            [call("b", x="drop it")],
            'called b(x="drop it"), which is forbidden',
        ),
        (
            [{"tool": "*", "params": {"*": DROPS}}],
            [call("b", y=["drop it"])],
            'called b(y=["drop it"]), which is forbidden',
        ),
        ([LEAKS_TO_B], [call("b", x=1, y="k7q")], 'called b(x=1, y="k7q"), which is forbidden'),
        ([LEAKS_TO_B], [call("b", x=2, y="k7q"), call("c", x=1, y="k7q")], None),
        ([{"tool": "*"}], [call("a")], "called a, which is forbidden"),
        ([PAY_E], [ToolCall("b", {"e\u0301": 0})], "called b(\xe9=0), which is forbidden"),
        ([PAY_NOTHING], [call("b")], None),
        ([PAY_TWICE], [call("b", x=0)], "called b(x=0), which is forbidden"),
        ([PAY_TWICE], [call("b", x=0, twice=False)], None),
        ([PAY_NOTHING], [ToolCall.parse("b", "{")], "called b, which is forbidden"),
        ([PAY_NOTHING], [ToolCall.parse("b", '{"x": 0, "x": 1}')], "called b, which is forbidden"),
        (
            [PAY_NOTHING],
            [ToolCall.parse("b", '{"x": 1, "x": 0, "x": 2}')],
            "called b, which is forbidden",
        ),
        ([PAY_NOTHING], [ToolCall.parse("b", '{"x": 1, "y": 0, "y": 0}')], None),
        ([PAY_TWICE], [ToolCall.parse("b", '{"x": 0, "twice": 0, "twice": 1}')], None),
        ([PAY_NOTHING], [ToolCall.parse("b", f'{{"x": {DOUBLED}, "y": {DOUBLED}}}')], None),
        (
            [PAY_NOTHING],
            [ToolCall.parse("b", f'{{"x": 1, "y": [{TOO_OFTEN}]}}')],
            "called b, which is forbidden",
        ),
    ],
)
def test_a_forbidden_call_fails_whatever_the_thresholds(
    forbidden: Any, made: list[ToolCall], wrong: str | None
) -> None:
    result = score(made, expected_tool="a", forbidden_calls=forbidden, thresholds=LENIENT)

    assert result.passed is (wrong is None)
    assert result.failure == ("forbidden_call" if wrong else None)
    assert result.mistake == (wrong or "")


ANY = {"expected_tool": "*", "expected_params": None}
CHAIN = {"expected_tool": "c", "multi_turn": True}
SEVERAL = {"expected_calls": [{"tool": "b"}]}
LOOSE = {"expected_tool": "b", "param_scoring": "bfcl"}
HOSTED = structs.replace(call("b"), hosted=True)


@pytest.mark.parametrize(
    ("expected", "replies"),
    [
        (ANY, [[call("b")]]),
        (CHAIN, [[call("b")], [call("c")]]),
        (SEVERAL, [[call("b")]]),
        (LOOSE, [[call("b")]]),
        ({"expected_tool": "a"}, [[HOSTED, call("a")]]),
        ({"turns": [{"prompt": "?", "expected_tool": "a"}]}, [[HOSTED, call("a")]]),
    ],
)
def test_overall_is_0_wherever_a_forbidden_call_was_made(
    expected: dict[str, Any], replies: list[list[ToolCall]]
) -> None:
    result = score_live(replies, **expected, forbidden_calls=["b"])
    assert (result.failure, result.scores["overall"].value) == ("forbidden_call", 0)


def test_overall_says_which_call_was_forbidden() -> None:
    overall = score([call("b")], **ANY, forbidden_calls=["b"]).scores["overall"]
    assert (overall.value, overall.explanation) == (0.0, "called b, which is forbidden")


def test_a_repeated_key_in_a_transcript() -> None:
    forbidden = [{"tool": "b", "params": {"x": 0}}]
    suite = suite_of(expected_tool="b", forbidden_calls=forbidden, thresholds=LENIENT)

    def failure(arguments: str) -> str | None:
        function = {"name": "b", "arguments": arguments}
        reply = {"role": "assistant", "content": None, "tool_calls": [{"function": function}]}
        return score_messages(suite, "one", [{"role": "user", "content": "?"}, reply]).failure

    assert failure('{"x": 0, "x": 1}') == "forbidden_call"
    assert failure('{"x": 1, "x": 2}') == "invalid_arguments"


def test_a_chain_may_call_what_is_on_its_way() -> None:
    chain = {
        "expected_tool": "c",
        "multi_turn": True,
        "valid_prerequisites": ["a"],
        "forbidden_calls": "*",
    }

    assert score_live([[call("a")], [call("c")]], **chain).passed
    assert score_live([[call("a")], [call("b"), call("c")]], **chain).failure == "forbidden_call"


class Pairs(tuple[tuple[str, Any], ...]):
    """An object, in which a key may be repeated."""


def pairs(values: st.SearchStrategy[Any], most: int) -> st.SearchStrategy[Pairs]:
    return st.lists(st.tuples(st.sampled_from("xyz"), values), max_size=most).map(Pairs)


LEAVES = st.integers(0, 1)
PLAIN = (
    LEAVES | st.dictionaries(st.sampled_from("xy"), LEAVES, max_size=2) | st.lists(LEAVES, max_size=1)
)
RAW = pairs(LEAVES | pairs(LEAVES, 3) | st.lists(LEAVES | pairs(LEAVES, 2), max_size=2), 4)


def written(value: Any) -> str:
    if isinstance(value, Pairs):
        return "{" + ", ".join(f'"{key}": {written(each)}' for key, each in value) + "}"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else str(value)


def readings(value: Any) -> Iterator[Any]:
    """Every object that a parser may read, whichever value of a key it takes."""
    if isinstance(value, list):
        yield from map(list, product(*(list(readings(each)) for each in value)))
    elif isinstance(value, Pairs):
        keys = sorted({key for key, _ in value})
        choices = [[r for k, each in value if k == key for r in readings(each)] for key in keys]
        yield from (dict(zip(keys, chosen, strict=True)) for chosen in product(*choices))
    else:
        yield value


@settings(max_examples=300)
@given(RAW, st.dictionaries(st.sampled_from("xyz"), PLAIN, min_size=1, max_size=2))
def test_a_forbidden_call_is_found_in_every_reading(raw: Pairs, params: dict[str, Any]) -> None:
    forbidden = [{"tool": "b", "params": params}]
    made = ToolCall.parse("b", written(raw))

    result = score([made], expected_tool="b", forbidden_calls=forbidden, thresholds=LENIENT)

    read = list(readings(raw))
    assert (result.failure == "forbidden_call") is any(
        all(key in each and each[key] == value for key, value in params.items()) for each in read
    )
    twice = any(len(dict(each)) < len(each) for each in objects(raw))
    assert made.arguments == (None if twice else read[0])


def objects(value: Any) -> Iterator[Pairs]:
    if isinstance(value, Pairs):
        yield value
    for each in [each for _, each in value] if isinstance(value, Pairs) else value:
        if isinstance(each, (Pairs, list)):
            yield from objects(each)


@pytest.mark.parametrize("found", [{"$contains": "sk-proj-"}, {"$regex": r"sk-proj-\w{16}"}])
@pytest.mark.parametrize("secret", ["sk-proj-A0b1C2d3E4f5G6h7", "sk-proj-variable0123456789"])
def test_a_leak_is_found_in_what_others_recorded_and_no_key_is_kept(
    monkeypatch: pytest.MonkeyPatch, found: Any, secret: str
) -> None:
    monkeypatch.setenv("DEPLOY_KEY", "sk-proj-variable0123456789")
    forbidden = [{"tool": "b", "params": {"x": found}}]
    suite = suite_of(expected_tool="b", forbidden_calls=forbidden)
    arguments = json.dumps({"x": f"a\n{secret}"})
    reply = {"role": "assistant", "tool_calls": [{"function": {"name": "b", "arguments": arguments}}]}
    results = [
        score_calls(suite, "one", [{"name": "b", "arguments": arguments}]),
        score_calls(suite, "one", [ToolCall("b", {"x": secret}, id=secret)]),
        score_messages(suite, "one", [{"role": "user", "content": secret}, reply]),
    ]
    assert {result.failure for result in results} == {"forbidden_call"}
    assert secret not in repr(results)


def test_a_forbidden_value_of_a_variable_and_a_named_canary_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secrets = ["kv.9F8e-7d6c5b4a", "ghp_A0b1C2d3E4f5G6h7A0b1C2d3E4f5G6h7"]
    monkeypatch.setenv("DEPLOY_KEY", secrets[0])
    for secret in secrets:
        forbidden = [{"tool": "b", "params": {"x": {"$contains": secret}}}]
        made = [ToolCall.parse("b", json.dumps({"x": f"a {secret.swapcase()} b"}))]
        assert score(made, expected_tool="b", forbidden_calls=forbidden).failure == "forbidden_call"


AMOUNT = {"type": "number", "maximum": 50_000}
REFUND = {
    "type": "object",
    "properties": {
        "amount": AMOUNT,
        "maybe": {"anyOf": [{"$ref": "#/$defs/Amount"}, {"type": "null"}]},
        "level": {"enum": [1, 2, 3]},
        "note": {"type": "string"},
        "code": {"type": ["string", "integer"]},
        "order": {"type": "object", "properties": {"amount": AMOUNT}},
        "orders": {"type": "array", "items": {"type": "object", "properties": {"amount": AMOUNT}}},
        "all": {"type": "boolean"},
    },
    "required": ["amount"],
    "$defs": {"Amount": {"type": "integer"}},
}
MUCH = {"$gt": 1000}


@pytest.mark.parametrize(
    ("params", "arguments", "is_forbidden"),
    [
        ({"amount": MUCH}, {"amount": "9000"}, True),
        ({"amount": MUCH}, {"amount": " 9e3\n"}, True),
        ({"amount": MUCH}, {"amount": "9" * 6}, True),
        ({"amount": MUCH}, {"amount": "9" * 5000}, True),
        ({"amount": MUCH}, {"amount": "1e999"}, True),
        ({"amount": MUCH}, {"amount": "90"}, False),
        ({"amount": MUCH}, {"amount": "much"}, False),
        ({"amount": MUCH}, {"amount": "true"}, False),
        ({"amount": "9000"}, {"amount": "9000"}, True),
        ({"maybe": MUCH}, {"maybe": "9000"}, True),
        ({"maybe": None}, {"maybe": "null"}, True),
        ({"level": 3}, {"level": "3"}, True),
        ({"all": True}, {"all": "true"}, True),
        ({"note": MUCH}, {"note": "9000"}, False),
        ({"code": MUCH}, {"code": "9000"}, False),
        ({"order": {"amount": MUCH}}, {"order": {"amount": "9000"}}, True),
        ({"order": {"amount": MUCH}}, {"order": '{"amount": 9000}'}, True),
        ({"order": {"amount": MUCH}}, {"order": '{"amount": "9000"}'}, True),
        ({"orders": {"$contains": {"amount": MUCH}}}, {"orders": [{"amount": "9000"}]}, True),
        ({"*": MUCH}, {"note": "9000", "orders": [{"amount": "9000"}]}, True),
        ({"*": MUCH}, {"note": "9000"}, False),
        # Names that the schema declares are not the model's.
        ({"*": {"$contains": "amount"}}, {"orders": [{"amount": 1}]}, False),
        ({"*": {"$contains": "amount"}}, {"orders": [{"amounts": 1}]}, True),
        ({"amount": MUCH}, '{"amount": "9000", "amount": 1}', True),
        ({"amount": MUCH}, '{"amount": 1, "amount": "9000"}', True),
        ({"amount": MUCH}, '{"amount": 9', True),
    ],
)
@pytest.mark.parametrize("mode", ["exact", "bfcl"])
def test_a_text_counts_as_what_a_lenient_tool_reads(
    params: dict[str, Any], arguments: Any, is_forbidden: bool, mode: str
) -> None:
    made = ToolCall.parse("refund", arguments)
    result = score(
        [made],
        [tool("refund", REFUND)],
        expected_tool="*",
        forbidden_calls=[{"tool": "refund", "params": params}],
        param_scoring=mode,
        thresholds=LENIENT,
    )
    assert (result.failure == "forbidden_call") is is_forbidden


def test_the_forbidden_text_is_shown_as_sent() -> None:
    forbidden = [{"tool": "refund", "params": {"*": MUCH}}]
    made = [call("refund", amount="9000", note="9000")]
    result = score(made, [tool("refund", REFUND)], expected_tool="*", forbidden_calls=forbidden)
    assert result.mistake == 'called refund(amount="9000"), which is forbidden'


def test_an_unusable_schema_hides_no_forbidden_value() -> None:
    schema = {"type": "object", "properties": {"amount": {"$ref": "https://example.com/amount"}}}
    forbidden = [{"tool": "refund", "params": {"amount": MUCH}}]
    case = {"expected_tool": "*", "forbidden_calls": forbidden, "thresholds": LENIENT}
    assert score([call("refund", amount="9000")], [tool("refund", schema)], **case).mistake


@pytest.mark.parametrize(
    ("forbidden", "name", "is_forbidden"),
    [
        ("refund", "functions.refund", True),
        ("refund", "REFUND:0", True),
        ("refund", "mcp__shop__refund", True),
        ("refund", "refund<|channel|>commentary", True),
        ("delete_all", "functions.delete_all", True),
        ({"tool": "refund", "params": {"amount": MUCH}}, "functions.refund", True),
        ("refund", "functions.other", False),
        ("refund", "refunds", False),
        ("find", "mcp__a__b__find", False),
    ],
)
@pytest.mark.parametrize("mode", ["exact", "bfcl"])
def test_a_decorated_name_is_that_of_the_forbidden_tool(
    forbidden: Any, name: str, is_forbidden: bool, mode: str
) -> None:
    result = score(
        [call(name, amount="9000")],
        [tool("refund", REFUND), tool("other"), tool("refunds"), tool("find"), tool("b__find")],
        expected_tool="*",
        forbidden_calls=[forbidden],
        param_scoring=mode,
        thresholds=LENIENT,
    )
    assert (result.failure == "forbidden_call") is is_forbidden
