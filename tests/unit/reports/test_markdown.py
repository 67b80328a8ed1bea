"""Markdown: what a reader is told, what fits, and that hostile text stays text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from pytest_tooleval.record.call_pairs import CallPair
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.results import Outcome
from pytest_tooleval.reports.markdown import COMMENT_LIMIT, LEAST_LIMIT, SUMMARY_LIMIT, markdown_text

from .samples import any_text, comparison, document, gate, hostile, row, trial

# Code spans as CommonMark finds them: the next run of as many backticks ends one.
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def report(*cases: dict[str, Any], **fields: Any) -> str:
    return markdown_text(document(*cases, **fields))


ALL = "All figures</summary>"


def table(text: str, title: str) -> list[list[str]]:
    """The cells of the table below a title, without its line of dashes."""
    lines = text.partition(title)[2].strip().splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]
    assert all(len(cells) == len(rows[0]) for cells in rows)
    return [rows[0], *rows[2:]]


def test_the_verdict_comes_first() -> None:
    text = report(row("passed", trial()), row("failed", trial(0, 0.6)))
    assert text.startswith("## Tool calling: FAILED\n\n2 cases on 1 model: 1 passed, 1 failed.\n")


def test_files_that_could_not_be_collected_are_named() -> None:
    text = report(row("passed", trial()), exitstatus=2, collection_errors=2)
    assert text.startswith("## Tool calling: INCOMPLETE (interrupted)\n")
    assert "2 files could not be collected." in text


def test_gates_that_failed_come_first() -> None:
    text = report(row("passed", trial()), gates=(gate(True, "first"), gate(False, "second")))
    assert "1 of 2 gates passed." in text
    assert "\n- **FAILED**: `gpt-4o`, `1 of 1 case passed; overall: second`\n" in text


def test_scores_per_model_and_no_column_without_a_value() -> None:
    text = report(
        row(
            "passed",
            trial(latency_s=1.5, prompt_tokens=900, completion_tokens=100, reasoning_tokens=60),
        ),
        row("failed", trial(0, 0.6), model="other"),
    )
    assert table(text, "### Scores") == [
        ["model", "suite", "pass rate", "passed", "`overall`"],
        ["`gpt-4o`", "`Weather`", "1.00", "1/1", "1.00"],
        ["`other`", "`Weather`", "0.00", "0/1", "0.60"],
    ]
    last = ["tokens", "reasoning", "latency"]
    assert table(text, ALL) == [
        ["model", "suite", "pass rate", "cases", "passed", "failed", "`overall`", *last],
        ["`gpt-4o`", "`Weather`", "1.00", "1", "1", "0", "1.00", "1,000", "60", "1.50 s"],
        ["`other`", "`Weather`", "0.00", "1", "0", "1", "0.60", "-", "-", "-"],
    ]
    assert "Scores by suite" not in text


def test_several_suites_have_a_table_of_their_own() -> None:
    text = report(row("passed", trial()), row("failed", trial(0, 0.6), suite="Travel", file="t.json"))
    assert table(text, "### Scores")[1:] == [["`gpt-4o`", "0.50", "1/2", "0.80"]]
    assert table(text, "Scores by suite</summary>")[1:] == [
        ["`gpt-4o`", "`Weather`", "1.00", "1", "1", "0", "1.00"],
        ["`gpt-4o`", "`Travel`", "0.00", "1", "0", "1", "0.60"],
    ]


def test_suites_of_one_name_are_told_apart_by_their_files() -> None:
    text = report(row("passed", trial()), row("passed", trial(), file="b.json"))
    names = [cells[1] for cells in table(text, "Scores by suite</summary>")[1:]]
    assert names == ["`Weather (weather.tooleval.json)`", "`Weather (b.json)`"]


def test_trials_show_intervals_and_reliability() -> None:
    text = report(
        row("failed", trial(0), trial(1, 0.6)), row("passed", trial(0), trial(1)), intervals=True
    )
    header, cells = table(text, ALL)
    assert re.fullmatch(r"0\.50 \(0\.\d\d to [01]\.\d\d\)", cells[header.index("pass rate")])
    assert cells[header.index("`pass@2`")] == "1.00"
    assert cells[header.index("`pass^2`")] == "0.50"
    assert "- `paris` on `gpt-4o`, 1 of 2 trials passed: `overall" in text


def test_a_cost_that_is_known_in_part_says_so() -> None:
    text = report(row("passed", trial(0, cost_usd=0.25), trial(1)))
    header, cells = table(text, ALL)
    assert cells[header.index("cost")] == "`$0.2500+`"
    assert "$" not in re.sub("`[^`]*`", "", text)  # which GitHub would read as mathematics


def test_what_did_not_pass_is_listed_with_its_place() -> None:
    text = report(
        row("failed", trial(0, 0.6)),
        row("error", case="rome", reason="no connection"),
        row("failed", trial(0, 0.6), tolerated=True, case="oslo", reason="overall 0.60 < 1.00", line=0),
        row("passed", trial(), case="lima"),
    )
    assert "<details open><summary>2 cases failed</summary>\n\n- `paris` on `gpt-4o`: " in text
    assert "`overall 0.60 < 1.00 (wrong value)` (`weather.tooleval.json:21`)\n- `oslo` on" in text
    assert "1 case without a verdict (errors)</summary>\n\n- `rome` on `gpt-4o`: `no conn" in text
    assert "- `oslo` on `gpt-4o`, tolerated: `overall 0.60 < 1.00` (`weather.tooleval.json`)" in text
    assert "`lima`" not in text


def test_fifty_failed_cases_are_listed_and_more_are_counted() -> None:
    text = report(*(row("failed", trial(0, 0.6), case=f"case-{n}") for n in range(1051)))
    assert "1051 cases failed</summary>" in text
    assert ("`case-49`" in text, "`case-50`" in text) == (True, False)
    assert "\n... and 1,001 more\n\n</details>" in text
    assert "Cut to" not in text


def test_the_comparison_with_the_baseline() -> None:
    text = report(row("passed", trial()), baseline=comparison())
    worse = "worse than main.json: paris newly broken (p = 0.020)"
    assert f"- **FAILED**: `gpt-4o`, `1 of 1 case passed; {worse}`\n" in text
    compared = "`compared with main.json (20261121-101530-3fa9c1): 27 cases in both; 1 renamed`"
    assert compared in text
    lines = table(text, next(line for line in text.splitlines() if line.startswith(compared)))
    assert lines[1] == [
        *("`gpt-4o`", "`overall`", "30", "0.90", "0.80", "-10 points", "0.004", "0.15", "**FAILED**")
    ]
    assert (
        "<details open><summary>1 case newly broken</summary>\n\n- `paris` on `gpt-4o`, `5/5 -> 0/5`"
        in text
    )
    assert "baseline: 1 added, 1 removed, 1 changed, 1 renamed</summary>" in text
    assert "- added: `paris` of `Weather`\n- removed: `paris` of `Weather`\n" in text
    assert "- renamed: `paris` of `Weather`: `was Weather :: paris`\n" in text


def test_it_ends_with_where_it_comes_from() -> None:
    last = report(row("passed", trial())).splitlines()[-1]
    assert last == (
        "run `20261122-101530-3fa9c1`, started `2026-11-22T10:15:30+00:00`, took 12.5 s, "
        "commit `0123456789abcdef` on `main`, pytest-tooleval `0.1.0`"
    )
    assert "commit" not in report(row("passed", trial()), git=None).splitlines()[-1]


# ---------------------------------------------------------------------------------------- limits


def large(cases: int = 300) -> Document:
    rows = [
        row(
            "failed", trial(0, 0.6), case=f"case-{n}", model=f"m{n}", suite=f"s{n % 7}", reason="ö" * 500
        )
        for n in range(cases)
    ]
    gates = tuple(gate(n % 2 == 0, f"gate {n} " + "é" * 200, model=f"m{n}") for n in range(cases))
    return document(*rows, gates=gates, baseline=comparison())


@pytest.mark.parametrize("limit", [LEAST_LIMIT, 10_000, COMMENT_LIMIT])
def test_it_keeps_to_the_limit_and_says_what_it_cut(limit: int) -> None:
    text = markdown_text(large(), limit)
    assert limit * 0.9 < len(text.encode()) <= limit
    assert re.search(rf"^Cut to {limit:,} bytes: [\d,]+ entries were left out\.$", text, re.MULTILINE)
    assert text.startswith("## Tool calling: FAILED\n\n300 cases on 300 models")
    assert text.splitlines()[-1].endswith("pytest-tooleval `0.1.0`")
    assert text.count("<details") == text.count("</details>")
    # Whole entries only, so every fence is closed.
    assert all(CODE.sub("", line).count("`") == 0 for line in text.splitlines())


def test_a_summary_of_thousands_of_models_fits() -> None:
    text = markdown_text(large(3200))
    assert SUMMARY_LIMIT * 0.9 < len(text.encode()) <= SUMMARY_LIMIT


def test_tools_that_were_mixed_up_are_listed_the_most_frequent_first() -> None:
    pairs = [("a", "b"), (None, "b"), (None, "b"), ("a", "a"), (None, None)]
    trials = [
        structs.replace(trial(n), call_pairs=(CallPair(expected=expected, called=called),))
        for n, (expected, called) in enumerate(pairs)
    ]
    text = report(row("failed", *trials))
    listed = "\n\n- `gpt-4o`: `none -> b` (2)\n- `gpt-4o`: `a -> b` (1)\n"
    assert f"<summary>Tools mixed up: 2 of 5 choices of a tool right</summary>{listed}" in text
    assert "mixed up" not in report(row("failed", *trials[3:]))


# --------------------------------------------------------------------------------- hostile text


def everywhere(evil: str, limit: int = SUMMARY_LIMIT) -> str:
    """A report in which every text that is not ours is this one."""
    names = {"suite": evil, "case": evil, "model": evil, "file": evil, "reason": evil}
    outcomes: list[Outcome] = ["failed", "error", "failed"]
    cases = [row(outcome, trial(0, 0.6), trial(1), **names) for outcome in outcomes]
    cases[0]["scores"][evil] = 0.5
    confused = (CallPair(expected=evil, called="b"), CallPair(called=evil, hallucinated=True))
    cases[0]["trials"] = [structs.replace(trial(), call_pairs=confused)]
    cases.append(row("passed", trial(), **{**names, "suite": "other"}))
    found = document(
        *cases,
        gates=(gate(False, evil, name=evil), gate(True, evil)),
        baseline=comparison(name=evil, model=evil, metric=evil, suite=evil, case=evil, message=evil),
        intervals=True,
        id=evil,
        git={"commit": evil, "branch": evil, "dirty": True},
    )
    return markdown_text(found, limit)


def outside_code(text: str) -> str:
    """What is left of a report without its code spans, which no line can carry into the next one."""
    return "\n".join(CODE.sub("", line) for line in text.split("\n"))


@given(hostile)
def test_hostile_text_stands_in_code_spans_and_nowhere_else(evil: str) -> None:
    text = everywhere(evil)
    left = outside_code(text)
    assert text.count("EVIL") > 35
    assert "EVIL" not in left
    assert text.replace("\n", "").isprintable()
    # What is ours is plain, but for titles, bold words, tables and folds.
    for ours in ("### ", "## ", "**FAILED**", "<details>", "<details open>", "</details>"):
        left = left.replace(ours, "")
    left = left.replace("<summary>", "").replace("</summary>", "")
    assert not re.search(r"[^\w\s|:.,+()=/-]", left)


@given(hostile)
def test_hostile_text_breaks_no_table_and_no_line(evil: str) -> None:
    # Reasons that are too long for the line of a model are below it.
    tame, lines = (
        [line for line in everywhere(text).split("\n") if not line.startswith("    - ")]
        for text in ("tame", evil)
    )
    assert [_cells(line) for line in lines] == [_cells(line) for line in tame]


def _cells(line: str) -> int:
    """How many cells a line of a table has; 0 outside of tables."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0


