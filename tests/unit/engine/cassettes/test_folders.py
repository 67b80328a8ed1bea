"""Where a run keeps its answers: what is deleted there, and what never is."""

from __future__ import annotations

import os
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from pytest_tooleval.engine.cassettes import folders
from pytest_tooleval.engine.cassettes.folders import KEPT_RUNS, last_run, make_room, new_run


def old_folder(path: Path) -> Path:
    """A folder with a file that nobody has written to for long."""
    path.mkdir(parents=True)
    (path / "w.jsonl").write_text("{}\n")
    os.utime(path / "w.jsonl", (0, 0))
    return path


def old_runs(folder: Path, number: int = 12) -> list[Path]:
    return [old_folder(folder / f"20261121T2145120{i:02}-4711") for i in range(number)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def test_only_the_newest_runs_are_kept(project: Path) -> None:
    answers = project / ".tooleval" / "answers"
    runs = old_runs(answers)
    old_folder(answers / "20261120T000000000-1-0af1c2")
    make_room(project)
    assert sorted(answers.iterdir()) == runs[-KEPT_RUNS + 1 :]


def test_the_folder_of_a_new_run_is_one_that_is_deleted_later(project: Path) -> None:
    run = old_folder(new_run(project))
    os.utime(run / "w.jsonl")
    newer = [old_folder(new_run(project)) for _ in range(KEPT_RUNS)]
    make_room(project)
    assert run.exists(), "it was written to within the hour"
    os.utime(run / "w.jsonl", (0, 0))
    make_room(project)
    assert set(run.parent.iterdir()) == set(newer[1:])


def test_the_last_run_is_the_newest_that_kept_an_answer(project: Path) -> None:
    assert last_run(project) is None
    answers = project / ".tooleval" / "answers"
    runs = old_runs(answers)
    (answers / "29991231T000000000-1").mkdir()
    assert last_run(project) == runs[-1]


def test_a_clock_that_was_set_back_orders_no_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by names nor by times. Folders with one number began together."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls(2031 - made, 1, 1, tzinfo=tz)

    monkeypatch.setattr(folders, "datetime", Clock)
    for made in range(12):
        run = old_folder(new_run(project))
        os.utime(run / "w.jsonl", (100.0 - made,) * 2)
        assert last_run(project) == run
    make_room(project)
    assert last_run(project) == run
    together = run.with_name(f"{run.name.partition('-')[0]}-19700101T000000000-1")
    os.utime(old_folder(together) / "w.jsonl", (200.0,) * 2)
    assert last_run(project) == together
