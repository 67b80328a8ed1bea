"""Rows packed and unpacked, and the JSON that they travel and are kept as."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.rows import to_json

TEXTS = st.text(st.characters())  # lone surrogates, too
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(VALUES)
def test_json_comes_back_and_has_one_line(value: Any) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert "\n" not in text


@pytest.mark.parametrize("text", ["", "\ud800"])
def test_numbers_that_json_does_not_have_become_null(text: str) -> None:
    assert json.loads(to_json([text, math.nan, math.inf, -math.inf])) == [text, None, None, None]


def test_arguments_that_are_nested_deeply_come_back() -> None:
    value: Any = "end"
    for _ in range(400):
        value = [value]
    assert json.loads(to_json(value)) == value
