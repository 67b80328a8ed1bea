"""`--tooleval-estimate`: what the selected cases would send and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ..engine.estimate import estimate
from ..record.events import Estimated
from ..reports.planning import Design, design_lines, estimate_lines
from ..run.eval_run import EvalRun
from .items import CaseItem, is_skipped
from .processes import will_run


class EstimateOnly:
    """Shows the estimate instead of running anything."""

    def __init__(self, run: EvalRun) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if not will_run(session):
            return None
        chosen = [item for item in session.items if isinstance(item, CaseItem) and not is_skipped(item)]
        # A variant that leaves a case unchanged sends no request.
        chosen = [item for item in chosen if not item.case.arm.is_same]
        rows = tuple(estimate(item.task.job for item in chosen))
        settings = self._run.settings
        estimated = Estimated(models=rows, most_trials=settings.asking.most_trials)
        self._run.observers.estimated(estimated)
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.section("tool calling: estimate, nothing was asked", sep="=")
            for number, line in enumerate(estimate_lines(estimated)):
                reporter.write_line(line, bold=number == 0)
            if settings.judging.baseline is not None:
                for line in _detectable(chosen):
                    reporter.write_line(line)
        return True


def _detectable(items: Sequence[CaseItem]) -> Iterator[str]:
    """Which drops the comparison with the baseline can detect, at typical pass rates."""
    from ..verdicts.simulation import typical_pass_rates

    cases = {item.case.id: item.case for item in items if not item.case.arm.variant}
    if cases:
        trials = min(case.trials for case in cases.values())
        yield from design_lines(Design("typical pass rates", len(cases), trials, [typical_pass_rates]))
