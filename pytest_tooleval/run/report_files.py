"""Writes reports at the end of a run, and GitHub's output."""

from __future__ import annotations

from ..reports.outputs import on_github, write_reports
from .eval_run import EvalRun
from .keeper import Keeper
from .observers import Observer

# pytest's exit status for a usage error.
UNWRITTEN = 4


class ReportFiles(Observer):
    """Writes the files of --tooleval-report. The HTML report also shows earlier runs.

    `annotates` is False if something else annotates failures on GitHub.
    """

    def __init__(self, run: EvalRun, keeper: Keeper | None, *, annotates: bool) -> None:
        # The reports to write, lines about those that could not be written, and GitHub's annotations.
        self.reports = run.settings.outputs.reports
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self._run = run
        self._keeper = keeper
        self._annotates = annotates

    def finished(self) -> None:
        run, outputs = self._run, self._run.settings.outputs
        document = run.whole_document()
        self.unwritten, self.annotations = write_reports(
            document,
            self.reports,
            self._keeper.trends(document) if self._keeper and outputs.writes("html") else (),
            run.process.root,
            github=bool(run.book.cases) and on_github(outputs.github),
            failures=self._annotates,
        )
        if self.unwritten:
            run.exitstatus = UNWRITTEN
