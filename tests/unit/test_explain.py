from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.explain import describe, field_path, listing, nearest, show


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        ("hot", 'the string "hot"'),
        ("", "an empty string"),
        (5.0, "the number 5.0"),
        (10**100, "the number 100000000000… (101 characters)"),
        ([], "an empty list"),
        ([1, "a"], 'the list [1, "a"]'),
        ({}, "an empty object"),
        ({"a": None}, 'the object {"a": null}'),
        ("x" * 100, f'the string "{"x" * 60}…"'),
        (["x" * 100], f'the list ["{"x" * 58}…'),
        ("\x1b[31m\u202e", r'the string "\u001b[31m\u202e"'),
    ],
)
def test_describe(value: Any, expected: str) -> None:
    assert describe(value) == expected


def test_field_path_quotes_only_unusual_keys() -> None:
    loc = ("test_cases", 3, "expected_params", "first name", "$any_of", 0, "a-b", "")
    assert field_path(loc) == 'test_cases[3].expected_params["first name"].$any_of[0].a-b[""]'


@given(
    st.recursive(
        st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_shown_values_are_short_and_printable(value: Any) -> None:
    text = show(value)
    assert text.isprintable()
    assert len(text) <= 6 * 64


@pytest.mark.parametrize(
    ("name", "expected"),
    [("expectedParams", "expected_params"), ("Promt", "prompt"), ("zebra", None), ("x" * 10_000, None)],
)
def test_nearest(name: str, expected: str | None) -> None:
    assert nearest(name, ["prompt", "expected_params"]) == expected


def test_nothing_is_meant_among_thousands() -> None:
    names = [f"name_{n}" for n in range(2000)]
    assert nearest("nam_1", names[:100]) == "name_1"
    assert nearest("nam_1", names) is None


def test_a_long_listing_is_cut() -> None:
    assert listing(["a", "b"]) == '"a", "b"'
    assert listing("abcd", limit=2) == '"a", "b" and 2 more'
