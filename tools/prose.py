"""Marks of prose that nobody says aloud: `python tools/prose.py [--long | --count] [FILE...]`.

Reads the pages, and the package's docstrings and comments. CONTRIBUTING.md has the rules. `--long` lists
sentences of more than 25 words instead. `--count` counts the words of each page, all but code.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
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
    "'also' for 'even' or 'including'": (
        r"(?:, |\()also\b(?! called| known)"
        r"|\balso (?:if|in|inside|with|without|at|by|after|from|for|not|as)\b"
    ),
    "'mend' for 'fix'": r"\b[Mm]end(?:s|ed|ing)?\b",
    "'ask' for 'query', 'send' or 'run'": (
        r"\b[Aa]sk(?:s|ed|ing)? (?:nothing|only|anew|(?:a|the|the run's) model|models)\b"
    ),
    "'is no' for 'is not a'": (
        r"(?<![Tt]here )\b(?:is|are) no "
        r"(?:file|number|calls?|single|agents?|world|proof|surplus|such end|suite)\b"
    ),
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


def doubled(text: str) -> Iterator[tuple[int, str]]:
    """Items that stand twice in one list, with their lines."""
    text = _SKIPPED.sub(lambda found: "\n" * found[0].count("\n"), text)
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        item = re.match(r" *(?:[-*+]|\d+\.) (.+)", line)
        if item and item[1] in seen:
            yield number, item[1]
        elif item:
            seen.add(item[1])
        elif not line.startswith(" "):
            seen.clear()


def in_code(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, each with its first line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.body[0].lineno, ast.get_docstring(node) or ""
    first, last, comment = 0, -1, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield first, comment
                first, comment = token.start[0], ""
            comment += token.string.removeprefix("#")
            last = token.start[0]
    yield first, comment


def words(text: str) -> int:
    return sum(len(re.findall(r"\w\S*", sentence)) for _, sentence in sentences(text))


def _pages() -> list[Path]:
    """All but the one that shows what not to write."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def main(arguments: list[str]) -> int:
    options = {"--long", "--count"} & {*arguments}
    pages = [Path(each) for each in arguments if each not in options] or _pages()
    texts = {page.resolve().relative_to(ROOT): page.read_text(encoding="utf-8") for page in pages}
    if "--count" in options:
        counts = {page: words(text) for page, text in texts.items()}
        for page, count in counts.items():
            print(f"{count:6} {page}")
        print(f"{sum(counts.values()):6} in all")
        return 0
    found = [line for page, text in texts.items() for line in _found(page, text, "--long" in options)]
    for module in () if arguments else sorted((ROOT / "pytest_tooleval").rglob("*.py")):
        for start, text in in_code(module.read_text(encoding="utf-8")):
            found += _found(module.relative_to(ROOT), text, False, start)
    print("\n".join(found), end="\n" * bool(found))
    return min(len(found), 1)


def _found(page: Path, text: str, long: bool, start: int = 1) -> Iterator[str]:
    for line, sentence in sentences(text):
        length = len(sentence.split())
        why = [f"{length} words"] * (length > LONG) if long else marks(sentence)
        yield from (f"{page}:{line + start - 1}: {each}: {sentence}" for each in why)
    if not long:
        yield from (f"{page}:{line}: an item that stands twice: {item}" for line, item in doubled(text))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
