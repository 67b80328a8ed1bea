"""Cases that only one of two runs has: did not the other have them, or did it not select them?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache

from ..errors import ToolevalError
from ..record.results import CaseRow
from ..suite.fingerprints import content_of_case
from .sides import FindSuite


def not_selected(
    rows: Iterable[CaseRow], moved: Collection[str], suites: FindSuite | None = None
) -> Callable[[CaseRow], bool]:
    """Return a test for a case that is not among a run's `rows`: did the run leave it out?

    Suites in `moved` files are known by name. `suites` finds the suites that the run could select from.
    If it does not find one, the run left out all cases of a suite that it ran in part, and no case of
    other suites.
    """
    ran: dict[tuple[str | None, str], list[CaseRow]] = {}

    def place(row: CaseRow) -> tuple[str | None, str]:
        return (None, row.suite) if row.file in moved else (row.file, "")

    for row in rows:
        ran.setdefault(place(row), []).append(row)

    @cache
    def cases_in(file: str) -> frozenset[str] | None:
        """The ids and fingerprints of the cases in a suite; None if it is not found."""
        try:
            suite = suites(file) if suites is not None else None
        except ToolevalError:
            return None
        if suite is None:
            return None
        contents = (content_of_case(suite, case) for case in suite.test_cases)
        return frozenset([*(str(case.id) for case in suite.test_cases), *contents])

    def was_left_out(case: CaseRow) -> bool:
        own = ran.get(place(case), [])
        if own and len(own) >= own[0].suite_cases:
            return False
        known = cases_in(own[0].file if own else case.file)
        return bool(own) if known is None else not known.isdisjoint((case.case, case.content))

    return was_left_out
