from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.engine.secrets import PLACEHOLDER
from pytest_tooleval.engine.secrets import scrub
from pytest_tooleval.engine.secrets import scrub_json
from pytest_tooleval.engine.secrets import secret_values
from pytest_tooleval.engine.secrets import sent_values


def test_values_by_name_and_by_the_look_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_PLAIN", "named-value\n")
    monkeypatch.setenv("TOOLEVAL_TOKEN", "token-value-longer")
    monkeypatch.setenv("TOOLEVAL_API_KEY", "key-value")
    monkeypatch.setenv("TOOLEVAL_SHORT_KEY", "abc")
    monkeypatch.setenv("TOOLEVAL_OTHER", "other-value")
    values = secret_values(["TOOLEVAL_PLAIN", None])
    assert {"named-value", "token-value-longer", "key-value"} <= set(values)
    assert not {"abc", "other-value"} & set(values)
    assert list(values) == sorted(values, key=len, reverse=True)


def test_only_api_keys_are_taken_out_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_SORT_KEY", "celsius")  # an ordinary word, which a model may say
    monkeypatch.setenv("TOOLEVAL_API_KEY", "sk-12345678")
    monkeypatch.setenv("TOOLEVAL_NAMED", "named-value")
    values = sent_values("TOOLEVAL_NAMED")
    assert {"sk-12345678", "named-value"} <= set(values)
    assert "celsius" not in values


@pytest.mark.parametrize(
    "text", ["Authorization: Bearer abc.def-123", "{'authorization': 'bearer abc.def-123'}"]
)
def test_credentials_of_headers_are_hidden(text: str) -> None:
    assert "abc.def-123" not in scrub(text, ())


def test_a_key_within_a_longer_one_leaves_no_rest() -> None:
    assert scrub("x sk-12345678 y", ("sk-12345678", "sk-123")) == f"x {PLACEHOLDER} y"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(json_values)
def test_json_without_secrets_stays_equal(value: object) -> None:
    assert scrub_json(value, ("no such secret anywhere",)) == value


def test_json_is_scrubbed_at_every_depth_but_keeps_its_keys() -> None:
    value = {"messages": [{"content": "the key is messages", "n": 1}]}
    assert scrub_json(value, ("messages",)) == {
        "messages": [{"content": f"the key is {PLACEHOLDER}", "n": 1}]
    }
