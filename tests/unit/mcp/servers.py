"""Starts `server.py`: over stdio for one connection, over HTTP once for all tests of a process."""

from __future__ import annotations

import atexit
import functools
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_tooleval.mcp.server import McpServer, Transport

SCRIPT = Path(__file__).with_name("server.py")
RAW_SCRIPT = Path(__file__).with_name("raw_server.py")
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")


@functools.lru_cache(maxsize=1)
def http_base() -> str:
    """`http://127.0.0.1:PORT` of a server that runs until the tests end."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    port_file = Path(folder.name, "port")
    # Its standard input ends with this process, however that ends.
    command = [sys.executable, str(SCRIPT), "http", str(port_file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    atexit.register(process.wait)
    atexit.register(process.kill)  # runs first
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, "the test server did not start"
        # Connections wait until it accepts them.
        if port_file.exists() and (port := port_file.read_text()):
            return f"http://127.0.0.1:{port}"
        time.sleep(0.05)
    raise AssertionError("the test server did not start in time")


def stdio_command(mode: str) -> str:
    return shlex.join([sys.executable, str(SCRIPT), "stdio", mode])


def target(transport: Transport, mode: str) -> str:
    """What stands behind `--stdio`, `--http` or `--sse` for a mode of the server."""
    if transport == "stdio":
        return stdio_command(mode)
    return f"{http_base()}/{mode}/" + ("http/mcp" if transport == "http" else "sse")


def server_of(transport: Transport, mode: str, timeout_s: float = 120.0) -> McpServer:
    if transport == "stdio":
        command = (sys.executable, str(SCRIPT), "stdio", mode)
        return McpServer("stdio", command, timeout_s=timeout_s)
    return McpServer(transport, (target(transport, mode),), timeout_s=timeout_s)


def raw_stdio(mode: str, timeout_s: float = 120.0, env: tuple[str, ...] = ()) -> McpServer:
    return McpServer("stdio", (sys.executable, str(RAW_SCRIPT), mode), env=env, timeout_s=timeout_s)


def raw_http(transport: Transport, path: str, timeout_s: float = 120.0) -> McpServer:
    """A route of the HTTP server that is no MCP server at all, or a bad one."""
    return McpServer(transport, (f"{http_base()}/raw/{path}",), timeout_s=timeout_s)
