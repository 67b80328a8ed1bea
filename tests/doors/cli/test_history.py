"""`tooleval history`, `show`, `compare` and `trend`."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec import structs
from unit.history.runs import case_of, comparison, gate, kept, run_of

from pytest_tooleval.cli import main
from pytest_tooleval.cli.output import sparkline
from pytest_tooleval.history import History
from pytest_tooleval.record.call_pairs import CallPair
from pytest_tooleval.record.comparison import CaseShift
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.encoding import read_document, to_json
from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import CaseResult, TrialError, TrialResult
from pytest_tooleval.record.run import Git

HOSTILE = "\x1b[31m\u202e\n"

Invoke = Callable[..., Result]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        if hasattr(time, "tzset"):
            time.tzset()
        yield
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / ".tooleval")


@pytest.fixture
def invoke(tmp_path: Path) -> Invoke:
    """Run `tooleval ARGUMENTS` on the project in `tmp_path`."""

    def invoke(*arguments: str, **options: Any) -> Result:
        done = CliRunner().invoke(main, [*arguments, "-C", str(tmp_path)], **options)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        assert all(line.isprintable() for line in done.output.splitlines())
        return done

    return invoke


def keep(
    history: History, day: int, *cases: CaseResult, gates: Sequence[Gate] = (), **fields: Any
) -> str:
    made = run_of(f"2026-11-{day:02}T10:00:00+00:00", id=f"2026-{day:02}", **fields)
    writer = history.begin(made)
    writer.add(kept(*(cases or [case_of()])))
    writer.finish(made, gates)
    return writer.id


def many(outcome: Any, overall: float, count: int = 12, **fields: Any) -> list[CaseResult]:
    return [
        case_of(
            f"case-{n}",
            outcome=outcome,
            overall=overall,
            case_fingerprint=f"{n:016x}",
            trials=3,
            **fields,
        )
        for n in range(count)
    ]


def test_the_list_of_runs(history: History, invoke: Invoke) -> None:
    keep(history, 1, case_of(), case_of(model="gpt-4o", cost_usd=None, outcome="failed", overall=0.5))
    keep(history, 2, git=Git("ab" * 20, "new", True), gates=[gate(False)])
    writer = history.begin(run_of("2026-11-03T10:00:00+00:00", id="2026-03"))
    done = invoke("history")
    assert done.exit_code == 0
    header, *rows = [line.split() for line in done.output.splitlines()]
    assert header[:6] == ["id", "when", "verdict", "commit", "branch", "models"]
    assert rows[0] == "2026-03 2026-11-03 10:00 running 5bf4c1d0a main - 0/0 - -".split()
    assert rows[1][:7] == "2026-02 2026-11-02 10:00 failed ababababa+ new claude-3".split()
    assert rows[1][7:] == "1.00 1/1 1.00 $0.2500 1".split()
    assert rows[2][6:8] == ["claude-3,", "gpt-4o"]
    assert rows[2][8:] == "0.50 1/2 1 0.75 $0.2500+".split()
    writer.close()


def test_the_list_tells_which_runs_are_good(history: History, invoke: Invoke) -> None:
    keep(history, 1, gates=[gate(True)])
    keep(history, 2, gates=[gate(False)], exitstatus=1)
    keep(history, 3, partial=True)
    keep(history, 4, exitstatus=2)
    keep(history, 5, exitstatus=1)  # by another test
    keep(history, 6, gates=[structs.replace(gate(True), verdict="inconclusive")])
    rows = [re.split("  +", line) for line in invoke("history").output.splitlines()[1:]]
    assert [row[2] for row in rows] == [
        "inconclusive, good",
        "failed",
        "incomplete (interrupted)",
        "passed, partial",
        "failed",
        "passed, good",
    ]


def test_the_newest_whole_run_is_first(history: History, invoke: Invoke) -> None:
    keep(history, 1)
    keep(history, 2)
    keep(history, 3, partial=True)
    keep(history, 4, exitstatus=2)
    ids = [line.split()[0] for line in invoke("history").output.splitlines()[1:]]
    assert ids == ["2026-02", "2026-04", "2026-03", "2026-01"]


def test_the_list_can_be_narrowed(history: History, invoke: Invoke) -> None:
    keep(history, 1, case_of(model="gpt-4o"))
    keep(history, 2, git=None)
    keep(history, 3)
    assert len(invoke("history", "--limit=1").output.splitlines()) == 2
    assert "2026-01" in invoke("history", "--model=gpt-4o").output
    assert "2026-02" not in invoke("history", "--branch=main").output
    assert invoke("history", "--branch=none").output == "no run matches\n"
    found = json.loads(invoke("history", "--json", "--limit=2").output)
    assert [entry["id"] for entry in found] == ["2026-03", "2026-02"]


def test_the_project_is_looked_for_upwards(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only the ini file knows the place of its runs."""
    run = run_of()
    history.begin(run).finish(run)
    below = tmp_path / "tests" / "evals"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert CliRunner().invoke(main, ["show", "latest"]).exit_code == 0
    monkeypatch.chdir("/")
    assert CliRunner().invoke(main, ["show", "latest", "-C", str(below)]).exit_code == 0
    project = tmp_path / "other"
    (project / "evals").mkdir(parents=True)
    (project / "pytest.ini").write_text("[pytest]\ntooleval_history = ../.tooleval")
    monkeypatch.chdir(project / "evals")
    shown = CliRunner().invoke(main, ["show", "latest"])
    assert (shown.exit_code, run.id in shown.output) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("history",),
        ("show", "latest"),
        ("compare", "latest~1", "latest"),
        ("trend", "paris"),
        ("show", "--report=json:-"),
        ("history", "prune", "--keep=1"),
    ],
)
def test_no_history(history: History, invoke: Invoke, arguments: tuple[str, ...]) -> None:
    done = invoke(*arguments)
    assert done.exit_code in (1, 2)
    assert "no history yet" in done.output or "no runs yet" in done.output
    assert not history.folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "latest", "paris"),
        ("compare",),
    ],
)
def test_a_damaged_document(history: History, invoke: Invoke, arguments: tuple[str, ...]) -> None:
    for day in (1, 2):
        keep(history, day)
    history.refresh()
    for file in (history.folder / "runs").iterdir():
        data = file.read_bytes()
        file.write_bytes(data[:30] + bytes(len(data) - 30))
    done = invoke(*arguments)
    assert done.exit_code == (2 if "compare" in arguments else 1)
    assert re.search(r"runs/2026-0\d.json.gz: (torn: .* another checksum|damaged: )", done.output)
    assert len(done.output.splitlines()) == 1


