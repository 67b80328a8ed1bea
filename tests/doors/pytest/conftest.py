"""The folders in which users run pytest."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .project import Project

_CONVERSATIONS = Path(__file__).parents[3] / "examples" / "conversations"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project folder with the models `agent` and `other`."""
    monkeypatch.setenv("COLUMNS", "160")
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    for name in ("CI", "BUILD_NUMBER", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)


@pytest.fixture
def desk(project: Project) -> Project:
    """The example of conversations, with its agents as models."""
    for name in ("desk.py", "agents.py", "refunds.tooleval.json"):
        shutil.copy(_CONVERSATIONS / name, project.path / name)
    names = ("right", "lying", "careless", "destructive")
    tables = (f'[models.{name}]\ncallable = "agents:{name}"\n' for name in names)
    project.write("tooleval.toml", "".join(tables))
    return project
