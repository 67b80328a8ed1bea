"""The `project` fixture."""

from __future__ import annotations

import os

import pytest

from .project import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project folder with the models `agent` and `other`."""
    monkeypatch.setenv("COLUMNS", "160")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
