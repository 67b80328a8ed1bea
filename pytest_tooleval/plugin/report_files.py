"""Writes reports at the end of a run, and GitHub's output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from ..reports.outputs import on_github, write_reports
from .history import Keeper
from .state import Observer, RunState

if TYPE_CHECKING:
    from ..history import Trend


class ReportFiles(Observer):
    """Writes the files of --tooleval-report. The HTML report also shows earlier runs."""

    def __init__(self, state: RunState, history: Keeper | None) -> None:
        # The reports to write, lines about those that could not be written, and GitHub's annotations.
        self.reports = state.settings.outputs.reports
        self.unwritten: list[str] = []
        self.annotations: list[str] = []
        self._state = state
        self._history = history

    def finished(self) -> None:
        state, config, outputs = self._state, self._state.config, self._state.settings.outputs
        document = state.book.whole_document()
        trends: Sequence[Trend] = ()
        if self._history is not None and outputs.writes("html"):
            trends = self._history.trends(document)
        others = config.pluginmanager.hasplugin("pytest_github_actions_annotate_failures")
        self.unwritten, self.annotations = write_reports(
            document,
            self.reports,
            trends,
            config.rootpath,
            github=bool(state.book.cases) and on_github(outputs.github),
            failures=not others,
        )
        if self.unwritten:
            state.facts.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
