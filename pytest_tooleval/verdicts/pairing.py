"""Pairs the cases of two runs: by name and content, else by content, else by name.

A case is looked for in its own file. Only the cases of a file that is gone are looked for in the files
that are new, because suites in several files may share names, prompts and expectations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ToolevalError
from ..record.results import CaseRow
from ..suite.fingerprints import fingerprint_of_case
from .sides import FindSuite

if TYPE_CHECKING:
    from ..suite.model import Suite

RowPair = tuple[CaseRow, CaseRow]


class Pairing(NamedTuple):
    """Paired rows of an old and a new run on one model.

    `same` are the pairs to compare, including `renamed` ones. A `changed` pair has the same name, but
    different content. `not_selected` are rows of either run that the other left out.
    """

    same: list[RowPair]
    renamed: list[RowPair]
    changed: list[RowPair]
    added: list[CaseRow]
    removed: list[CaseRow]
    not_selected: list[CaseRow]


def find_moved_files(
    old: Iterable[CaseRow], new: Iterable[CaseRow], suites: FindSuite | None
) -> frozenset[str]:
    """The files between which suites may have moved: those that are gone, and the new ones if any are.

    A file that the new run merely left out is still found by `suites`.
    """
    before, now = ({row.file for row in rows} for rows in (old, new))
    gone = {file for file in before - now if _suite_in(file, suites) is None}
    return frozenset(gone | (now - before)) if gone else frozenset()


def _suite_in(file: str, suites: FindSuite | None) -> Suite | None:
    """The suite that is now in a file; None if it is not found."""
    try:
        return None if suites is None else suites(file)
    except ToolevalError:
        return None


def pair_cases(
    old: Sequence[CaseRow],
    new: Sequence[CaseRow],
    moved_files: Collection[str],
    suites: FindSuite | None,
) -> Pairing:
    """Pair the rows of two runs. Cases with the same content are the same, whatever their names.

    `moved_files` are those of the runs; `suites` finds today's suites, which are those of the new run.
    Duplicates are told apart by their tools, else paired in order.
    """

    def place(row: CaseRow) -> Hashable:
        return None if row.file in moved_files else row.file

    def name(row: CaseRow) -> Hashable:
        return place(row), row.suite, row.case

    def content(row: CaseRow) -> Hashable:
        return row.case_fingerprint, row.tools_fingerprint

    left_out_now = _not_selected(new, moved_files, suites)
    left_out_before = _not_selected(old, moved_files, None)
    exact, old, new = _match(old, new, lambda row: (name(row), content(row)))
    named, old, new = _match(old, new, lambda row: (name(row), row.case_fingerprint))
    twins, old, new = _match(old, new, lambda row: (place(row), content(row)))
    others, old, new = _match(old, new, lambda row: (place(row), row.case_fingerprint))
    changed, old, new = _match(old, new, name)
    renamed = [*twins, *others]
    return Pairing(
        same=[*exact, *named, *renamed],
        renamed=renamed,
        changed=changed,
        added=[row for row in new if not left_out_before(row)],
        removed=[row for row in old if not left_out_now(row)],
        not_selected=[*filter(left_out_now, old), *filter(left_out_before, new)],
    )


def _match(
    old: Sequence[CaseRow], new: Sequence[CaseRow], key: Callable[[CaseRow], Hashable]
) -> tuple[list[RowPair], list[CaseRow], list[CaseRow]]:
    """Pairs with equal keys, and the rows left over on each side."""
    waiting: dict[Hashable, list[CaseRow]] = defaultdict(list)
    for row in reversed(old):
        waiting[key(row)].append(row)
    pairs: list[RowPair] = []
    left: list[CaseRow] = []
    for row in new:
        candidates = waiting.get(key(row))
        if candidates:
            pairs.append((candidates.pop(), row))
        else:
            left.append(row)
    matched = {id(pair[0]) for pair in pairs}
    return pairs, [row for row in old if id(row) not in matched], left


def _not_selected(
    rows: Iterable[CaseRow], moved_files: Collection[str], suites: FindSuite | None
) -> Callable[[CaseRow], bool]:
    """Return a test for a case that is not among a run's `rows`: did the run leave it out?

    Suites in `moved_files` are known by name. `suites` finds the suites that the run could select from.
    If it does not find one, the run left out all cases of a suite that it ran in part, and no case of
    other suites.
    """
    ran: dict[tuple[str | None, str], list[CaseRow]] = {}

    def place(row: CaseRow) -> tuple[str | None, str]:
        return (None, row.suite) if row.file in moved_files else (row.file, "")

    for row in rows:
        ran.setdefault(place(row), []).append(row)

    @cache
    def cases_in(file: str) -> frozenset[str] | None:
        """The ids and fingerprints of the cases in a suite; None if it is not found."""
        if (suite := _suite_in(file, suites)) is None:
            return None
        fingerprints = (fingerprint_of_case(suite, case) for case in suite.test_cases)
        return frozenset([*(str(case.id) for case in suite.test_cases), *fingerprints])

    def was_left_out(case: CaseRow) -> bool:
        rows = ran.get(place(case), [])
        if rows and len(rows) >= rows[0].suite_cases:
            return False
        there = cases_in(rows[0].file if rows else case.file)
        return bool(rows) if there is None else not there.isdisjoint((case.case, case.case_fingerprint))

    return was_left_out
