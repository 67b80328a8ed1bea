"""`--tooleval-estimate`: what the selected cases would send and cost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ..engine.estimate import Estimate, estimate
from ..figures import usd_text
from ..reports.aligned import aligned
from ..text import printable
from .case_queue import is_skipped
from .items import CaseItem
from .state import RunState, will_run


class EstimateOnly:
    """Shows the estimate instead of running anything."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not will_run(session):
            return None
        settings, cassettes = self._state.settings, self._state.queue.cassettes
        chosen = [item for item in session.items if isinstance(item, CaseItem) and not is_skipped(item)]
        # A variant that leaves a case unchanged sends no request.
        chosen = [item for item in chosen if not item.case.arm.is_same]
        jobs = (item.job for item in chosen if item.job is not None)
        cases = ((job.case, job.model, cassettes.of(job.suite), job.user) for job in jobs)
        rows = estimate(cases, settings.judge)
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            _write(reporter, rows)
            if settings.most_trials is not None:
                most = settings.most_trials
                reporter.write_line(f"a first step of --tooleval-trials=auto; up to {most} trials each")
        return True


def _write(reporter: pytest.TerminalReporter, rows: Sequence[Estimate]) -> None:
    cells = [["model", "cases", "replayed", "calls", "prompt tokens", "reasoning", "cost"]]
    for row in rows:
        calls = str(row.calls) if row.calls == row.most_calls else f"{row.calls} to {row.most_calls}"
        if row.least_usd is None or row.most_usd is None:
            cost = "tokens unknown" if row.has_price else "price unknown"
        else:
            cost = f"{usd_text(row.least_usd)} to {usd_text(row.most_usd)}" if row.most_usd else "-"
        tokens = f"{row.prompt_tokens:,}" if row.prompt_tokens else "-"
        reasoning = f"up to {row.most_reasoning_tokens:,}" if row.most_reasoning_tokens else "-"
        counts = [str(row.cases), str(row.replayed), calls, tokens, reasoning]
        cells.append([printable(row.model), *counts, cost])
    if all(row[5] == "-" for row in cells[1:]):
        cells = [[*row[:5], row[6]] for row in cells]
    reporter.section("tool calling: estimate, nothing was asked", sep="=")
    for number, line in enumerate(aligned(cells, texts=(0,))):
        reporter.write_line(line, bold=number == 0)
    if any(row.prompt_tokens for row in rows):
        reporter.write_line(
            "prompt tokens: one for each 4 characters of the first question and its tools"
        )
    if not all(row.has_price for row in rows):
        reporter.write_line(
            "give a model prices with input_price and output_price in its table (USD per million tokens)"
        )
