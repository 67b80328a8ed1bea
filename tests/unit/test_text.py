from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.text import json_text, printable, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zürich 東京 🙂", "Zürich 東京 🙂"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("a\u00a0b", "a\\xa0b"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_printable_may_keep_lines() -> None:
    assert printable("a\n\tb\x07", keep_newlines=True) == "a\n\tb\\x07"


@given(st.text(alphabet=st.characters(), max_size=50))
def test_printable_text_can_go_to_any_terminal(text: str) -> None:
    shown = printable(text)

    assert shown.isprintable()
    shown.encode("utf-8")


def test_shorten() -> None:
    assert shorten("a" * 80) == "a" * 80
    assert shorten("a" * 81) == "a" * 79 + "…"


def test_json_text_is_one_short_line() -> None:
    assert (
        json_text({"city": "Paris", "n": [1, None, True]}) == '{"city": "Paris", "n": [1, null, true]}'
    )
    assert len(json_text("x" * 1000)) == 80
    assert json_text("\x1b\u202e") == '"\\u001b\\u202e"'


def test_json_text_survives_what_json_cannot_hold() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert json_text(deep) == "(list that cannot be shown)"
    assert json_text({1, 2}) == json.dumps("{1, 2}")


def test_a_log_gives_no_orders_to_github() -> None:
    assert "##[" not in printable("nothing ##[add-mask]all\u202e ##[group]")
    assert printable("##[error]") == "##\\x5berror]"


@pytest.mark.parametrize(
    "order",
    [
        "##vso[task.setvariable variable=PATH]x",
        "##vso[task.complete result=Succeeded;]",
        "##[command]rm",
        "###vso[task.debug]",
        "##teamcity[buildStatus status='SUCCESS']",
        "##\u200bvso[task.debug]##vso[task.debug]",
    ],
)
def test_a_log_gives_no_orders_to_other_services(order: str) -> None:
    for text in (order, f"said {order}", f"two\n{order}"):
        for keep_newlines in (True, False):
            shown = printable(text, keep_newlines=keep_newlines)
            assert not re.search(r"##\w*\[", shown)
    assert printable("##vso[task.debug]") == "##vso\\x5btask.debug]"
    assert printable("a [b] ## [c] #vso[d]") == "a [b] ## [c] #vso[d]"
