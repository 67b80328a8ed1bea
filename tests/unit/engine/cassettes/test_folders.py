"""Where a run keeps its answers: what is deleted there, and what never is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_tooleval.engine.cassettes.folders import KEPT_RUNS
from pytest_tooleval.engine.cassettes.folders import last_run
from pytest_tooleval.engine.cassettes.folders import make_room
from pytest_tooleval.engine.cassettes.folders import new_run

links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


def old_folder(path: Path) -> Path:
    """A folder with a file that nobody has written to for long."""
    path.mkdir(parents=True)
    (path / "w.jsonl").write_text("{}\n")
    os.utime(path / "w.jsonl", (0, 0))
    return path


def old_runs(folder: Path, number: int = 12) -> list[Path]:
    return [old_folder(folder / f"20261121T2145120{i:02}-4711") for i in range(number)]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder outside of the project, with what could be deleted."""
    folder = tmp_path / "elsewhere"
    old_runs(folder)
    old_runs(folder / "answers")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


@links
@pytest.mark.parametrize("link", [".tooleval", ".tooleval/answers"])
def test_nothing_is_deleted_made_or_read_behind_a_link(
    project: Path, elsewhere: Path, link: str
) -> None:
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(elsewhere)
    before = files(elsewhere)
    with pytest.raises(OSError, match=r"a link, where a folder is expected; delete the link"):
        make_room(project)
    assert files(elsewhere) == before
    assert last_run(project) is None


@links
def test_no_file_is_made_behind_a_link(project: Path, tmp_path: Path) -> None:
    (project / ".tooleval").mkdir()
    (project / ".tooleval" / ".gitignore").symlink_to(tmp_path / "made")
    make_room(project)
    assert not (tmp_path / "made").exists()


def test_only_folders_of_runs_are_deleted(project: Path) -> None:
    answers = project / ".tooleval" / "answers"
    runs = old_runs(answers)
    page = old_folder(answers / "20261120T000000000-1-0af1c2")
    names = ("dir2", "20261121T214512034", "20261121T214512034-4711-x", "20261121T214512034-4711.d")
    others = [old_folder(answers / name) for name in names]
    make_room(project)
    assert sorted(answers.iterdir()) == sorted([*others, *runs[-KEPT_RUNS + 1 :]])
    assert not page.exists()


def test_the_folder_of_a_new_run_is_one_that_is_deleted_later(project: Path) -> None:
    run = old_folder(new_run(project))
    os.utime(run / "w.jsonl")
    newer = [old_folder(run.with_name(f"29991231T00000000{i}-1")) for i in range(KEPT_RUNS)]
    make_room(project)
    assert run.exists(), "it was written to within the hour"
    os.utime(run / "w.jsonl", (0, 0))
    make_room(project)
    assert sorted(run.parent.iterdir()) == newer[1:]


@links
def test_a_link_among_the_runs_is_no_run(project: Path, elsewhere: Path) -> None:
    answers = project / ".tooleval" / "answers"
    old_runs(answers)
    (answers / "20200101T000000000-1").symlink_to(elsewhere)
    (answers / "29991231T000000000-1").symlink_to(elsewhere)
    before = files(elsewhere)
    make_room(project)
    assert files(elsewhere) == before
    assert last_run(project) == answers / "20261121T214512011-4711"


@links
def test_a_run_with_links_is_deleted_without_what_they_lead_to(project: Path, elsewhere: Path) -> None:
    answers = project / ".tooleval" / "answers"
    oldest, *_ = old_runs(answers)
    (oldest / "deep").symlink_to(elsewhere)
    (oldest / "nowhere.jsonl").symlink_to("nowhere")
    for link in ("deep", "nowhere.jsonl"):
        os.utime(oldest / link, (0, 0), follow_symlinks=False)
    before = files(elsewhere)
    make_room(project)
    assert not oldest.exists()
    assert files(elsewhere) == before


@links
def test_no_run_with_links_is_gone_on_with(project: Path, tmp_path: Path) -> None:
    answers = project / ".tooleval" / "answers"
    older = old_folder(answers / "20261121T214512034-4711")
    newer = old_folder(answers / "20261121T214512035-4711")
    assert last_run(project) == newer
    (newer / "x.jsonl").symlink_to(tmp_path / "precious")
    assert last_run(project) == older
