"""Where the project of the page's folder begins."""

from __future__ import annotations

from pathlib import Path

from pytest_tooleval.web.project import project_folders
from pytest_tooleval.web.project import root_above


def test_a_project_is_a_repository_or_the_folder_alone(tmp_path: Path) -> None:
    below = tmp_path / "tests" / "evals"
    below.mkdir(parents=True)
    assert project_folders(below) == [below]
    (tmp_path / ".git").mkdir()
    assert project_folders(below) == [below, below.parent, tmp_path]


def test_the_root_that_pytest_would_take(tmp_path: Path) -> None:
    below = tmp_path / "evals"
    below.mkdir()
    (tmp_path / ".git").mkdir()
    assert root_above(below) is None
    (tmp_path / "pyproject.toml").touch()
    assert root_above(below) == tmp_path
    (below / "pytest.ini").touch()
    assert root_above(below) is None
