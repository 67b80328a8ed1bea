"""The comment on a pull request: verdict first, and no text of a model outside of code spans."""

from __future__ import annotations

from hypothesis import given

from pytest_tooleval.reports.pull_request import comment_text
from pytest_tooleval.reports.pull_request import headline

from .samples import comparison
from .samples import document
from .samples import gate
from .samples import hostile
from .samples import row
from .samples import trial
from .test_markdown import outside_code

FAILED = row("failed", trial(0, 0.6))
PASSED = row("passed", trial(), case="rome")


def test_the_headline_is_the_model_that_lost_the_most() -> None:
    assert headline(document(FAILED, PASSED)) == "50% of 2 cases"
    found = document(FAILED, PASSED, row("passed", trial(), model="other"), baseline=comparison())
    assert headline(found) == "gpt-4o: 50% of 2 cases, -10.0 points, 1 newly broken"
    assert headline(document()) == "nothing was evaluated"


def test_a_share_is_rounded_down() -> None:
    cases = [row("passed", trial(), case=f"c{n}") for n in range(299)]
    assert headline(document(*cases, FAILED)) == "99% of 300 cases"


def test_what_a_reader_needs_is_there_in_this_order() -> None:
    error = row("error", case="oslo", reason="no connection")
    found = document(FAILED, PASSED, error, gates=(gate(False),), baseline=comparison())
    text = comment_text(found, changed_answers=31, link="https://ci.example/1", note="A note.")
    places = [
        text.index(part)
        for part in (
            "**31 recorded answers changed in this pull request.**",
            "### Tool calling: **FAILED**",
            "- `gpt-4o`: 50% of 2 cases, -10.0 points, 1 newly broken, 1 case without an answer",
            "- failed gate: `overall of gpt-4o: 0.80 < 0.90`",
            "**Newly broken (1)**\n\n- `paris`: `overall 0.60 < 1.00 (wrong value)`",
            "1 case without an answer, such as `oslo`: `no connection`",
            "A note.",
            "compared with `main.json`, commit `0123456789`, of 2026-11-21; $0.00 spent in 12 s; ",
            "[report](https://ci.example/1)",
        )
    ]
    assert places == sorted(places)


@given(hostile)
def test_hostile_text_stands_in_code_spans(evil: str) -> None:
    case = row("failed", trial(0, 0.6), case=evil, reason=evil, model=evil, suite=evil)
    error = row("error", case=evil, reason=evil, model=evil, suite=evil)
    names = comparison(name=evil, model=evil, suite=evil, case=evil)
    text = comment_text(document(case, error, gates=(gate(False, evil),), baseline=names))
    assert "EVIL" in text
    assert "EVIL" not in outside_code(text)
