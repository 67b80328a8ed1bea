"""Marks of prose that nobody says aloud: `python tools/prose.py [--long] [FILE...]`.

CONTRIBUTING.md has the rules. `--long` lists sentences of more than 25 words instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARKS = {
    "a predicate in front": r"^(?:(?:Not|Never|Also|Only) [a-z]+|[A-Z][a-z]+ed) (?:is|are|was|were) ",
    "a clause with 'what' in front": r"^What [^?]*\b(?:is|are|was|were|stays?|counts?|comes) [^?]*[.:]$",
    "'of' in front": r"^Of (?!\d)",
    "'too' at the end": r", too\b(?! \w)",
    "'as well' at the end": r"\bas well[.;:]",
    "'of its own': write 'its own'": r"\bof (?:its|their|your|our|one's) own(?=[.,;:)]|$)",
    "'stands' for 'is'": r"\b(?:stands?|stood) (?:in(?! for)|at|with|there|beside)\b",
    "'tells of'": r"\b(?:tells?|told) of\b",
    "'under way'": r"\bunder way\b",
    "'which' as a pronoun in front": r"^Which is ",
}
LONG = 25
_SKIPPED = re.compile(r"^---\n.*?^---$|^( *)```.*?^\1```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
# A paragraph, an item, a heading or a row of a table.
_BEGINS = re.compile(r"^\s*$|^ *(?:[-*+] |\d+\. |#|\|)")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each with the line of its paragraph. Code counts as a word; tables are read cell by cell."""
    text = _SKIPPED.sub(lambda found: "\n" * found[0].count("\n"), text)
    paragraph, start = "", 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if _BEGINS.match(line):
            yield from _split(paragraph, start)
            paragraph = ""
        if line.lstrip().startswith("|"):
            for cell in line.split(" | "):
                yield from _split(cell.strip(" |"), number)
            continue
        start = start if paragraph.strip() else number
        paragraph += " " + re.sub(r"^ *(?:[-*+] |\d+\. |#+ )", "", line).strip()


def _split(paragraph: str, line: int) -> Iterator[tuple[int, str]]:
    plain = re.sub(r"`[^`]*`", "CODE", paragraph)
    plain = re.sub(r"\]\([^)]*\)(?:\{[^}]*\})?|[*\[\]]|!(?=\[)", "", plain)
    for sentence in re.split(r"(?<=[.!?:]) +(?=[A-Z\"'(])", plain.strip()):
        if sentence:
            yield line, sentence


def marks(sentence: str) -> list[str]:
    return [mark for mark, pattern in MARKS.items() if re.search(pattern, sentence)]


def _pages() -> list[Path]:
    """All but the one that shows what not to write."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def main(arguments: list[str]) -> int:
    long = "--long" in arguments
    named = [Path(each) for each in arguments if each != "--long"]
    found = 0
    for path in named or _pages():
        for line, sentence in sentences(path.read_text(encoding="utf-8")):
            words = len(sentence.split())
            why = [f"{words} words"] * (words > LONG) if long else marks(sentence)
            found += len(why)
            for each in why:
                print(f"{path.resolve().relative_to(ROOT)}:{line}: {each}: {sentence}")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
