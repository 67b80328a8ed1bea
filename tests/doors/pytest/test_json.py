"""JSON reports: the document that every report is made from."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
import pytest
from builders import as_json

import pytest_tooleval
from pytest_tooleval import CaseResult

from .project import Project, raising, right, wrong

CASE_KEYS = {"nodeid", "suite", "case", "model", "outcome", "scores", "trials"}
MODEL_KEYS = {
    "model",
    "cases",
    "passed",
    "failed",
    "tolerated",
    "errors",
    "metrics",
    "cost_usd",
    "tokens",
}


@pytest.fixture
def document(project: Project) -> dict[str, Any]:
    """A run with one case of each outcome."""
    project.suite(
        right("right", weight=2.0, cluster="weather", tags=["smoke"]),
        wrong("wrong"),
        wrong("expected", xfail=True),
        raising("raising"),
        right("skipped", skip="later"),
    )
    project.run("--tooleval-report=out.json")
    return project.document()


def test_the_document_has_its_four_parts(document: dict[str, Any]) -> None:
    assert document["version"] == 6
    assert {"version", "run", "models", "cases", "gates"} <= set(document)
    assert document["run"]["pytest_tooleval"] == pytest_tooleval.__version__
    assert document["run"]["pytest"] == pytest.__version__
    assert document["run"]["duration_s"] > 0
    assert document["gates"] == []


def test_it_has_the_options_that_were_given(project: Project) -> None:
    project.suite(right("one"))
    project.run("--tooleval-report=out.json", "--tooleval-temperature=0", "--tooleval-github=auto")
    assert project.document()["run"]["options"] == {
        "github": "auto",
        "model": ["agent"],
        "report": ["out.json"],
        "temperature": "0",
    }


def test_a_case_row_tells_everything(document: dict[str, Any]) -> None:
    rows = {row["case"]: row for row in document["cases"]}
    assert {case: row["outcome"] for case, row in rows.items()} == {
        "right": "passed",
        "wrong": "failed",
        "expected": "failed",
        "raising": "error",
        "skipped": "skipped",
    }
    row = rows["right"]
    assert set(row) >= CASE_KEYS
    assert row["nodeid"] == "weather.tooleval.json::right[agent]"
    assert row["scores"]["overall"] == 1.0
    assert (row["weight"], row["cluster"], row["tags"]) == (2.0, "weather", ["smoke"])
    [trial] = row["trials"]
    [reply] = trial["transcript"]["replies"]
    assert reply["calls"][0]["arguments"] == {"city": "Paris"}
    assert trial["transcript"]["prompt"][0]["role"] == "user"
    assert trial["latency_s"] >= 0
    assert (trial["prompt_tokens"], trial["cost_usd"]) == (None, None)
    assert rows["raising"]["trials"][0]["transcript"] is None
    assert rows["skipped"]["trials"] == []


def test_a_model_row_sums_up(document: dict[str, Any]) -> None:
    [row] = document["models"]
    assert set(row) >= MODEL_KEYS
    counts = {key: row[key] for key in ("cases", "passed", "failed", "errors", "tolerated", "skipped")}
    assert counts == {"cases": 5, "passed": 1, "failed": 2, "errors": 1, "tolerated": 1, "skipped": 1}
    overall = row["metrics"]["overall"]
    assert overall["n"] == 3
    assert overall["mean"] == pytest.approx((2 * 1.0 + 0.6 + 0.6) / 4)
    assert row["cost_usd"] is None


def test_every_row_reads_back_as_it_was_written(document: dict[str, Any]) -> None:
    for row in document["cases"]:
        assert as_json(msgspec.convert(row, CaseResult)) == row


def test_it_is_written_whatever_came_of_the_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From where pytest was started, with its folders, and whole in place of an earlier one."""
    project.write("pytest.ini", "[pytest]\n")
    (project.path / "sub").mkdir()
    monkeypatch.chdir(project.path / "sub")
    project.write("sub/reports/today/out.json", "x" * 100_000)
    report = "--tooleval-report=reports/today/out.json"
    project.run("--co", report)
    assert (project.path / "sub/reports/today/out.json").read_text().startswith("xxx")
    project.suite(raising("a"), wrong("b"), file="sub/a.tooleval.json")
    result = project.run(report)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["results: *reports/today/out.json"])
    assert len(project.rows("sub/reports/today/out.json")) == 2
    assert [path.name for path in project.path.glob("sub/reports/today/*")] == ["out.json"]
    project.write("sub/a.tooleval.json", "{")
    project.run(report)
    assert project.document("sub/reports/today/out.json")["cases"] == []
    (project.path / "sub/a.tooleval.json").unlink()
    project.write("sub/test_plain.py", "def test_plain(): pass\n")
    project.run("--tooleval-report=out.json").assert_outcomes(passed=1)
    document = project.document("sub/out.json")
    assert (document["cases"], document["models"]) == ([], [])


_ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no such path on this system")


@pytest.mark.parametrize(
    ("path", "asked"),
    [("a-file/out.json", []), pytest.param("/proc/nowhere/out.json", ["a"], marks=_ON_LINUX)],
)
def test_an_unwritable_path_is_a_clear_error(project: Project, path: str, asked: list[str]) -> None:
    """What can be known beforehand is said before anything is asked."""
    project.write("a-file", "")
    project.suite(right("a"))
    result = project.run(f"--tooleval-report=json:{path}")
    output = result.stdout.str() + result.stderr.str()
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR), output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    assert f"--tooleval-report=json:{path}" in output
    assert project.calls == asked


def test_the_document_is_ascii_json(project: Project) -> None:
    project.suite(right("größe-東京"))
    project.run("--tooleval-report=out.json")
    data = (project.path / "out.json").read_bytes()
    assert data.isascii()
    assert "größe-東京[agent]" in project.rows()
    assert "NaN" not in json.dumps(json.loads(data))
