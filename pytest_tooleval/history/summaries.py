"""Summaries of runs, and the sums that they consist of."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from ..errors import ToolevalError
from ..record.results import CaseRow, unchanged
from ..record.run import Run, RunSummary, Status
from ..record.summary import Summary
from ..suite.discovery import SUITE_ENDING
from ..text import first_few, printable
from ..verdicts.summary import rows_document, summarise
from ..verdicts.words import run_summary, sums_of

RUN_COLUMNS = "runs.run, finished, updated"
# Whether a suite's file is in the project.
IsThere = Callable[[str], bool]

_Case = TypeVar("_Case", bound=CaseRow)


class Sums(Struct, frozen=True):
    """Sums over the cases of a place (a suite's name, a file, or all) on a model, or on all.

    `suite_cases` are all cases of the suite, selected or not. `content` is the hash of its file.
    """

    total: Summary
    passes: int
    scored: int
    suite_cases: int
    content: str


_SuiteOnModel = tuple[str, str]  # and the model; empty: all


def sums_by_place(rows: Iterable[CaseRow]) -> dict[_SuiteOnModel, Sums]:
    groups: dict[_SuiteOnModel, list[CaseRow]] = {}
    for row in unchanged(rows):
        for place in dict.fromkeys(("", row.suite, row.file)):
            for model in ("", row.model):
                groups.setdefault((place, model), []).append(row)
    # Mostly a suite has one file, and a run one model, whose sums are the same.
    nodeids = {place: tuple(row.nodeid for row in group) for place, group in groups.items()}
    made = {nodeids[place]: group for place, group in groups.items()}
    sums = {each: _sums(group) for each, group in made.items()}
    return {place: sums[each] for place, each in nodeids.items()}


def _sums(rows: Sequence[CaseRow]) -> Sums:
    return Sums(
        summarise(rows),
        passes=sum(row.passes for row in rows),
        scored=sum(row.scored for row in rows),
        suite_cases=max(row.suite_cases for row in rows),
        content=max(row.suite_content for row in rows),
    )


def read_sums(connection: sqlite3.Connection, number: int, place: str) -> dict[str, Sums]:
    """The sums over a place in a run, by model."""
    stored = connection.execute(
        "SELECT model, sums FROM sums WHERE run = ? AND place = ? ORDER BY model", (number, place)
    )
    found = {model: msgspec.json.decode(sums, type=Sums) for model, sums in stored}
    if found:
        return found
    made = sums_by_place(stored_cases(connection, number, CaseRow))  # it did not finish
    return {model: sums for (each, model), sums in sorted(made.items()) if each == place}


def list_runs(
    connection: sqlite3.Connection,
    dead: Container[str],
    limit: int | None,
    *,
    model: str | None,
    suite: str | None,
    branch: str | None,
    is_there: IsThere,
) -> list[RunSummary]:
    """The newest runs with this model, suite and branch, newest first; `dead` are ids.

    `suite` is a file if it ends like one, else a suite's name. Raises ToolevalError for the name of
    several suites.
    """
    column = "file" if suite is not None and suite.endswith(SUITE_ENDING) else "suite"
    if suite is not None and column == "suite":
        check_one_file(connection, suite, "suite = :suite", {"suite": suite}, is_there)
    bound = {"model": model, "suite": suite, "branch": branch, "limit": -1 if limit is None else limit}
    of_cases = "".join(
        f" AND {name} = :{value}"
        for name, value in (("model", "model"), (column, "suite"))
        if bound[value] is not None
    )
    of_runs = "1" if branch is None else "branch = :branch"
    if of_cases:
        of_runs += f" AND EXISTS (SELECT 1 FROM cases WHERE run = runs.number{of_cases})"
    rows = connection.execute(
        f"SELECT number, summary, {RUN_COLUMNS} FROM runs WHERE {of_runs} "
        "ORDER BY started DESC, number DESC LIMIT :limit",
        bound,
    ).fetchall()
    tags: dict[int, list[str]] = {}
    for number, tag in connection.execute("SELECT run, name FROM tags ORDER BY name"):
        tags.setdefault(number, []).append(tag)
    found = []
    for number, summary, *columns in rows:
        run = stored_run(columns, dead)
        if summary is None:
            made = run_summary(rows_document(run, stored_cases(connection, number, CaseRow)))
        else:
            made = msgspec.json.decode(summary, type=RunSummary)
        is_partial = run.partial or bool(made.ending)  # older versions did not store it
        if of_cases:
            by_model = read_sums(connection, number, suite or "")
            models = [each for each in by_model if each and model in (None, each)]
            sums = sums_of(by_model[model or ""].total)
            made = structs.replace(made, **sums, models=tuple(models), selected=0)
            if suite is not None:
                is_partial = any(
                    by_model[each].total.cases < by_model[each].suite_cases for each in models
                )
        of_run = tuple(tags.get(number, ()))
        found.append(structs.replace(made, is_partial=is_partial, tags=of_run))
    return found


def check_one_file(
    connection: sqlite3.Connection,
    name: str,
    chosen: str,
    bound: Mapping[str, Any],
    is_there: IsThere,
    case: str = "",
) -> None:
    """Raise if the `chosen` rows of `cases` are of several files, unless one file moved."""
    rows = connection.execute(f"SELECT DISTINCT file FROM cases WHERE {chosen} ORDER BY file", bound)
    files = [str(file) for (file,) in rows]
    in_one_run = connection.execute(
        f"SELECT 1 FROM cases WHERE {chosen} GROUP BY run HAVING COUNT(DISTINCT file) > 1 LIMIT 1", bound
    ).fetchone()
    if in_one_run is None and sum(map(is_there, files)) < 2:
        return
    what = "a case" if case else "a suite"
    names = [printable(f"{file}::{case}" if case else file) for file in files]
    raise ToolevalError(
        f"{len(files)} files have {what} {printable(name)}; name one of {first_few(names)}"
    )


def stored_run(columns: Iterable[Any], dead: Container[str]) -> Run:
    """The run in `RUN_COLUMNS`, with status and duration also if it did not finish."""
    data, finished, updated = columns
    run = msgspec.json.decode(data, type=Run)
    if finished:
        return run
    lasted = updated - datetime.fromisoformat(run.started).timestamp()
    status: Status = "killed" if run.id in dead else "running"
    return structs.replace(run, status=status, duration_s=max(0.0, lasted))


def stored_cases(connection: sqlite3.Connection, number: int, type: type[_Case]) -> list[_Case]:
    """The cases of a run; of one that ran again, the last result."""
    read = msgspec.json.Decoder(type).decode_lines
    blocks = connection.execute("SELECT cases FROM blocks WHERE run = ? ORDER BY id", (number,))
    found = {case.nodeid: case for (data,) in blocks for case in read(zlib.decompress(data))}
    return list(found.values())


def stored_texts(connection: sqlite3.Connection, number: int) -> list[bytes]:
    """The cases of a run as JSON; of one that ran again, the last result."""
    blocks: dict[int, list[bytes]] = {}
    found = []
    rows = connection.execute("SELECT block, place FROM cases WHERE run = ?", (number,))
    for block, place in rows.fetchall():
        if block not in blocks:
            query = "SELECT cases FROM blocks WHERE id = ?"
            (data,) = connection.execute(query, (block,)).fetchone()
            blocks[block] = zlib.decompress(data).split(b"\n")
        found.append(blocks[block][place])
    return found
