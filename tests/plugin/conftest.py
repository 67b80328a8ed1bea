"""The `project` fixture, and what in-process runs need to be loaded before them."""

from __future__ import annotations

import os

# pytester forgets modules that an in-process run has imported; compiled ones cannot be loaded twice.
import jsonschema  # noqa: F401
import pydantic  # noqa: F401
import pytest
import rapidfuzz  # noqa: F401
import referencing  # noqa: F401
import regex  # noqa: F401

import pytest_tooleval.plugin.collection
import pytest_tooleval.plugin.fixture
import pytest_tooleval.plugin.session
import pytest_tooleval.plugin.terminal  # noqa: F401

from .project import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project folder with the models `agent` and `other`."""
    monkeypatch.setenv("COLUMNS", "160")
    # Plugins that these runs do not need; the last takes longer to start than most runs last.
    options = "-p no:randomly -p no:hypothesispytest -o asyncio_default_fixture_loop_scope=function"
    monkeypatch.setenv("PYTEST_ADDOPTS", options)
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
