"""A server's process ends with us, and memory stays bounded, whatever either side does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .servers import RAW_SCRIPT, http_base, target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals and process ids of POSIX"),
]

IMPORT = """
import sys
from pytest_tooleval.cli.imports import mcp
mcp(sys.argv[1:])
"""
MEASURE = """
import resource, sys
from pytest_tooleval.errors import McpError
from pytest_tooleval.mcp.discover import discover_tools
from pytest_tooleval.mcp.server import McpServer
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 1024)
def ask(where):
    transport, _, url = where.partition("=")
    return discover_tools(McpServer(transport, (url,)))
good, more, *bad = sys.argv[1:]
ask(good), ask(more)
before = peak()
for each in bad:
    try:
        ask(each)
    except McpError as error:
        print(error)
print(peak() - before)
"""


def import_from(mode: str, pids: Path, *more: str) -> subprocess.Popen[str]:
    """Start an import from a server that writes a process id."""
    command = [sys.executable, "-c", IMPORT, "--stdio", f"{sys.executable} {RAW_SCRIPT} {mode}"]
    environment = {**os.environ, "TOOLEVAL_TEST_PIDS": str(pids)}
    return subprocess.Popen(
        [*command, "--env", "TOOLEVAL_TEST_PIDS", *more],
        env=environment,
        cwd=pids.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def server_pid(pids: Path) -> int:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if pids.exists() and pids.read_text():
            return int(pids.read_text())
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # one that ended stays there until somebody asks for its code
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def assert_ends(pid: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not is_running(pid):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("the server outlived us")


def test_the_server_ends_after_ctrl_c(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    process = import_from("stubborn", pids)
    pid = server_pid(pids)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert_ends(pid)
    assert list(tmp_path.iterdir()) == [pids]
    assert (process.returncode, output.strip()) == (1, "Aborted!")


def test_the_server_ends_after_a_time_out(tmp_path: Path) -> None:
    pids = tmp_path / "pid"
    for limit in (2, 8, 32):  # on a busy machine it takes longer to start
        process = import_from("stubborn", pids, "--timeout", str(limit))
        output, _ = process.communicate(timeout=120)
        assert f"no complete answer within {limit} s" in output
        if pids.exists():
            break
    assert_ends(server_pid(pids))


def test_what_the_server_has_started_ends_with_it(tmp_path: Path) -> None:
    """Although it ignores SIGTERM, and the server itself ends at once."""
    pids = tmp_path / "pid"
    output, _ = import_from("parent", pids).communicate(timeout=120)
    assert_ends(server_pid(pids))
    assert "1 tool" in output


@pytest.mark.nightly
def test_100_megabytes_take_little_memory() -> None:
    good = [f"{each}={target(each, 'good')}" for each in ("http", "sse")]
    paths = ("http=huge/http/mcp", "sse=huge/sse", "http=raw/huge_event", "http=raw/bomb")
    bad = [path.replace("=", f"={http_base()}/", 1) for path in paths]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *good, *bad],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    *messages, grown = done.stdout.splitlines()
    assert len(messages) == len(bad)
    assert all(re.search("MiB|too large|compressed", message) for message in messages), messages
    assert float(grown) < 60, f"{grown} MiB more at the peak"
