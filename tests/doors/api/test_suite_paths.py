"""Names of files: what leads out of the folder, or is hidden, is refused."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from pytest_tooleval.web.responses import ApiError
from pytest_tooleval.web.suite_files import SuiteFolder, check_name, free_name

from .suites import as_text, weather

pytestmark = pytest.mark.slow

S = ".tooleval.json"
REFUSED = [
    "",
    S,
    "a",
    "a.json",
    "A.TOOLEVAL.JSON",
    f"../a{S}",
    f"a/../b{S}",
    f"a/..{S}",
    f"./a{S}",
    f"/a{S}",
    f"/etc/passwd{S}",
    f"//host/share/a{S}",
    f"a//b{S}",
    f"..\\a{S}",
    f"C:\\a{S}",
    f".git/a{S}",
    f"a/.tooleval/b{S}",
    f"node_modules/a{S}",
    f"venv/x/a{S}",
    f"a\x00{S}",
    f"a\n{S}",
    f"a{S}\n",
    f"a\u202e{S}",
    f"a\ud800{S}",
]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(ApiError) as caught:
        check_name(name)
    assert caught.value.status == 400
    assert caught.value.problems[0].field == "file"


@pytest.mark.parametrize("name", [f"a{S}", f"a/b/c{S}", f"Größe & Co{S}", f"a..b{S}", f"conx{S}"])
def test_names_that_are_accepted(name: str) -> None:
    assert check_name(name) == tuple(name.split("/"))


@pytest.mark.parametrize("name", [name for name in REFUSED if name.isprintable() and name])
def test_no_request_gets_around_the_check(client: TestClient, folder: Path, name: str) -> None:
    address, checked = (f"/api/suite{path}?file={quote(name, safe='')}" for path in ("", "/check"))
    etag = {"If-Match": "0" * 16}
    before = sorted(folder.parent.rglob("*"))
    answers = [
        client.get(address),
        client.put(address, json=as_text(weather()), headers=etag),
        client.delete(address, headers=etag),
        client.post(checked, json=as_text(weather())),
        client.post("/api/suites", json={"file": name, **as_text(weather())}),
        client.post("/api/runs", json={"file": name, "models": ["builtin/lexical"]}),
        client.post("/api/import/mcp", json={"file": name, "stdio": "true", "save": True}),
    ]
    assert {answer.status_code for answer in answers} <= {400, 422}
    assert sorted(folder.parent.rglob("*")) == before


@given(st.text(alphabet="ab./\\:~ \x00%\u202eé", max_size=20))
def test_an_accepted_name_stays_below_the_folder(text: str) -> None:
    name = text + S
    try:
        parts = check_name(name)
    except ApiError:
        return
    path = os.path.normpath(os.path.join("/root/folder", *parts))
    assert path == f"/root/folder/{name}"
    assert all(part not in ("", ".", "..") and "\\" not in part for part in parts)


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_a_link_inside_the_folder_stays_one(folder: Path) -> None:
    suites = SuiteFolder(folder)
    (folder / "real").mkdir()
    real = folder / "real" / f"a{S}"
    real.write_bytes(b"{}")
    (folder / f"link{S}").symlink_to(real)
    etag = suites.replace(f"link{S}", b"[]", "44136fa355b3678a")
    assert real.read_bytes() == b"[]"
    assert (folder / f"link{S}").is_symlink()
    suites.delete(f"link{S}", etag)
    assert real.exists()


@pytest.mark.parametrize(
    ("suite", "taken", "name"),
    [
        ("Weather API Suite", [], "weather-api-suite"),
        ("Weather", ["Weather.tooleval.json", "weather-2.tooleval.json"], "weather-3"),
        ("../../etc/passwd", [], "etc-passwd"),
        ("☂", [], "suite"),
        ("x" * 500, [], None),
    ],
)
def test_a_free_name(suite: str, taken: list[str], name: str | None) -> None:
    found = free_name(suite, taken)
    check_name(found)
    if name is not None:
        assert found == name + S
