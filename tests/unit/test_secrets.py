from __future__ import annotations

import base64
import json
import logging
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.secrets import (
    PLACEHOLDER,
    ScrubFilter,
    keep_secret,
    key_values,
    redact,
    scrub,
    scrub_json,
    secret_values,
    shown_address,
)


def test_values_by_name_and_by_the_look_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_PLAIN", "named-value\n")
    monkeypatch.setenv("TOOLEVAL_TOKEN", "token-value-longer")
    monkeypatch.setenv("TOOLEVAL_API_KEY", "key-value")
    monkeypatch.setenv("TOOLEVAL_SHORT_KEY", "abc")
    monkeypatch.setenv("TOOLEVAL_OTHER", "other-value")
    keep_secret("TOOLEVAL_PLAIN")
    keep_secret(None)
    values = secret_values()
    assert {"named-value", "token-value-longer", "key-value"} <= set(values)
    assert not {"abc", "other-value"} & set(values)
    assert list(values) == sorted(values, key=len, reverse=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "tok-0123456789") for name in (
            "HF_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "DEPLOY_KEY",
            "SERVICE_KEY_2", "DB_PASSWORD", "WATSONX_ZENAPIKEY",
        )),
        ("MY_API_KEY", "opensesame-please"),
    ],
)  # fmt: skip
def test_values_of_key_variables(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert value in key_values()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SORT_KEY", "celsius"),
        ("SORT_KEY", "created_at"),
        ("OPENAI_API_KEY", "ollama"),
        ("OPENAI_API_KEY", "not-needed"),
        ("MAX_TOKENS", "10000000"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key-1.json"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent.2"),
        ("AUTH_URL", "https://login2.example.com"),
    ],
)
def test_what_is_no_key_may_be_asked_and_said(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"by {value}!") == f"by {value}!"


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("Bearer hunter2-hunter2", "hunter2-hunter2"),
        ("postgres://me:hunter2-hunter2@db:5432/x", "hunter2-hunter2"),
        ("open sesame", "open sesame"),
    ],
)
def test_a_named_variable_holds_a_key_whatever_it_is_called(
    monkeypatch: pytest.MonkeyPatch, value: str, secret: str
) -> None:
    monkeypatch.setenv("TOOLEVAL_NAMED", value)
    keep_secret("TOOLEVAL_NAMED")
    assert secret in key_values()
    assert secret in secret_values()


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
    assert scrub_json(value, ("messages",)) == {"messages": [{"content": "the key is xxxxxxxx", "n": 1}]}


@pytest.mark.parametrize(
    "name",
    "HF_TOKEN AWS_BEARER_TOKEN_BEDROCK ANTHROPIC_AUTH_TOKEN REPLICATE_API_TOKEN SERVICE_KEY_2 "
    "WATSONX_ZENAPIKEY PROXY_AUTH DB_PASSWD GCP_CREDENTIALS_JSON".split(),
)
def test_names_that_may_mean_a_secret(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "tok-0123456789")
    assert "tok-0123456789" in secret_values()


@pytest.mark.parametrize("value", ["disabled", "Required", "10000000", "short"])
def test_words_and_numbers_are_no_secrets(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOOLEVAL_AUTH", value)
    assert value not in secret_values()


@pytest.mark.parametrize("name", ["GIT_AUTHOR_NAME", "TOKENIZERS_PATH", "KEYBOARD"])
def test_names_that_only_look_alike(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "Jane Q. Public")
    assert "Jane Q. Public" not in secret_values()


def test_a_variable_that_a_table_names_is_secret_whatever_it_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLEVAL_GATEWAY_LOGIN", "open sesame")
    assert "open sesame" not in secret_values()
    keep_secret("TOOLEVAL_GATEWAY_LOGIN")
    assert "open sesame" in secret_values()


SLASHED = "sk-live/AbC+d=ef01~2 3"
DATA = SLASHED.encode()
IN_JSON = json.dumps(SLASHED).replace("/", "\\/")


@pytest.mark.parametrize(
    "text",
    [
        IN_JSON,
        json.dumps(IN_JSON),
        IN_JSON.replace("s", "\\u0073").replace("A", "\\u0041"),
        json.dumps(IN_JSON.replace("l", "\\u006C")),
        quote(SLASHED),
        quote(SLASHED, safe=""),
        quote(SLASHED, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
        quote_plus(SLASHED),
        *(coded(b"user:"[:n] + DATA + end).decode() for n in range(4) for end in (b"", b"x", b"yz")
          for coded in (base64.b64encode, base64.urlsafe_b64encode)),
        base64.b64encode(DATA).decode().rstrip("="),
        SLASHED.upper(),
        re.escape(SLASHED),
    ],
)  # fmt: skip
def test_a_key_in_another_spelling(text: str) -> None:
    clean = scrub(text, (SLASHED,))
    # Beside the key there are quotes, or the ends of other bytes.
    assert PLACEHOLDER in clean
    assert len(clean.replace(PLACEHOLDER, "")) <= 12


def test_a_key_of_several_lines_is_found_in_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "TOOLEVAL_PRIVATE_KEY", key := "-----BEGIN KEY-----\nab12\ncd34\n-----END KEY-----"
    )
    for text in (key, json.dumps({"key": key}), json.dumps(json.dumps({"key": key}))):
        assert "ab12" not in redact(text)
        assert "cd34" not in redact(text)


def test_a_key_as_a_name_in_an_object_is_taken_out() -> None:
    value = {"arguments": {"sk-12345678": 1, "x": [{"a sk-12345678 b": 2}]}}
    assert "sk-12345678" not in json.dumps(scrub_json(value, ("sk-12345678",)))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("http://h/v1?code=hidden", "http://h/v1"),
        ("http://h/v1#hidden", "http://h/v1"),
        ("https://user:hidden@h/v1?x=y", "https://[secret]@h/v1"),
        ("user:hidden@gw.example/v1", "[secret]@gw.example/v1"),
        ("http://user:hid/den@h/v1", "http://[secret]@h/v1"),
        ("http://user:hidden?@h/v1", "http://[secret]"),
        ("http://h/v1?mail=a@b&code=hidden", "http://[secret]"),
    ],
)
def test_addresses_are_shown_without_what_is_secret_in_them(address: str, shown: str) -> None:
    assert shown_address(address) == shown


def test_the_user_in_an_address_is_hidden() -> None:
    assert scrub("no way to http://user:pass@gw:80/x", ()) == f"no way to http://{PLACEHOLDER}@gw:80/x"


def test_records_of_logs_hold_no_key_and_give_no_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLEVAL_API_KEY", "sk-12345678")
    text = "key %s\x1b[2J\n::error::owned\n\tnext"
    record = logging.LogRecord("LiteLLM Router", logging.WARNING, "f", 1, text, ("sk-12345678",), None)
    assert ScrubFilter().filter(record)
    assert record.getMessage() == f"key {PLACEHOLDER}\\x1b[2J\n\\x3a:error::owned\n\tnext"


def test_a_picture_stays_unless_it_holds_a_whole_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short value occurs in it by chance, in upper or lower case."""
    monkeypatch.setenv("A_API_KEY", "ab12cd")
    monkeypatch.setenv("B_API_KEY", "0123456789abcdefXYZ")
    picture = f"data:image/png;base64,{'x' * 6000}AB12cd=="
    assert redact([picture]) == [picture]
    assert redact(f"{picture} ") != f"{picture} "
    for text in ("data:image/png;base64,ab12cd", picture.replace("AB12cd", "0123456789abcdefXYZ")):
        assert redact(text) != text
