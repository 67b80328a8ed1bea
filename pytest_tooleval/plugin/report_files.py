"""Writes reports at the end of a run, and GitHub's output."""

from __future__ import annotations

import pytest

from ..reports.outputs import leave, on_github
from .history import Keeper
from .state import Observer, RunState


class ReportFiles(Observer):
    """Writes the files of --tooleval-report. The HTML report also shows earlier runs."""

    def __init__(self, state: RunState, history: Keeper | None) -> None:
        self._state = state
        self._history = history

    def finished(self) -> None:
        state, config = self._state, self._state.config
        document = state.whole_document()
        trends = None
        if self._history is not None and state.settings.writes("html"):
            trends = self._history.trends(document)
        others = config.pluginmanager.hasplugin("pytest_github_actions_annotate_failures")
        state.reports = state.settings.reports
        state.unwritten, state.annotations = leave(
            document,
            state.reports,
            trends,
            config.rootpath,
            github=bool(state.cases) and on_github(state.settings.github),
            failures=not others,
        )
        if state.unwritten:
            state.exitstatus = int(pytest.ExitCode.USAGE_ERROR)
