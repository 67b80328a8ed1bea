"""What passes between us and a server, noted for the sake of clear errors, and kept within limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from ..errors import McpError


@dataclass(frozen=True)
class Limits:
    """Bytes that one message may have, and over HTTP all of a connection; None is without end.

    JSON takes ten to twenty times its size in memory once it is read.
    """

    message: int
    total: int | None


LISTING = Limits(message=8 * 1024 * 1024, total=64 * 1024 * 1024)


class Watch:
    """One connection: what the server's process or its HTTP answers said outside of the protocol.

    `stderr` is a file for a process to write its errors to.
    """

    def __init__(self, limits: Limits, stderr: TextIO) -> None:
        self.limits = limits
        self.stderr = stderr
        self.received = 0
        self.status: int | None = None  # of the last HTTP answer
        self.content_type = ""
        self.give_up: Callable[[], None] = lambda: None  # ends the connection
        self.problem: McpError | None = None  # what is known to be wrong, whatever the SDK says
        # The first thing that the server wrote and is no message. Whole, as half of a secret would not
        # be found to be one; a message is bounded.
        self.junk: str | None = None

    def broken(self, problem: McpError) -> McpError:
        """Keep a problem and end the connection: the SDK passes over some errors that it meets."""
        if self.problem is None:
            self.problem = problem
        self.give_up()
        return problem


def too_large(what: str, limit: int) -> McpError:
    return McpError(f"{what} has more than {limit / (1024 * 1024):.3g} MiB, too much to read")
