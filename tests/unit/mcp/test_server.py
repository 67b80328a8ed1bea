from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.errors import ConfigError
from pytest_tooleval.mcp.server import McpServer, split_command

pytestmark = pytest.mark.slow

URL = "https://ada:hunter2@example.com:8443/mcp?key=abc123"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uvx mcp-server-time", ("uvx", "mcp-server-time")),
        ("""node "my server.js" --root '/a b'""", ("node", "my server.js", "--root", "/a b")),
        (r"run a\ b", ("run", "a b")),
    ],
)
def test_a_command_is_split_like_a_shell_does(text: str, words: tuple[str, ...]) -> None:
    assert split_command(text, windows=False) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"C:\Python\python.exe server.py", (r"C:\Python\python.exe", "server.py")),
        (r'"C:\Program Files\node.exe" -e it\'s', (r"C:\Program Files\node.exe", "-e", r"it\'s")),
        (r'uvx --root="C:\my data" #1', ("uvx", r"--root=C:\my data", "#1")),
    ],
)
def test_on_windows_backslashes_stay_and_only_double_quotes_hold(
    text: str, words: tuple[str, ...]
) -> None:
    assert split_command(text, windows=True) == words


@pytest.mark.parametrize("windows", [True, False])
def test_an_open_quote_is_refused(windows: bool) -> None:
    with pytest.raises(ConfigError, match="cannot be parsed: No closing quotation"):
        split_command('uvx "mcp', windows=windows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "has one of stdio, http and sse"),
        ({"stdio": "a", "http": "http://b"}, "has one of stdio, http and sse"),
        ({"stdio": ""}, "the command of an MCP server is empty"),
        ({"stdio": "a", "headers": {"A": "B"}}, "headers are for servers over HTTP"),
        ({"http": "http://b", "env": ["A"]}, "env is for servers started by a command"),
        ({"http": "example.com/mcp"}, "a URL such as https://example.com/mcp"),
        ({"http": "ftp://b"}, "a URL such as https://example.com/mcp"),
        ({"http": "http://"}, "a URL such as"),
        ({"http": "http://b:99999/"}, "a URL such as"),
        ({"http": "http://b\n/"}, "a URL such as"),
        ({"http": "http://b", "headers": {"A b": "C"}}, "expected a header name"),
        ({"http": "http://b", "timeout": 0}, "above 0, got 0"),
        ({"http": "http://b", "timeout": float("nan")}, "above 0, got nan"),
    ],
)
def test_what_is_no_server_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        McpServer.of(**{"stdio": None, "http": None, "sse": None, **given})


def test_a_command_may_be_one_text() -> None:
    assert McpServer.of("uvx 'my server'", None, None).target == ("uvx", "my server")


def test_a_value_in_place_of_a_variable_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        McpServer("http", ("http://b",), headers={"Authorization": "Bearer hunter2"})
    assert "the header Authorization needs the name of an environment variable" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        McpServer("stdio", ("a",), env=("KEY=hunter2",))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "label"),
    [
        (McpServer("http", (URL,)), "https://example.com:8443/mcp"),
        (McpServer("stdio", ("/usr/bin/node", "--inspect", "x", "dist/index.js")), "node"),
        (McpServer("stdio", ("npx", "-y", "@scope/server", "--key", "hunter2")), "npx @scope/server"),
        (McpServer("stdio", ("uv", "run", "/srv/server.py", "hunter2")), "uv server.py"),
        (McpServer("stdio", ("serve", "--key", "hunter2")), "serve"),
        (McpServer("stdio", ("\x1b[31mred",)), "\\x1b[31mred"),
    ],
)
def test_labels_hold_no_credentials(server: McpServer, label: str) -> None:
    assert server.label == label


