"""Names of runs: `latest`, `good~2`, `latest:main`, the beginning of an id."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ..errors import ToolevalError
from ..text import counted, first_few, local_time, near, printable
from ..verdicts.sides import RUN_WORD
from .index import NEWEST, ROOT, tags_of

_GOOD_LOOKED_AT = 100


class _Run(NamedTuple):
    id: str
    number: int
    started: str
    branch: str | None
    good: bool
    # Runs that pytest ended early (interrupted, internal error, wrong usage) are not compared with.
    latest: bool
    root: str | None  # as in `Git`


_RUNS = f"""
    SELECT id, number, started, branch, good, status = 'finished' AND ifnull(exitstatus, 0) IN (0, 1),
        {ROOT}
    FROM runs {NEWEST}
"""


def find_run(
    connection: sqlite3.Connection,
    place: str,
    name: str,
    holding: Collection[tuple[str, str]],
    root: str | None = None,
) -> str:
    """The id of the run that a name means.

    `latest` is the newest run that was not cut short, `latest~2` the second before it, and
    `latest:BRANCH` and `latest:BRANCH~2` count on one git branch only. `good` is the newest that ran all
    cases of its suites, and in which no case, gate or baseline failed, and no large drop was
    inconclusive; unless a gate allowed errors, each case has an answer. With `holding`, pairs of file
    and model, only the good runs with the most of these count. `@release-1` is the run with this tag.
    Anything else is an id, or the beginning of one. With a `root` within the repository, `latest` and
    `good` are runs of that one, or of an unknown one. Raises ToolevalError for no run and for several.
    """
    if name.startswith("@"):
        return _find_tagged(tags_of(connection), place, name[1:])
    runs = [_Run(*row) for row in connection.execute(_RUNS)]
    match = RUN_WORD.fullmatch(name)
    # For `good`, an empty history and one with only this run give the same message.
    if not runs and not (match and match["word"] == "good"):
        raise ToolevalError(f"{place}: there are no runs yet; pytest with a model makes one")
    if match:
        runs = [run for run in runs if None in (root, run.root) or run.root == root]
        return _find_newest(connection, runs, place, match, holding)
    found = [run for run in runs if name and run.id.startswith(name)]
    found = [run for run in found if run.id == name] or found
    if len(found) == 1:
        return found[0].id
    if found:
        raise ToolevalError(f"{counted(len(found), 'run')} begin with {name}: {_listed(found)}")
    meant = near(name, ["latest", "good", *(f"@{tag}" for tag in tags_of(connection))])
    raise ToolevalError(
        f'{place}: run "{printable(name)}" not found{printable(meant)}; expected latest, latest~N, '
        f"latest:BRANCH, good, @TAG, or the beginning of one of {_listed(runs)}"
    )


def _find_tagged(tags: dict[str, str], place: str, tag: str) -> str:
    if tag not in tags:
        known = ", ".join(tags) or "none; `tooleval history tag RUN NAME` makes one"
        name = printable(tag) or "(no name)"
        meant = printable(near(tag, tags, "@"))
        raise ToolevalError(f"{place}: no run has the tag {name}{meant}; tags: {printable(known)}")
    return tags[tag]


def _find_newest(
    connection: sqlite3.Connection,
    runs: Sequence[_Run],
    place: str,
    name: re.Match[str],
    holding: Collection[tuple[str, str]],
) -> str:
    is_good, branch, back = name["word"] == "good", name["branch"], int(name["back"] or 0)
    found = [run for run in runs if (run.good if is_good else run.latest)]
    found = [run for run in found if branch in (None, run.branch)]
    if is_good and holding:
        fitting = _with_most(connection, found[:_GOOD_LOOKED_AT], set(holding))
        if len(fitting) > back:
            return fitting[back].id
    if len(found) > back:
        return found[back].id
    where = "" if branch is None else f" on the branch {printable(branch)}"
    branches = ""
    if branch is not None and not found:
        known = sorted({run.branch for run in runs if run.branch is not None})
        branches = f"; branches with runs: {', '.join(map(printable, known)) or 'none'}"
    if is_good and not found:
        raise ToolevalError(f"{place}: no complete run without errors or failures{where} yet{branches}")
    kind = "without errors or failures" if is_good else "finished"
    what = f"{counted(len(found), 'run')}{where} {kind}, too few for {printable(name[0])}"
    raise ToolevalError(f"{place}: {what}{branches}")


def _with_most(
    connection: sqlite3.Connection, runs: Sequence[_Run], cases: set[tuple[str, str]]
) -> list[_Run]:
    """The runs with the most of the wanted files and models, in order."""
    query = "SELECT file, model FROM suites WHERE run = ?"
    held = [len(cases.intersection(connection.execute(query, (run.number,)))) for run in runs]
    return [run for run, count in zip(runs, held, strict=True) if count == max(held)]


def _listed(runs: Iterable[_Run]) -> str:
    return first_few(
        [
            f"{id} ({local_time(started)}{'' if branch is None else f', {printable(branch)}'})"
            for id, _, started, branch, *_ in runs
        ]
    )
