"""Cases that only one of two runs has: did not the other have them, or did it not select them?"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from functools import cache

from ..errors import ToolevalError
from ..record.results import CaseRow
from ..suite.fingerprints import content_of_case
from .sides import FindSuite


def not_selected(rows: Iterable[CaseRow], suites: FindSuite | None = None) -> Callable[[CaseRow], bool]:
    """Return a test for a case that is not among a run's `rows`: did the run leave it out?

    `suites` finds the suites that the run could select from. If it does not find one, the run left out
    all cases of a suite that it ran in part, and no case of other suites.
    """
    ran: dict[str, list[CaseRow]] = {}
    for row in rows:
        # By file, because suites in two files may share a name; by name, because a file may have moved.
        for place in (row.file, row.suite):
            ran.setdefault(place, []).append(row)

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
        own = ran.get(case.file) or ran.get(case.suite) or []
        if own and len(own) >= own[0].suite_cases:
            return False
        known = cases_in(own[0].file if own else case.file)
        return bool(own) if known is None else not known.isdisjoint((case.case, case.content))

    return was_left_out
