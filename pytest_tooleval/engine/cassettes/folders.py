"""Folders for the answers of runs, one for each, so that a killed run can be resumed.

ROOT/.tooleval/answers/20261121T214512034-4711/weather.jsonl
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import datetime
from datetime import timezone
from pathlib import Path

KEPT_RUNS = 10


def work_folder(root: Path) -> Path:
    """`.tooleval` in the root folder, made if needed and hidden from git."""
    folder = root / ".tooleval"
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    return folder


def new_run(root: Path) -> Path:
    """The folder for a new run's answers. It is created with the first answer."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")[:-3]
    return root / ".tooleval" / "answers" / f"{stamp}-{os.getpid()}"


def answers_folder(root: Path, *, resume: bool) -> Path:
    """The folder for a run's answers; to resume, that of the last run."""
    return (last_run(root) if resume else None) or new_run(root)


def make_room(root: Path) -> None:
    """Create the work folder, and delete the answers of all but the most recent runs.

    Folders written to within the last hour stay, because their run may still be running.
    """
    answers = work_folder(root) / "answers"
    answers.mkdir(exist_ok=True)
    hour_ago = time.time() - 3600
    for old in _runs(answers)[KEPT_RUNS - 1 :]:
        if all(file.stat().st_mtime < hour_ago for file in old.rglob("*")):
            shutil.rmtree(old, ignore_errors=True)


def last_run(root: Path) -> Path | None:
    """The folder of the newest run that stored an answer, or None."""
    answers = root / ".tooleval" / "answers"
    if not answers.is_dir():
        return None
    return next((run for run in _runs(answers) if any(run.iterdir())), None)


def _runs(answers: Path) -> list[Path]:
    """The runs' folders, newest first, because names begin with the time."""
    return sorted((path for path in answers.iterdir() if path.is_dir()), reverse=True)