@pytest.mark.parametrize("arguments", [("history",), ("show",), ("trend", "paris")])
def test_a_damaged_head_is_named_once(
    history: History, invoke: Invoke, arguments: tuple[str, ...]
) -> None:
    for day in (1, 2, 3):
        keep(history, day)
    (head,) = (history.folder / "heads").glob("2026-03.*")
    head.write_bytes(head.read_bytes()[:40])
    done = invoke(*arguments)
    assert done.exit_code == 0
    assert "2026-02" in done.output
    assert done.output.count("2026-03") == done.stderr.count(f"heads/{head.name}: damaged, ") == 1


def test_the_tools_that_were_called_in_place_of_others(history: History, invoke: Invoke) -> None:
    cases = []
    for name, called in (("one", "a"), ("two", HOSTILE), ("three", "c")):
        case = case_of(name, outcome="failed")
        choice = CallPair(expected="a", called=called, hallucinated=called == "c")
        trials = tuple(structs.replace(trial, call_pairs=(choice,)) for trial in case.trials)
        cases.append(structs.replace(case, trials=trials))
    keep(history, 1, *cases)

    assert invoke("show", "latest", "--confusion").output.splitlines() == [
        "claude-3: 1 of 3 choices of a tool right",
        r"  1  a -> \x1b[31m\u202e\n",
        "  1  a -> hallucinated",
    ]
    keep(history, 2, case_of())
    assert invoke("show", "latest", "--confusion").output == "claude-3: 0 of 0 choices of a tool right\n"
    for more in ("paris", "--failed"):
        refused = invoke("show", "latest", "--confusion", more).output
        assert "leave out CASE and --failed" in refused


