"""Runs: pytests that are begun, watched by any number, left alone, cancelled, and kept."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pytest_tooleval.settings.options import OPTIONS
from pytest_tooleval.web import runs
from pytest_tooleval.web.bodies import NewRun
from pytest_tooleval.web.events import EventLog
from pytest_tooleval.web.runs import pytest_arguments

from .suites import case, events_of, weather

pytestmark = pytest.mark.slow

FILE = "weather.tooleval.json"
Run = Callable[..., dict[str, Any]]

# Answers about Paris and Tokyo, and nothing else.
AGENT = """
import asyncio

async def answer(messages, tools):
    prompt = messages[-1]["content"]
    if "Paris" not in prompt and "Tokyo" not in prompt:
        await asyncio.sleep(600)
    return "It rains."
"""


@pytest.fixture
def slow(folder: Path) -> None:
    """A model called `slow`, which does not answer the third case."""
    (folder / "slow_agent.py").write_text(AGENT)
    (folder / "tooleval.toml").write_text('[models.slow]\ncallable = "slow_agent:answer"\n')


def begin(client: TestClient, **body: Any) -> str:
    answer = client.post("/api/runs", json={"files": [FILE], "models": ["slow"], **body})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/runs/{answer.json()['id']}"
    return str(answer.json()["id"])


def wait_for_cases(client: TestClient, id: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while client.get(f"/api/runs/{id}").json()["done"] < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def events(client: TestClient, id: str, **options: Any) -> list[tuple[str, str, Any]]:
    answer = client.get(f"/api/runs/{id}/events", **options)
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events_of(answer.text)


def test_a_run_is_pytests_own(client: TestClient, run: Run, folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --deselect weather.tooleval.json::lima\n")
    settings = {"temperature": "0.5", "tool-choice": "auto", "trials": "2"}
    state = run(cases=["paris", "lima", "oslo"], options=settings)
    id = state["id"]
    assert (state["status"], state["problem"]) == ("finished", "")
    assert "2 passed, 1 deselected" in state["output"]
    assert (state["done"], state["total"]) == (2, 2)
    assert (state["files"], state["cases"]) == ([FILE], ["paris", "lima", "oslo"])
    found = events(client, id)
    names = [name for _, name, _ in found]
    assert [number for number, _, _ in found] == [str(number + 1) for number in range(len(found))]
    assert names[:2] == ["run_started", "collected"]
    assert names[-3:] == ["judged", "run_ended", "done"]
    rows = [data["case"] for _, name, data in found if name == "case_done"]
    assert [row["case"] for row in rows] == ["paris", "oslo"]
    assert all("transcript" not in trial for trial in rows[0]["trials"])
    assert "explanation" not in json.dumps(rows)
    # After a reload, only what was missed.
    address = f"/api/runs/{id}/events"
    assert events(client, id, params={"after": "3"}) == found[3:]
    assert events(client, id, headers={"Last-Event-ID": "3"}) == found[3:]
    assert client.get(address, params={"after": found[-1][0]}).status_code == 204
    kept = client.get(f"/api/history/{id}").json()
    assert [row["nodeid"] for row in kept["cases"]] == [row["nodeid"] for row in rows]
    options = {**settings, "model": ["builtin/lexical"]}
    assert kept["run"]["options"] == state["options"] == options
    assert client.get("/api/runs").json() == [state]


def test_a_run_goes_on_without_a_listener_until_it_is_cancelled(client: TestClient, slow: None) -> None:
    id = begin(client)
    wait_for_cases(client, id, 2)
    (listed,) = client.get("/api/runs").json()
    assert (listed["id"], listed["status"], listed["done"], listed["total"]) == (id, "running", 2, 4)
    nodeid = f"{FILE}::paris[slow]"
    whole = client.get(f"/api/history/{id}/cases", params={"nodeid": nodeid}).json()
    assert whole["trials"][0]["transcript"]["prompt"][0]["role"] == "user"
    assert client.delete(f"/api/history/{id}").status_code == 409
    assert client.post(f"/api/runs/{id}/cancel").status_code == 202
    found = events(client, id)
    assert found[-2][2]["reason"] == "KeyboardInterrupt"
    assert found[-1][1:] == ("done", {"status": "cancelled"})
    kept = client.get(f"/api/history/{id}").json()
    assert [row["case"] for row in kept["cases"]] == ["paris", "tokyo"]
    assert kept["run"]["exitstatus"] == 2
    assert client.post(f"/api/runs/{id}/cancel").json()["status"] == "cancelled"


def test_closing_ends_the_runs_and_their_streams(
    app: Starlette, client: TestClient, slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MAX_RUNNING", 1)
    id = begin(client)
    body = {"files": [FILE], "models": ["slow"]}
    refused = client.post("/api/runs", json=body)
    assert (refused.status_code, "1 runs are already running" in refused.text) == (409, True)
    wait_for_cases(client, id, 2)
    seen: list[Any] = []
    listener = threading.Thread(target=lambda: seen.extend(events(client, id)))
    listener.start()
    app.state.runs.close()
    listener.join(120)
    assert seen[-1][1:] == ("done", {"status": "cancelled"})
    assert client.post("/api/runs", json=body).status_code == 409


def test_what_pytest_wrote_is_shown_when_the_run_does_not_begin(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "very-secret-key")
    body = {"files": [FILE], "models": ["builtin/lexical"]}
    hot = client.post("/api/runs", json={**body, "options": {"temperature": "3"}})
    assert hot.status_code == 422
    assert hot.json()["error"]["message"] == "pytest ended with exit status 4"
    assert "ERROR: --tooleval-temperature=3: expected 0 to 2" in hot.json()["output"]
    (folder / "conftest.py").write_text(
        "import os; raise OSError('\x1b[31m' + os.environ['MY_API_KEY'])"
    )
    broken = client.post("/api/runs", json=body)
    assert broken.status_code == 422
    assert "conftest.py:1: in <module>" in broken.json()["output"]
    assert "OSError: \\x1b[31m[secret]" in broken.json()["output"]
    assert client.get("/api/runs").json() == []


def test_and_when_a_suite_cannot_be_collected(run: Run, folder: Path) -> None:
    (folder / FILE).write_text(json.dumps(weather(case("Paris", expected_tool="get_wether"))))
    state = run()
    assert state["status"] == "failed"
    assert state["problem"] == (
        f"{FILE} could not be collected; 1 error during collection; pytest ended with exit status 2"
    )
    assert 'did you mean "get_weather"?' in state["output"]


def test_a_root_folder_elsewhere_is_told(run: Run, folder: Path) -> None:
    (folder.parent / "pytest.ini").write_text("[pytest]\n")
    assert run()["problem"].startswith(f"pytest's root folder is {folder.parent}, ")


def test_names_are_no_options() -> None:
    given = NewRun(
        files=["--x.tooleval.json"],
        models=["--help"],
        cases=["-x", "b c"],
        keyword="--help",
        options={"trials": "5", "preset": "--help", "threshold": "overall=0.8 max_calls=3"},
    )
    assert pytest_arguments(given, ["--all,*"]) == [
        "./--x.tooleval.json::-x",
        "./--x.tooleval.json::b c",
        "--tooleval-model=--help",
        "--tooleval-trials=5",
        "--tooleval-preset=--help",
        "--tooleval-threshold=overall=0.8",
        "--tooleval-threshold=max_calls=3",
        "--tooleval-allow-tools=--all,*",
        "-k--help",
        "--color=no",
    ]
    assert OPTIONS["resume"].arguments("true") == ["--tooleval-resume"]


def test_what_a_run_would_ask_is_told_before(client: TestClient) -> None:
    body = {"files": [FILE], "models": ["builtin/lexical"], "options": {"trials": "3"}}
    estimate = client.post("/api/runs/estimate", json=body)
    assert estimate.json()["text"].splitlines()[1].split()[0] == "builtin/lexical"
    wrong = client.post("/api/runs/estimate", json={**body, "options": {"trials": "often"}})
    assert wrong.status_code == 422
    assert "--tooleval-trials" in wrong.json()["output"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, ""),
        ({"files": [FILE]}, 422, ""),
        ({"models": ["x"]}, 422, ""),
        ({"models": [], "files": [FILE]}, 422, "models"),
        ({"models": "slow", "files": [FILE]}, 422, "models"),
        ({"models": ["x"], "files": ["nowhere.tooleval.json"]}, 404, "file"),
        ({"models": ["x"], "files": ["../x.tooleval.json"]}, 400, "file"),
        ({"models": ["x"], "files": [FILE], "cases": []}, 422, "cases"),
        ({"models": ["x"], "files": [FILE], "cases": [5]}, 422, "cases[0]"),
        ({"models": ["x"], "files": [FILE, FILE], "cases": ["paris"]}, 422, ""),
        ({"models": ["x"], "files": [FILE], "trials": "2"}, 422, ""),
        ({"models": ["x"], "files": [FILE], "options": {"trials": 2}}, 422, "options[...]"),
        ({"models": ["x"], "files": [FILE], "options": {"trails": "2"}}, 422, ""),
        ({"models": ["x"], "files": [FILE], "options": {"report": "x.json"}}, 422, ""),
        ({"models": ["x"], "files": [FILE], "options": {"cassette": "../tapes"}}, 403, "cassette"),
        (
            {"models": ["x"], "files": [FILE], "options": {"cassette": "tapes/../../tapes"}},
            403,
            "cassette",
        ),
        ({"models": ["x"], "files": [FILE], "options": {"cassette": "/tapes"}}, 403, "cassette"),
        ({"models": ["x"], "files": [FILE], "options": {"cassette": "link/tapes"}}, 403, "cassette"),
        ({"models": ["x"], "files": [FILE], "options": {"cassette": "a\0b"}}, 403, "cassette"),
    ],
)
def test_requests_that_cannot_be_run(
    client: TestClient, folder: Path, body: dict[str, Any], status: int, field: str
) -> None:
    (folder / "link").symlink_to("..")
    for path in ("/api/runs", "/api/runs/estimate"):
        answer = client.post(path, json=body)
        assert answer.status_code == status
        assert answer.json()["error"]["problems"][0]["field"] == field


def test_a_cassette_of_the_project(run: Run, folder: Path) -> None:
    (folder / "agent.py").write_text("def answer(messages, tools): return 'It rains.'")
    (folder / "tooleval.toml").write_text('[models.mine]\ncallable = "agent:answer"\n')
    assert run(models=["mine"], options={"cassette": "tapes/mine"})["problem"] == ""
    assert (folder / "tapes" / "mine" / "weather.jsonl").is_file()


def test_models_are_those_of_the_config(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tooleval.toml").write_text(
        '[models.one]\nmodel = "openai/gpt-4o"\napi_key_env = "ONE_KEY"\n[models.bad]\nmodle = "x"\n'
    )
    rows = {row["model"]: row for row in client.get("/api/models").json()}
    assert list(rows) == ["one", "bad", "builtin/lexical"]
    assert rows["one"]["identity"] == "openai/gpt-4o"
    assert rows["one"]["problem"] == "the environment variable ONE_KEY is not set"
    assert "modle" in rows["bad"]["problem"]
    assert rows["builtin/lexical"]["problem"] is None
    monkeypatch.setenv("ONE_KEY", "very-secret-key")
    shown = client.get("/api/models")
    assert shown.json()[0]["problem"] is None
    assert "very-secret-key" not in shown.text
    (folder / "tooleval.toml").write_text("[models")
    assert client.get("/api/models").status_code == 500


@pytest.mark.parametrize("path", ["", "/events", "/cancel"])
def test_no_such_run(client: TestClient, path: str) -> None:
    method = "POST" if path == "/cancel" else "GET"
    assert client.request(method, f"/api/runs/2026{path}").status_code == 404


def test_the_place_in_a_log() -> None:
    log = EventLog()
    log.add("run_started", b"{}")
    log.add("done", b"{}")
    assert [log.place(id) for id in ("1", "2", "9", "", "-1", "x", "²")] == [1, 2, 2, 0, 0, 0, 0]
