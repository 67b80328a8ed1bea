"""`tooleval power`: what a comparison with a baseline would see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders import result_of, tool, trial_of
from click.testing import CliRunner, Result
from unit.history.runs import kept, run_of

from pytest_tooleval.cli import main
from pytest_tooleval.history import History, place_of
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.verdicts.summary import rows_document, whole_document


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def power(*arguments: str) -> Result:
    done = CliRunner().invoke(main, ["power", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def cases_of(trials: int, **fields: Any) -> list[CaseResult]:
    """20 cases, of which every fourth passes only its first trial."""
    transcript = Transcript.from_calls([])
    return [
        result_of(
            case=f"c{number}",
            file="s.tooleval.json",
            trials=tuple(
                trial_of(transcript, trial=trial, passed=trial == 0 or number % 4 > 0, **fields)
                for trial in range(trials)
            ),
        )
        for number in range(20)
    ]


def report(name: str, trials: int, **fields: Any) -> str:
    cases = cases_of(trials, **fields)
    document = whole_document(rows_document(run_of(), cases), cases)
    Path(name).write_bytes(to_json(document))
    return name


def test_a_run_with_several_trials() -> None:
    lines = power(report("a.json", 3, cost_usd=0.01)).stdout.splitlines()
    assert lines[0] == (
        "m (60 answers to 20 cases): 20 cases, 3 trials each, compared with a run like it, by simulation"
    )
    assert lines[1].startswith("  fails without a change: ")
    assert " to " not in lines[2]
    assert lines[6] == "    5 trials: 200 cases, $10.00 a run"


@pytest.mark.nightly
def test_a_run_is_found_from_a_folder_inside_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pytest.ini").write_text("[pytest]\ntooleval_history = runs\n")
    run = run_of()
    writer = History(Path(".tooleval"), place_of("runs", Path())).begin(run)
    writer.add(kept(*cases_of(3)))
    writer.finish(run)
    Path("src").mkdir()
    monkeypatch.chdir("src")
    assert "m (60 answers to 20 cases)" in power("latest").stdout


def test_single_trials_give_a_range_until_runs_are_pooled() -> None:
    single = report("a.json", 1)
    found = power(single).stdout
    assert "single trials do not show how much answers vary" in found
    assert "a run" not in found.splitlines()[-1]
    pooled = power(single, report("b.json", 1)).stdout
    assert pooled.startswith("m (40 answers to 20 cases): 20 cases, 1 trial each")
    assert "single trials do not" not in pooled


def test_a_suite_is_simulated_with_typical_rates() -> None:
    cases = [{"prompt": f"p{n}", "expected_tool": "a"} for n in range(30)]
    suite = {"name": "s", "trials": 3, "tools": [tool("a")], "test_cases": cases}
    Path("s.tooleval.json").write_text(json.dumps(suite))
    found = power("s.tooleval.json").stdout
    assert found.startswith("s.tooleval.json (typical pass rates): 30 cases, 3 trials each")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cached.json"], "m: all answers were replayed or missing"),
        (["none.json"], "none.json: there is no such file"),
        (["s.tooleval.json", "cached.json"], "name either suites or runs"),
        ([], "Missing argument"),
    ],
)
def test_a_mistake_is_named(arguments: list[str], message: str) -> None:
    report("cached.json", 2, cached=True)
    found = power(*arguments)
    assert found.exit_code in (1, 2)
    assert message in found.output
