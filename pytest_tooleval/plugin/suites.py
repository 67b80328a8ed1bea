"""Loads a suite file with the tools of its MCP server, and warns about its problems."""

from __future__ import annotations

import contextlib
import linecache
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from ..engine.cassettes.cassette import Cassette
from ..engine.models.spec import Agent, HttpModel
from ..engine.tools.live import Live
from ..engine.trial import Job
from ..engine.users import user_of
from ..errors import Problem, SuiteError
from ..run.eval_run import EvalRun
from ..scoring.registry import Scorer, ScorerRegistry
from ..settings.settings import Asking
from ..suite.case import TestCase
from ..suite.discovery import SUITE_ENDING, is_searched
from ..suite.load import load_suite
from ..suite.model import Suite
from ..suite.overrides import ChoiceWord
from ..suite.resolved import resolve
from ..suite.servers import ToolsFrom
from ..suite.source import SuiteSource, decode_bytes, read_document
from ..text import printable
from .settings import config_tables

if TYPE_CHECKING:
    from ..mcp.suite_tools import SuiteTools

# Stands in for the model if none was named.
NO_MODEL = HttpModel("", "")


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
    _warn(path, f"{field}: {problem.message}{more}", problem.line)


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
    return read_document(decode_bytes(path.read_bytes(), str(path)), str(path))


def _warn(path: Path, text: str, line: int = 1) -> None:
    # Otherwise Python shows the source line, which may contain a key.
    linecache.cache[str(path)] = (0, None, [], str(path))
    warnings.warn_explicit(pytest.PytestWarning(printable(text)), None, str(path), line)


class LoadedSuite(NamedTuple):
    """A suite and what its jobs share: `live` is the server of their live tools."""

    suite: Suite
    scorers: Sequence[Scorer]
    cassette: Cassette | None = None
    live: Live | None = None

    def job(self, config: pytest.Config, asking: Asking, case: TestCase, *, asks: bool = True) -> Job:
        """A case's job, still without its model. Raises ConfigError. Without `asks`, it has no user."""
        resolved = resolve(self.suite, case, asking.overrides)
        user = user_of(case.user, asking.user, lambda: config_tables(config)) if asks else None
        if user is not None and user is not asking.user:
            user = asking.own(user)
        return Job(
            resolved,
            NO_MODEL,
            self.cassette,
            self.live,
            asking.judge,
            user,
            asking.allowed_tools,
            self.scorers,
        )


def load(path: Path, run: EvalRun, registry: ScorerRegistry) -> LoadedSuite:
    """Load the suite, and the server if its chains may call the allowed tools there.

    Raises SuiteError if the file cannot be used, McpError if the server cannot.
    """
    cassette = run.asker.cassettes.of(path)
    server: SuiteTools | None = None

    def fetch(source: ToolsFrom) -> Sequence[Mapping[str, Any]]:
        nonlocal server
        from ..mcp.suite_tools import SuiteTools

        server = SuiteTools(cassette, run.settings.asking.allowed_tools)
        return server.fetch(source)

    try:
        suite = load_suite(path, metrics=registry.metrics, fetch_tools=fetch)
    finally:
        # Even after an error, which drift may explain.
        for warning in server.warnings if server else ():
            _warn(path, warning)
    if server and (shared := server.shared_state(suite)):
        _warn(path, shared)
    return LoadedSuite(suite, registry.scorers, cassette, server.live if server else None)


def named_suites(config: pytest.Config) -> list[Suite]:
    """The suites that the command line names. Those that cannot be read are left out."""
    suites: dict[Path, Suite] = {}
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument.partition("::")[0])
        files = sorted(path.rglob(f"*{SUITE_ENDING}")) if path.is_dir() else [path]
        for file in files:
            is_hidden = any(not is_searched(part) for part in file.relative_to(path).parts[:-1])
            if file.name.endswith(SUITE_ENDING) and not is_hidden and file not in suites:
                with contextlib.suppress(SuiteError):
                    suites[file] = load_suite(file, metrics=None)
    return list(suites.values())
