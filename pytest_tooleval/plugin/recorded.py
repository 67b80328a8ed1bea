"""Matches the recorded runs of `--tooleval-transcripts` with cases."""

from __future__ import annotations

from collections.abc import Sequence

from ..imports.recorded.run import RecordedRun
from ..imports.recorded.run import find_runs
from ..record.transcript import text_of
from ..secrets import redacted
from ..suite.model import Suite
from ..text import counted
from ..text import printable
from ..text import shown

_SHOWN = 20


class RecordedRuns:
    """The recorded runs, and those without a matching case so far."""

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._runs = runs
        self._left = {id(run): f"{run.place}: {_named(run)}" for run in runs}
        self._misnamed = {id(run): f"{run.place}: {_named(run)}" for run in runs if run.case}

    def of_suite(self, suite: Suite) -> dict[str, list[RecordedRun]]:
        """The runs of each case of a suite that has any."""
        found = find_runs(suite, self._runs)
        for runs in found.runs.values():
            for run in runs:
                self._left.pop(id(run), None)
                self._misnamed.pop(id(run), None)
        for run, why in found.unclear:
            self._misnamed.pop(id(run), None)
            if id(run) in self._left:
                self._left[id(run)] = f"{run.place}: {why}"
        return found.runs

    def misnamed(self) -> list[str]:
        """Runs that name an unknown case, without which a gate may lack results."""
        return [printable(line) for line in self._misnamed.values()]

    def left(self) -> list[str]:
        """Lines about the runs without a matching case; empty if there are none."""
        if not self._left:
            return []
        lines = [f"no case: {printable(line)}" for line in self._left.values()]
        more = [f"no case: {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        total = f"{counted(len(lines), 'recorded run')} of {len(self._runs)} NOT JUDGED: no case matches"
        return [total, *lines[:_SHOWN], *more]


def _named(run: RecordedRun) -> str:
    if run.case:
        return f"these suites have no case {shown(run.case)}"
    said = next((text_of(each) for each in run.messages if each.get("role") == "user"), "")
    return f'no case has its id or begins with "{shown(redacted(said))}"'
