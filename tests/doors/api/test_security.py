"""Whoever does not hold the token, or asks from another site's page, gets nothing."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from pytest_tooleval.web import api_history, api_runs, api_suites, bodies
from pytest_tooleval.web.security import Access

from .conftest import AUTHORIZATION, ORIGIN, PORT, TOKEN
from .suites import as_text, weather

pytestmark = pytest.mark.slow

ROUTES = [*api_history.ROUTES, *api_runs.ROUTES, *api_suites.ROUTES]


def operations() -> Iterator[tuple[str, str]]:
    for route in ROUTES:
        for method in sorted({*(route.methods or ())} - {"HEAD"}):
            yield method, re.sub("{id[^}]*}", "paris", route.path)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
        {"Cookie": f"tooleval-{PORT}={TOKEN}"},
        {"Cookie": f"tooleval-{PORT}="},
    ],
    ids=["none", "wrong", "longer", "basic", "bare", "empty", "token-as-cookie", "empty-cookie"],
)
def test_without_the_token_nothing_is_answered(stranger: TestClient, headers: dict[str, str]) -> None:
    for method, path in operations():
        answer = stranger.request(method, path, headers=headers, json=weather())
        assert answer.status_code == 401, (method, path)
        assert list(answer.json()) == ["error"]
        assert TOKEN not in answer.text


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/suites/../suites"])
def test_addresses_that_are_not_there_want_the_token_too(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 401


def test_a_right_token_beside_a_cookie_that_is_wrong(client: TestClient) -> None:
    assert client.get("/api/suites", headers={"Cookie": f"tooleval-{PORT}=no"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.:{PORT}",
        f"0.0.0.0:{PORT}",
        f"user@127.0.0.1:{PORT}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", f"/?token={TOKEN}", "/static/x.js", "/api/suites"])
def test_a_foreign_host_is_refused(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_the_names_of_this_machine_are_accepted(client: TestClient, host: str) -> None:
    own = f"http://{host.lower()}"
    assert client.get("/api/suites", headers={"Host": host, "Origin": own}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        f"https://127.0.0.1:{PORT}",
        f"http://localhost:{PORT}",
        "http://127.0.0.1:3000",
        "http://127.0.0.1",
        f"http://127.0.0.1:{PORT}.evil.example",
        "",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(client: TestClient, origin: str, method: str) -> None:
    headers = {"Origin": origin}
    assert client.request(method, "/api/suites", headers=headers, json={}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_a_browser_that_asks_for_another_site_is_refused(client: TestClient, site: str) -> None:
    assert client.get("/api/suites", headers={"Sec-Fetch-Site": site}).status_code == 403


def sign_in(stranger: TestClient) -> None:
    assert stranger.get(f"/?token={TOKEN}").status_code == 303


def test_the_printed_address_gives_a_cookie_once(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}&view=runs&x=%2F%2Fevil.example")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?view=runs&x=%2F%2Fevil.example"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"tooleval-{PORT}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    assert TOKEN not in answer.text
    assert stranger.get("/").status_code == 200
    assert stranger.get("/api/suites").status_code == 200


def test_a_click_on_another_page_signs_in_too(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert answer.headers["refresh"] == "0; url=/"
    assert TOKEN not in answer.text
    assert stranger.get("/").status_code == 200


@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", f"?token={TOKEN}&token=wrong"])
def test_the_page_without_the_token_is_not_shown(stranger: TestClient, query: str) -> None:
    answer = stranger.get(f"/{query}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_a_cookie_alone_changes_nothing(stranger: TestClient) -> None:
    sign_in(stranger)
    body = as_text(weather())
    refused = stranger.post("/api/suites", json=body)
    assert refused.status_code == 403
    for headers in ({"Origin": ORIGIN}, {"Sec-Fetch-Site": "same-origin"}, {"X-Tooleval": "1"}):
        assert stranger.post("/api/suites", json=body, headers=headers).status_code == 201


def test_a_wrong_token_is_not_made_good_by_the_cookie(stranger: TestClient) -> None:
    sign_in(stranger)
    answer = stranger.get("/api/suites", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401


def test_servers_on_two_ports_have_two_cookies_and_tokens() -> None:
    one, two = Access(8501), Access(8502)
    assert one.cookie != two.cookie
    assert len({one.token, one.session, two.token, two.session}) == 4
    assert one.token not in repr(one)
    assert one.session not in repr(one)


@pytest.mark.parametrize("path", ["/", "/nothing", "/static/nothing.js", "/api/suites", "/api/nothing"])
def test_every_answer_has_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control-")]


def test_a_preflight_is_not_granted(stranger: TestClient) -> None:
    headers = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, x-tooleval",
    }
    answer = stranger.options("/api/suites", headers=headers)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"],
)
def test_only_json_is_taken(client: TestClient, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    answer = client.post("/api/tool-eval/import", content=b"{}", headers=headers)
    assert answer.status_code == 415


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr(bodies, "MAX_BYTES", 1000)
    content = b" " * 1001
    headers = {"Content-Type": "application/json"}
    sent = iter([content]) if chunked else content
    answer = client.post("/api/suites", content=sent, headers=headers)
    assert answer.status_code == 413
    exact = b"{" + b" " * 998 + b"}"
    assert client.post("/api/suites", content=exact, headers=headers).status_code == 422


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"text": NaN}',
        b'{"text": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"text": ' + b"[" * 250 + b"]" * 250 + b"}",
        b'{"file": "\\ud800"}',
        b"nul\x00l",
    ],
    ids=[
        "empty",
        "half",
        "utf-16",
        "bom",
        "nan",
        "huge-number",
        "deep-lists",
        "deep-objects",
        "deeper-than-allowed",
        "surrogate",
        "nul",
    ],
)
@pytest.mark.parametrize("path", ["/api/suites", "/api/runs", "/api/tool-eval/import"])
def test_bodies_that_are_no_json(client: TestClient, path: str, content: bytes) -> None:
    answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("value", ["[]", '"text"', "5", "null", "true"])
@pytest.mark.parametrize("path", ["/api/suites", "/api/runs", "/api/import/mcp"])
def test_bodies_that_are_no_objects(client: TestClient, path: str, value: str) -> None:
    answer = client.post(path, content=value, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "expected object" in answer.json()["error"]["message"]


def test_what_nobody_expected_says_nothing_but_its_kind(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError(f"with a secret {TOKEN}")

    monkeypatch.setattr("pytest_tooleval.web.suite_files.SuiteFolder.summaries", fail)
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/suites")
    assert answer.status_code == 500
    message = "internal error of pytest-tooleval: ZeroDivisionError"
    assert answer.json() == {"error": {"message": message, "problems": []}}
    assert "ZeroDivisionError" in caplog.text
    assert AUTHORIZATION["Authorization"] not in caplog.text