@given(any_text)
def test_hostile_text_keeps_to_the_limit(evil: str) -> None:
    assert len(everywhere(evil * 100, LEAST_LIMIT).encode()) <= LEAST_LIMIT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "`plain`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("a``", "``` a`` ```"),
        (" a", "`  a `"),
        ("a\nb", "`a\\nb`"),
        ("a|b", "`a|b`"),
        ("@me #1 <b>", "`@me #1 <b>`"),
        ("\u202e", "`\\u202e`"),
        ("x" * 400, f"`{'x' * 99}…`"),
        ("", "-"),
        ("  ", "-"),
    ],
)
def test_how_text_is_shown(text: str, shown: str) -> None:
    assert f"failed</summary>\n\n- {shown} on" in report(row("failed", case=text))


def test_a_pipe_in_a_table_is_escaped() -> None:
    assert "\n| `a\\|b` | `Weather` |" in report(row("passed", trial(), model="a|b"))


def test_variants_are_a_table_and_the_cases_that_got_worse() -> None:
    lines = markdown_text(
        document(
            row("passed", trial(0)),
            row("failed", trial(0, 0.5), variant="bare", counted=True, nodeid="x[gpt-4o, bare]"),
        )
    ).splitlines()
    start = lines.index("### Variants")
    texts = "| `bare` | `gpt-4o` | 1 | 1.00 | 0.00 | -100 points (-100 to 100) | 1.000 | 0 | 1 |"
    assert lines[start + 4] == f"{texts} **inconclusive** |"
    assert "- `bare: paris 1/1 -> 0/1`" in lines
    assert not any("failed" in line for line in lines if line.startswith("<details"))
