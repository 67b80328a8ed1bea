"""Folders for the answers of runs, one for each, so that a killed run can be resumed.

ROOT/.tooleval/answers/17-20261121T214512034-4711/weather.jsonl

Their numbers order them, because clocks may be set back.
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import datetime, timezone
from pathlib import Path

from ...files.folders import work_folder

KEPT_RUNS = 10


def new_run(root: Path) -> Path:
    """The folder for a new run's answers. It is created with the first answer."""
    answers = root / ".tooleval" / "answers"
    number = max(map(_number, _runs(answers)), default=0) + 1
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")[:-3]
    return answers / f"{number}-{stamp}-{os.getpid()}"


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
        if _written(old) < hour_ago:
            shutil.rmtree(old, ignore_errors=True)


def last_run(root: Path) -> Path | None:
    """The folder of the newest run that stored an answer, or None."""
    answers = root / ".tooleval" / "answers"
    return next((run_folder for run_folder in _runs(answers) if any(run_folder.iterdir())), None)


def _runs(answers_folder: Path) -> list[Path]:
    """The runs' folders, newest first; of two with the same number, the one written to last."""
    if not answers_folder.is_dir():
        return []
    folders = (path for path in answers_folder.iterdir() if path.is_dir())
    return sorted(folders, key=lambda path: (_number(path), _written(path), path.name), reverse=True)


def _number(run_folder: Path) -> int:
    """0 if the folder has none."""
    number, hyphen, _ = run_folder.name.partition("-")
    return int(number) if hyphen and number.isdecimal() else 0


def _written(run_folder: Path) -> float:
    try:
        return max((file.stat().st_mtime for file in run_folder.rglob("*")), default=0.0)
    except OSError:  # another process deletes the folder
        return 0.0
