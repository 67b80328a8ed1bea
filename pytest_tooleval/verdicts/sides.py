"""A run to compare, and how to get its transcripts and suites."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import SuiteError, ToolevalError
from ..record.gates import Gate
from ..record.results import CaseResult, CaseRow
from ..record.run import Run

if TYPE_CHECKING:
    from ..suite.model import Suite

# Run names that may refer to a different run each time.
RUN_WORD = re.compile(r"(?P<word>latest|good)(?::(?P<branch>[^~]+))?(?:~(?P<back>[0-9]{1,9}))?")
# The baseline that git finds.
BASE_WORD = re.compile(r"auto(?::(?P<branch>.+))?")
# Returns the suite now in a file, given relative to the root folder. Raises ToolevalError.
FindSuite = Callable[[str], "Suite"]


class Side(NamedTuple):
    """One of the two runs, by the name that the user gave.

    `whole` reads the cases with their transcripts, and raises ToolevalError if it cannot; None if they
    are not kept.
    """

    name: str
    run: Run
    cases: Sequence[CaseRow]
    whole: Callable[[], Sequence[CaseResult]] | None = None
    suites: FindSuite | None = None
    gates: Sequence[Gate] = ()

    def has_answer_in(self, holding: Collection[tuple[str, str]]) -> bool:
        """True if a case in one of these files on its model, given as pairs, has an answer."""
        return any(row.answered and (row.file, row.model) in holding for row in self.cases)


def suites_in(root: Path, loaded: Mapping[str, Suite] | None = None) -> FindSuite:
    """Find a project's suites: those `loaded` already, otherwise read without their servers."""

    def find(file: str) -> Suite:
        if loaded and file in loaded:
            return loaded[file]
        from ..suite.load import load_suite

        try:
            return load_suite(root / file, metrics=None)
        except SuiteError as error:
            raise ToolevalError(f"{file}: {error.problems[0].message}") from None

    return find