def test_a_run_in_short(history: History, invoke: Invoke) -> None:
    cases = [case_of(), case_of("rome", outcome="failed", overall=0.5, model="gpt-4o")]
    keep(history, 1, *cases, gates=[gate(False), gate(True)], exitstatus=1)
    text = invoke("show", "latest").output
    assert text.startswith("run 2026-01  2026-11-01 10:00, 12.5 s\ncommit: 5bf4c1d0a main\n")
    assert "options: trials=1\nversions: pytest-tooleval 0.1.0, pytest 9.2.0, Python" in text
    assert "gpt-4o FAILED: 0 of 1 case passed\n" in text
    assert "failed  weather.tooleval.json::rome[gpt-4o] - overall 0.5 < 1.00\n" in text
    assert [line.split()[:4] for line in text.splitlines() if line.startswith(("claude", "gpt"))][
        :2
    ] == [
        ["claude-3", "1.00", "1", "1"],
        ["gpt-4o", "0.00", "1", "0"],
    ]
    only = invoke("show", "latest", "--model=claude-3").output
    assert "gpt-4o" not in only
    assert "rome" not in only
    wrong = invoke("show", "latest", "--model=gpt-5")
    assert (wrong.exit_code, wrong.output) == (
        1,
        "Error: the run 2026-01 has no model gpt-5, only claude-3, gpt-4o\n",
    )


def test_a_case_is_named_by_its_file_too(history: History, invoke: Invoke) -> None:
    keep(history, 1, case_of("paris", file="a.tooleval.json"), case_of("paris", nodeid="b", file="b"))
    text = invoke("show", "latest", "a.tooleval.json::paris").output
    assert text.count("paris [claude-3]") == 1


def test_failed_cases_are_cut_unless_all_are_asked_for(history: History, invoke: Invoke) -> None:
    keep(history, 1, *many("failed", 0.2, count=25))
    assert invoke("show", "latest").output.endswith("and 5 more: tooleval show --failed\n")
    text = invoke("show", "latest", "--failed").output
    assert sum(line.startswith("failed ") for line in text.splitlines()) == 25


def test_a_killed_run_says_so(history: History, invoke: Invoke) -> None:
    writer = history.begin(run_of(id="2026-01"))
    writer.add(kept(case_of()))
    writer.close()
    assert ", killed\n" in invoke("show", "2026-01").output
    assert "incomplete (killed)" in invoke("history").output
    keep(history, 23, exitstatus=2)
    assert "interrupted" in invoke("show", "2026-23").output


def test_a_case_with_its_transcripts(history: History, invoke: Invoke) -> None:
    good = case_of("paris", answer="sunny", trials=2)
    bad = case_of("paris", model="gpt-4o", answer="stormy", outcome="failed", overall=0.5)
    keep(history, 1, good, bad)
    for name in ("paris", "Weather::paris"):
        text = invoke("show", "latest", name).output
        assert "Weather :: paris [claude-3]  passed\nweather.tooleval.json:3\n" in text
        assert "trial 2 of 2: passed" in text
        assert "assistant  sunny" in text
        assert 'calls get_weather(city="Paris")' in text
        assert "overall  0.50  needs 1.00" in text
    one = invoke("show", "latest", "weather.tooleval.json::paris[gpt-4o]").output
    assert "stormy" in one
    assert "sunny" not in one
    assert "sunny" not in invoke("show", "latest", "paris", "--failed").output
    assert "tooleval show latest paris" in invoke("show", "paris").output
    assert "did you mean paris?" in invoke("show", "latest", "pariss").output


def test_a_trial_without_an_answer(history: History, invoke: Invoke) -> None:
    trial = TrialResult(error=TrialError("timeout", f"too slow {HOSTILE}"))
    case = case_of("paris", outcome="error", overall=None)
    keep(history, 1, structs.replace(case, trials=(trial,)))
    text = invoke("show", "latest", "paris").output
    assert "trial 1 of 1: error\n  too slow \\x1b[31m\\u202e\\n\n" in text


