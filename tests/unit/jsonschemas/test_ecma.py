"""Patterns mean what ECMA-262's do. Node, if it is there, confirms the tables."""

from __future__ import annotations

import json
import shutil
import subprocess
import unicodedata
from typing import Any

import pytest

from pytest_tooleval.jsonschemas.ecma import rewritten
from pytest_tooleval.jsonschemas.patterns import compile_pattern, pattern_problem

# A pattern, a text, and whether it is found there.
FOUND = [
    ("", "", True),
    ("^a$", "a", True),
    ("^a$", "a\n", False),
    ("^a$", "b\na\nb", False),
    (r"^\d$", "5", True),
    (r"^\d$", "٣", False),
    (r"\D", "٣", True),
    (r"^\w$", "é", False),
    (r"\W", "é", True),
    (r"^\s$", "\ufeff", True),
    (r"^\s$", "\u2028", True),
    (r"\s", "\x1c", False),
    (r"\S", "\x85", True),
    (r"caf\b", "café", True),
    (r"\bé", "é", False),
    (r"a\B", "ab", True),
    (".", "\n", False),
    (".", "\r", False),
    (".", "\u2028", False),
    (".", "\x85", True),
    ("^.$", "😀", True),
    ("[^]", "\n", True),
    ("[]", "a", False),
    ("[^a]", "\n", True),
    (r"^[\s\S]$", "\n", True),
    (r"^[\D5]$", "5", True),
    (r"^[^\W_]$", "_", False),
    ("[a&&b]", "&", True),
    ("[a||b]", "|", True),
    ("[a~~b]", "~", True),
    ("[+--]", ",", True),
    ("[[a]", "[", True),
    ("[[:alpha:]", "[", True),
    ("[[:alpha:]", "b", False),
    (r"[\b]", "\b", True),
    (r"[\-\]]", "]", True),
    (r"^\/\.$", "/.", True),
    (r"^\cJ\t\0$", "\n\t\0", True),
    (r"^\x41\u0042\u{43}$", "ABC", True),
    (r"^\u{1F600}\uD83D\uDE00$", "😀😀", True),
    (r"^[\u{1F600}-\u{1F64F}]$", "😃", True),
    (r"^\p{L}\p{Lu}\p{Letter}$", "éÉß", True),
    (r"\P{L}", "é", False),
    (r"^[\p{Script=Greek}\p{Nd}]+$", "λ5", True),
    (r"^\p{IDC}\p{Variation_Selector}\p{VS}\P{gc=Lu}$", "5\ufe0f\ufe0fa", True),
    (r"\p{ASCII}\p{White_Space}", "a\u3000", True),
    ("a{0}b", "b", True),
    ("^a{2,}?$", "aaa", True),
    ("^a{1,99999999999}$", "aaa", True),
    ("(?<=a)b(?!c)", "abd", True),
    ("(?<!a)b(?=c)", "abc", False),
    ("^(?<q>['\"]).*\\k<q>$", "'it'", True),
    ("^(?<q>['\"]).*\\k<q>$", "'it\"", False),
    (r"^(a)?\1b$", "b", True),
    (r"^\1(a)$", "a", True),
    (r"^(a\1)$", "a", True),
    ("#a", "#a", True),
    ("a b", "ab", False),
    ("a~b", "a~b", True),
]
REFUSED = [
    *(r"\A", r"a\Z", r"\z", r"\h", r"\e", r"\Q", r"\é", "\\", r"[\B]", r"\N{BULLET}"),
    *(
        "a{e}",
        "(?:ab){e<=1}",
        "a{,3}",
        "{",
        "}",
        "]",
        "a{1",
        "a{2,1}",
        "*a",
        "a**",
        "a++",
        "a?+",
        "a{2}{3}",
    ),
    *("^*", r"\b+", "(?=a)*", "(?<=a)+", "(a", "a)", "[a", "[b-a]", r"[\d-z]", r"[a-\d]"),
    *("(?e)a", "a(?i)", "(?i:a)", "(?>a)", "(?#a)", "(?P<n>a)", "(?P=n)", "(?|a|b)", "(?R)", "(?s)."),
    *(r"\1", r"(a)\2", r"\01", r"\k<n>", r"[\1]", "(?<n>a)(?<n>b)", "(?<1>a)"),
    *(
        r"\u12",
        r"\x1",
        r"\u{110000}",
        r"\c1",
        r"\pL",
        r"\p{^L}",
        r"\p{Greek}",
        r"\p{alpha}",
        r"\p{script=Greek}",
    ),
]


