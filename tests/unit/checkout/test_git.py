"""The state of the working copy, whatever state that is in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from builders import git as run_git

from pytest_tooleval.checkout import git
from pytest_tooleval.checkout.git import git_state
from pytest_tooleval.record.run import Git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on the branch `trunk`, and a folder `deep/er`."""
    folder = tmp_path / "repository"
    (folder / "deep" / "er").mkdir(parents=True)
    try:
        run_git(folder, "init")
    except FileNotFoundError:
        pytest.skip("git is not installed")
    run_git(folder, "checkout", "-b", "trunk")
    (folder / "file").write_text("one")
    run_git(folder, "add", "file")
    run_git(folder, "commit", "-m", "first")
    return folder


def test_a_clean_copy(repository: Path) -> None:
    commit = run_git(repository, "rev-parse", "HEAD")
    assert git_state(repository) == Git(commit, "trunk", False, "")
    assert git_state(repository / "deep" / "er") == Git(commit, "trunk", False, "deep/er")


def test_changes_make_it_dirty_and_new_files_do_not(repository: Path) -> None:
    (repository / "new").write_text("untracked")
    state = git_state(repository)
    assert state is not None
    assert state.dirty is False
    (repository / "file").write_text("two")
    state = git_state(repository)
    assert state is not None
    assert state.dirty is True


@pytest.mark.parametrize(
    ("environment", "branch"),
    [
        ({}, None),
        ({"GITHUB_REF_NAME": "12/merge", "GITHUB_HEAD_REF": "fix/rain"}, "fix/rain"),
        ({"CI_COMMIT_REF_NAME": "v1.0", "CI_COMMIT_TAG": "v1.0"}, None),
    ],
)
def test_a_detached_head(
    repository: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], branch: str | None
) -> None:
    run_git(repository, "checkout", "--detach")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    state = git_state(repository)
    assert state is not None
    assert state.branch == branch


def test_a_checked_out_branch_is_not_what_ci_says(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    state = git_state(repository)
    assert state is not None
    assert state.branch == "trunk"


def test_inside_a_hook_of_another_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / "index"))
    state = git_state(repository)
    assert state is not None
    assert (state.branch, state.dirty) == ("trunk", False)


def test_no_commit_no_repository_no_folder(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    assert git_state(tmp_path / "nowhere") is None
    assert git_state(Path("nul\x00byte")) is None
    run_git(tmp_path, "init")
    assert git_state(tmp_path) is None


def test_without_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_state(repository) is None


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for git")
def test_a_git_that_hangs_is_left_behind(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "git"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ncase $1 in rev-parse) echo abc;; *) exec sleep 600;; esac\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    for seconds in (0.5, 5.0, 50.0):  # on a busy machine the script takes longer to start
        monkeypatch.setattr(git, "GIT_TIMEOUT_S", seconds)
        state = git_state(repository)
        if state is not None:
            break
    assert state == Git("abc", None, None, "abc")
