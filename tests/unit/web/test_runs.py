"""Runs: begun, watched by any number, left alone, cancelled, and kept."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pytest_tooleval.history import open_history
from pytest_tooleval.web import manager
from pytest_tooleval.web.api_history import DocumentCache
from pytest_tooleval.web.app import create_app
from pytest_tooleval.web.events import EventLog
from pytest_tooleval.web.security import Access

from .conftest import AUTHORIZATION
from .conftest import ORIGIN
from .conftest import PORT
from .conftest import TOKEN
from .suites import case
from .suites import events_of
from .suites import weather

FILE = "weather.tooleval.json"
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def server(folder: Path) -> Iterator[MockServer]:
    """A model called `slow`, whose every answer takes a while."""
    with MockServer(latency=0.3) as server:
        write_config(folder, server)
        yield server


def write_config(folder: Path, server: MockServer, **fields: str) -> None:
    table = {"model": "openai/m", "api": "openai", "api_base": server.base_url, **fields}
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    (folder / "tooleval.toml").write_text("\n".join(["[models.slow]", *lines, ""]))


def engines() -> list[str]:
    """The threads that could still be asking something."""
    return [thread.name for thread in threading.enumerate() if thread.name == "tooleval-engine"]


def begin(client: TestClient, **body: Any) -> str:
    answer = client.post("/api/tool-eval", json={"file": FILE, "models": ["slow"], **body})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/tool-eval/{answer.json()['id']}"
    return str(answer.json()["id"])


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def events(client: TestClient, id: str, **options: Any) -> list[tuple[str, str, Any]]:
    answer = client.get(f"/api/tool-eval/{id}/events", **options)
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events_of(answer.text)


def test_events_of_a_run(client: TestClient, run: Run) -> None:
    state = run(file=FILE)
    found = events(client, state["id"])
    names = [name for _, name, _ in found]
    assert [id for id, _, _ in found] == [str(number + 1) for number in range(len(found))]
    assert names[0] == "progress"
    assert names[-2:] == ["summary", "done"]
    assert names.count("result") == 4
    assert found[0][2] == {"done": 0, "total": 4}
    assert [data for _, name, data in found if name == "progress"][-1] == {"done": 4, "total": 4}
    rows = [data for _, name, data in found if name == "result"]
    assert all("transcript" not in trial and "scores" not in trial for trial in rows[0]["trials"])
    assert found[-2][2]["model"] == "baseline/lexical"
    assert found[-2][2]["cases"] == 4
    assert found[-1][2] == {"status": "finished", "problem": None}
    assert state["status"] == "finished"
    assert state["done"] == state["total"] == 4
    assert sum(state["counts"].values()) == 4
    assert state["summary"] == [found[-2][2]]


def test_a_reload_gets_what_it_missed(client: TestClient, run: Run) -> None:
    id = run(file=FILE)["id"]
    all_of_them = events(client, id)
    assert events(client, id, params={"after": "3"}) == all_of_them[3:]
    assert events(client, id, headers={"Last-Event-ID": "3"}) == all_of_them[3:]
    assert events(client, id, params={"after": "kept-3"}) == all_of_them
    over = client.get(f"/api/tool-eval/{id}/events", params={"after": all_of_them[-1][0]})
    assert over.status_code == 204


def test_a_run_goes_on_without_a_listener_and_is_kept(
    client: TestClient, folder: Path, server: MockServer
) -> None:
    id = begin(client, trials=2)
    state = client.get(f"/api/tool-eval/{id}").json()
    assert state["status"] == "running"
    assert state["options"] == {"model": ["slow"], "trials": 2}
    assert client.get("/api/tool-eval").json()[0]["id"] == id
    wait_for(lambda: client.get(f"/api/tool-eval/{id}").json()["status"] == "finished")
    assert server.answered == 8
    kept = open_history(folder / ".tooleval").document(id)
    assert [row.scored for row in kept.cases] == [2] * 4
    assert kept.run.exitstatus == 0
    assert (folder / ".tooleval" / ".gitignore").read_text() == "*\n"
    assert len(list((folder / ".tooleval" / "answers").glob("*/weather.jsonl"))) == 1


def test_details_of_a_row_can_be_read_at_once(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch, server: MockServer
) -> None:
    monkeypatch.setattr("pytest_tooleval.web.runs.FLUSH_S", 60.0)
    server.latency = 0.0
    server.faults["hang"] = 4
    id = begin(client)
    wait_for(lambda: client.get(f"/api/tool-eval/{id}").json()["done"] == 3)
    rows = client.get(f"/api/history/{id}").json()["cases"]
    assert len(rows) == 3
    whole = client.get(f"/api/history/{id}/cases", params={"nodeid": rows[0]["nodeid"]}).json()
    assert whole["trials"][0]["transcript"]["prompt"][0]["role"] == "user"
    assert whole["trials"][0]["scores"]["overall"]["explanation"]
    assert client.delete(f"/api/history/{id}").status_code == 409
    client.post(f"/api/tool-eval/{id}/cancel")


def test_a_run_is_cancelled(client: TestClient, folder: Path, server: MockServer) -> None:
    server.faults["hang"] = 2
    id = begin(client)
    wait_for(lambda: client.get(f"/api/tool-eval/{id}").json()["done"] == 2)
    assert client.post(f"/api/tool-eval/{id}/cancel").status_code == 202
    found = events(client, id)
    assert found[-1][2] == {"status": "cancelled", "problem": None}
    kept = open_history(folder / ".tooleval").document(id)
    assert len(kept.cases) == 2
    assert kept.run.exitstatus == 2
    wait_for(lambda: not engines())
    assert client.post(f"/api/tool-eval/{id}/cancel").json()["status"] == "cancelled"
    listed = client.get("/api/tool-eval").json()[0]
    assert (listed["id"], listed["status"], listed["done"], listed["total"]) == (id, "cancelled", 2, 4)


def test_several_runs_share_the_limit(folder: Path, server: MockServer) -> None:
    server.latency = 0.1
    app = create_app(folder, Access(PORT, TOKEN), concurrency=3)
    client = TestClient(app, base_url=ORIGIN, headers=AUTHORIZATION)
    ids = [begin(client, trials=2) for _ in range(3)]
    for id in ids:
        assert events(client, id)[-1][1] == "done"
    app.state.manager.close()
    assert server.answered == 24
    assert server.max_in_flight == 3


def test_closing_ends_the_runs_and_their_streams(
    app: Starlette, client: TestClient, folder: Path, server: MockServer
) -> None:
    server.faults["hang"] = 3
    id = begin(client)
    wait_for(lambda: client.get(f"/api/tool-eval/{id}").json()["done"] == 3)
    seen: list[Any] = []
    listener = threading.Thread(target=lambda: seen.extend(events(client, id)))
    listener.start()
    start = time.monotonic()
    app.state.manager.close()
    listener.join(20)
    assert time.monotonic() - start < 20
    assert not listener.is_alive()
    assert len([name for _, name, _ in seen if name == "result"]) == 3
    assert open_history(folder / ".tooleval").document(id).run.exitstatus == 2
    wait_for(lambda: not engines())
    refused = client.post("/api/tool-eval", json={"file": FILE, "models": ["slow"]})
    assert refused.status_code == 409


def test_a_run_that_is_gone_from_memory_is_found_in_the_history(
    client: TestClient, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = run(file=FILE, trials=2)
    before = events(client, state["id"])
    monkeypatch.setattr(manager, "_KEPT_S", -1.0)
    after = events(client, state["id"])
    assert after[0][0] == "kept-1"
    for name in ("summary", "done"):
        assert [data for _, n, data in after if n == name] == [
            data for _, n, data in before if n == name
        ]
    nodeids = {data["nodeid"] for _, name, data in before if name == "result"}
    assert {data["nodeid"] for _, name, data in after if name == "result"} == nodeids
    last = after[-1][0]
    address = f"/api/tool-eval/{state['id']}/events"
    assert client.get(address, headers={"Last-Event-ID": last}).status_code == 204
    assert events(client, state["id"], headers={"Last-Event-ID": before[-1][0]}) == after
    kept = client.get(f"/api/tool-eval/{state['id']}").json()
    assert kept == state
    assert client.get("/api/tool-eval").json()[0]["id"] == state["id"]


def test_selected_cases_and_several_files(client: TestClient, folder: Path, run: Run) -> None:
    (folder / "two.tooleval.json").write_text(json.dumps(weather(case("Rome"), name="Two")))
    state = run(files=[FILE, "two.tooleval.json", FILE], cases=["oslo", "rome"])
    assert state["cases"] == ["oslo", "rome"]
    assert state["total"] == 2
    assert state["files"] == [FILE, "two.tooleval.json"]
    rows = client.get(f"/api/history/{state['id']}").json()["cases"]
    assert [(row["suite"], row["case"], row["suite_cases"]) for row in rows] == [
        ("Two", "rome", 1),
        ("Weather", "oslo", 4),
    ]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, ""),
        ({"file": FILE}, 422, ""),
        ({"models": ["baseline/lexical"]}, 422, ""),
        ({"models": [], "file": FILE}, 422, "models"),
        ({"models": "slow", "file": FILE}, 422, "models"),
        ({"models": ["no such model"], "file": FILE}, 422, "models"),
        ({"models": ["a[b]"], "file": FILE}, 422, "models"),
        ({"file": FILE, "files": [FILE]}, 422, ""),
        ({"file": "nowhere.tooleval.json"}, 404, "file"),
        ({"file": "broken.tooleval.json"}, 422, "test_cases"),
        ({"file": "empty.tooleval.json"}, 422, "cases"),
        ({"file": FILE, "cases": []}, 422, "cases"),
        ({"file": FILE, "cases": ["pariss"]}, 422, "cases[0]"),
        ({"file": FILE, "trials": 0}, 422, "trials"),
        ({"file": FILE, "trials": 2.0}, 422, "trials"),
        ({"file": FILE, "trials": 1001}, 422, "trials"),
        ({"file": FILE, "trials": True}, 422, "trials"),
        ({"file": FILE, "trials": 2.5}, 422, "trials"),
        ({"file": FILE, "temperature": 3}, 422, "temperature"),
        ({"file": FILE, "temperature": "hot"}, 422, "temperature"),
        ({"file": FILE, "tool_choice": "maybe"}, 422, "tool_choice"),
        ({"file": FILE, "trails": 2}, 422, ""),
        ({"file": "rule.tooleval.json", "trials": 2}, 422, "test_cases[0]"),
    ],
)
def test_requests_that_cannot_be_run(
    client: TestClient, folder: Path, body: dict[str, Any], status: int, field: str
) -> None:
    (folder / "broken.tooleval.json").write_text('{"name": "x"}')
    (folder / "empty.tooleval.json").write_text('{"name": "x", "test_cases": []}')
    (folder / "rule.tooleval.json").write_text(json.dumps(weather(case("Paris", **{"pass": "2/3"}))))
    if "file" in body and "files" not in body and len(body) == 1:
        body = {"models": ["baseline/lexical"], **body} if body["file"] != FILE else body
    elif "models" not in body and body:
        body = {"models": ["baseline/lexical"], **body}
    answer = client.post("/api/tool-eval", json=body)
    assert answer.status_code == status
    assert answer.json()["error"]["problems"][0]["field"] == field
    assert client.get("/api/tool-eval").json() == []


def test_a_model_whose_config_changed_waits_for_the_run_that_uses_it(
    client: TestClient, folder: Path, server: MockServer
) -> None:
    server.faults["hang"] = 1
    id = begin(client)
    write_config(folder, server, model="openai/other")
    refused = client.post("/api/tool-eval", json={"file": FILE, "models": ["slow"]})
    assert refused.status_code == 409
    client.post(f"/api/tool-eval/{id}/cancel")
    events(client, id)
    server.faults.clear()
    assert events(client, begin(client))[-1][2]["status"] == "finished"
    assert server.bodies[-1]["model"] == "other"


def test_a_server_that_was_down_is_asked_again_by_the_next_run(client: TestClient, folder: Path) -> None:
    with MockServer() as server:
        write_config(folder, server, api_base="http://127.0.0.1:9/v1")
        down = events(client, begin(client))
        assert [data["outcome"] for _, name, data in down if name == "result"] == ["error"] * 4
        write_config(folder, server)
        up = events(client, begin(client))
    assert "error" not in [data["outcome"] for _, name, data in up if name == "result"]


def write_agent(folder: Path, module: str, code: str) -> Path:
    """The model `slow` is this code now; its file."""
    (folder / "tooleval.toml").write_text(f'[models.slow]\ncallable = "{module}:answer"\n')
    agent = folder / f"{module}.py"
    agent.write_text(code)
    return agent


def assert_refused_for(client: TestClient, file: str) -> None:
    refused = client.post("/api/tool-eval", json={"file": FILE, "models": ["slow"]})
    assert refused.status_code == 409
    assert f"{file} has changed since it was loaded; start `tooleval ui` again" in refused.text


def test_an_agent_whose_code_changed_is_not_run_as_the_old_one(client: TestClient, folder: Path) -> None:
    code = "def answer(messages, tools):\n    return 'one'\n"
    agent = write_agent(folder, "changing_agent", code)
    events(client, begin(client))
    agent.write_text(code.replace("one", "two"))
    assert_refused_for(client, "changing_agent.py")


def test_nor_is_one_that_changed_while_it_ran(client: TestClient, folder: Path) -> None:
    # It writes itself anew as an editor would: after it was imported, before the run ends.
    code = (
        "from pathlib import Path\n"
        "def answer(messages, tools):\n"
        "    Path(__file__).write_text('def answer(messages, tools): return \"new\"')\n"
        "    return 'old'\n"
    )
    os.utime(write_agent(folder, "rewritten_agent", code), (1, 1))
    events(client, begin(client))
    assert_refused_for(client, "rewritten_agent.py")


def test_nor_is_one_whose_helper_changed(client: TestClient, folder: Path) -> None:
    write_agent(folder, "helped_agent", "from helping import answer\n")
    code = "def answer(messages, tools):\n    return 'one'\n"
    helper = folder / "helping.py"
    helper.write_text(code)
    events(client, begin(client))
    helper.write_text(code.replace("one", "another"))
    assert_refused_for(client, "helping.py")
    # What none of the project's code answers or scores is run all the same.
    others = client.post("/api/tool-eval", json={"file": FILE, "models": ["baseline/lexical"]})
    assert others.status_code == 202


def test_a_history_that_cannot_be_written_does_not_end_the_run(
    client: TestClient, folder: Path, run: Run
) -> None:
    (folder / ".tooleval").mkdir()
    (folder / ".tooleval" / "history.db").write_text("not a database, but long enough to look at" * 50)
    begun = client.post("/api/tool-eval", json={"file": FILE, "models": ["baseline/lexical"]})
    found = events(client, begun.json()["id"])
    assert [name for _, name, _ in found].count("result") == 4
    assert found[-1][2]["status"] == "finished"
    assert "could not be kept in the history" in found[-1][2]["problem"]
    assert client.get("/api/history").status_code == 500
    assert "Traceback" not in client.get("/api/history").text


def test_models_are_those_of_the_config(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tooleval.toml").write_text(
        '[models.one]\nmodel = "openai/gpt-4o"\napi_key_env = "ONE_KEY"\n[models.bad]\nmodle = "x"\n'
    )
    rows = {row["model"]: row for row in client.get("/api/models").json()}
    assert list(rows) == ["one", "bad", "baseline/lexical"]
    assert rows["one"]["calls"] == "openai/gpt-4o"
    assert rows["one"]["problem"] == "the environment variable ONE_KEY is not set"
    assert "modle" in rows["bad"]["problem"]
    assert rows["baseline/lexical"]["problem"] is None
    monkeypatch.setenv("ONE_KEY", "very-secret-key")
    shown = client.get("/api/models")
    assert shown.json()[0]["problem"] is None
    assert "very-secret-key" not in shown.text
    (folder / "tooleval.toml").write_text("[models")
    assert client.get("/api/models").status_code == 500


@pytest.mark.parametrize("path", ["", "/events", "/cancel"])
def test_no_such_run(client: TestClient, path: str) -> None:
    method = "POST" if path == "/cancel" else "GET"
    assert client.request(method, f"/api/tool-eval/2026{path}").status_code == 404


def test_hostile_text_makes_no_event_of_its_own() -> None:
    log = EventLog()
    log.add("result", {"reason": "a\n\nevent: done\ndata: {}\r\n\u2028\ud800", "number": float("nan")})
    log.add("done", {})
    found = events_of(b"".join(log.frames(0)).decode())
    assert [name for _, name, _ in found] == ["result", "done"]
    assert found[0][2]["number"] is None
    assert [log.place(id) for id in ("1", "2", "9", "", "-1", "x", "kept-1", "²")] == [
        1,
        2,
        2,
        0,
        0,
        0,
        0,
        0,
    ]


def test_the_document_cache_is_bounded() -> None:
    cache = DocumentCache()
    for number in range(10):
        cache.add(str(number), b"")
    assert [number for number in range(10) if cache.get(str(number)) is not None] == [6, 7, 8, 9]
