"""The marks of odd prose, and what is none."""

from __future__ import annotations

import prose
import pytest

_MODULE = """\"\"\"What it is.\"\"\"

# Of these,
# none.
x = 1  # beside
'''no docstring'''


def f() -> None:
    \"\"\"Does it, too.\"\"\"
"""


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
        (
            "It never follows a redirect, also not one of litellm's.",
            ["'also' for 'even' or 'including'"],
        ),
        ("The case fails, also if it expects no call.", ["'also' for 'even' or 'including'"]),
        ("A rerun also runs the case.", []),
        ("Then mend the world.", ["'mend' for 'fix'"]),
        ("We recommend amendments.", []),
        ("With a cassette, it asks only new questions.", ["'ask' for 'query', 'send' or 'run'"]),
        ("The agent asks the user for a date.", []),
        ("A source that is no file has a command.", ["'is no' for 'is not a'"]),
        ("There is no file.", []),
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


def test_an_item_stands_twice_in_one_list() -> None:
    text = "- a\n- b\n  more\n- a\n\nOther\n\n- a\n\n```text\n- c\n- c\n```\n"
    assert [*prose.doubled(text)] == [(4, "a")]


def test_words_are_counted_but_not_code() -> None:
    text = (
        "---\ntitle: no\n---\n\n# Two words\n\n```bash\nnot these\n```\n\n| a | `b c` |\n| --- | --- |\n"
    )
    assert prose.words(text) == 4


def test_docstrings_and_comments_are_read_with_their_lines() -> None:
    found = {line: text.strip() for line, text in prose.in_code(_MODULE) if text}
    assert found == {1: "What it is.", 3: "Of these, none. beside", 10: "Does it, too."}
