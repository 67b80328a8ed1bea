"""Names of runs: `latest`, `good~2`, `latest:main`, the beginning of an id."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection

from ..errors import ToolevalError
from ..text import counted, first_few, local_time, near, printable
from ..verdicts.sides import RUN_WORD
from .index import tags_of

# Runs that pytest ended early (interrupted, internal error, wrong usage) are not compared with.
_WHICH = {
    "latest": "status = 'finished' AND (exitstatus IS NULL OR exitstatus IN (0, 1))",
    "good": "good",
}
_SAID = {
    "latest": "finished",
    "good": "without errors or failures",
}
_GOOD_LOOKED_AT = 100


def find_run(
    connection: sqlite3.Connection, place: str, name: str, holding: Collection[tuple[str, str]]
) -> str:
    """The id of the run that a name means.

    `latest` is the newest run that was not cut short, `latest~2` the second before it, and
    `latest:BRANCH` and `latest:BRANCH~2` count on one git branch only. `good` is the newest that ran all
    cases of its suites, and in which no case, gate or baseline failed, and no large drop was
    inconclusive; unless a gate allowed errors, each case has an answer. With `holding`, pairs of file
    and model, only the good runs with the most of these count. `@release-1` is the run with this tag.
    Anything else is an id, or the beginning of one. Raises ToolevalError for no run and for several.
    """
    if name.startswith("@"):
        return _find_tagged(connection, place, name[1:])
    match = RUN_WORD.fullmatch(name)
    # For `good`, an empty history and one with only this run give the same message.
    for_good = match is not None and match["word"] == "good"
    if not for_good and connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone() is None:
        raise ToolevalError(f"{place}: there are no runs yet; pytest with a model makes one")
    if match:
        return _find_newest(connection, place, match, holding)
    rows = connection.execute(
        "SELECT id, started, branch FROM runs WHERE substr(id, 1, ?) = ? "
        "ORDER BY id = ? DESC, started DESC, written DESC, number DESC",
        (len(name), name, name),
    ).fetchall()
    if name and rows:
        if len(rows) == 1 or rows[0][0] == name:
            return str(rows[0][0])
        raise ToolevalError(f"{counted(len(rows), 'run')} begin with {name}: {_listed(rows)}")
    newest = connection.execute(
        "SELECT id, started, branch FROM runs ORDER BY started DESC, written DESC, number DESC"
    ).fetchall()
    meant = near(name, ["latest", "good", *(f"@{tag}" for tag in tags_of(connection))])
    raise ToolevalError(
        f'{place}: run "{printable(name)}" not found{printable(meant)}; expected latest, latest~N, '
        f"latest:BRANCH, good, @TAG, or the beginning of one of {_listed(newest)}"
    )


def _find_tagged(connection: sqlite3.Connection, place: str, tag: str) -> str:
    tags = tags_of(connection)
    if tag not in tags:
        known = ", ".join(tags) or "none; `tooleval history tag RUN NAME` makes one"
        name = printable(tag) or "(no name)"
        meant = printable(near(tag, tags, "@"))
        raise ToolevalError(f"{place}: no run has the tag {name}{meant}; tags: {printable(known)}")
    return tags[tag]


def _find_newest(
    connection: sqlite3.Connection,
    place: str,
    name: re.Match[str],
    holding: Collection[tuple[str, str]],
) -> str:
    word, branch, back = name["word"], name["branch"], int(name["back"] or 0)
    which = _WHICH[word] + ("" if branch is None else " AND branch = :branch")
    bound = {"branch": branch, "back": back}
    newest = f"FROM runs WHERE {which} ORDER BY started DESC, written DESC, number DESC"
    if word == "good" and holding:
        found = connection.execute(
            f"SELECT id, number {newest} LIMIT {_GOOD_LOOKED_AT}", bound
        ).fetchall()
        fitting = _with_most(connection, found, set(holding))
        if len(fitting) > back:
            return fitting[back]
    row = connection.execute(f"SELECT id {newest} LIMIT 1 OFFSET :back", bound).fetchone()
    if row:
        return str(row[0])
    (number,) = connection.execute(f"SELECT COUNT(*) FROM runs WHERE {which}", bound).fetchone()
    where = "" if branch is None else f" on the branch {printable(branch)}"
    branches = ""
    if branch is not None and not number:
        known = connection.execute(
            "SELECT DISTINCT branch FROM runs WHERE branch IS NOT NULL ORDER BY branch"
        ).fetchall()
        branches = f"; branches with runs: {', '.join(printable(b) for (b,) in known) or 'none'}"
    if word == "good" and not number:
        raise ToolevalError(f"{place}: no complete run without errors or failures{where} yet{branches}")
    what = f"{counted(number, 'run')}{where} {_SAID[word]}, too few for {printable(name[0])}"
    raise ToolevalError(f"{place}: {what}{branches}")


def _with_most(
    connection: sqlite3.Connection, runs: list[tuple[str, int]], cases: set[tuple[str, str]]
) -> list[str]:
    """The ids of the runs with the most of the wanted files and models, in order."""
    query = "SELECT file, model FROM suites WHERE run = ?"
    held = [len(cases.intersection(connection.execute(query, (number,)))) for _, number in runs]
    return [str(id) for (id, _), count in zip(runs, held, strict=True) if count == max(held)]


def _listed(rows: list[tuple[str, str, str | None]]) -> str:
    return first_few(
        [
            f"{id} ({local_time(started)}{'' if branch is None else f', {printable(branch)}'})"
            for id, started, branch in rows
        ]
    )
