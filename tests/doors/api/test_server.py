"""The command itself: a real server in a process of its own, asked with curl and a raw socket."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from mock_server import MockServer
from nightly import at_night

from pytest_tooleval.cli import main
from pytest_tooleval.history import History
from pytest_tooleval.web.server import listen

from .suites import case, weather

pytestmark = pytest.mark.slow

START = [sys.executable, "-c", "from pytest_tooleval.cli import main; main()", "ui"]
Start = Callable[..., "Served"]


class Served:
    """A server that was started: its process, what it printed, and a client with its token."""

    def __init__(self, process: subprocess.Popen[str], printed: str) -> None:
        self.process = process
        self.printed = printed
        self.url = printed.rsplit(maxsplit=1)[-1]
        self.base, _, self.token = self.url.partition("/?token=")
        self.port = int(self.base.rpartition(":")[2])
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx.Client(base_url=self.base, headers=headers, timeout=60)

    def stop(self) -> tuple[int, str]:
        """Ctrl-C; the exit code and all that was printed."""
        self.process.send_signal(signal.SIGINT)
        too_long = threading.Timer(120, self.process.kill)
        too_long.start()
        # Not communicate(): it would pass over what the reading of the first line took with it.
        assert self.process.stdout is not None
        output = self.process.stdout.read()
        code = self.process.wait()
        too_long.cancel()
        return code, self.printed + output


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    started: list[Served] = []

    def start(*arguments: str, browser: bool = False, **options: Any) -> Served:
        which = [] if browser else ["--no-browser"]
        command = [*START, str(folder), *which, "--port=0", *arguments]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder, **options
        )
        assert process.stdout is not None
        started.append(Served(process, process.stdout.readline()))
        return started[-1]

    yield start
    for served in started:
        served.process.kill()
        served.process.wait()


posix = pytest.mark.skipif(os.name == "nt", reason="signals and curl of POSIX")


@posix
def test_the_curl_line_of_the_documentation(start: Start, folder: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    served = start()
    suite = weather(case("Paris"), name="Weather API Suite")
    (folder / "suite.json").write_text(json.dumps(suite, indent=2))
    line = """curl -X POST -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d @suite.json \\
  http://localhost:8501/api/tool-eval/import
