"""The history over the API: runs of the page and of pytest alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pytest_tooleval.history import open_history

from ..history.runs import run_of

Run = Callable[..., dict[str, Any]]
FILE = "weather.tooleval.json"


def test_an_empty_history(client: TestClient, folder: Path) -> None:
    assert client.get("/api/history").json() == []
    for path in ("latest", "latest/cases?nodeid=x", "trend?name=x", "compare?old=latest&new=latest"):
        answer = client.get(f"/api/history/{path}")
        assert answer.status_code == 404, path
        assert answer.json()["error"]["message"]
    assert client.delete("/api/history/latest").status_code == 404
    assert not (folder / ".tooleval").exists()


def test_runs_are_listed_shown_and_deleted(client: TestClient, run: Run) -> None:
    one, two = run(file=FILE)["id"], run(file=FILE, trials=3)["id"]
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


def test_suites_of_one_name_are_told_apart_by_their_files(
    client: TestClient, run: Run, folder: Path
) -> None:
    (folder / "twin.tooleval.json").write_bytes((folder / FILE).read_bytes())
    alone = run(file=FILE)["id"]

    def found(suite: str) -> list[tuple[str, int]]:
        rows = client.get("/api/history", params={"suite": suite}).json()
        return [(row["id"], row["cases"]) for row in rows]

    assert found("twin.tooleval.json") == []
    both = run(files=[FILE, "twin.tooleval.json"])["id"]
    assert found("twin.tooleval.json") == [(both, 4)]
    assert found(FILE) == [(both, 4), (alone, 4)]
    assert found("Weather") == [(both, 8), (alone, 4)]


def test_errors_do_not_tell_where_the_folder_lies(client: TestClient, run: Run, folder: Path) -> None:
    for _ in ("an empty history", "one with a run"):
        for path in ("history/nope", "history/compare?old=nope&new=latest", "tool-eval/nope"):
            error = client.get(f"/api/{path}").json()["error"]
            assert str(folder.parent) not in error["message"]
            assert error["problems"][0]["field"] in ("id", "old")
        run(file=FILE)
    assert error["message"].startswith("id: there is no run nope; expected latest, ")
    (folder / ".tooleval" / "history.db").write_text("not a database, but long enough" * 50)
    message = client.get("/api/history").json()["error"]["message"]
    assert message.startswith(".tooleval/history.db: not a history")


def test_one_case_is_shown_whole(client: TestClient, run: Run) -> None:
    id = run(file=FILE)["id"]
    nodeid = f"{FILE}::paris[baseline/lexical]"
    found = client.get(f"/api/history/{id}/cases", params={"nodeid": nodeid}).json()
    assert found["trials"][0]["transcript"]["rounds"]
    assert found["trials"][0]["scores"]["tool_selection"]["value"] == 1.0
    assert client.get(f"/api/history/{id}/cases", params={"nodeid": "x\x1b"}).status_code == 404
    assert client.get(f"/api/history/{id}/cases").status_code == 400


def test_trends(client: TestClient, run: Run) -> None:
    ids = [run(file=FILE)["id"] for _ in range(2)]
    trend = client.get("/api/history/trend", params={"name": "Weather"}).json()
    assert [point["id"] for point in trend["points"]] == ids
    of_case = client.get("/api/history/trend", params={"name": "paris", "model": "baseline/lexical"})
    assert of_case.json()["case"] == "paris"
    assert client.get("/api/history/trend", params={"name": "paris", "model": "x"}).status_code == 404
    assert client.get("/api/history/trend").status_code == 400


def test_two_runs_are_compared(client: TestClient, run: Run) -> None:
    one, two = run(file=FILE)["id"], run(file=FILE)["id"]
    found = client.get("/api/history/compare", params={"old": one, "new": two})
    assert found.status_code == 200
    assert found.json()["models"][0]["cases"] == 4
    assert found.json()["failed"] is False
    other = {"old": one, "new": two, "old_model": "x", "new_model": "baseline/lexical"}
    assert client.get("/api/history/compare", params=other).status_code == 422
    half = {"old": one, "new": two, "old_model": "baseline/lexical"}
    assert client.get("/api/history/compare", params=half).status_code == 400


def test_no_file_is_read_as_a_run(client: TestClient, run: Run, folder: Path) -> None:
    id = run(file=FILE)["id"]
    document = folder / "out.json"
    document.write_text("{}")
    for name in (str(document), "out.json", "../project/out.json"):
        answer = client.get("/api/history/compare", params={"old": name, "new": id})
        assert answer.status_code == 404


@pytest.mark.parametrize("limit", ["0", "-1", "x", "1001", "²", "9" * 5000])
def test_limits(client: TestClient, limit: str) -> None:
    assert client.get("/api/history", params={"limit": limit}).status_code == 400


def test_a_run_of_another_program_is_only_watched(client: TestClient, folder: Path) -> None:
    writer = open_history(folder / ".tooleval").begin(run_of())
    try:
        shown = client.get(f"/api/tool-eval/{writer.id}").json()
        assert shown["status"] == "running"
        assert client.post(f"/api/tool-eval/{writer.id}/cancel").status_code == 409
        assert client.delete(f"/api/history/{writer.id}").status_code == 409
    finally:
        writer.abandon()
