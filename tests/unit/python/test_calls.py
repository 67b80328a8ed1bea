"""Calls and matchers as Python values, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_tooleval import ScoringError, ToolCall, call, like
from pytest_tooleval.python.calls import Call, Calls
from pytest_tooleval.python.differences import explanation

REFUND = ToolCall("refund", {"order": "A1", "amount": 400})
LOOK = ToolCall("get_order", {"id": "A1"})
BROKEN = ToolCall("refund", None, '{"order": ')


def made(*calls: ToolCall) -> Calls:
    return Calls(map(Call.of, calls))


TOOLS = {"refund": ("order", "amount"), "free": None}


@pytest.mark.parametrize(
    ("expected", "equal"),
    [
        (call("refund", order="A1", amount=400), True),
        (call("refund", amount=400.0, order="A1"), True),
        (call("refund", order="a1", amount=400), False),  # with case
        (call("refund", ..., order="A1"), True),
        (call("refund", ...), True),
        (call("Refund", ...), False),
        (call("refund", ..., customer="C1"), False),
        (call("refund", order="A1", amount=pytest.approx(400.0000001)), True),
        (call("refund", order=like.regex("^A"), amount=like.gt(399)), True),
        (call("refund", order=like.not_("A1"), amount=400), False),
        (call("refund", order="A1", amount=400, note=like.optional("x")), True),
        (call("refund", order="A1", amount="400"), False),
        (call("refund", order="A1", amount=True), False),
    ],
    ids=repr,
)
def test_a_call_is_equal_if_tool_and_arguments_are(expected: Call, equal: bool) -> None:
    calls = made(REFUND)
    assert (calls == [expected]) is equal
    assert ([expected] == calls) is equal
    assert (expected in calls) is equal
    assert (calls.unordered == [expected]) is equal
    assert calls.count(expected) == equal


def test_a_call_without_arguments_is_not_any_call() -> None:
    calls = made(REFUND)
    bare = call("refund")
    comparisons: list[Callable[[], object]] = [lambda: bare in calls, lambda: calls.count(bare)]
    for compared in comparisons:
        with pytest.raises(TypeError, match=r"write call\('refund', \.\.\.\) if further arguments"):
            compared()
    narrow = call("refund", order="A1")  # it was made, with an amount
    for compared in (lambda: narrow not in calls, lambda: calls.count(narrow)):
        with pytest.raises(TypeError, match=r"write call\('refund', \.\.\., order='A1'\) if further"):
            compared()
    assert calls != [narrow]  # further arguments are wrong
    assert call("refund", order="A2") not in calls
    assert narrow in made(REFUND, ToolCall("refund", {"order": "A1"}))
    assert call("refund", ...) in calls
    assert call("look") not in calls
    assert call("look") in made(ToolCall("look", {}))


@pytest.mark.parametrize("other", ["refund", {"name": "refund"}, ("refund", {}), None, REFUND], ids=repr)
def test_only_calls_are_calls(other: Any) -> None:
    calls: Any = Calls([Call.of(REFUND)], TOOLS)
    comparisons: list[Callable[[], object]] = [
        lambda: other not in calls,
        lambda: calls != [other],
        lambda: calls.unordered != [other],
        lambda: calls.count(other),
        lambda: calls[0] != other,
    ]
    for compared in comparisons:
        with pytest.raises(TypeError, match=r"a call never equals .*, or compare its name"):
            compared()
    assert [each.name for each in calls] == ["refund"]
    assert calls[0] in calls


def test_a_list_of_calls_differs_from_anything_but_a_list() -> None:
    calls: Any = made(REFUND)
    for other in (call("refund", ...), (call("refund", ...),), "refund"):
        with pytest.raises(TypeError, match=r"a list never equals .*; write \[call\(\.\.\.\)\]"):
            _ = calls != other


ALWAYS_TRUE = [
    (call("pay", account="Z"), "write call('pay', account='Z') in run.calls"),
    (like.contains("40"), "compare it, such as run.text == like.contains('40')"),
    (made(REFUND).unordered, "compare it with a list, or write run.calls"),
]


@pytest.mark.parametrize(("value", "message"), ALWAYS_TRUE, ids=repr)
def test_what_would_be_true_whatever_the_agent_does_is_no_assertion(value: object, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        assert value
    assert str(raised.value).endswith(message)


def test_a_made_call_is_true() -> None:
    assert next((each for each in made(REFUND) if each.name == "refund"), None)


def test_unequal_calls_must_have_names_that_exist() -> None:
    calls = Calls([Call.of(REFUND)], TOOLS)
    for right in (call("refund", order="A2"), call("free", any=1)):
        assert calls != [right]
        assert [right] != calls
        assert calls.unordered != [right]
        assert calls[0] != right
    for wrong, hint in ((call("refnd"), "refund"), (call("refund", ordr="A1"), "order")):
        for found in (calls, calls[:1], calls.unordered):
            with pytest.raises(TypeError, match=f"did you mean {hint}"):
                _ = found != [wrong]
            with pytest.raises(TypeError, match=f"did you mean {hint}"):
                _ = wrong != calls[:1][0]
        with pytest.raises(TypeError, match=f"did you mean {hint}"):
            _ = [wrong] != calls


def test_a_made_call_is_shown_as_the_code_that_expects_it() -> None:
    odd = ToolCall("find", {"name": "x", "from": 1, "max-age": {"$gt": 3}, "tags": ["a", None, True]})
    for each in (REFUND, LOOK, odd):
        text = repr(Call.of(each))
        assert eval(text, {"call": call}) == Call.of(each), text
    assert repr(call("refund", ..., amount=like.gt(39))) == "call('refund', ..., amount=like.gt(39))"


def test_malformed_arguments_equal_nothing() -> None:
    calls = made(BROKEN)
    assert calls != [call("refund")]
    assert calls != [call("refund", ...)]
    assert "JSON object" in repr(calls)


def test_calls_are_a_list() -> None:
    calls = made(LOOK, REFUND, LOOK)
    assert [each.name for each in calls] == ["get_order", "refund", "get_order"]
    assert calls[1:] == [call("refund", ...), call("get_order", id="A1")]
    assert calls[0].arguments == {"id": "A1"}
    assert calls.count(call("get_order", ...)) == 2
    assert calls.unordered == [call("refund", ...), call("get_order", ...), call("get_order", ...)]
    assert calls.unordered != [call("refund", ...), call("refund", ...), call("get_order", ...)]


NOT_MADE = "call('get_order', id='A1') was not made"
DIFFERENCES: list[tuple[str, Any, Any, list[str]]] = [
    (
        "==",
        made(REFUND),
        [call("get_order", id="A1"), call("refund", order="A1", amount=pytest.approx(40))],
        [
            f"calls differ: {NOT_MADE}",
            'call 1, refund: amount: expected "40 ± 4.0e-05", got 400',
            "made:     call('refund', order='A1', amount=400)",
        ],
    ),
    (
        "==",
        made(LOOK, REFUND),
        [call("get_order", id="A1")],
        [
            "calls differ: call 2: call('refund', order='A1', amount=400) is one too many",
            "made:     call('get_order', id='A1')",
            "          call('refund', order='A1', amount=400)",
        ],
    ),
    ("==", made(), [call("get_order", id="A1")], [f"calls differ: {NOT_MADE}", "made:     (no call)"]),
    (
        "==",
        [call("refund", ...), call("get_order", ...)],
        made(LOOK, REFUND),
        [
            "calls differ: the right calls in the wrong order",
            "made:     call('get_order', id='A1')",
            "          call('refund', order='A1', amount=400)",
        ],
    ),
    (
        "==",
        made(REFUND)[0],
        call("refund", order="A1"),
        [
            "calls differ: call 1, refund: amount: 400 is not expected",
            "made:     call('refund', order='A1', amount=400)",
        ],
    ),
    (
        "==",
        made(LOOK, REFUND).unordered,
        [call("refund", ..., order="A2"), call("get_order", ...)],
        [
            'calls differ: call 2, refund: order: expected "A2", got "A1"',
            "made:     call('get_order', id='A1')",
            "          call('refund', order='A1', amount=400)",
        ],
    ),
    (
        "==",
        made(BROKEN),
        [call("refund", order="A1")],
        [
            'calls differ: call 1, refund: the arguments are not a JSON object: {"order": ',
            "made:     <call of 'refund', the arguments are not a JSON object: '{\"order\": '>",
        ],
    ),
    (
        "in",
        call("refund", ..., order="A2"),
        made(REFUND),
        [
            "call('refund', ..., order='A2') was not made",
            'call 1, refund: order: expected "A2", got "A1"',
            "made:     call('refund', order='A1', amount=400)",
        ],
    ),
    (
        "not in",
        call("refund", ...),
        made(LOOK, REFUND),
        [
            "call('refund', ...) was made: it is call 2",
            "made:     call('get_order', id='A1')",
            "          call('refund', order='A1', amount=400)",
        ],
    ),
    ("==", "done", like.contains("40"), ["'done' == like.contains('40')", "does not contain it"]),
]


@pytest.mark.parametrize(("op", "left", "right", "lines"), DIFFERENCES)
def test_differences_are_told_in_the_words_of_the_scorers(
    op: str, left: Any, right: Any, lines: list[str]
) -> None:
    assert explanation(op, left, right) == lines


def test_other_assertions_are_left_to_pytest() -> None:
    for left, right in (([1], [2]), ([], []), ("a", "b"), ({}, [])):
        assert explanation("==", left, right) is None
    assert explanation("in", "a", ["b"]) is None
    assert explanation("<", 1, 2) is None


def test_of_two_alignments_the_one_with_more_equal_calls_is_told() -> None:
    calls = made(ToolCall("get", {"id": 2}), ToolCall("get", {"id": 3}))
    expected = [call("get", id=1), call("get", id=2), call("get", id=3)]
    found = explanation("==", calls, expected)
    assert found is not None
    assert found[0] == "calls differ: call('get', id=1) was not made"
    assert len(found) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: like.contians("x"), "there is no matcher like.contians, did you mean like.contains?"),
        (lambda: like.regex("("), "like.regex: the regular expression does not compile"),
        (lambda: like.any_of(3), "like.any_of: expected a list of values or matchers, got the number 3"),
        (lambda: like.approx(3, abs=1), "like.approx: give its operand, or its fields by name"),
        (lambda: call("refund", 40), r"call('refund', ...): give arguments by name"),
    ],
)
def test_mistakes_are_told_where_they_are_made(make: Any, message: str) -> None:
    with pytest.raises((TypeError, AttributeError)) as raised:
        make()
    assert message in str(raised.value)


def test_every_matcher_of_suites_is_a_value() -> None:
    assert like.any_of("a", "b") == "b"
    assert like.approx(value=3, abs=0.5) == 3.4
    assert like.absent() != 3
    assert like.all_of(like.gt(1), like.lt(3)) == 2
    assert {"total": like.gt(1), "lines": [like.type("string")]} == {"total": 2, "lines": ["x"]}
    assert like.unordered([1, 2]) == [2, 1]
    assert "regex" in dir(like)


def test_a_value_that_cannot_be_compared_is_named() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError("no")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(
        ScoringError, match=r"refund: order: .*\(Odd\) cannot be compared: ValueError: no"
    ):
        _ = made(REFUND) == [call("refund", ..., order=Odd())]