@pytest.mark.parametrize("name", ["nope", "latest~7", "2026"])
def test_a_wrong_name_of_a_run_is_one_line(history: History, invoke: Invoke, name: str) -> None:
    keep(history, 1)
    keep(history, 2)
    for arguments in (("show", name), ("compare", name, "latest"), ("show", name, "--report=csv:-")):
        done = invoke(*arguments)
        assert done.exit_code == (2 if "compare" in arguments else 1)
        assert done.output.startswith("Error: ")
        assert len(done.output.splitlines()) == 1


def test_a_drop_fails_the_comparison(history: History, invoke: Invoke) -> None:
    keep(history, 1, *many("passed", 1.0))
    keep(history, 2, *many("failed", 0.0))
    done = invoke("compare", "latest~1", "latest")
    assert done.exit_code == 1
    assert "old: latest~1  2026-01  2026-11-01 10:00:00 UTC  5bf4c1d0a9  (main)\n" in done.output
    assert "FAILED" in done.output
    assert "3/3 -> 0/3" in done.output
    assert "latest and latest are the same run, 2026-02" in invoke("compare", "latest", "latest").output
    assert "inconclusive" not in invoke("compare", "latest~1", "latest", "--max-drop=1").output
    found = invoke("compare", "2026-01", "2026-02", "--json")
    assert (found.exit_code, json.loads(found.output)["failed"]) == (1, True)


def test_files_and_models_are_compared(history: History, invoke: Invoke, tmp_path: Path) -> None:
    id = keep(history, 1, *many("passed", 1.0, model="old-model"))
    (tmp_path / "base.json").write_bytes(to_json(history.document(id)))
    keep(history, 2, *many("passed", 1.0, model="new"))
    base = str(tmp_path / "base.json")
    done = invoke("compare", base, "latest", "--model=old-model=new")
    assert done.exit_code == 0
    assert "old-model -> new" in done.output
    assert invoke("compare", base, "latest", "--model=nothing").exit_code == 2
    wrong = invoke("compare", base, "latest", "--model=x=new")
    assert wrong.exit_code == 2
    assert "old-model" in wrong.output
    (tmp_path / "base.json").write_text("{}")
    assert "not a JSON report" in invoke("compare", base, "latest").output


def test_the_trend_of_a_case(history: History, invoke: Invoke) -> None:
    keep(history, 1, case_of(outcome="failed", overall=0.0, case_fingerprint="a" * 16, trials=2))
    keep(history, 2, case_of(case_fingerprint="b" * 16, trials=2))
    lines = invoke("trend", "paris").output.splitlines()
    assert lines[0] == "Weather :: paris"
    rows = [line.split() for line in lines[2:4]]
    assert rows[0] == "2026-11-01 10:00 2026-01 5bf4c1d0a claude-3 failed 0/2 0.00 0.00".split()
    assert (
        rows[1]
        == "2026-11-02 10:00 2026-02 5bf4c1d0a claude-3 passed 2/2 1.00 1.00 case changed".split()
    )
    assert lines[4] == "claude-3  ▁█  pass rate: first 0.00 … last 1.00"
    points = json.loads(invoke("trend", "paris", "--json", "--limit=1").output)["points"]
    assert [point["id"] for point in points] == ["2026-02"]


def test_the_trend_of_a_suite(history: History, invoke: Invoke) -> None:
    keep(history, 1, case_of(), case_of("rome", outcome="failed", overall=0.5))
    lines = invoke("trend", "Weather", "--model=claude-3").output.splitlines()
    assert lines[2].split()[-3:] == ["1/2", "0.50", "0.75"]
    wrong = invoke("trend", "Wether")
    assert (wrong.exit_code, len(wrong.output.splitlines())) == (1, 1)


