"""Two suites that differ in the file alone never mix, in any view."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.history import History
from pytest_tooleval.record.comparison import CaseShift
from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.identity import Identity, suite_names
from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.reports.html import page_document
from pytest_tooleval.reports.markdown import markdown_text
from pytest_tooleval.reports.notes import notes
from pytest_tooleval.reports.pull_request import comment_text
from pytest_tooleval.reports.run_lines import verdict_lines
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side
from pytest_tooleval.verdicts.summary import rows_document
from pytest_tooleval.verdicts.variants import compare_variants

from ..history.runs import case_of, kept, run_of

FILES, TRIALS = ("a.tooleval.json", "b.tooleval.json"), 2
OLD, NEW = run_of("2026-11-21T10:00:00+00:00"), run_of("2026-11-22T10:00:00+00:00")
Passes = Mapping[Identity, int]  # of two trials

cases = st.builds(
    Identity, st.just("weather"), st.sampled_from("cd"), st.sampled_from(FILES), st.sampled_from("mn")
)
runs = st.dictionaries(cases, st.integers(0, TRIALS), min_size=1)


def reason_of(case: Identity) -> str:
    return f"because {case.file} {case.case} {case.model}"


def fields_of(case: Identity, passes: int) -> dict[str, Any]:
    return {
        "suite": case.suite,
        "case": case.case,
        "file": case.file,
        "model": case.model,
        "nodeid": f"{case.file}::{case.case}[{case.model}]",
        "case_fingerprint": case.case,
        "suite_cases": 2,
        "outcome": "passed" if passes == TRIALS else "failed",
        "reason": "" if passes == TRIALS else reason_of(case),
    }


def rows_of(run: Passes, **fields: Any) -> list[CaseRow]:
    return [
        CaseRow(**fields_of(case, n), scores={"overall": n / 2}, passes=n, answered=TRIALS, **fields)
        for case, n in run.items()
    ]


def changes(old: Passes, new: Passes) -> dict[Identity, tuple[str, str]]:
    """The kind of each change, and its figures."""
    found = {}
    for case in old.keys() & new.keys():
        before, now = old[case], new[case]
        if (before, now) == (TRIALS, 0):
            found[case] = "newly broken", "2/2 -> 0/2"
        elif (before, now) == (0, TRIALS):
            found[case] = "newly right", "0/2 -> 2/2"
        elif before != now:
            figures = f"{before / 2:.2f} -> {now / 2:.2f}"
            found[case] = "worse" if now < before else "better", figures
    return found


def document(old: Passes, new: Passes) -> RowsDocument:
    there = cast("Any", lambda file: msgspec.defstruct("Empty", [("test_cases", Any)])(()))
    sides = Side("old", OLD, rows_of(old)), Side("new", NEW, rows_of(new), suites=there)
    return rows_document(NEW, sides[1].cases, baseline=compare_runs(*sides, ComparisonRules()))


def of(moved: CaseShift) -> Identity:
    return Identity(moved.suite, moved.case, moved.file, moved.model)


@given(runs, runs)
def test_a_comparison_shows_each_case_as_its_own(old: Passes, new: Passes) -> None:
    found = document(old, new)
    wanted, baseline = changes(old, new), found.baseline
    assert baseline is not None
    moved = [case for model in baseline.models for case in (*model.worse, *model.better)]
    assert all(case.was == of(case) for case in moved)
    assert Counter(map(of, moved)) == Counter(wanted.keys())
    apart = baseline.cases
    known = {case.of_case for case in old} | {case.of_case for case in new}
    assert {case.of_case for case in (*apart.added, *apart.removed)} <= known
    assert (*apart.renamed, *apart.changed) == ()


@given(runs, runs)
def test_texts_give_each_case_its_own_reason(old: Passes, new: Passes) -> None:
    found, wanted = document(old, new), changes(old, new)
    lines = [line.text for line in verdict_lines(found, listed=lambda row: False)]
    line = re.compile(
        r"^(newly broken|worse|newly right|better) +(\S+ -> \S+) +(\S+)::(.)\[(.)\](?: - (.*))?$"
    )
    terminal = {m[3] + m[4] + m[5]: m for m in map(line.match, lines) if m}
    assert {key: (m[1], m[2]) for key, m in terminal.items()} == {
        case.file + case.case + case.model: change for case, change in wanted.items()
    }
    text = markdown_text(found)
    for case, (_, figures) in wanted.items():
        reason = "" if new[case] == TRIALS else reason_of(case)
        assert (terminal[case.file + case.case + case.model][6] or "") == reason
        why = f": `{reason}`" if reason else ""
        entry = f"- `{case.case}` on `{case.model}`, `{figures}`{why} (`{case.file}`)"
        assert entry in text
    broken = comment_text(found).partition("**Newly broken")[2].partition("\n**")[0]
    for case, passes in new.items():
        is_broken = wanted.get(case, ("", ""))[0] == "newly broken"
        assert (reason_of(case) in broken) == (is_broken and passes < TRIALS)


@given(runs, runs)
def test_the_page_names_each_case_whole(old: Passes, new: Passes) -> None:
    found, wanted = document(old, new), changes(old, new)
    page = msgspec.json.decode(to_json(page_document(found)))
    items = [(each["title"], item) for each in page["comparison"]["lists"] for item in each["items"]]
    moved = {Identity(**item["of"]): title for title, item in items if item["old"]}
    assert moved == {case: kind for case, (kind, _) in wanted.items()}
    shared = len({case.file for case in (*old, *new)}) > 1
    for _, item in items:
        assert item["suite"] == (f"weather ({item['of']['file']})" if shared else "weather")


@given(runs, runs)
def test_a_variant_is_compared_with_its_own_cases(old: Passes, new: Passes) -> None:
    rows = [*rows_of(old), *rows_of(new, variant="v")]
    found = compare_variants(rows, NEW.started)
    moved = {of(case): kind for v in found for kind in ("worse", "better") for case in getattr(v, kind)}
    kinds = {"newly broken": "worse", "newly right": "better"}
    assert moved == {case: kinds.get(kind, kind) for case, (kind, _) in changes(old, new).items()}


@given(runs, runs)
def test_trends_are_of_one_file(old: Passes, new: Passes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for file in FILES:
            Path(folder, file).touch()
        history = History(Path(folder, ".tooleval"))
        for run, made in ((old, OLD), (new, NEW)):
            writer = history.begin(made)
            writer.add(kept(*(case_of(overall=n / 2, **fields_of(case, n)) for case, n in run.items())))
            writer.finish(made)
        for file in {case.file for case in (*old, *new)}:
            points = {(each.id, each.model): each for each in history.trend(file).points}
            for run, made in ((old, OLD), (new, NEW)):
                for model in {case.model for case in run if case.file == file}:
                    rates = [n for case, n in run.items() if (case.file, case.model) == (file, model)]
                    assert points.pop((made.id, model)).overall == sum(rates) / 2 / len(rates)
            assert not points
        trends = history.trends_for(history.rows_document(NEW.id))
        labels = suite_names(new)
        for trend in trends:
            (file,) = (suite.file for suite, label in labels.items() if label == trend.suite)
            shown = {(each.id, each.model): each.pass_rate for each in trend.points}
            for run, made in ((old, OLD), (new, NEW)):
                for model in {case.model for case in new}:
                    of = (file, model)
                    passed = [n == TRIALS for case, n in run.items() if (case.file, case.model) == of]
                    assert shown.pop((made.id, model), None) == (
                        sum(passed) / len(passed) if passed else None
                    )
            assert not shown


def test_notes_name_the_files_of_cases_that_share_a_name() -> None:
    errors = [
        CaseRow(**{**fields_of(case, 0), "outcome": "error", "reason": "no recorded answer"})
        for case in (Identity("weather", "c", file, "m") for file in FILES)
    ]
    note = "m: 2 errors, not counted in any score; a.tooleval.json::c, b.tooleval.json::c: no recorded"
    assert any(line.startswith(note) for line in notes(rows_document(NEW, errors)))
