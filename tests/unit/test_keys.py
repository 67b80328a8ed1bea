"""What looks like a key, what does not, and what a suite names."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from pytest_tooleval.keys import PublicTexts
from pytest_tooleval.keys import stand_in
from pytest_tooleval.keys import without_keys

KEY = "sk-proj-A0b1C2d3E4f5G6h7"
MADE = "sk-proj-xxxxxxxxxxxxxxxx"


@pytest.mark.parametrize(
    "text",
    [
        f"the key {KEY}, and more",
        f"`{KEY}` **{KEY}** ({KEY}) key={KEY}",
        f"https://evil.example/{KEY}?k={KEY}&x=1",
        quote(f"https://evil.example/?k=\n{KEY}"),
        json.dumps({"body": f"a\n{KEY}\t{KEY}", KEY: f'"{KEY}"'}),
        json.dumps(json.dumps({"body": f"a\n{KEY}"})),
    ],
)
def test_a_key_is_found_wherever_it_is(text: str) -> None:
    assert without_keys(text) == text.replace(KEY, MADE)
    assert without_keys(without_keys(text)) == without_keys(text)


@pytest.mark.parametrize("code", ["\\u{:04x}", "\\\\u{:04X}", "%{:02x}"])
@pytest.mark.parametrize("coded", ["sk-proj-A0b1C2d3E4f5G6h7", "j", "7", "-"])
def test_a_key_with_coded_characters_is_found(code: str, coded: str) -> None:
    hidden = "".join(code.format(ord(each)) if each in coded else each for each in KEY)
    assert without_keys(f'{{"a": "{hidden}"}}') == f'{{"a": "{MADE}"}}'


@pytest.mark.parametrize(
    "text",
    [
        "sk-toggleable__control-label-arrow task-proj-management-system-2024",
        "language-sk-translation-of-the-whole-document disk-0123456789012345678901234",
        "the Bearer of-bad-news-for-all-of-us uses Bearer token-based-authentication",
        "npm_config_registry_url_of_the_team hf_transformers_integration_tests_of_main",
        "pypi-publish-with-trusted-publisher-workflow",
        "AKIA, AKIARA, sk-, sk-proj-, ghp_, xoxb-, AIza, eyJ, sk-proj-CANARY",
        "gAAAAABk-sk-A0b1C2d3E4f5G6h7I8j9K0l1 100%2525 C:\\users\\u0041",
        "01234567-89ab-cdef-0123-456789abcdef",
        MADE,
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert without_keys(text) == text


@pytest.mark.parametrize(
    ("key", "made"),
    [
        ("kv-A0b1", "xxxxxxx"),
        ("sk-planted", "sk-xxxxxxx"),
        ("0123456789ABcdef", "0000000000000000"),
        ("01234567-89ab-cdef-0123-456789abcdef", "00000000-0000-0000-0000-000000000000"),
        ("xoxb-12-34-aBc", "xoxb-00-00-000"),
        ("ASIA0123456789ABCDEF", "ASIAXXXXXXXXXXXXXXXX"),
    ],
)
def test_a_stand_in_has_the_alphabet_of_the_key(key: str, made: str) -> None:
    assert stand_in(key) == made
    assert stand_in(made) == made


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (KEY, True),
        (f"the key\n{KEY}", True),
        ("c2d3e4", True),
        (r"\bA0b1C2\w+", True),
        (r"sk\-proj\-A0b1C2", True),
        ("sk-proj-A0b1", True),
        ("C2d3E", False),
        (r"sk-proj-[A-Za-z0-9]{16}", False),
        ("sk-proj-", False),
        ("", False),
    ],
)
def test_a_suite_names_a_key_by_six_characters(text: str, names: bool) -> None:
    public = PublicTexts(lambda: {"expected": [text]})
    assert (without_keys(f"x {KEY} y", public) == f"x {KEY} y") == names


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJBZGEifQ.c2lnbmVk",
            "eyJhbGciOiJub25lIn0.eyJvdGhlciI6MX0.b3RoZXI",
        ),
        ("sk-" + "A0b1C2d3" * 3 + "T3BlbkFJ" + "A0b1C2d3" * 3, "T3BlbkFJ"),
        ("xoxb-123456789012-A0b1C2d3", "order 123456789012"),
        ("sk-ant-api03-" + "A0b1C2d3" * 3, "sk-ant-api03-"),
    ],
)
def test_what_all_keys_of_a_kind_have_names_none(key: str, text: str) -> None:
    assert without_keys(key, PublicTexts(lambda: text)) == stand_in(key) != key
