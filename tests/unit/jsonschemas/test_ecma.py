"""Patterns mean what ECMA-262's do. Node, if it is there, confirms the tables."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from pytest_tooleval.jsonschemas.ecma import rewritten
from pytest_tooleval.jsonschemas.patterns import compiled
from pytest_tooleval.jsonschemas.patterns import pattern_problem

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
    assert (compiled(pattern).search(text) is not None) is found


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
    assert compiled(pattern).search(text)


def test_long_patterns_are_read_once() -> None:
    assert rewritten("(" * 20_000 + "a" * 1_000_000 + ")" * 20_000).endswith(")")


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_node_says_the_same() -> None:
    script = """
        const out = JSON.parse(require("fs").readFileSync(0, "utf8")).map(([pattern, text]) => {
            try { return new RegExp(pattern, "u").test(text); } catch { return null; }
        });
        console.log(JSON.stringify(out));
    """
    rows = [row[:2] for row in FOUND] + [(pattern, "") for pattern in REFUSED]

    ran = subprocess.run(
        ["node", "-e", script], input=json.dumps(rows), capture_output=True, text=True, check=True
    )

    assert json.loads(ran.stdout) == [found for _, _, found in FOUND] + [None] * len(REFUSED)
