"""The baseline that git finds for the tested commit: `auto`, `auto:BRANCH`.

Needs only the names of the heads, and the heads and documents of the chosen runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path

from ..checkout.ci import CiJob
from ..checkout.git import deepen, git_output, git_state, is_shallow, parents_of_head, path_within
from ..errors import NoBaseline, ToolevalError
from ..record.results import CaseResult, CaseRow
from ..text import plural, printable
from ..verdicts.case import pool
from ..verdicts.sides import Side, suites_in
from .documents import Texts, cases_of, read_head, read_stored
from .heads import Head, HeadName, read_name
from .places import Place

_LOOKED_AT = 1000
# The most commits whose runs are read for a file and model.
_READ = 20


def find_base(
    root: Path, place: Place, branch: str | None, holding: Collection[tuple[str, str]]
) -> Side:
    """All whole runs of the base as one, passed or not: choosing only good ones would favor luck.

    The base is the nearest commit whose runs have an answer; with `holding`, pairs of file and model, an
    answer to one of these, if a near commit has one. Raises NoBaseline if the place has no such run, and
    ToolevalError if git finds no base.
    """
    of = path_within(root)
    names: dict[str, list[HeadName]] = {}
    for file in place.files("heads"):
        if name := read_name(file):
            names.setdefault(name.commit, []).append(name)
    commits = base_commits(root, branch)
    # The base may have no run, such as one of a path that no workflow watches.
    if not any(map(names.__contains__, commits)) and CiJob.now() and is_shallow(root) and deepen(root):
        commits = base_commits(root, branch)
    others = 0
    nearest: Side | None = None
    read = 0
    for distance, commit in enumerate(commits):
        runs = [read_head(place, name) for name in sorted(names.get(commit, ()), reverse=True)]
        heads = [run.head for run in runs if run.is_of(of)]
        whole = [head for head in heads if _can_be_base(head)]
        others += len(heads) - len(whole)
        if whole:
            texts = [read_stored(place, head, Texts) for head in whole]
            side = _side(root, texts, commit, distance)
            if not holding or side.has_answer_in(holding):
                return side
            nearest, read = nearest or side, read + 1
        if read == _READ:
            break
    if nearest is not None:
        return nearest
    no = f"; {plural(others, 'run')} there, partial, without an answer or from a fork" if others else ""
    raise NoBaseline(
        f"{place.name}: no whole run of {commits[0][:10]} or of {plural(len(commits) - 1, 'commit')} "
        f"before it{no}; run all suites on the base branch with this history{_if_shallow(root)}"
    )


def _can_be_base(head: Head) -> bool:
    return head.trust == "whole" and head.summary.passed + head.summary.failed > 0


def _side(root: Path, texts: Sequence[Texts], commit: str, distance: int) -> Side:
    newest = texts[0].run
    alike = [each for each in texts if each.run.scoring_version == newest.scoring_version]
    runs = [each.run.id for each in alike]
    before = f"{plural(distance, 'commit')} before the base, " if distance else ""
    name = f"{commit[:10]} ({before}{plural(len(runs), 'run')}, {_age(newest.started)})"

    def whole() -> Sequence[CaseResult]:
        return pool([cases_of(each, CaseResult) for each in alike])

    rows = pool([cases_of(each, CaseRow) for each in alike])
    return Side(name, newest, rows, whole, suites_in(root), texts[0].gates)


def _age(started: str) -> str:
    hours = (datetime.now(timezone.utc) - datetime.fromisoformat(started)).total_seconds() / 3600
    return f"{plural(int(hours), 'hour')} old" if hours < 48 else f"{plural(int(hours / 24), 'day')} old"


def base_commits(root: Path, branch: str | None) -> list[str]:
    """The commits that HEAD can be compared with, nearest first.

    The first is the first parent of a merge that a CI service tests, else the merge base. Its ancestors
    on the base branch follow. On the base branch itself, uncommitted changes are compared with the last
    commit, and a commit with its parent. Raises ToolevalError.
    """
    state = git_state(root)
    if state is None:
        raise ToolevalError(f"{root}: not in a git repository with a commit; name a run or a file")
    base = _base_branch(root, branch)
    parents = parents_of_head(root)
    is_merge = len(parents) == 2
    start = parents[0] if is_merge and _is_tested(root, state.commit, parents[0], base) else None
    if start is None:
        if base is None:
            name = printable(branch) if branch else "base branch"
            raise ToolevalError(f"git has no {name}; fetch it, or name it: auto:BRANCH")
        start = git_output(root, "merge-base", "HEAD", base)
        if start == state.commit and not state.dirty:
            if not parents:
                raise NoBaseline(f"{start[:10]} is the first commit, so there is no baseline yet")
            start = parents[0]
    if not start:
        raise ToolevalError(
            f"git finds no commit before {state.commit[:10]} on {base}{_if_shallow(root)}"
        )
    line = git_output(root, "rev-list", "--first-parent", f"--max-count={_LOOKED_AT}", start)
    return (line or start).split()


def _is_tested(root: Path, merge: str, first: str, base: str | None) -> bool:
    """Whether a merge with this first parent merges a pull request into the base branch to test it."""
    # A workflow may check out another commit, such as the head of the pull request.
    if (job := CiJob.now()) and job.merge == merge:
        return True
    return base is not None and _is_before(root, first, base) and not _is_before(root, merge, base)


def _is_before(root: Path, commit: str, branch: str) -> bool:
    return git_output(root, "merge-base", "--is-ancestor", commit, branch) is not None


def _base_branch(root: Path, branch: str | None) -> str | None:
    """The base branch's ref: the named one, the CI service's, else the default branch."""
    job = CiJob.now()
    branch = branch or (job.base_branch if job else None)
    names = [f"origin/{branch}", branch] if branch else ["origin/HEAD", "origin/main", "main", "master"]
    refs = (name for name in names if git_output(root, "rev-parse", "--verify", "--quiet", name))
    return next(refs, None)


def _if_shallow(root: Path) -> str:
    if not is_shallow(root):
        return ""
    return "; the clone is shallow: fetch all commits (GitHub: fetch-depth: 0, GitLab: GIT_DEPTH: 0)"