def test_values_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "Bearer hunter2\n")
    server = McpServer("http", ("http://b",), headers={"Authorization": "MY_TOKEN"})
    assert server.header_values() == {"Authorization": "Bearer hunter2"}
    monkeypatch.setenv("DATABASE_URL", "")
    assert McpServer("stdio", ("a",), env=("DATABASE_URL",)).env_values() == {"DATABASE_URL": ""}


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_missing_variable_names_the_header(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("hunter2", raising=False)
    if value is not None:
        monkeypatch.setenv("hunter2", value)
    server = McpServer("http", ("http://b",), headers={"Authorization": "hunter2"})
    with pytest.raises(ConfigError) as caught:
        server.header_values()
    # What was given may be the secret itself, by mistake.
    assert "hunter2" not in str(caught.value)
    assert "the header Authorization needs the name of an environment variable" in str(caught.value)


def test_a_missing_variable_of_a_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    with pytest.raises(ConfigError, match="not set in the environment: NO_SUCH"):
        McpServer("stdio", ("a",), env=("NO_SUCH",)).env_values()


@pytest.mark.parametrize("value", ["a\nb", "schlüssel", "a\x00b"])
def test_what_no_header_can_hold_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    server = McpServer("http", ("http://b",), headers={"X-Key": "MY_TOKEN"})
    monkeypatch.setenv("MY_TOKEN", "x")
    if "\x00" not in value:
        monkeypatch.setenv("MY_TOKEN", value)
        with pytest.raises(ConfigError) as caught:
            server.header_values()
        assert value not in str(caught.value)


def test_text_from_a_server_is_scrubbed_and_made_printable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "Bearer hunter2-hunter2")
    monkeypatch.setenv("PIN", "12")
    monkeypatch.setenv("OTHER_API_KEY", "sk-planted-123")
    server = McpServer("http", (URL,), headers={"Authorization": "MY_TOKEN", "X-Pin": "PIN"})
    text = (
        "\x1b[31mno\n: Bearer hunter2-hunter2, hunter2-hunter2, 12, sk-planted-123, ?key=abc123 hunter2"
    )
    shown = server.quote(text)
    for secret in ("hunter2", "12", "abc123", "planted"):
        assert secret not in shown
    assert shown.startswith("\\x1b[31mno : ")
    assert len(server.quote("x" * 10_000_000)) == 500


def test_a_secret_at_the_place_of_the_cut_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hunter2-hunter2")
    server = McpServer("stdio", ("a",), env=("MY_KEY",))
    for spaces in range(1985, 2001):
        assert "hunt" not in server.quote(" " * spaces + "hunter2-hunter2", 100)


def test_data_from_a_server_is_scrubbed_in_its_names_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "hunter2-hunter2")
    monkeypatch.setenv("MODE", "fast")
    monkeypatch.setenv("OTHER_API_KEY", "sk-planted-123")
    monkeypatch.setenv("DATABASE_PASSWORD", "postgres")
    server = McpServer("stdio", ("a",), env=("MY_KEY", "MODE"))
    data = {
        "description": "Basic search, a fast one of postgres; logged in with hunter2-hunter2",
        "properties": {"of hunter2-hunter2": {"enum": ["sk-planted-123", 1, None, True]}},
    }
    # Other passwords of the machine may be ordinary words, and tools must not depend on the machine.
    assert server.scrubbed_data(data) == {
        "description": "Basic search, a fast one of postgres; logged in with xxxxxxxxxxxxxxx",
        "properties": {"of xxxxxxxxxxxxxxx": {"enum": ["sk-xxxxxxxxxxx", 1, None, True]}},
    }


def test_what_a_url_holds_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = McpServer("http", ("https://me:pass%2Fword@example.com/mcp?v=1&key=abc%2F12345",))
    text = "pass%2Fword pass/word abc/12345 v=1&key=abc%2F12345"
    assert server.scrubbed_data(text) == "xxxxxxxxxxx xxxxxxxxx xxxxxxxxx xxxxxxxxxxxxxxxxxxx"
