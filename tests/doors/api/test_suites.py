"""Suites over the API: what is written is what was meant, and nobody's change is lost."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pytest_tooleval.suite.load import load_suite

from .suites import as_text, case, tool, weather

pytestmark = pytest.mark.slow

FILE = "weather.tooleval.json"
PATH = f"/api/suite?file={FILE}"


def show(client: TestClient, path: str = PATH) -> dict[str, Any]:
    answer = client.get(path)
    assert answer.status_code == 200
    shown: dict[str, Any] = answer.json()
    assert answer.headers["etag"] == f'"{shown["etag"]}"'
    return shown


def if_match(client: TestClient, path: str = PATH) -> dict[str, str]:
    return {"If-Match": client.get(path).headers["etag"]}


def test_all_suites_are_listed_broken_ones_too(client: TestClient, folder: Path) -> None:
    (folder / "a").mkdir()
    drafted = weather(case("Paris"), case("Oslo", skip="draft"))
    (folder / "a" / "drafts.tooleval.json").write_text(json.dumps(drafted))
    (folder / "broken.tooleval.json").write_text('{"name": 1, "cases": []}')
    (folder / "binary.tooleval.json").write_bytes(b"\xff")
    (folder / "folder.tooleval.json").mkdir()
    for hidden in (".hidden", "node_modules", "venv", "__pycache__", "site-packages"):
        (folder / hidden).mkdir()
        (folder / hidden / FILE).write_text("{}")
    rows = {row.pop("file"): row for row in client.get("/api/suites").json()}
    assert sorted(rows) == [
        "a/drafts.tooleval.json",
        "binary.tooleval.json",
        "broken.tooleval.json",
        FILE,
    ]
    modified = rows["a/drafts.tooleval.json"].pop("modified")
    assert modified.endswith("+00:00")
    counts = {"cases": 2, "drafts": 1, "tools": 1, "problems": 0}
    assert rows["a/drafts.tooleval.json"] == {"name": "Weather", **counts}
    assert rows["broken.tooleval.json"]["name"] is None
    assert rows["broken.tooleval.json"]["problems"] >= 2


def test_a_file_that_is_too_large_is_listed_and_not_read(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tooleval.web.suite_files.MAX_BYTES", 100)
    assert client.get("/api/suites").json()[0]["problems"] == 1
    assert client.get(PATH).status_code == 413


def test_a_new_suite_goes_where_pytest_collects_it(client: TestClient, folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (folder / "tests").mkdir()
    text = json.dumps(weather(case("Paris"), name="New"))
    bodies = ({"text": text}, {"text": text, "file": "a.tooleval.json"})
    made = [client.post("/api/suites", json=body).json()["file"] for body in bodies]
    assert made == ["tests/new.tooleval.json", "tests/a.tooleval.json"]


def test_the_list_follows_the_files(client: TestClient, folder: Path) -> None:
    assert [row["cases"] for row in client.get("/api/suites").json()] == [4]
    (folder / FILE).write_text(json.dumps(weather(case("Paris"))))
    assert [row["cases"] for row in client.get("/api/suites").json()] == [1]
    (folder / FILE).unlink()
    assert client.get("/api/suites").json() == []


def test_a_suite_is_shown_as_it_stands(client: TestClient, folder: Path) -> None:
    text = '{\r\n\t"name": "Größe \\u2603",\r\n  "test_cases": [ ]\r\n}'
    (folder / FILE).write_bytes(text.encode())
    shown = show(client)
    assert shown["text"] == text
    assert shown["suite"] == {"name": "Größe ☃", "test_cases": []}
    assert [warning["field"] for warning in shown["warnings"]] == ["test_cases"]
    nameless = {"prompt": "What about Rome?", "expected_tool": "get_weather"}
    (folder / FILE).write_text(json.dumps(weather(nameless, case("Oslo")), indent=1))
    named = [{"id": "what-about-rome", "place": 0}, {"id": "oslo", "place": 1}]
    assert show(client)["cases"] == named
    rows = {**case("Rome"), "id": "r", "prompt": "{{city}}?", "parametrize": [{"city": 1}, {"city": 2}]}
    (folder / FILE).write_text(json.dumps(weather(rows, case("Oslo")), indent=1))
    assert [(each["id"], each["place"]) for each in show(client)["cases"]] == [
        ("r[1]", 0),
        ("r[2]", 0),
        ("oslo", 1),
    ]
    wrong = '{"name": "x",\n "test_cases": [{"prompt": "p", "expected_tol": 1}]}'
    (folder / FILE).write_text(wrong)
    shown = show(client)
    assert (shown["text"], shown["suite"]) == (wrong, None)
    problem = next(p for p in shown["problems"] if p["field"].endswith("expected_tol"))
    assert (problem["file"], problem["line"], problem["column"]) == (FILE, 2, 33)
    assert "expected_tool" in problem["message"]
    (folder / FILE).write_bytes(b'{"name": "\xff"}')
    shown = show(client)
    assert shown["text"] is None
    assert "UTF-8" in shown["problems"][0]["message"]


def test_text_is_written_byte_for_byte(client: TestClient, folder: Path) -> None:
    text = json.dumps(weather(case("Paris")), indent=3).replace("\n", "\r\n") + "  \n\n"
    answer = client.put(PATH, json={"text": text}, headers=if_match(client))
    assert answer.status_code == 200
    assert (folder / FILE).read_bytes() == text.encode()
    assert answer.json()["etag"] == show(client)["etag"]
    assert answer.headers["etag"] == f'"{answer.json()["etag"]}"'


def test_problems_are_refused_and_nothing_is_written(client: TestClient, folder: Path) -> None:
    before = (folder / FILE).read_bytes()
    bodies = [
        {"text": "{"},
        {"text": ""},
        {"text": "\ufeff{}"},
        as_text(weather(case("Paris", expected_tol=1))),
        as_text(weather(case("Paris"), case("Paris"))),
    ]
    for body in bodies:
        answer = client.put(PATH, json=body, headers=if_match(client))
        assert answer.status_code == 422
        problem = answer.json()["error"]["problems"][0]
        assert problem["file"] == FILE
        assert problem["line"] >= 1
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_changes_need_the_etag_of_what_is_there(client: TestClient, folder: Path, method: str) -> None:
    for given in ({}, {"If-Match": ""}, {"If-Match": "*"}, {"If-Match": "x" * 1000}):
        answer = client.request(method, PATH, json=as_text(weather()), headers=given)
        assert answer.status_code == 400
        assert answer.json()["error"]["problems"][0]["field"] == "If-Match"
    seen = if_match(client)
    (folder / FILE).write_text("changed in an editor")
    answer = client.request(method, PATH, json=as_text(weather()), headers=seen)
    assert answer.status_code == 409
    assert answer.json()["text"] == "changed in an editor"
    assert answer.json()["etag"] == show(client)["etag"]
    assert (folder / FILE).read_text() == "changed in an editor"
    assert client.request(method, PATH, json=as_text(weather()), headers=if_match(client)).is_success
    assert (folder / FILE).exists() == (method == "PUT")


def test_of_many_writers_one_wins(client: TestClient, folder: Path) -> None:
    seen = if_match(client)
    statuses: list[int] = []

    def write(number: int) -> None:
        suite = weather(case("Paris"), description=str(number))
        statuses.append(client.put(PATH, json=as_text(suite), headers=seen).status_code)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [409] * 7
    assert sorted(os.listdir(folder)) == [FILE]


def test_an_editor_that_saves_in_the_last_moment_is_not_overwritten(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, fsync = if_match(client), os.fsync

    def save_meanwhile(descriptor: int) -> None:
        fsync(descriptor)
        (folder / FILE).write_text("saved")

    monkeypatch.setattr(os, "fsync", save_meanwhile)
    assert client.put(PATH, json=as_text(weather()), headers=seen).status_code == 409
    assert (folder / FILE).read_text() == "saved"
    assert os.listdir(folder) == [FILE]


@pytest.mark.skipif(os.name == "nt", reason="other permissions")
def test_permissions_stay(client: TestClient, folder: Path) -> None:
    (folder / FILE).chmod(0o640)
    client.put(PATH, json=as_text(weather(case("Oslo"))), headers=if_match(client))
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o640


def test_a_suite_is_made_and_found_by_pytest(client: TestClient, folder: Path) -> None:
    answer = client.post("/api/suites", json={**as_text(weather()), "file": "new/one.tooleval.json"})
    assert answer.status_code == 201
    assert answer.json()["file"] == "new/one.tooleval.json"
    assert len(load_suite(folder / "new" / "one.tooleval.json").test_cases) == 4
    again = client.post("/api/suites", json={**as_text(weather()), "file": "new/one.tooleval.json"})
    assert again.status_code == 409
    assert "already exists; choose another name" in again.json()["error"]["message"]
    assert again.json()["text"] == (folder / "new" / "one.tooleval.json").read_text()
    files = [client.post("/api/suites", json=as_text(weather())).json()["file"] for _ in range(2)]
    assert files == ["weather-2.tooleval.json", "weather-3.tooleval.json"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, ""),
        ({"text": 5}, "text"),
        ({"text": "", "suite": {}}, ""),
        ({"text": "", "file": 5}, "file"),
    ],
)
def test_a_body_that_does_not_fit(client: TestClient, body: dict[str, Any], field: str) -> None:
    answer = client.post("/api/suites", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["problems"][0]["field"] == field


def test_checking_writes_nothing(client: TestClient, folder: Path) -> None:
    answer = client.post("/api/suite/check?file=not/there.tooleval.json", json={"text": '{"nam": 1}'})
    assert answer.status_code == 200
    assert answer.json()["problems"][0]["file"] == "not/there.tooleval.json"
    good = client.post(
        f"/api/suite/check?file={FILE}", json=as_text(weather(case("Paris", tags=["flaky"])))
    ).json()
    assert good["problems"] == []
    assert len(good["warnings"]) == 1
    assert os.listdir(folder) == [FILE]


def test_import_takes_the_suite_as_the_body(client: TestClient, folder: Path) -> None:
    flat = json.dumps(weather(name="Imported Suite"), indent=2).replace("\n", "")
    headers = {"Content-Type": "application/json"}
    answer = client.post("/api/tool-eval/import", content=flat, headers=headers)
    assert answer.status_code == 201
    assert answer.json()["file"] == "imported-suite.tooleval.json"
    text = (folder / "imported-suite.tooleval.json").read_text()
    assert json.loads(text) == weather(name="Imported Suite")
    assert text.count("\n") > 20
    broken = client.post("/api/tool-eval/import", content=b'{"name": "a", "name": "b"}', headers=headers)
    assert broken.status_code == 422
    assert "duplicate key" in broken.text


_BESIDE = """
import os
from os import system