@pytest.mark.parametrize(("pattern", "text", "found"), FOUND)
def test_patterns_mean_what_ecma_says(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) is found


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_ecma_refuses_is_refused(pattern: str) -> None:
    assert pattern_problem(pattern) is not None


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"^a\Z", r"\Z means nothing in ECMA-262; write $ at position 2"),
        ("(?P<n>a)", "(?P means nothing in ECMA-262; write (?<name>...) at position 0"),
        ("a{e}", r"{ that begins no count such as {2,5} (write \{) at position 1"),
        ("a++", "+ after nothing that can be repeated at position 2"),
        (
            r"a\p{CWKCF}",  # of ECMA-262, but unknown to `regex`
            r"\p means nothing in ECMA-262; write a property such as \p{Letter} or \p{Script=Greek} "
            "at position 1",
        ),
        (r"(?<=(a)\1)b", r"\1 in a look-behind, which is not supported at position 7"),
        ("((a{100}){100}){100}", "counts that ask for more than 100,000 characters at position 15"),
    ],
)
def test_the_message_says_what_to_write(pattern: str, message: str) -> None:
    assert pattern_problem(pattern) == f"the regular expression does not compile: {message}"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(?i)^straSSe$", "STRASSE"), (r"(?i)^[a-c]\.$", "B."), (r"^\d{3}\-\_\ \'$", "123-_ '")],
)
def test_what_goes_beyond_ecma(pattern: str, text: str) -> None:
    """A leading `(?i)`, and punctuation that did not need to be escaped."""
    assert compile_pattern(pattern).search(text)


def test_long_patterns_are_read_once() -> None:
    assert rewritten("(" * 20_000 + "a" * 1_000_000 + ")" * 20_000).endswith(")")


ANY_CASE = [
    (r"^\W$", "S", False),
    (r"^\W$", "i", False),
    (r"^\W$", "\u017f", False),
    (r"^\w$", "\u212a", True),
    (r"^[^\W]$", "\u017f", True),
    (r"^[^\w]$", "\u212a", False),
    (r"^\p{Lu}$", "a", True),
    (r"^[^\p{Lu}]$", "a", False),
    (r"^[^a-c]$", "B", False),
    ("^i$", "\u0131", False),
    ("^s$", "\u017f", True),
    ("^k$", "\u212a", True),
    ("^\u212a$", "K", True),
    ("^\u00df$", "\u1e9e", True),
    ("^ss$", "\u00df", False),
    ("^\u03c3$", "\u03c2", True),
    (r"^(ab)\1$", "abAB", True),
    (r"^(?<x>s)\k<x>$", "s\u017f", True),
    (r"a\bk", "a\u212a", False),
    (r"^\u{10400}$", "\U00010428", True),
    (r"^[\x40-\x5f]+$", "ab[z", True),
    (r"^(?=A)[^b]$", "a", True),
]


@pytest.mark.parametrize(("pattern", "text", "found"), ANY_CASE)
def test_ignoring_case(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(f"(?i){pattern}").search(text) is not None) is found


def by_node(script: str, given: object) -> list[Any]:
    read = 'const given = JSON.parse(require("fs").readFileSync(0, "utf8"));'
    ran = subprocess.run(
        ["node", "-e", f"{read} console.log(JSON.stringify({script}))"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: list[Any] = json.loads(ran.stdout)
    return answer


FOUND_BY_NODE = """given.map(([pattern, text, flags]) => {
    try { return new RegExp(pattern, flags).test(text); } catch { return null; }
})"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_node_says_the_same() -> None:
    rows = [(*row[:2], "u") for row in FOUND] + [(pattern, "", "u") for pattern in REFUSED]
    rows += [(*row[:2], "iu") for row in ANY_CASE]

    assert by_node(FOUND_BY_NODE, rows) == [
        *(found for _, _, found in FOUND),
        *[None] * len(REFUSED),
        *(found for _, _, found in ANY_CASE),
    ]


ONES = [
    *("i", "s", "k", "K", "\u017f", "\u212a", "\u1e9e", "\u03c2", "\u00b5"),
    *(r"\w", r"\W", r"[^\w]", r"[^\W]", r"\d", r"\s", "[^a-z]", "[A-\u012f]", ".", "[^K]"),
    *(r"[\u0000-\u{10FFFF}]", r"[\W\d]", r"[^\W_]"),
]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_node_ignores_the_case_of_every_character_alike() -> None:
    """But for characters that another Unicode version has not, and two that only `regex` takes for i."""
    every = [chr(code) for code in range(0x1F000) if not 0xD800 <= code < 0xE000]
    script = "given.map(each => each.toUpperCase() + each.toLowerCase() + each)"
    chars = [
        each
        for each, cases in zip(every, by_node(script, every), strict=True)
        if (len({*cases}) > 1 or each < "\u0700")
        and each not in "\u0130\u0131"
        and all(unicodedata.category(one) != "Cn" for one in cases)
    ]
    script = """given[0].map(one => {
        const pattern = new RegExp(`^${one}$`, "iu");
        return given[1].filter(each => pattern.test(each));
    })"""
    assert len(chars) > 3000
    for one, found in zip(ONES, by_node(script, [ONES, chars]), strict=True):
        search = compile_pattern(f"(?i)^{one}$").search
        assert [each for each in chars if search(each)] == found, one
