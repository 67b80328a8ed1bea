"""The `project` fixture, and what in-process runs need to be loaded before them."""

from __future__ import annotations

import os

# pytester forgets modules that an in-process run has imported: each run would load them again, and
# compiled ones cannot be loaded twice.
import aiohttp  # noqa: F401
import jsonschema  # noqa: F401
import pydantic  # noqa: F401
import pytest
import rapidfuzz  # noqa: F401
import referencing  # noqa: F401
import regex  # noqa: F401

import pytest_tooleval.engine.clients.callable_client
import pytest_tooleval.history
import pytest_tooleval.imports.transcripts.files
import pytest_tooleval.plugin.cases
import pytest_tooleval.plugin.fixture
import pytest_tooleval.plugin.session
import pytest_tooleval.plugin.terminal
import pytest_tooleval.reports.outputs
import pytest_tooleval.verdicts.baseline_text
import pytest_tooleval.verdicts.gates  # noqa: F401

from .project import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project folder with the models `agent` and `other`."""
    monkeypatch.setenv("COLUMNS", "160")
    # Starting other plugins takes longer than most of these runs last; `Project` adds those in use.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p tooleval")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
