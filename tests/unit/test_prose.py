"""The marks of odd prose, and what is none."""

from __future__ import annotations

import prose
import pytest


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Not run are calls to the expected tool.", ["a predicate in front"]),
        ("What a judge costs is not part of it.", ["a clause with 'what' in front"]),
        ("Of a cheaper model, ask not much.", ["'of' in front"]),
        ("Of 100 intervals, 95 are right.", []),
        ("This applies to gates, too.", ["'too' at the end"]),
        ("Compare with a release as well.", ["'as well' at the end"]),
        ("Give it a table of its own.", ["'of its own': write 'its own'"]),
        ("It never stops because of its own answers.", []),
        ("The model `lexical` stands in for a real one.", []),
        ("The value stands in the file.", ["'stands' for 'is'"]),
        ("What is new?", []),
        ("Cases are pytest items.", []),
    ],
)
def test_marks(text: str, found: list[str]) -> None:
    [(line, sentence)] = prose.sentences(f"---\ntitle: Not run are\n---\n\n{text}\n")
    assert line == 5
    assert prose.marks(sentence) == found


def test_code_is_not_read_and_cells_are() -> None:
    code, row, item = (
        "```text\nNot run are all.\n```",
        "| a | too long, too |",
        "- One thought. Another\n  one.",
    )
    text = f"# Head\n\n{code}\n\n{row}\n\n{item}\n"
    read = [sentence for _, sentence in prose.sentences(text)]
    assert read == ["Head", "a", "too long, too", "One thought.", "Another one."]
