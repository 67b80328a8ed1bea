"""Watches a connection, to report clear errors and to enforce limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from ..errors import McpError


@dataclass(frozen=True)
class ByteLimits:
    """The maximum bytes of a message, and over HTTP, of the whole connection; None means no limit.

    Parsed JSON takes ten to twenty times its size in memory.
    """

    message: int
    total: int | None


LISTING = ByteLimits(message=8 * 1024 * 1024, total=64 * 1024 * 1024)


class Watch:
    """Observations outside the protocol, from the server's process or its HTTP answers.

    `stderr` is the file that a process writes its errors to.
    """

    def __init__(self, limits: ByteLimits, stderr: TextIO) -> None:
        self.limits = limits
        self.stderr = stderr
        self.received = 0
        self.status: int | None = None  # of the last HTTP answer
        self.content_type = ""
        self.give_up: Callable[[], None] = lambda: None  # ends the connection
        self.problem: McpError | None = None  # takes precedence over the SDK's error
        # The server's first output that is not a message. It is not cut, because half of a secret would
        # not be recognised. The size of a message is limited.
        self.junk: str | None = None
        # The last list of tools as the server sent it, which the SDK refuses whole for one bad tool.
        self.listing: Mapping[str, Any] | None = None

    def break_off(self, problem: McpError) -> McpError:
        """Record a problem and end the connection, because the SDK ignores some errors."""
        if self.problem is None:
            self.problem = problem
        self.give_up()
        return problem


def too_large(what: str, limit: int) -> McpError:
    return McpError(f"{what} has more than {limit / (1024 * 1024):.3g} MiB, too much to read")
