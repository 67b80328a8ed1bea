"""The exceptions of this package.

    ToolevalError
    ├── SuiteError        a suite file cannot be used; lists every Problem found in it
    ├── ConfigError       a model, an option or a config table cannot be used
    ├── ScoringError      a scorer cannot run (a regex took too long, ...)
    ├── WorldError        a world cannot be made or used
    ├── McpError          an MCP server cannot be reached or used
    ├── AgentGaveUp       an agent's own limit or guardrail ended its run
    └── ModelError        there was no answer: network, credentials, limits, time-outs

A `ModelError` makes an item an *error*; wrong answers raise none of these. `AgentGaveUp` is raised by
callables and makes an item fail. `CannotCompare` never leaves the package: it becomes a `ScoringError`.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

ErrorKind = Literal[
    "credentials",  # a key is missing or was refused
    "quota",  # the account's quota is used up; waiting for seconds will not help
    "rate_limit",
    "timeout",
    "unreachable",  # no connection, or a broken one
    "handles",  # this process cannot open more files or connections
    "server",  # 5xx
    "bad_request",  # the provider rejected the request itself
    "bad_response",  # the answer cannot be read
    "unread",  # a part of the answer that may be a call cannot be understood, by no fault of the model
    "callable",  # a Python callable used as a model raised, or did not return a message
    "max_cost",  # the run has reached its cost limit
    "replay",  # the answer is not in the cassette, and no model may be called
    "tool_server",  # the server that runs the tools of a live chain failed
    "world",  # the world of a case cannot be made or used
    "judge",  # no judge is configured, or its verdict cannot be read
    "user",  # no model is configured to play the user, or it did not reach its goal
    "cancelled",
]


class ToolevalError(Exception):
    """Base class of this package's errors."""


@dataclass(frozen=True)
class Location:
    """A place in a file.

    `line` and `column` count from 1, and are 0 for a file that cannot be read; `field` is the path of
    the value, such as `test_cases[3].expected_tool`, or empty for the whole file.
    """

    path: str
    line: int
    column: int
    field: str

    def problem(self, message: str) -> Problem:
        return Problem(self.path, self.line, self.column, self.field, message)


@dataclass(frozen=True)
class Problem(Location):
    """A mistake in a suite, with its place."""

    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}" if self.line else self.path
        return ": ".join(filter(None, [place, self.field, self.message]))


_FEW = 3


def each_reason_once(problems: Iterable[Problem]) -> list[Problem]:
    """The problems, of which many with the same message become the first one, with three places."""
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.message, []).append(problem)
    shortened: list[Problem] = []
    for message, group in groups.items():
        if len(group) <= _FEW:
            shortened += group
            continue
        places = ", ".join(f"{each.line}{each.field and f' {each.field}'}" for each in group[:_FEW])
        said = f"{message} ({len(group)} times; the first at lines {places})"
        shortened.append(replace(group[0], field="", message=said))
    return shortened


class SuiteError(ToolevalError):
    """A suite file cannot be used. `problems` has at least one entry, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NoBaseline(ToolevalError):
    """There is no run to compare with yet."""


class ConfigError(ToolevalError):
    """A model name, an option or a config table cannot be used."""


class ScoringError(ToolevalError):
    """A suite asks for a comparison that cannot be made, such as a regex that takes too long."""


class WorldError(ToolevalError):
    """A world cannot be made or used."""


class McpError(ToolevalError):
    """An MCP server cannot be reached or used."""


StopKind = Literal["limit", "guardrail"]


class AgentGaveUp(ToolevalError):
    """Raise this in a callable if the agent's own limit or guardrail ended its run.

    The case fails as `gave_up`, since unlike an error, this is the agent's own doing. `messages` are the
    run's messages so far, if known, in the form that a callable returns. `kind` is `limit` or
    `guardrail`, if known. A case can expect such an end with `expected_stop`.
    """

    def __init__(
        self, reason: str, messages: Sequence[Mapping[str, Any]] = (), kind: StopKind | None = None
    ) -> None:
        super().__init__(reason)
        self.messages = list(messages)
        self.kind = kind


@dataclass(eq=False)
class ModelError(ToolevalError):
    """There was no answer, which says nothing about the model.

    `retryable`: another request may succeed, after `retry_after` seconds if the provider gives a delay.
    `fatal`: no other case can succeed on this model either (a rejected key, an exhausted quota).
    `answered`: the provider has answered, unreadably, and may bill it.
    """

    message: str
    _: KW_ONLY
    kind: ErrorKind
    retryable: bool = False
    retry_after: float | None = None
    fatal: bool = False
    answered: bool = False

    def __post_init__(self) -> None:
        self.args = ()  # only `message` has the text, so that keys are removed in one place

    def __str__(self) -> str:
        return self.message


def error_text(error: BaseException) -> str:
    """Return `ValueError: no such city`, or only the type."""
    try:
        text = str(error)
    except Exception:  # a user's `__str__` may raise
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def os_reason(error: Exception) -> str:
    """Return `Permission denied`, without number and file name, or else the error's whole text."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error)


def raised_at(error: BaseException) -> str:
    """Return ` at FILE:LINE` of the user's code that raised or called a library that raised."""
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

    Callers prepend outer levels to `place`; scoring a trial raises a `ScoringError` instead.
    """

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def within(self, outer: str) -> CannotCompare:
        """Return the error with `outer` prepended to its place."""
        dot = "" if not self.place or self.place.startswith("[") else "."
        return CannotCompare(self.message, outer + dot + self.place)
