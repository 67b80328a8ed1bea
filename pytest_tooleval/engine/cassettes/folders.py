"""Where a run keeps its answers until it is over: a folder per run, so that a killed run can be resumed.

ROOT/.tooleval/answers/20261121T214512034-4711/weather.jsonl

What lies there may come from a repository that somebody cloned, and be links to anywhere.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from datetime import datetime
from datetime import timezone
from pathlib import Path

KEPT_RUNS = 10
# What `new_run` calls them; runs of the page have some letters more.
_RUN = re.compile(r"[0-9]{8}T[0-9]{9}-[0-9]+(-[0-9a-f]{6})?")


def work_folder(root: Path) -> Path:
    """`.tooleval` in the root folder, made if needed and hidden from git. OSError if it is a link."""
    folder = root / ".tooleval"
    _make(folder)
    ignore = folder / ".gitignore"
    if not os.path.lexists(ignore):
        ignore.write_text("*\n", encoding="ascii")
    return folder


def new_run(root: Path) -> Path:
    """The folder for the answers of a new run. It is made with the first answer."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")[:-3]
    return root / ".tooleval" / "answers" / f"{stamp}-{os.getpid()}"


def make_room(root: Path) -> None:
    """Make the work folder, and delete what the runs before the last ones have kept.

    What has been written to within the hour stays in any case: its run may not be over.
    """
    answers = work_folder(root) / "answers"
    _make(answers)
    hour_ago = time.time() - 3600
    for old in _runs(answers)[KEPT_RUNS - 1 :]:
        if all(file.lstat().st_mtime < hour_ago for file in old.rglob("*")):
            shutil.rmtree(old, ignore_errors=True)


def last_run(root: Path) -> Path | None:
    """The folder of the newest run that kept an answer, or None."""
    answers = root / ".tooleval" / "answers"
    if answers.parent.is_symlink() or answers.is_symlink() or not answers.is_dir():
        return None
    return next((run for run in _runs(answers) if _has_only_files(run)), None)


def _make(folder: Path) -> None:
    if folder.is_symlink():
        message = f"{folder.name} is a link, where a folder is expected; delete the link"
        raise OSError(errno.ELOOP, message, str(folder))
    folder.mkdir(exist_ok=True)


def _runs(answers: Path) -> list[Path]:
    """The folders of runs, newest first: names begin with the time."""
    found = (path for path in answers.iterdir() if _RUN.fullmatch(path.name))
    return sorted((path for path in found if path.is_dir() and not path.is_symlink()), reverse=True)


def _has_only_files(run: Path) -> bool:
    """Whether there is something to go on with: a run that is resumed writes to what is there."""
    kept = list(run.rglob("*"))
    return bool(kept) and not any(path.is_symlink() for path in kept)
