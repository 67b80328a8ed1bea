"""Where a run keeps its answers until it is over: a folder per run, so that a killed run can be resumed.

ROOT/.tooleval/answers/20261121T214512-4711/weather.jsonl
"""

from __future__ import annotations

import os
import shutil
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
    """A folder for the answers of a new run; those of all but the last runs are deleted."""
    answers = work_folder(root) / "answers"
    answers.mkdir(exist_ok=True)
    for old in _runs(answers)[KEPT_RUNS - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S%f")[:-3]
    folder = answers / f"{stamp}-{os.getpid()}"
    folder.mkdir()
    return folder


def last_run(root: Path) -> Path | None:
    """The folder of the newest run that kept an answer, or None."""
    answers = root / ".tooleval" / "answers"
    if not answers.is_dir():
        return None
    return next((run for run in _runs(answers) if any(run.iterdir())), None)


def _runs(answers: Path) -> list[Path]:
    """The folders of runs, newest first: names begin with the time."""
    return sorted((path for path in answers.iterdir() if path.is_dir()), reverse=True)
