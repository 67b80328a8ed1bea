"""The comment on a pull request: verdict first, and no text of a model outside of code spans."""

from __future__ import annotations

import re

from hypothesis import given
from msgspec import structs

from pytest_tooleval.reports.pull_request import (
    Cause,
    ForgePlace,
    PullRequestChanges,
    comment_text,
    headline,
)

from .samples import comparison, document, gate, hostile, row, trial
from .test_markdown import outside_code

FAILED = row("failed", trial(0, 0.6))
PASSED = row("passed", trial(), case="rome")


def test_the_headline_is_the_model_that_lost_the_most() -> None:
    assert headline(document(FAILED, PASSED)) == "pass rate 0.50 over 2 cases"
    found = document(FAILED, PASSED, row("passed", trial(), model="other"), baseline=comparison())
    assert headline(found) == "gpt-4o: pass rate 0.50 over 2 cases, -10 points, 1 newly broken"
    # A model that failed comes before one with a lower pass rate.
    tolerated = [row("failed", trial(0, 0.6), counted=True, model="other", case=c) for c in "abc"]
    found = document(FAILED, PASSED, *tolerated, gates=(gate(True),))
    assert headline(found) == "gpt-4o: pass rate 0.50 over 2 cases"
    assert headline(document()) == "another test in the run failed"
    assert headline(document(PASSED)) == "another test in the run failed; pass rate 1.00 over 1 case"
    assert headline(document(row("skipped"), exitstatus=0)) == "not evaluated: 0 of 1"


def test_what_decides_is_there_without_a_baseline_in_this_order() -> None:
    bad = structs.asdict(trial(0, 0.0)) | {"failure": "forbidden_call"}
    called = "called delete_all, which is forbidden"
    forbidden = row("failed", case="bonn", reason=called, counted=True)
    forbidden |= {"trials": [bad], "scores": {"overall": 0.0}}
    error = row("error", case="oslo", reason="no connection")
    failed = [row("failed", trial(0, 0.6), case=f"c{n}", line=n) for n in range(12)]
    found = document(*failed, PASSED, forbidden, error, gates=(gate(False),))
    suites = {"weather.tooleval.json": ["the new description of get_weather", "1 case removed: rome"]}
    text = comment_text(
        found,
        changed=PullRequestChanges(suites, answers=31),
        place=lambda file, line: ForgePlace(f"{file}:{line}", f"https://forge.example/{file}#L{line}"),
        link="https://ci.example/1",
        note="A note.",
    )
    places = [
        text.index(part)
        for part in (
            "### Tool calling: **FAILED**",
            "\nThe job fails: ",
            "\nA note.\n",
            "\n- gate **FAILED**: `overall of gpt-4o: 0.80 < 0.90`\n",
            f"\n**Forbidden calls (1)**\n\n- `bonn`, counted by a failed gate: `{called}` "
            "([`weather.tooleval.json:21`](https://forge.example/weather.tooleval.json#L21))\n",
            "\n**Failed (12)**\n\n- `c0`: `overall 0.60 < 1.00 (wrong value)` ([`weather",
            "\n- and 2 more\n",
            "\n**Without an answer (1)**\n\n- `oslo`: `no connection` (",
            "\n**Changed by this pull request**\n\n- `weather.tooleval.json`: `the new description of "
            "get_weather`, `1 case removed: rome`\n- 31 recorded answers\n",
            "\n<details><summary>Statistics</summary>\n",
            "\n| model | pass rate | passed |",
            "\n| `gpt-4o` | ",
            "\nnot compared, as there is no baseline; cost `$0`, took 12.5 s; [report](https://ci.example/1)",
        )
    ]
    assert places == sorted(places)
    assert "`c10`" not in text


def test_a_comment_on_many_models_is_cut_at_a_line() -> None:
    models = [row("passed", trial(), model="m" * 200 + str(n)) for n in range(900)]
    text = comment_text(document(*models, gates=(gate(True),)))
    assert 60_000 < len(text) <= 64_800
    lines = text.splitlines()
    end = lines.index("</details>")
    assert lines[end - 4].endswith("|")
    assert lines[end - 2].startswith("... and ")
    assert lines[end + 2].startswith("Cut to 64,800 bytes: ")
    assert lines[-1].startswith("not compared, as there is no baseline")
    assert "- gate passed: `overall of gpt-4o: " in text


def test_many_gates_leave_room_for_cases() -> None:
    gates = [gate(False, "long " * 100) for _ in range(400)]
    text = comment_text(document(FAILED, PASSED, gates=(*gates, gate(True))))
    assert text.count("- gate **FAILED**: ") == 50
    assert "\n- and 351 more\n" in text
    assert "**Failed (1)**\n\n- `paris`" in text


def test_what_the_baseline_shows_comes_first() -> None:
    found = document(FAILED, PASSED, row("failed", trial(0, 0.0), case="oslo"), baseline=comparison())
    cause = Cause([("the new description of f", "old", "new")], ["pytest a", "tooleval blame b"])
    text = comment_text(found, changed=PullRequestChanges(unknown="fetch it"), cause=lambda row: cause)
    places = [
        text.index(part)
        for part in (
            "**Newly broken (1)**\n\n- `paris`, `5/5 -> 0/5`: `overall 0.60 < 1.00 (wrong value)`",
            "    - `the new description of f`: `old` → `new`\n",
            "    - try: `pytest a`, or `tooleval blame b`\n",
            "**Changed by this pull request**\n\n- not known: fetch it",
            "- `gpt-4o`: `worse than main.json: paris newly broken (p = 0.020)`",
            "compared with `main.json`, commit `0123456789`, of 2026-11-21; ",
        )
    ]
    assert places == sorted(places)
    assert text.count("`paris`") == 1


def test_long_texts_of_an_edit_begin_where_they_differ() -> None:
    found = document(FAILED, PASSED, baseline=comparison())
    same = "word " * 100
    edits = [("the description of f", f"{same}old", f"{same}new"), ("the description of g", "", "new")]
    text = comment_text(found, cause=lambda row: Cause(edits))
    shared = same[-40:]
    assert f"    - `the description of f`: `…{shared}old` → `…{shared}new`\n" in text
    assert "    - `the description of g`: nothing → `new`\n" in text


def test_a_long_comment_leaves_out_what_decides_least() -> None:
    long = "name" * 100
    cases = [row("failed", case=f"{n}{long}", file=f"{n}{long}", reason=long) for n in range(20)]
    suites = {f"{n}{long}": [long] * 20 for n in range(20)}

    def place(file: str, line: int) -> ForgePlace:
        return ForgePlace(f"{file}:{line}", f"https://{file * 20}")

    text = comment_text(document(*cases), changed=PullRequestChanges(suites), place=place)
    assert re.search(r"\n- and 1[0-9] more\n", text)
    assert "\nCut to 64,800 bytes: " in text
    assert len(text.encode()) <= 64_800


@given(hostile)
def test_hostile_text_stands_in_code_spans(evil: str) -> None:
    case = row("failed", trial(0, 0.6), case=evil, reason=evil, model=evil, suite=evil)
    error = row("error", case=evil, reason=evil, model=evil, suite=evil)
    names = comparison(name=evil, model=evil, suite=evil, case=evil)
    found = document(case, error, gates=(gate(False, evil),), baseline=names)
    text = comment_text(found, changed=PullRequestChanges({evil: [evil]}))
    assert "EVIL" in text
    assert "EVIL" not in outside_code(text)
