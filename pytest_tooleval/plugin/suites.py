"""A suite file on its way into pytest, with the tools of its MCP server if it has one."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..engine.cassettes.cassette import Cassette
from ..engine.executors.live import Live
from ..engine.models.spec import ModelSpec
from ..engine.user import user_of
from ..mcp.suite_tools import SuiteTools
from ..suite.load import load_suite
from ..suite.model import Suite
from ..suite.model import TestCase
from ..text import printable
from .settings import Settings
from .settings import config_tables
from .workers import worker_model


def worker_user(config: pytest.Config, settings: Settings, case: TestCase) -> ModelSpec | None:
    """The model that plays the user of a case, if one does, with this worker's part of its limits."""
    spec = user_of(case, settings.user, lambda: config_tables(config))
    return spec and worker_model(config, settings, spec)


def warn_of(path: Path, suite: Suite) -> None:
    """Warn of what `tooleval validate` finds in a suite that can be used all the same."""
    from ..suite.lint import lint_suite

    found = lint_suite(suite)
    if found:
        more = f" (tooleval validate shows {len(found) - 1} more)" if found[1:] else ""
        text = f"{path.name}:{found[0].line}: {found[0].field}: {found[0].message}{more}"
        warnings.warn(pytest.PytestWarning(printable(text)), stacklevel=1)


def load(
    path: Path, metrics: Collection[str], cassette: Cassette | None, allowed: Sequence[str]
) -> tuple[Suite, Live | None]:
    """The suite, and the server that its chains may run the allowed tools on.

    Raises SuiteError when the file cannot be used, McpError when its server cannot.
    """
    tools = SuiteTools(cassette, allowed)
    try:
        suite = load_suite(path, metrics=metrics, fetch_tools=tools.fetch)
    finally:
        # Also beside an error, which it may explain; without `live` it is the error.
        if tools.drift and tools.live is not None:
            warnings.warn(pytest.PytestWarning(tools.drift), stacklevel=1)
    shared = tools.shared_state(suite)
    if shared:
        warnings.warn(pytest.PytestWarning(f"{path.name}: {shared}"), stacklevel=1)
    return suite, tools.live
