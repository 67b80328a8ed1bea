"""Everything that this package raises on purpose.

    ToolevalError
    ├── SuiteError        a suite file cannot be used; holds every Problem found in it
    ├── ConfigError       a model, an option or a config table cannot be used
    ├── ScoringError      a suite made a scorer impossible to run (a regex that ran out of time, ...)
    ├── WorldError        a world cannot be made, or what it did cannot be used
    ├── McpError          an MCP server cannot be reached, or what it answers cannot be used
    └── ModelError        nothing can be said of the model: network, credentials, limits, time-outs

A `ModelError` makes an item an *error*; a wrong answer is never one of these.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ErrorKind = Literal[
    "credentials",  # a key is missing or was refused
    "quota",  # the account ran out; waiting for seconds will not help
    "rate_limit",
    "timeout",
    "unreachable",  # no connection, or one that broke
    "handles",  # this process may open no more files, and a connection is one
    "server",  # 5xx
    "bad_request",  # the provider refused the request itself
    "bad_response",  # an answer that cannot be read
    "callable",  # a Python callable used as a model raised, or returned something else than a message
    "budget",  # the run may not spend more
    "replay",  # the answer is not on the cassette and must not be asked for
    "tool_server",  # the server that a chain's tools really run on
    "world",  # the world of a case could not be made, or not be used
    "judge",  # no judge is named, or its verdict cannot be read
    "user",  # no model is named that plays the user, or it did not reach its goal
    "cancelled",
]


class ToolevalError(Exception):
    """Base of all errors of this package."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a suite, and where.

    `line` and `column` count from 1, and are 0 for a file that cannot be read; `field` is the path of
    the value, such as `test_cases[3].expected_tool`, and empty for the file as a whole.
    """

    path: str
    line: int
    column: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return ": ".join(filter(None, [place, self.field, self.message]))


class SuiteError(ToolevalError):
    """A suite file cannot be used. `problems` has at least one entry, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ConfigError(ToolevalError):
    """A model name, an option or a config table cannot be used."""


class ScoringError(ToolevalError):
    """A suite asks for a comparison that cannot be made, such as a regex that runs out of time."""


class WorldError(ToolevalError):
    """A world cannot be made, or what it did cannot be used."""


class McpError(ToolevalError):
    """An MCP server cannot be reached, or what it answers cannot be used."""


class ModelError(ToolevalError):
    """There was no answer, which says nothing about the model.

    `retryable` says whether asking again may help, and `retry_after` how many seconds the provider
    asks to wait. `fatal` means that no other case of this model can succeed either (a refused key,
    an exhausted quota).
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind,
        retryable: bool = False,
        retry_after: float | None = None,
        fatal: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind: ErrorKind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.fatal = fatal


def raised_at(error: BaseException) -> str:
    """` at FILE:LINE` of the user's code that raised, or that called a library which did."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(part in frame.filename for part in _NOT_THEIRS)
    ]
    own = [frame for frame in frames if f"{os.sep}site-packages{os.sep}" not in frame.filename]
    return "".join(f" at {frame.filename}:{frame.lineno}" for frame in (own or frames)[-1:])


_NOT_THEIRS = (os.path.dirname(__file__) + os.sep, f"{os.sep}asyncio{os.sep}")
