"""The history over the API: runs of the page and of pytest alike."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from unit.history.runs import case_of, kept, run_of

from pytest_tooleval.history import History
from pytest_tooleval.record.results import CaseResult

pytestmark = pytest.mark.slow

FILE = "weather.tooleval.json"
Keep = Callable[..., str]


@pytest.fixture
def keep(folder: Path) -> Keep:
    """Keep a run of these cases; by default of Paris and Tokyo. Returns its id."""
    history = History(folder / ".tooleval")
    started = itertools.count()

    def keep(*cases: CaseResult, **fields: Any) -> str:
        run = run_of(f"2026-11-22T10:15:{next(started):02}+00:00", **fields)
        writer = history.begin(run)
        writer.add(kept(*(cases or [case_of("paris"), case_of("tokyo")])))
        writer.finish(run)
        return writer.id

    return keep


def test_an_empty_history(client: TestClient, folder: Path) -> None:
    assert client.get("/api/history").json() == []
    for path in ("latest", "latest/cases?nodeid=x", "trend?name=x", "compare?old=latest&new=latest"):
        answer = client.get(f"/api/history/{path}")
        assert answer.status_code == 404, path
        assert answer.json()["error"]["message"]
    assert client.delete("/api/history/latest").status_code == 404
    assert not (folder / ".tooleval").exists()


def test_runs_are_listed_shown_and_deleted(client: TestClient, keep: Keep) -> None:
    one, two = keep(), keep()
    assert [row["id"] for row in client.get("/api/history").json()] == [two, one]
    assert [row["id"] for row in client.get("/api/history?limit=1").json()] == [two]
    assert client.get("/api/history", params={"model": "other"}).json() == []
    shown = client.get(f"/api/history/{two}").json()
    assert client.get("/api/history/latest").json() == shown
    assert "transcript" not in shown["cases"][0]["trials"][0]
    assert set(shown["models"][0]["metrics"]["overall"]) == {"mean", "n", "low", "high"}
    assert client.delete("/api/history/latest").status_code == 404
    assert client.delete(f"/api/history/{two}").status_code == 204
    assert client.get(f"/api/history/{two}").status_code == 404
    assert [row["id"] for row in client.get("/api/history").json()] == [one]


def test_suites_of_one_name_are_told_apart_by_their_files(client: TestClient, keep: Keep) -> None:
    alone = keep()

    def found(suite: str) -> list[tuple[str, int]]:
        rows = client.get("/api/history", params={"suite": suite}).json()
        return [(row["id"], row["cases"]) for row in rows]

    assert found("twin.tooleval.json") == []
    twin = case_of(file="twin.tooleval.json", nodeid="twin.tooleval.json::paris[claude-3]")
    both = keep(case_of(), twin)
    assert found("twin.tooleval.json") == [(both, 1)]
    assert found(FILE) == [(both, 1), (alone, 2)]
    refused = client.get("/api/history", params={"suite": "Weather"})
    assert refused.status_code == 400
    assert "2 files have a suite Weather; name one of " in refused.json()["error"]["message"]


def test_errors_do_not_tell_where_the_folder_lies(client: TestClient, keep: Keep, folder: Path) -> None:
    for _ in ("an empty history", "one with a run"):
        for path in ("history/compare?old=nope&new=latest", "history/nope"):
            error = client.get(f"/api/{path}").json()["error"]
            assert str(folder.parent) not in error["message"]
            assert error["problems"][0]["field"] in ("id", "old")
        keep()
    assert error["message"].startswith('id: run "nope" not found; expected latest, ')
    for file in (folder / ".tooleval" / "runs").iterdir():
        file.write_text("no document")
    id = file.name.partition(".")[0]
    message = client.get(f"/api/history/{id}").json()["error"]["message"]
    assert message.startswith("id: runs/")
    assert "torn: 11 of" in message


def test_one_case_is_shown_whole(client: TestClient, keep: Keep) -> None:
    id = keep()
    nodeid = f"{FILE}::paris[claude-3]"
    found = client.get(f"/api/history/{id}/cases", params={"nodeid": nodeid}).json()
    assert found["trials"][0]["transcript"]["replies"]
    assert found["trials"][0]["scores"]["overall"]["value"] == 1.0
    assert client.get(f"/api/history/{id}/cases", params={"nodeid": "x\x1b"}).status_code == 404
    assert client.get(f"/api/history/{id}/cases").status_code == 400


def test_trends(client: TestClient, keep: Keep) -> None:
    ids = [keep() for _ in range(2)]
    trend = client.get("/api/history/trend", params={"name": "Weather"}).json()
    assert [point["id"] for point in trend["points"]] == ids
    of_case = client.get("/api/history/trend", params={"name": "paris", "model": "claude-3"})
    assert of_case.json()["case"] == "paris"
    assert client.get("/api/history/trend", params={"name": "paris", "model": "x"}).status_code == 404
    assert client.get("/api/history/trend").status_code == 400


def test_two_runs_are_compared(client: TestClient, keep: Keep) -> None:
    one, two = keep(), keep()
    found = client.get("/api/history/compare", params={"old": one, "new": two})
    assert found.status_code == 200
    assert found.json()["models"][0]["cases"] == 2
    assert found.json()["failed"] is False
    other = {"old": one, "new": two, "old_model": "x", "new_model": "claude-3"}
    assert client.get("/api/history/compare", params=other).status_code == 422
    half = {"old": one, "new": two, "old_model": "claude-3"}
    assert client.get("/api/history/compare", params=half).status_code == 400


def test_runs_of_other_scoring_rules_are_not_compared_as_they_are(
    client: TestClient, keep: Keep
) -> None:
    one, two = keep(scoring_version=0), keep()
    found = client.get("/api/history/compare", params={"old": one, "new": two}).json()
    assert (found["verdict"], found["failed"]) == ("inconclusive", False)
    whys = [each["why"] for each in found["cases"]["incomparable"]]
    (why,) = {*whys}
    assert why.startswith(f"{one} has scores of other rules (version unknown, {two} has ")


def test_no_file_is_read_as_a_run(client: TestClient, keep: Keep, folder: Path) -> None:
    id = keep()
    document = folder / "out.json"
    document.write_text("{}")
    for name in (str(document), "out.json", "../project/out.json"):
        answer = client.get("/api/history/compare", params={"old": name, "new": id})
        assert answer.status_code == 404


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001", "²", "9" * 5000])
def test_limits(client: TestClient, limit: str) -> None:
    assert client.get("/api/history", params={"limit": limit}).status_code == 400


def test_a_run_of_another_program_is_only_watched(client: TestClient, folder: Path) -> None:
    writer = History(folder / ".tooleval").begin(run_of())
    try:
        shown = client.get(f"/api/history/{writer.id}").json()
        assert shown["run"]["status"] == "running"
        assert client.post(f"/api/runs/{writer.id}/cancel").status_code == 404
        assert client.delete(f"/api/history/{writer.id}").status_code == 409
    finally:
        writer.close()
