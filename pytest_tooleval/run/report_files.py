"""Writes reports at the end of a run, and GitHub's output."""

from __future__ import annotations

from ..reports.outputs import FindTrends, on_github, write_reports
from .eval_run import EvalRun
from .observers import Observer

# pytest's exit status for a usage error.
UNWRITTEN = 4


class ReportFiles(Observer):
    """Writes the files of --tooleval-report. The HTML report also shows `trends`.

    `annotates` is False if something else annotates failures on GitHub.
    """

    def __init__(self, run: EvalRun, trends: FindTrends | None, *, annotates: bool) -> None:
        self._run = run
        self._trends = trends
        self._annotates = annotates

    def finished(self) -> None:
        run, outputs = self._run, self._run.settings.outputs
        run.written = write_reports(
            run.whole_document(),
            outputs.reports,
            self._trends,
            run.process.root,
            github=bool(run.results.cases or run.unreadable) and on_github(outputs.github),
            failures=self._annotates,
        )
        if run.written.problems:
            run.exitstatus = UNWRITTEN
