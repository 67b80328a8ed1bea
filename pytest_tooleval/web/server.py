"""Serves the application on the loopback interface, until Ctrl-C or a signal."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn
from starlette.concurrency import run_in_threadpool

from ..errors import ConfigError, os_reason
from ..files.folders import work_folder
from ..project.root import Project
from ..text import printable
from .app import create_app
from .runs import PageRuns
from .security import Access

_HOST = "127.0.0.1"
_GRACE_S = 2
_REDIRECT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>tooleval</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={url}"></head>
<body><a href="{url}">Open the page</a></body></html>
"""


class _Server(uvicorn.Server):
    """Ends the runs and their event streams before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, runs: PageRuns, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._runs = runs
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await run_in_threadpool(self._runs.close)
        await super().shutdown(sockets)


def listen(port: int) -> socket.socket:
    """A socket on the loopback address; port 0 picks a free port. ConfigError if it is in use."""
    # asyncio sets TCP_NODELAY only if the protocol is named. Otherwise, answers come 40 ms late.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((_HOST, port))
        sock.listen(128)
    except OSError as error:
        sock.close()
        reason = (
            "is in use; choose another one, or 0 for a free one"
            if error.errno == errno.EADDRINUSE
            else f"cannot be used: {os_reason(error)}"
        )
        raise ConfigError(f"--port={port}: the port {reason}") from None
    return sock


def serve(
    folder: Path, port: int, *, browser: bool, allowed_tools: Sequence[str], say: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C. `say` prints to the terminal. ConfigError if it cannot start."""
    listening = listen(port)
    access = Access(listening.getsockname()[1])
    folder = folder.resolve()
    root = Project.around(folder).root
    app = create_app(root, access, allowed_tools)
    config = uvicorn.Config(
        app,
        # No access log, as addresses contain the token.
        access_log=False,
        log_config=None,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE_S,
    )

    opened = contextlib.ExitStack()

    def ready() -> None:
        say(f"tooleval ui: {access.url}")
        if root != folder:
            say(f"The project is {printable(str(root))}, pytest's root folder.")
        say("Press Ctrl-C to stop.")
        if browser:
            file = opened.enter_context(_redirecting_file(root, access.url))
            # In a thread, as some browsers block their caller.
            threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()

    server = _Server(config, app.state.runs, ready)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, server.handle_exit)  # a closed terminal; uvicorn handles the others
    try:
        asyncio.run(server.serve([listening]))
    except KeyboardInterrupt:
        pass  # uvicorn raises it again after shutdown
    finally:
        opened.close()
        listening.close()
        app.state.runs.close()


@contextlib.contextmanager
def _redirecting_file(root: Path, url: str) -> Iterator[Path]:
    """A file that only the user can read, because other users can read a browser's command line."""
    number, name = _private_file(root)
    file = Path(name)
    try:
        with open(number, "w", encoding="utf-8") as stream:
            stream.write(_REDIRECT.format(url=url))
        yield file
    finally:
        file.unlink(missing_ok=True)


def _private_file(root: Path) -> tuple[int, str]:
    if os.name != "nt":
        with contextlib.suppress(OSError):
            # Not in /tmp, which a browser in a sandbox does not see.
            return tempfile.mkstemp(".html", "open-", work_folder(root))
    return tempfile.mkstemp(".html", "open-")
