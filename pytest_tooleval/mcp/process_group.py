"""The processes that an MCP server has started, which may outlive it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence

_GRACE_S = 2.0
_TICK_S = 0.01
# `exec` keeps the id, which is also that of the group: the SDK starts each server in its own one.
_WRITE_ID = 'echo $$ > "$0"; exec "$@"'


@contextlib.asynccontextmanager
async def process_group(command: Sequence[str]) -> AsyncIterator[Sequence[str]]:
    """Yield the command as one that also writes its group's id, and end the group after the block.

    On Windows there is none: the SDK's job object ends the processes.
    """
    if sys.platform == "win32":
        yield command
        return
    with tempfile.NamedTemporaryFile("r", prefix="tooleval-") as file:
        try:
            yield ["/bin/sh", "-c", _WRITE_ID, file.name, *command]
        finally:
            # The SDK has waited for the server itself.
            if id := file.read().strip():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    await _end(int(id))


if sys.platform != "win32":

    async def _end(group: int) -> None:
        """Ask what is left of the group to end, and kill it after some seconds."""
        import anyio

        os.killpg(group, signal.SIGTERM)
        try:
            with anyio.move_on_after(_GRACE_S, shield=True):
                while True:
                    await anyio.sleep(_TICK_S)
                    os.killpg(group, 0)
        finally:
            os.killpg(group, signal.SIGKILL)
