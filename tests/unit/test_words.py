"""One word for a thing: docs/reference/glossary.md has it, and this table those that it replaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pytest_tooleval"
INSTEAD = {
    r"rounds?": "reply",
    r"hops?": "call",
    r"trajector(y|ies)": "transcript",
    r"recorded runs?": "transcript",
    r"flips?|flipped": "newly broken",
    r"bounds?|bounded": "limit",
    r"budgets?": "limit",
    r"(expected|wrong|missing|unexpected) parameters?": "argument",
    r"baseline/lexical": "builtin/lexical",
}
MOST_WORDS = 36


@cache
def texts() -> tuple[tuple[Path, str], ...]:
    return tuple(_texts())


def _texts() -> Iterator[tuple[Path, str]]:
    """The docs, and what the code can say: messages, help, docstrings and labels of the page."""
    for name in ("README", "CONTRIBUTING", "ARCHITECTURE"):
        yield ROOT / f"{name}.md", (ROOT / f"{name}.md").read_text()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        # Output has the ids of users' cases; what we say in it is checked below, in the code.
        yield path, re.sub(r"^```text\n.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for path in sorted(PACKAGE.rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        strings = (node.value for node in nodes if isinstance(node, ast.Constant))
        # A single word is a key, perhaps that of another library.
        yield from ((path, text) for text in strings if isinstance(text, str) and " " in text)
    for path in sorted(PACKAGE.rglob("*.js")):
        if "vendor" not in path.parts:
            yield path, "\n".join(re.findall(r'"[^"\n]*"|`[^`]*`', path.read_text()))


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_that_was_replaced_does_not_come_back(word: str) -> None:
    pattern = re.compile(rf"(?<![\w./-])({word})(?![\w/-]|\.\w)", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}: {m[0]}" for path, text in texts() for m in pattern.finditer(text)
    ]
    assert not found, f"write {INSTEAD[word]}"


def test_the_glossary_stays_short() -> None:
    lines = (ROOT / "docs/reference/glossary.md").read_text().splitlines()
    words = [line for line in lines if line.startswith("| ") and not line.startswith("| word ")]
    assert len(words) <= MOST_WORDS
