"""The processes that an MCP server has started, which may outlive it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

_GRACE_S = 2.0
_TICK_S = 0.01
# `exec` keeps the id, which is also that of the group: the SDK starts each server in its own one.
_WRITE_ID = 'echo $$ > "$0"; exec "$@"'


class ProcessGroup:
    """The group of a command's process and all that it starts.

    On Windows there is none: the SDK's job object ends them.
    """

    def __init__(self, id_file: IO[str]) -> None:
        self._id_file = id_file

    def command(self, command: Sequence[str]) -> Sequence[str]:
        """The command that also writes the group's id."""
        if sys.platform == "win32":
            return command
        return ["/bin/sh", "-c", _WRITE_ID, self._id_file.name, *command]

    async def end(self) -> None:
        """Ask what is left of the group to end, and kill it after some seconds."""
        if sys.platform != "win32" and (id := self._id_file.read().strip()):
            # The SDK has waited for the server itself.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                await _end(int(id))


if sys.platform != "win32":

    async def _end(group: int) -> None:
        import anyio

        os.killpg(group, signal.SIGTERM)
        try:
            with anyio.move_on_after(_GRACE_S, shield=True):
                while True:
                    await anyio.sleep(_TICK_S)
                    os.killpg(group, 0)
        finally:
            os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def process_group() -> Iterator[ProcessGroup]:
    with tempfile.NamedTemporaryFile("r", prefix="tooleval-") as file:
        yield ProcessGroup(file)