class Desk:
    def refund(self, order: str) -> str:
        return "ok"

Other = Desk
"""


@pytest.mark.parametrize("tools", [None, [tool("refund")]])
@pytest.mark.parametrize(
    "target",
    [
        "os:system",
        "desk:system",
        "desk:os.system",
        "subprocess:getoutput",
        "pytest_tooleval.worlds.world:os.system",
    ],
)
@pytest.mark.parametrize("of_case", [False, True])
def test_a_body_makes_no_code_run_but_a_world_beside_it(
    client: TestClient, folder: Path, target: str, tools: list[Any] | None, of_case: bool
) -> None:
    (folder / "desk.py").write_text(_BESIDE)
    before = sorted(folder.iterdir())
    argument = "cmd" if "getoutput" in target else "command"
    world = {"world": target, "world_args": {argument: f"touch {folder}/made"}}
    turns = [{"prompt": "x", "expected_calls": []}]
    suite: dict[str, Any] = {"name": "W", "test_cases": [{"id": "a", "turns": turns}]}
    (suite["test_cases"][0] if of_case else suite).update(world)
    if tools is not None:
        suite["tools"] = tools
    checked = client.post("/api/suite/check?file=new.tooleval.json", json=as_text(suite))
    (problem,) = checked.json()["problems"]
    assert problem["field"].endswith("world")
    assert "a module in the suite's folder" in problem["message"]
    assert client.post("/api/tool-eval/import", json=suite).status_code == 422
    assert client.post("/api/suites", json=as_text(suite)).status_code == 422
    assert client.put(PATH, json=as_text(suite), headers=if_match(client)).status_code == 422
    assert sorted(folder.iterdir()) == before


def test_worlds_beside_a_suite_and_of_saved_suites_are_made(client: TestClient, folder: Path) -> None:
    (folder / "desk.py").write_text(_BESIDE)
    suite = {
        "name": "W",
        "world": "desk:Desk",
        "test_cases": [{"id": "a", "turns": [{"prompt": "x", "expected_calls": []}]}],
    }
    assert client.post("/api/tool-eval/import", json=suite).status_code == 201
    elsewhere = {**suite, "world": "desk:Other"}
    refused = client.put(PATH, json=as_text(elsewhere), headers=if_match(client))
    assert refused.status_code == 422
    (folder / FILE).write_text(json.dumps(elsewhere))
    assert show(client)["problems"] == []
    edited = as_text({**elsewhere, "name": "Edited"})
    assert client.put(PATH, json=edited, headers=if_match(client)).status_code == 200
