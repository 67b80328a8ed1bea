"""Warns about problems of a suite, each once, at a case that it concerns."""

from __future__ import annotations

import linecache
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

from ..engine.models.spec import Agent
from ..errors import Problem
from ..settings.settings import Asking
from ..suite.model import Suite
from ..suite.overrides import ChoiceWord
from ..suite.source import SuiteSource, decode_bytes, read_source
from ..text import printable


class _About(NamedTuple):
    """What warnings know of a run."""

    tool_choice: ChoiceWord | None
    without_agents: bool


class SuiteWarnings:
    """Warns about the same problems as `tooleval validate`.

    A problem in a file is reported once, at a case concerned. A world's wrong answer to a case's
    expected calls is reported at that case, unless another one has reported the same.
    """

    def __init__(self, asking: Asking) -> None:
        self._about = _About(
            asking.overrides.tool_choice,
            asking.transcripts is None and not any(isinstance(spec, Agent) for spec in asking.models),
        )
        self._problems: dict[Path, list[Problem]] = {}
        # The indexes of cases whose calls no model's item has played yet, by their ids.
        self._unplayed: dict[Path, dict[str | None, int]] = {}
        self._said: set[tuple[Path, str]] = set()

    def before(self, path: Path, suite: Suite, id: str) -> None:
        """Called before the case with this id runs. Warn if a problem concerns it or the suite."""
        problems = self._problems.get(path)
        if problems is None:
            problems = self._problems[path] = _problems(path, suite, self._about)
            self._unplayed[path] = {case.id: index for index, case in enumerate(suite.test_cases)}
        problem = next((each for each in problems if _concerns(each, suite, id)), None)
        if problem is not None:
            self._problems[path] = []
            _warn_of(path, problem, id, len(problems) - 1)
        index = self._unplayed[path].pop(id, None)
        if index is None:
            return
        played = _rehearsed(path, suite, index)
        new = [each for each in played if (path, each.message) not in self._said]
        self._said |= {(path, each.message) for each in new}
        if new:
            _warn_of(path, new[0], id, len(new) - 1)


def _warn_of(path: Path, problem: Problem, id: str, others: int) -> None:
    more = f" (tooleval validate shows {others} more)" if others else ""
    field = _CASE.sub(lambda _: f"{id}: ", problem.field).removesuffix(": ")
    warn(path, f"{field}: {problem.message}{more}", problem.line)


# The prefix of a case's fields, which is replaced by its id.
_CASE = re.compile(r"^test_cases\[(\d+)\]\.?")


def _concerns(problem: Problem, suite: Suite, id: str) -> bool:
    """True if a problem concerns the case with this id, or the whole suite."""
    match = _CASE.match(problem.field)
    return match is None or any(case.id == id for case in suite.at_place(int(match[1])))


def _problems(path: Path, suite: Suite, about: _About) -> list[Problem]:
    from ..suite.lint import lint_suite

    options = about._asdict()
    if not lint_suite(suite, **options):
        return []
    return lint_suite(suite, _document(path), **options)


def _rehearsed(path: Path, suite: Suite, index: int) -> list[Problem]:
    from ..scoring.evidence.half_work import unnoticed_calls
    from ..scoring.evidence.rehearsal import rehearse

    findings = [*rehearse(suite, [index]), *unnoticed_calls(suite, [index])]
    if not findings:
        return []
    document = _document(path)
    document.places = [suite.place_of(each) for each in range(len(suite.test_cases))]
    return document.problems(findings, limit=None)


def _document(path: Path) -> SuiteSource:
    return read_source(decode_bytes(path.read_bytes(), str(path)), str(path))


def warn(path: Path, text: str, line: int = 1) -> None:
    """Warn of this line of a suite."""
    # Otherwise Python shows the source line, which may contain a key.
    linecache.cache[str(path)] = (0, None, [], str(path))
    warnings.warn_explicit(pytest.PytestWarning(printable(text)), None, str(path), line)