"""
    done = subprocess.run(
        ["sh", "-c", line.replace("8501", str(served.port))],
        cwd=folder,
        env={**os.environ, "TOKEN": served.token},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["file"] == "weather-api-suite.tooleval.json"
    assert json.loads((folder / "weather-api-suite.tooleval.json").read_text()) == suite


@posix
def test_ctrl_c_ends_runs_and_streams(start: Start, folder: Path) -> None:
    cases = [case("Paris", id=f"c{n}", prompt=f"{n}: What is it in Paris?") for n in range(40)]
    (folder / "many.tooleval.json").write_text(json.dumps(weather(*cases, name="Many")))
    with MockServer(latency=0.1, faults={"hang": 3}) as server:
        table = f'model = "openai/m"\napi = "openai"\napi_base = "{server.base_url}"\n'
        (folder / "tooleval.toml").write_text(f"[models.slow]\n{table}")
        served = start()
        body = {"files": ["many.tooleval.json"], "models": ["slow"]}
        id = served.client.post("/api/runs", json=body).json()["id"]
        with served.client.stream("GET", f"/api/runs/{id}/events") as stream:
            lines = stream.iter_lines()
            while not next(lines).startswith("event: case_done"):
                pass
            code, output = served.stop()
            rest = list(lines)
    assert code == 0
    assert 'data: {"status":"cancelled"}' in rest
    assert output.count(served.token) == 1  # in the printed address
    assert "Traceback" not in output
    kept = History(folder / ".tooleval").runs()[0]
    assert (kept.id, kept.status, kept.exitstatus) == (id, "finished", 2)
    assert 0 < kept.cases < 40
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if served.token.encode() in path.read_bytes()]


@posix
@pytest.mark.parametrize("number", ["SIGTERM", at_night("SIGHUP"), at_night("SIGKILL")])
def test_no_run_outlives_the_server(start: Start, folder: Path, number: str) -> None:
    with MockServer(faults={"hang": 3}) as server:
        table = f'model = "openai/m"\napi = "openai"\napi_base = "{server.base_url}"\n'
        (folder / "tooleval.toml").write_text(f"[models.slow]\n{table}")
        served = start()
        body = {"files": ["weather.tooleval.json"], "models": ["slow"]}
        id = served.client.post("/api/runs", json=body).json()["id"]
        _wait_until(lambda: served.client.get(f"/api/runs/{id}").json()["done"] > 0)
        served.process.send_signal(getattr(signal, number))
        served.process.wait(120)
        history = History(folder / ".tooleval")
        _wait_until(lambda: [run.status for run in history.runs()] == ["finished"])
    [run] = history.runs()
    assert (run.id, run.exitstatus) == (id, pytest.ExitCode.INTERRUPTED)


def _wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@posix
def test_the_project_is_all_of_pytests_root_folder(start: Start, folder: Path) -> None:
    (folder.parent / "pyproject.toml").touch()
    served = start()
    suites = served.client.get("/api/suites").json()
    assert [suite["file"] for suite in suites] == ["project/weather.tooleval.json"]
    assert f"The project is {folder.parent}, pytest's root folder." in served.stop()[1]


def test_the_address_that_was_printed_opens_the_page(start: Start) -> None:
    served = start()
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/\?token=[\w-]{40,}", served.url)
    with httpx.Client(follow_redirects=True) as browser:
        page = browser.get(served.url)
        assert page.status_code == 200
        assert "token" not in str(page.url)
        assert "server" not in page.headers
        assert browser.get(f"{served.base}/api/suites").status_code == 200
    assert httpx.get(f"{served.base}/api/suites").status_code == 401


def test_a_body_that_is_too_large_gets_an_answer(start: Start) -> None:
    """Many clients read it only after they have sent everything."""
    served = start()
    head = f"Host: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.token}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        size = 40_000_000
        content = f"Content-Type: application/json\r\nContent-Length: {size}\r\n"
        connection.sendall(f"POST /api/suites HTTP/1.1\r\n{head}{content}\r\n".encode())
        sent = 33 * 2**20
        connection.sendall(b" " * sent)
        assert connection.recv(1, socket.MSG_PEEK)  # it has been refused
        connection.sendall(b" " * (size - sent))
        connection.sendall(f"GET /api/suites HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        with connection.makefile("rb") as file:
            answers = file.read()
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"413", b"200"]
    assert b"the body is larger than 32 MiB" in answers


@posix
def test_only_this_machine_is_listened_to(start: Start) -> None:
    served = start()
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("needs /proc")
    port = f":{served.port:04X} "
    local = [line.split()[1] for line in listening.read_text().splitlines() if port in line[:25]]
    assert local == [f"0100007F:{served.port:04X}"]


@posix
def test_requests_by_hand(start: Start) -> None:
    served = start()
    for name, request in {
        "no host": b"GET / HTTP/1.1\r\n\r\n",
        "HTTP/1.0": b"GET / HTTP/1.0\r\n\r\n",
        "absolute": b"GET http://evil.example/api/suites HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "two hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.example\r\n\r\n",
        "huge": b"POST /api/suites HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99999999\r\n\r\n",
        "TLS": b"\x16\x03\x01\x00\xa5\x01\x00\x00\r\n\r\n",
    }.items():
        with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
            connection.sendall(request.replace(b"%d", str(served.port).encode()))
            answer = connection.recv(65536)
        assert re.match(rb"HTTP/1\.1 (400|401|403) ", answer), name


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(main, ["ui", str(folder), f"--port={port}", "--no-browser"])
    assert done.exit_code == 1
    expected = f"Error: --port={port}: the port is in use; choose another one, or 0 for a free one\n"
    assert done.output == expected


def test_without_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tooleval.cli.ui._NEEDED", ("starlette", "not_installed_at_all"))
    done = CliRunner().invoke(main, ["ui", str(folder)])
    assert done.exit_code == 1
    assert done.output == "Error: the page needs an extra: pip install 'pytest-tooleval[ui]'\n"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["ui", str(tmp_path / "nowhere")]).exit_code == 2


@posix
def test_the_browsers_command_line_has_no_token(start: Start, folder: Path) -> None:
    """Other users can read it. The browser opens a file, which only the user can read."""
    browser = "import pathlib, sys; pathlib.Path('opened').write_text(sys.argv[1])"
    (folder / "browser.py").write_text(browser)
    environment = {**os.environ, "BROWSER": f"{sys.executable} {folder / 'browser.py'} %s"}
    served = start(browser=True, env=environment)
    _wait_until(lambda: (folder / "opened").exists() and bool((folder / "opened").read_text()))
    opened = (folder / "opened").read_text()
    assert served.token not in opened
    assert opened.startswith("file:///")
    file = Path(opened.removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().count(f"url={served.url}") == 1
    served.stop()
    assert not file.exists()


def test_a_browser_is_opened_unless_told_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []

    def serve(*arguments: Any, **options: Any) -> None:
        opened.append(options["browser"])

    monkeypatch.setattr("pytest_tooleval.web.server.serve", serve)
    CliRunner().invoke(main, ["ui", str(folder)])
    CliRunner().invoke(main, ["ui", str(folder), "--no-browser"])
    assert opened == [True, False]


async def test_answers_do_not_wait_for_an_acknowledgement() -> None:
    """asyncio forgets TCP_NODELAY on a socket without a protocol, which made each answer 40 ms late."""
    accepted: asyncio.Queue[bool] = asyncio.Queue()

    def accept(_: object, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        accepted.put_nowait(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    with listen(0) as listening:
        async with await asyncio.start_server(accept, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            assert await accepted.get()
