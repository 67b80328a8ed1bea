"""`--tooleval-estimate`: what the selected cases would send and cost."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ..engine.estimate import estimate
from ..record.events import Estimated
from ..reports.estimate import estimate_lines
from ..run.eval_run import EvalRun
from ..text import plural
from .items import CaseItem, is_skipped


def show_estimate(config: pytest.Config, run: EvalRun, cases: Iterable[CaseItem]) -> None:
    """Show what the selected cases would send, instead of running anything."""
    # A variant that leaves a case unchanged sends no request.
    jobs = [each.task.job for each in cases if not is_skipped(each) and not each.case.variant.is_same]
    estimated = Estimated(models=tuple(estimate(jobs)))
    run.observers.estimated(estimated)
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None:
        reporter.section("tool calling: estimate, nothing was asked", sep="=")
        for number, line in enumerate(estimate_lines(estimated)):
            reporter.write_line(line, bold=number == 0)
        if more := sum(run.run_facts.tests_by_file.values()):
            reporter.write_line(
                f"not estimated: {plural(more, 'Python test')}, as only a run knows the prompts"
            )