def test_a_trend_tells_a_change_of_the_scoring_rules(history: History, invoke: Invoke) -> None:
    keep(history, 1, scoring_version=0)
    keep(history, 2)
    keep(history, 3)
    for name in ("paris", "Weather"):
        lines = invoke("trend", name).output.splitlines()[2:5]
        assert [line.endswith("scoring rules changed") for line in lines] == [False, True, False]


def test_bars_stand_for_scores() -> None:
    assert sparkline([0.0, 0.5, 1.0, None, -3.0, 7.0]) == "▁▅█·▁█"


def test_the_reports_of_a_run(history: History, invoke: Invoke, tmp_path: Path) -> None:
    id = keep(history, 1, case_of(), case_of("rome"))
    keep(history, 2)
    out = tmp_path / "out" / "file"
    done = invoke("show", id, f"--report=json:{out}", f"--report={out}.csv")
    assert done.output == f"wrote {out}\nwrote {out}.csv\n"
    assert read_document(out, Document) == history.document(id)
    with Path(f"{out}.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 2
    printed = invoke("show", id, "--report=json:-").output
    assert msgspec.json.decode(printed, type=Document) == history.document(id)
    assert invoke("show", id, "--report=markdown:-").output.startswith("#")
    assert sorted(os.listdir(out.parent)) == ["file", "file.csv"]


def test_a_report_with_trends(history: History, invoke: Invoke, tmp_path: Path) -> None:
    for day in (1, 2):
        keep(history, day)
    out = tmp_path / "page.html"
    assert invoke("show", f"--report={out}").exit_code == 0
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert "Trends" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--report=s.tooleval.json"], "--report=s.tooleval.json: *.tooleval.json are suites"),
        (["--report=x.pdf"], "--report=x.pdf: expected a file that ends in .json"),
        (["--report=file/x.md"], "--report=file/x.md: cannot write to "),
        (["latest", "paris", "--report=x.md"], "--report writes a whole run"),
    ],
)
def test_a_report_that_cannot_be_written(
    history: History,
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    keep(history, 1)
    (tmp_path / "file").write_text("kept")
    before = sorted(tmp_path.iterdir())
    done = invoke("show", *arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert sorted(tmp_path.iterdir()) == before


def test_prune(history: History, invoke: Invoke) -> None:
    for day in (1, 2, 3):
        keep(history, day)
    assert invoke("history", "prune", "--keep=2", input="n\n").exit_code == 1
    assert len(history.runs()) == 3
    done = invoke("history", "prune", "--keep=2", input="y\n")
    assert "delete 1 run of " in done.output
    assert "deleted 1 run with 1 case row" in done.output
    assert invoke("history", "prune", "--keep=2", "--yes").output == "nothing to delete\n"
    assert invoke("history", "prune", "--older-than=52w", "--yes").output == "nothing to delete\n"
    assert invoke("history", "prune", "--keep=0", "--yes").output.startswith(
        "deleted 2 runs with 2 case rows"
    )


def test_prune_of_single_runs(history: History, invoke: Invoke) -> None:
    ids = [keep(history, day) for day in (1, 2, 3)]
    assert invoke("history", "prune", ids[0], "nope", "--yes").exit_code == 1
    assert len(history.runs()) == 3
    done = invoke("history", "prune", "latest", ids[0], ids[2], input="y\n")
    assert f"delete {ids[2]}, {ids[0]} of " in done.output
    assert "deleted 2 runs with 2 case rows" in done.output
    assert [run.id for run in history.runs()] == [ids[1]]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("latest", "--keep=0"),
        ("--keep=-1",),
        ("--older-than=90",),
        ("--older-than=1y",),
        ("--older-than=999999d",),
    ],
)
def test_prune_wants_to_know_what(history: History, invoke: Invoke, arguments: tuple[str, ...]) -> None:
    keep(history, 1)
    assert invoke("history", "prune", "--yes", *arguments).exit_code == 2
    assert len(history.runs()) == 1


