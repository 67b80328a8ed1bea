"""The result document: counts, means and a file that is whole or not there."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import as_json
from records import result_of
from records import trial_of

from pytest_tooleval.record.results import Outcome
from pytest_tooleval.record.results import TrialError
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.reports.document import build_document
from pytest_tooleval.reports.document import group
from pytest_tooleval.reports.document import summarise
from pytest_tooleval.reports.document import write_json


def trial(**fields: Any) -> TrialResult:
    reply = Reply(message={"role": "assistant", "content": None}, **fields)
    return trial_of(Transcript((), (Round(reply),)))


def row(outcome: Outcome = "passed", overall: float | None = 1.0, **fields: Any) -> dict[str, Any]:
    given = {"nodeid": "n", "suite": "s", "case": "c", "model": "m", "tool_choice": "required"}
    made: dict[str, Any] = as_json(
        result_of(**{**given, "outcome": outcome, "scores": {"overall": overall}, **fields})
    )
    return made


def test_counts_by_outcome() -> None:
    outcomes: list[Outcome] = ["passed", "passed", "failed", "missed", "error", "skipped"]
    found = summarise([row(outcome) for outcome in outcomes])
    counts = {name: found[name] for name in ("cases", "passed", "failed", "missed", "errors", "skipped")}
    assert counts == {"cases": 6, "passed": 2, "failed": 1, "missed": 1, "errors": 1, "skipped": 1}


def test_errors_and_skipped_cases_are_in_no_mean() -> None:
    rows = [row("passed", 1.0), row("missed", 0.5), row("error", 0.0), row("skipped", 0.0)]
    assert summarise(rows)["metrics"] == {"overall": {"mean": 0.75, "n": 2}}


def test_means_are_weighted() -> None:
    rows = [row("passed", 1.0, weight=3.0), row("failed", 0.0, weight=1.0)]
    assert summarise(rows)["metrics"]["overall"] == {"mean": 0.75, "n": 2}


def test_a_metric_without_numbers_is_left_out() -> None:
    rows = [row(scores={"overall": 1.0, "parameter_accuracy": None})]
    assert list(summarise(rows)["metrics"]) == ["overall"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=10))
def test_a_mean_lies_between_the_extremes(pairs: list[tuple[float, float]]) -> None:
    found = summarise([row("failed", value, weight=weight) for value, weight in pairs])
    mean = found["metrics"]["overall"]["mean"]
    values = [value for value, _ in pairs]
    assert min(values) - 1e-9 <= mean <= max(values) + 1e-9


def test_what_is_unknown_is_null_and_never_zero() -> None:
    found = summarise([row(trials=(trial(),))])
    assert found["cost_usd"] is None
    assert found["latency_s"] is None
    assert found["tokens"] == {"prompt": None, "completion": None, "reasoning": None}
    assert (found["trials"], found["priced"]) == (1, 0)


def test_what_is_known_is_summed() -> None:
    one = trial(cost_usd=0.5, latency_s=1.0, prompt_tokens=10, completion_tokens=9, reasoning_tokens=6)
    two = trial(cost_usd=0.25, latency_s=3.0, prompt_tokens=5, cached=True)
    found = summarise([row(trials=(one, two)), row(trials=(trial(format="recovered"),))])
    assert found["cost_usd"] == 0.75
    assert found["latency_s"] == 2.0
    assert found["tokens"] == {"prompt": 15, "completion": 9, "reasoning": 6}
    assert (found["trials"], found["priced"], found["cached"], found["recovered"]) == (3, 2, 1, 1)


def test_trials_without_answer_are_not_counted_as_trials() -> None:
    failed = TrialResult(error=TrialError("timeout", "too slow"))
    assert summarise([row("error", trials=(failed, trial()))])["trials"] == 1


def test_fallbacks_are_counted_by_case() -> None:
    warm, forced = trial(fallbacks={"temperature": None}), trial(fallbacks={"tool_choice": "auto"})
    found = summarise([row(trials=(warm, warm, forced)), row(trials=(warm,)), row(trials=(trial(),))])
    assert found["fallbacks"] == [
        {"parameter": "temperature", "sent": None, "cases": 2},
        {"parameter": "tool_choice", "sent": "auto", "cases": 1},
    ]


def test_rows_per_model_and_per_suite_in_order_of_appearance() -> None:
    rows = [row(model="b", suite="y"), row(model="a", suite="x"), row("failed", model="b", suite="x")]
    made = build_document({"started": "now"}, rows)
    assert [(r["model"], r["cases"], r["failed"]) for r in made["models"]] == [("b", 2, 1), ("a", 1, 0)]
    assert [(r["model"], r["suite"]) for r in made["suites"]] == [("b", "y"), ("a", "x"), ("b", "x")]
    assert (made["version"], made["run"]["started"], made["gates"]) == (1, "now", [])
    assert (made["run"]["total"]["cases"], made["run"]["total"]["failed"]) == (3, 1)
    assert made["cases"] == rows


def test_grouping_nothing() -> None:
    assert group([], "model") == {}
    assert build_document({}, [])["models"] == []


HOSTILE = {"text": "\x1b[31m \u202e \ud83d </script> ]]> \x00", "deep": {"a": [{"b": None}]}}


def test_a_written_document_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "out.json"
    write_json(path, HOSTILE)
    assert path.read_bytes().isascii()
    assert json.loads(path.read_text()) == HOSTILE
    assert os.listdir(path.parent) == ["out.json"]


def test_an_interrupted_write_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    write_json(path, {"first": 1})

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_json(path, {"second": 2})
    assert json.loads(path.read_text()) == {"first": 1}
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_failing_write_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_json(tmp_path / "file" / "out.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_json(tmp_path / "folder", {})
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_written_document_is_json(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write_json(path, {"message": {"a": [math.inf, -math.inf, math.nan, 1.5]}})
    found = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert found == {"message": {"a": [None, None, None, 1.5]}}
