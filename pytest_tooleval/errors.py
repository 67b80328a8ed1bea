"""The exceptions of this package.

    ToolevalError
    ├── SuiteError        a suite file cannot be used; has every Problem found in it
    ├── ConfigError       a model, an option or a config table cannot be used
    ├── ScoringError      a scorer cannot run (a regex took too long, ...)
    ├── WorldError        a world cannot be made or used
    ├── McpError          an MCP server cannot be reached or used
    ├── AgentGaveUp       an agent ended its run by its own limit or guardrail
    └── ModelError        there was no answer: network, credentials, limits, time-outs

A `ModelError` makes an item an *error*; a wrong answer raises none of these. `AgentGaveUp` is raised by
callables, and makes an item fail. `CannotCompare` never leaves the package: it becomes a `ScoringError`.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import KW_ONLY
from dataclasses import dataclass
from typing import Any
from typing import Literal

ErrorKind = Literal[
    "credentials",  # a key is missing or was refused
    "quota",  # the account is used up; waiting for seconds will not help
    "rate_limit",
    "timeout",
    "unreachable",  # no connection, or one that broke
    "handles",  # this process may not open more files or connections
    "server",  # 5xx
    "bad_request",  # the provider refused the request itself
    "bad_response",  # the answer cannot be read
    "callable",  # a Python callable used as a model raised, or did not return a message
    "max_cost",  # the run has spent what it may
    "replay",  # the answer is not in the cassette, and asking is not allowed
    "tool_server",  # the server that runs the tools of a live chain failed
    "world",  # the world of a case cannot be made or used
    "judge",  # no judge is named, or its verdict cannot be read
    "user",  # no model is named to play the user, or it did not reach its goal
    "cancelled",
]


class ToolevalError(Exception):
    """Base of all errors of this package."""


@dataclass(frozen=True)
class Problem:
    """A mistake in a suite, and where it is.

    `line` and `column` count from 1, and are 0 for a file that cannot be read; `field` is the path of
    the value, such as `test_cases[3].expected_tool`, and empty for the whole file.
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


class NoBaseline(ToolevalError):
    """There is no run to compare with yet, as in the first run."""


class ConfigError(ToolevalError):
    """A model name, an option or a config table cannot be used."""


class ScoringError(ToolevalError):
    """A suite asks for a comparison that cannot be made, such as a regex that takes too long."""


class WorldError(ToolevalError):
    """A world cannot be made or used."""


class McpError(ToolevalError):
    """An MCP server cannot be reached or used."""


class AgentGaveUp(ToolevalError):
    """Raise it in a callable when the agent ended its run by its own limit or guardrail.

    The case fails as `gave_up`: unlike an error, this is the agent's own doing. `messages` are those of
    the run so far, if they are known, as a callable returns them.
    """

    def __init__(self, reason: str, messages: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(reason)
        self.messages = list(messages)


@dataclass(eq=False)
class ModelError(ToolevalError):
    """There was no answer, which says nothing about the model.

    `retryable`: asking again may help, after the `retry_after` seconds that the provider asks for.
    `fatal`: no other case of this model can succeed either (a refused key, an exhausted quota).
    """

    message: str
    _: KW_ONLY
    kind: ErrorKind
    retryable: bool = False
    retry_after: float | None = None
    fatal: bool = False

    def __post_init__(self) -> None:
        self.args = ()  # `message` alone has the text, so that keys are taken out of it in one place

    def __str__(self) -> str:
        return self.message


def error_text(error: BaseException) -> str:
    """`ValueError: no such city`, or only the type."""
    try:
        text = str(error)
    except Exception:  # a user's exception
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def os_reason(error: Exception) -> str:
    """`Permission denied`, without number and file name; the text of an error without such a reason."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error)


def raised_at(error: BaseException) -> str:
    """` at FILE:LINE` of the user's code that raised, or that called a library that raised."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(part in frame.filename for part in _NOT_THEIRS)
    ]
    own = [frame for frame in frames if f"{os.sep}site-packages{os.sep}" not in frame.filename]
    return "".join(f" at {frame.filename}:{frame.lineno}" for frame in (own or frames)[-1:])


_NOT_THEIRS = (os.path.dirname(__file__) + os.sep, f"{os.sep}asyncio{os.sep}")


class CannotCompare(Exception):
    """A comparison that the suite asks for cannot be made.

    Callers prepend to `place` what they know of it; `score_transcript` raises a `ScoringError` instead.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def within(self, outer: str) -> CannotCompare:
        """The same error, with its place seen from one level further out."""
        dot = "" if not self.place or self.place.startswith("[") else "."
        return CannotCompare(self.message, outer + dot + self.place)
