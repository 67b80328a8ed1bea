"""A folder with suites, and a client that has the token of the application for it."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .suites import weather

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

# Without the extra `ui` there is nothing to test.
collect_ignore_glob = [] if importlib.util.find_spec("starlette") else ["test_*.py"]

PORT = 8501
TOKEN = "a-token-for-tests"
ORIGIN = f"http://127.0.0.1:{PORT}"
AUTHORIZATION = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with one suite, `weather.tooleval.json`."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "weather.tooleval.json").write_text(json.dumps(weather(), indent=2), encoding="utf-8")
    return folder


@pytest.fixture
def app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starlette]:
    from pytest_tooleval.web.app import create_app
    from pytest_tooleval.web.security import Access

    # Runs are pytests of their own, and know nothing of this one. Other plugins take long to start.
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p tooleval")
    app = create_app(folder, Access(PORT, TOKEN))
    yield app
    app.state.runs.close()


@pytest.fixture
def client(app: Starlette) -> TestClient:
    """With the token, as a program would ask."""
    from starlette.testclient import TestClient

    return TestClient(app, base_url=ORIGIN, headers=AUTHORIZATION, raise_server_exceptions=False)


@pytest.fixture
def stranger(app: Starlette) -> TestClient:
    """Without token and cookie."""
    from starlette.testclient import TestClient

    return TestClient(app, base_url=ORIGIN, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def run(client: TestClient) -> Callable[..., dict[str, Any]]:
    """Run something and wait for its end; returns the state."""

    def run(**body: Any) -> dict[str, Any]:
        posted = {"files": ["weather.tooleval.json"], "models": ["builtin/lexical"], **body}
        begun = client.post("/api/runs", json=posted)
        assert begun.status_code == 202, begun.text
        id = begun.json()["id"]
        assert client.get(f"/api/runs/{id}/events").status_code == 200
        state: dict[str, Any] = client.get(f"/api/runs/{id}").json()
        return state

    return run
