"""Loads a suite file with the tools of its MCP server."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from ..engine.cassettes.cassette import Cassette
from ..engine.models.spec import HttpModel
from ..engine.tools.live import LiveServer
from ..engine.trial import Job
from ..errors import SuiteError
from ..run.eval_run import EvalRun
from ..run.task import job_of
from ..scoring.registry import Scorer, ScorerRegistry
from ..settings.settings import Asking
from ..suite.case import TestCase
from ..suite.discovery import SUITE_ENDING, is_searched
from ..suite.load import load_suite
from ..suite.model import Suite
from ..suite.resolved import resolve
from ..suite.servers import ToolsFrom
from .settings import config_tables
from .suite_warnings import warn

if TYPE_CHECKING:
    from ..mcp.suite_tools import SuiteTools

# Stands in for the model if none was named.
NO_MODEL = HttpModel("", "")


class LoadedSuite(NamedTuple):
    """A suite and what its jobs share: `live` is the server of their live tools."""

    suite: Suite
    scorers: Sequence[Scorer]
    cassette: Cassette | None = None
    live: LiveServer | None = None

    def job(self, config: pytest.Config, asking: Asking, case: TestCase, *, asks: bool = True) -> Job:
        """A case's job, still without its model. Raises ConfigError. Without `asks`, it has no user."""
        resolved = resolve(self.suite, case, asking.overrides)
        tables = partial(config_tables, config)
        live = self.live
        return job_of(resolved, NO_MODEL, asking, tables, self.cassette, self.scorers, live, asks=asks)


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
            warn(path, warning)
    if server and (shared := server.shared_state(suite)):
        warn(path, shared)
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
