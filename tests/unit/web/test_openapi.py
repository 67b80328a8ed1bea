"""The OpenAPI document says what the API does, and nothing in it leads to a 5xx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pytest_tooleval.errors import McpError
from pytest_tooleval.web.app import create_app
from pytest_tooleval.web.openapi import document
from pytest_tooleval.web.security import Access

from .conftest import AUTHORIZATION
from .conftest import ORIGIN
from .conftest import PORT
from .conftest import TOKEN
from .suites import weather

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.checks")
openapi_checks = pytest.importorskip("schemathesis.specs.openapi.checks")


def test_every_route_is_documented(app: Starlette) -> None:
    documented = {
        (path, method.upper()) for path, methods in document()["paths"].items() for method in methods
    }
    served = set()
    for route in app.routes:
        path = re.sub(r":\w+}", "}", getattr(route, "path", ""))
        methods = set(getattr(route, "methods", None) or ()) - {"HEAD"}
        if path.startswith("/api/") and "PATCH" not in methods:
            served |= {(path, method) for method in methods}
    assert served == documented


def test_the_document_is_served(client: TestClient) -> None:
    assert client.get("/api/openapi.json").json() == json.loads(json.dumps(document()))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The API of a folder with a suite and a run, with which the fuzzer may do what it likes."""
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    app = create_app(folder, Access(PORT, TOKEN))
    client = TestClient(app, base_url=ORIGIN, headers=AUTHORIZATION)
    restore(client)

    async def nowhere(server: object) -> None:
        raise McpError("no command and no address that the fuzzer makes up is really tried")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_tooleval.mcp.discover.discover", nowhere)
        yield schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HEADERS)
    app.state.manager.close()


FILE = "weather.tooleval.json"
LEXICAL = "baseline/lexical"
HEADERS = {"Host": f"127.0.0.1:{PORT}", **AUTHORIZATION}
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]

OPERATIONS = [(path, method) for path, methods in document()["paths"].items() for method in methods]


@pytest.mark.parametrize("aimed", [False, True], ids=["anywhere", "aimed"])
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_no_request_leads_to_what_is_not_documented(
    fuzzed: Any, path: str, method: str, aimed: bool
) -> None:
    """`aimed` at what is there: names that are made up seldom get beyond the first check."""
    client = TestClient(fuzzed.app, base_url=ORIGIN, headers=AUTHORIZATION)

    @given(fuzzed[path][method].as_strategy())
    @settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if aimed:
            restore(client)
            runs = client.get("/api/history").json()
            known = {"file": FILE, "id": "paris" if "cases/{id}" in path else runs[0]["id"]}
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
            etag = client.get(f"/api/suites/{FILE}").headers.get("etag", "0" * 16)
            case.headers = {"If-Match": etag} if case.headers else case.headers
        case.call_and_validate(headers=HEADERS, checks=CHECKS)

    ask()


def restore(client: TestClient) -> None:
    """The suite and the run as they were, if the fuzzer got at them."""
    if client.get(f"/api/suites/{FILE}").status_code == 404:
        client.post("/api/suites", json={"file": FILE, "suite": weather()})
    if not client.get("/api/history").json():
        id = client.post("/api/tool-eval", json={"file": FILE, "models": [LEXICAL]}).json()["id"]
        client.get(f"/api/tool-eval/{id}/events")
