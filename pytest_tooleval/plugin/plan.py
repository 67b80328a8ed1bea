"""Case rows before any request is sent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ..errors import ToolevalError
from ..record.results import CaseRow
from ..suite.case import TestCase
from ..suite.model import Suite
from ..suite.overrides import Overrides
from ..suite.resolved import resolve
from ..verdicts.sides import FindSuite
from .nodeids import split_nodeid


def planned(nodeids: Iterable[str], find: FindSuite, overrides: Overrides) -> list[CaseRow]:
    """Return rows without results. `scored` is the number of trials, as if all were answered.

    They are built from node ids, which are all that the xdist controller knows. Empty if a suite
    can no longer be read.
    """

    @cache
    def read(file: str) -> tuple[Suite, dict[str | None, TestCase]]:
        suite = find(file)
        return suite, {case.id: case for case in suite.test_cases}

    def row(nodeid: str) -> CaseRow:
        place = split_nodeid(nodeid)
        suite, cases = read(place.file)
        case = cases[place.case]
        return CaseRow(
            nodeid=nodeid,
            suite=suite.name,
            case=place.case,
            model=place.model,
            outcome="skipped" if case.skip else "passed",
            weight=case.weight,
            cluster=case.cluster or "",
            tags=tuple(case.tags),
            file=place.file,
            scored=resolve(suite, case, overrides).trials,
        )

    try:
        rows = [row(nodeid) for nodeid in nodeids if not split_nodeid(nodeid).variant]
    except (KeyError, ToolevalError):
        return []
    return [row for row in rows if row.outcome != "skipped"]
