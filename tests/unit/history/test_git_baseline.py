"""The baseline that git finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from builders import git

from pytest_tooleval.errors import ToolevalError
from pytest_tooleval.history import History, load_side, place_of
from pytest_tooleval.history.git_baseline import base_commits
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.run import Git

from .runs import case_of, kept, run_of


def commit(folder: Path) -> str:
    git(folder, "commit", "--allow-empty", "-m", uuid4().hex)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """main with three commits; `feature` with one, from the second of main."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    for _ in range(2):
        commit(folder)
    git(folder, "checkout", "-b", "feature")
    commit(folder)
    git(folder, "checkout", "main")
    commit(folder)
    return folder


def names(folder: Path) -> dict[str, str]:
    """Hashes to `m1`, `m2`, `m3`, and `f1`."""
    main = git(folder, "rev-list", "--first-parent", "--reverse", "main").split()
    return {hash: f"m{number}" for number, hash in enumerate(main, 1)}


@pytest.mark.parametrize(
    ("steps", "environment", "branch", "expected"),
    [
        (["checkout feature"], {}, None, "m2 m1"),
        (["checkout main"], {}, None, "m2 m1"),
        (["checkout main", "reset --hard HEAD~1"], {}, "feature", "m1"),
        # The merge of a pull request, as CI services make and test it.
        (["checkout --detach main", "merge --no-ff feature -m m"], {}, None, "m3 m2 m1"),
        # main merged into the branch, whose first parent is the branch.
        (["checkout feature", "merge --no-ff main -m m"], {}, None, "m3 m2 m1"),
        (["checkout --detach main"], {"GITHUB_BASE_REF": "main"}, None, "m2 m1"),
        # The same, as CI services name the merge that they test, while the branch's own is checked out.
        (
            ["checkout feature", "merge --no-ff main -m m"],
            {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_SHA": "0" * 40},
            None,
            "m3 m2 m1",
        ),
        (
            ["checkout feature", "merge --no-ff main -m m"],
            {"CI_MERGE_REQUEST_EVENT_TYPE": "merged_result", "CI_COMMIT_SHA": "0" * 40},
            None,
            "m3 m2 m1",
        ),
    ],
)
def test_the_commits_to_compare_with(
    repository: Path,
    steps: list[str],
    environment: dict[str, str],
    branch: str | None,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = names(repository)
    for step in steps:
        git(repository, *step.split())
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = base_commits(repository, branch)
    assert [known[each] for each in found] == expected.split()


def test_changed_files_on_the_base_branch_are_compared_with_its_last_commit(repository: Path) -> None:
    (repository / "file").write_text("one")
    git(repository, "add", "file")
    git(repository, "commit", "-m", "file")
    (repository / "file").write_text("two")
    assert base_commits(repository, None)[0] == git(repository, "rev-parse", "HEAD")
    git(repository, "commit", "-am", "file")
    before = git(repository, "rev-parse", "HEAD")
    git(repository, "merge", "--no-ff", "feature", "-m", "merge")
    assert base_commits(repository, None)[0] == before
    (repository / "file").write_text("three")
    assert base_commits(repository, None)[0] == git(repository, "rev-parse", "HEAD")


def test_a_shallow_merge_of_a_pull_request(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "checkout", "-b", "merged")
    git(repository, "merge", "--no-ff", "feature", "-m", "m")
    git(tmp_path, "clone", "--depth=1", "--branch=merged", repository.as_uri(), "shallow")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
    monkeypatch.setenv("GITHUB_SHA", git(repository, "rev-parse", "HEAD"))
    assert base_commits(tmp_path / "shallow", None) == [git(repository, "rev-parse", "main")]
    monkeypatch.setenv("GITHUB_REF", "refs/heads/merged")
    with pytest.raises(ToolevalError, match=r"the clone is shallow: fetch all commits|git has no"):
        base_commits(tmp_path / "shallow", "main")


def test_no_repository_and_no_branch(tmp_path: Path, repository: Path) -> None:
    with pytest.raises(ToolevalError, match="not in a git repository"):
        base_commits(tmp_path, None)
    with pytest.raises(ToolevalError, match="git has no nope; fetch it, or name it: auto:BRANCH"):
        base_commits(repository, "nope")


def test_whole_runs_of_the_base_are_pooled(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = git(repository, "rev-list", "--first-parent", "main").split()
    git(repository, "checkout", "feature")
    history = History(repository / ".tooleval")

    def keep(commit: str, outcome: str = "passed", **fields: Any) -> None:
        run = run_of(git=Git(commit, "main", False), **fields)
        writer = history.begin(run)
        overall = 1.0 if outcome == "passed" else 0.0
        writer.add(kept(case_of("paris", outcome=outcome, overall=overall)))  # type: ignore[arg-type]
        writer.finish(run)

    with pytest.raises(ToolevalError, match=r"no whole run of \w{10} or of 1 commit before it; run all"):
        load_side("auto", history.folder)
    keep(main[0])  # newer than the merge base
    keep(main[1], partial=True)
    keep(main[2])
    side = load_side("auto", history.folder)
    assert side.name.startswith(f"{main[2][:10]} (1 commit before the base, 1 run, ")
    keep(main[1])
    keep(main[1], "failed", exitstatus=1)
    with monkeypatch.context() as patch:
        patch.setenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "2")
        patch.setenv("CI_MERGE_REQUEST_PROJECT_ID", "1")
        keep(main[1], "failed")  # a fork's
    side = load_side("auto:main", history.folder, place=place_of(".tooleval", repository))
    assert side.name.startswith(f"{main[1][:10]} (2 runs, ")
    assert [(row.case, row.passes, row.answered, len(row.trials)) for row in side.cases] == [
        ("paris", 1, 2, 2)
    ]
    assert side.whole is not None
    assert [len(case.trials) for case in side.whole()] == [2]


def test_the_base_has_an_answer_to_a_file_and_model_of_the_run(repository: Path) -> None:
    m3, m2, m1 = git(repository, "rev-list", "--first-parent", "main").split()
    commit(repository)
    history = History(repository / ".tooleval")

    def keep(commit: str, *cases: CaseResult) -> None:
        run = run_of(git=Git(commit, "main", False), exitstatus=1)
        writer = history.begin(run)
        writer.add(kept(*cases))
        writer.finish(run)

    def base(file: str) -> str:
        return load_side("auto", history.folder, {(f"{file}.tooleval.json", "claude-3")}).name[:10]

    keep(m3, case_of(outcome="error", answered=0))  # an outage
    with pytest.raises(ToolevalError, match="1 run there, partial, without an answer or from a fork"):
        base("weather")
    keep(m2, case_of(suite="Other"), case_of(outcome="error", answered=0))
    assert base("weather") == m2[:10]  # nothing is nearer, and the comparison says what differs
    keep(m1, case_of())
    assert (base("weather"), base("other"), base("new")) == (m1[:10], m2[:10], m2[:10])


def test_a_damaged_head_of_the_base_is_named(repository: Path) -> None:
    git(repository, "checkout", "feature")
    history = History(repository / ".tooleval")
    run = run_of(git=Git(git(repository, "rev-parse", "main~1"), "main", False))
    writer = history.begin(run)
    writer.add(kept(case_of()))
    writer.finish(run)
    assert load_side("auto", history.folder).cases
    (head,) = (history.folder / "heads").iterdir()
    head.write_bytes(head.read_bytes()[:-1])
    with pytest.raises(ToolevalError, match=f"heads/{head.name}: damaged: .*; delete it"):
        load_side("auto", history.folder)
