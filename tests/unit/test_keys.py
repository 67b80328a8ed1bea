"""What looks like a key, what does not, and what a suite names."""

from __future__ import annotations

import json
import random
import re
from urllib.parse import quote

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_tooleval import keys
from pytest_tooleval.keys import PublicTexts, stand_in, without_keys

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


PATTERNS = [*(f"{kind.prefix}{kind.rest}" for kind in keys._KINDS), keys._BEARER.pattern]
SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    **{chr(ord(c)): json.dumps(c)[1:-1] for c in "\b\f\n\r\t"},
}


def spelled(text: str, chance: random.Random, share: float) -> str:
    """The text as JSON, with this share of its characters as hexadecimal codes."""

    def spell(character: str) -> str:
        code = "".join(chance.choice([c, c.upper()]) for c in f"{ord(character):04x}")
        forms = [SHORT[character]] if character in SHORT else []
        if chance.random() < share or (not forms and not character.isprintable()):
            forms.append(f"\\u{code}")
        elif character.isprintable() and character not in '"\\':
            forms.append(character)
        return chance.choice(forms)

    return '"' + "".join(map(spell, text)) + '"'


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_key_is_found_in_every_spelling_of_json(pattern: str) -> None:
    """In arguments, also in JSON within JSON: the value is clean, and everything around it stays."""
    draws = replaced = 0

    @settings(max_examples=10, phases=[Phase.generate])
    @given(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True), st.integers())
    def check(key: str, seed: int) -> None:
        nonlocal draws, replaced
        chance = random.Random(seed)
        for _ in range(10):
            draws += 1
            before = "".join(chance.choices(["\n", "\t", " ", '"', "\\", "/", "(", "é", "%", ":"], k=2))
            text = f"see {before}{key}{chance.choice(['', ' ', ', more', chr(10), chr(34)])}"
            clean = without_keys(text)
            document, depth = (
                f'{{"a": {spelled(text, chance, chance.random())}}}',
                chance.choice([0, 0, 0, 0, 1, 2, 3]),
            )
            for _ in range(depth):
                document = f'{{"a": {spelled(document, chance, chance.choice([0.0, 0.2]))}}}'
            found = without_keys(document)
            assert without_keys(found) == found
            for _ in range(depth):
                found = json.loads(found)["a"]
            assert json.loads(found) == {"a": clean}
            replaced += clean != text

    check()
    assert draws >= 90
    assert replaced > draws / 2


@pytest.mark.parametrize(
    ("spelling", "made"),
    [
        (
            r'{"h": "x\nBearer A0b1C2d3E4\/f5G6h7I8\u002Bj9K0"}',
            r'{"h": "x\nBearer xxxxxxxxxxxxxxxxxxxxxxxx"}',
        ),
        (
            r'{"h": "\u0042earer\u0020A0b1C2d3E4f5G6h7I8j9"',
            r'{"h": "\u0042earer\u0020xxxxxxxxxxxxxxxxxxxx"',
        ),
        (
            r'{"t": "eyJhbGciOiJub25lIn0\u002eeyJzdWIiOiJBZGEifQ\u002Ec2lnbmVk"}',
            '{"t": "eyJhbGciOiJub25lIn0.eyJxxxxxxxxxxxxxxx.xxxxxxxx"}',
        ),
    ],
)
def test_only_the_key_is_spelled_anew(spelling: str, made: str) -> None:
    """Also in arguments that were cut off."""
    assert without_keys(spelling) == made


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