def test_a_tag_pins_a_run(history: History, invoke: Invoke) -> None:
    first, second = keep(history, 1, case_of("a")), keep(history, 2, case_of("a"))
    assert invoke("history", "tag", first, "release-1").output == f"@release-1 is the run {first}\n"
    assert invoke("history", "tag", "@release-1", "v1/stable").exit_code == 0
    assert first in invoke("show", "@release-1").output
    assert "release-1 v1/stable" in invoke("history").output
    assert invoke("history", "prune", "--keep=0", "--yes").output.startswith("deleted 1 run ")
    assert [run.id for run in history.runs()] == [first]
    refused = invoke("history", "prune", first, "--yes")
    assert refused.exit_code == 1
    assert "has the tag release-1; it can be deleted after" in refused.output
    third = keep(history, 3, case_of("a"))
    taken = invoke("history", "tag", third, "release-1")
    assert f"the run {first} has the tag release-1" in taken.output
    assert invoke("history", "tag", third, "a b").output.startswith(
        "Error: a b: expected letters, digits"
    )
    unknown = invoke("show", "@release-2")
    assert (
        "no run has the tag release-2, did you mean @release-1?; tags: release-1, v1/stable"
        in unknown.output
    )
    assert 'run "release-1" not found, did you mean @release-1?' in invoke("show", "release-1").output
    assert "did you mean latest?" in invoke("show", "lates").output
    assert "no command tga, did you mean tag?" in invoke("history", "tga").output
    assert "no such command 'lst'; use tooleval history" in invoke("lst").output
    for name in ("release-1", "@v1/stable"):
        assert invoke("history", "tag", f"--delete={name}").exit_code == 0
    assert invoke("history", "prune", first, "--yes").exit_code == 0
    assert "expected" not in invoke("history", "tag", third, "release-1").output
    assert invoke("history", "tag", second).exit_code == 2


def test_hostile_texts_everywhere(history: History, invoke: Invoke) -> None:
    git = Git("\x1b[1m" * 10, HOSTILE, False)
    texts = ("suite", "model", "answer", "file", "reason")
    fields: dict[str, Any] = {**dict.fromkeys(texts, HOSTILE), "nodeid": "n"}
    for day in (1, 2):
        row = case_of(HOSTILE, outcome="failed", overall=0.5, **fields)
        gates = [gate(False, HOSTILE)]
        keep(history, day, row, git=git, options={HOSTILE: HOSTILE}, gates=gates)
    # `invoke` looks at every line.
    for arguments in (
        ("history",),
        ("show", "latest"),
        ("show", "latest", HOSTILE),
        ("show", "latest", "x", f"--model={HOSTILE}"),
        ("compare", "latest~1", "latest"),
        ("trend", HOSTILE),
        ("trend", "\x1b"),
        ("history", "--json"),
        ("show", "--report=json:-"),
    ):
        assert invoke(*arguments).output


def test_texts_of_a_comparison_that_was_kept(history: History, invoke: Invoke) -> None:
    found, run = comparison(), run_of()
    case = case_of()
    moved = CaseShift(
        *structs.astuple(case.identity),
        was=case.identity,
        old=None,
        new=None,
        old_passes="\x1b[31m",
        new_passes="1/1",
    )
    models = (structs.replace(found.models[0], worse=(moved,)),)
    writer = history.begin(run)
    writer.add(kept(case))
    writer.finish(run, [], structs.replace(found, models=models))
    assert "\\x1b[31m -> 1/1" in invoke("show", "latest").output


def test_options_of_another_kind(invoke: Invoke) -> None:
    assert "put options after tag" in invoke("history", "--limit=3", "tag", "latest", "a").output
    assert invoke("history", "--limit=0").exit_code == 2
    assert invoke("compare", "a").exit_code == 2
    assert invoke("compare", "a", "b", "--alpha=1").exit_code == 2


def test_a_pipe_that_lacks_characters(history: History, tmp_path: Path) -> None:
    for day in (1, 2):
        keep(history, day)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", "from pytest_tooleval.cli import main; main()", "trend", "paris"]
    done = subprocess.run(
        [*command, "-C", str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )
    assert "claude-3  ??  pass rate: first 1.00 ? last 1.00" in done.stdout
