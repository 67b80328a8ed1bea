"""What git says of the working copy of a run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from ..errors import ConfigError
from ..record.run import Git
from .ci import CiJob

# A busy machine takes seconds to start a program.
GIT_TIMEOUT_S = 10.0
_READ_S = 60.0  # a partial clone fetches the text
_DEEPER = 50

# Git sets these for hooks; they name the repository of the hook, not that of the folder.
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


def git_state(folder: Path) -> Git | None:
    """The state of the repository around a folder; None without one. Never raises.

    `branch` is None on a detached head, unless a CI service names it. `dirty` says whether tracked files
    differ from the commit, and is None when git takes too long.
    """
    commit = git_output(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None
    branch = git_output(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    changes = git_output(folder, "status", "--porcelain", "--untracked-files=no")
    if not branch and (job := CiJob.now()):
        branch = job.branch
    dirty = None if changes is None else bool(changes)
    return Git(commit, branch or None, dirty, path_within(folder))


def path_within(folder: Path) -> str | None:
    """The path of a folder within its repository, empty for its top; None without one."""
    prefix = git_output(folder, "rev-parse", "--show-prefix")
    return None if prefix is None else prefix.rstrip("/")


def parents_of_head(folder: Path) -> list[str]:
    """The parents of the commit that is checked out, even in a shallow clone, which may lack them."""
    about = (git_output(folder, "cat-file", "-p", "HEAD") or "").partition("\n\n")[0]
    return re.findall(r"^parent (\w+)$", about, re.MULTILINE)


def obtain(folder: Path, commit: str) -> bool:
    """Whether a commit is there, after fetching it alone into a shallow clone."""
    if not has_revision(folder, commit):
        fetch = ("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
        git_output(folder, *fetch, timeout_s=_READ_S)
    return has_revision(folder, commit)


def is_shallow(folder: Path) -> bool:
    return git_output(folder, "rev-parse", "--is-shallow-repository") == "true"


def deepen(folder: Path) -> bool:
    """Fetch some more commits into a shallow clone; False if that fails."""
    fetch = ("fetch", "--quiet", "--no-tags", f"--deepen={_DEEPER}", "origin")
    return git_output(folder, *fetch, timeout_s=_READ_S) is not None


def line_as_of(revision: str, file: Path, line: int) -> int:
    """The number that a line of a file has as of a revision; 0 if it is not there."""
    arguments = ("diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", file.name)
    moved = 0
    text = git_output(file.absolute().parent, *arguments, timeout_s=_READ_S)
    if text is None:
        return 0
    for hunk in re.finditer(r"^@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", text, re.MULTILINE):
        old, start, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
        if line < start + (new == 0):
            break
        if line < start + new:
            return 0
        moved += old - new
    return line + moved


def has_revision(folder: Path, revision: str) -> bool:
    """Whether the repository around a folder has a commit of this name."""
    commit = f"{revision}^{{commit}}"
    commit_id = git_output(folder, "rev-parse", "--verify", "--quiet", commit, timeout_s=_READ_S)
    return commit_id is not None


def file_at(revision: str, file: Path) -> str | None:
    """The text of a file as of a revision; None if it did not exist.

    Raises ConfigError if git cannot tell, or cannot read it, as in a partial clone without a network.
    """
    folder, name = file.absolute().parent, file.name
    listed = git_output(folder, "ls-tree", "--name-only", revision, name, timeout_s=_READ_S)
    if listed == "":
        return None
    text = git_output(folder, "show", f"{revision}:./{name}", timeout_s=_READ_S)
    if text is None:
        raise ConfigError(f"git cannot read {name} as of {revision} in {folder}")
    return text


def git_output(folder: Path, *arguments: str, timeout_s: float | None = None) -> str | None:
    """The stripped output of git; None when it fails, is missing or takes too long."""
    # pytest may change a variable in another thread meanwhile.
    names = [name for name in list(os.environ) if name not in _OF_HOOKS]
    environment = {name: value for name in names if (value := os.environ.get(name)) is not None}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s or GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
