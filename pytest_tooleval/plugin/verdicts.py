"""Gates and the baseline inside pytest: failures that are tolerated, and failures of no item."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..record.comparison import Comparison
from ..record.gates import Gate
from ..record.results import CaseResult
from ..record.results import CaseRow
from ..record.run import Run
from ..reports.text import render_case
from ..text import printable
from .settings import Settings

# Before the words of a gate that failed; also the file in a report's node id, as pytest wants one.
GATE_FILE = "tooleval"


def tolerate(report: pytest.TestReport, result: CaseResult, settings: Settings) -> bool:
    """Let a failure of the model, or an error, not fail the run where a gate will judge.

    A forbidden call is never tolerated. The report becomes a skipped one, as pytest itself does with an
    expected failure; its reason is all that a failure shows. Returns whether it did.
    """
    if result.outcome == "failed":
        covered = any(gate.covers(result) for gate in settings.gates.fail_under)
        by_gate = covered and not result.called_forbidden
    else:
        by_gate = settings.gates.max_errors is not None and bool(result.trials)
    if not report.failed or not by_gate:
        return False
    text = render_case(result) if result.outcome == "failed" else printable(result.reason)
    report.outcome = "skipped"
    report.longrepr = (result.file, result.line, f"tolerated: {text}")
    return True


def judge_run(cases: Sequence[CaseRow], settings: Settings) -> list[Gate]:
    """All gates. Gates of the ini file say nothing of a run without a case."""
    gates = settings.gates
    if not gates or (not gates.asked and not any(case.model for case in cases)):
        return []
    from ..verdicts.budgets import judge_budgets
    from ..verdicts.gates import judge_gates

    confidence = gates.confidence
    if confidence is not None:
        confidence = 1 - _of_each_look(1 - confidence, settings)
    judged = judge_gates(cases, gates.fail_under, gates.max_errors, confidence, strict=settings.strict)
    return judged + judge_budgets(cases, gates.budgets)


def _of_each_look(error: float, settings: Settings) -> float:
    """The part of a chance of error that each round may use up.

    With --tooleval-trials=auto there are at most so many looks at the verdict as trials. As much for
    each is alpha spending (Lan & DeMets 1983) at a steady rate (Kim & DeMets 1987), and by
    Bonferroni's inequality it holds for all looks together, however they hang together.
    """
    return error / (settings.most_trials or 1)


def undecided(
    cases: Sequence[CaseRow], gates: Sequence[Gate], comparison: Comparison | None
) -> set[str]:
    """The node ids of the cases on which a verdict hangs that more trials may decide."""
    found = {
        case.nodeid
        for gate in gates
        # pass^3 has no value yet after two trials.
        if gate.verdict == "inconclusive" or (gate.kind == "fail_under" and gate.value is None)
        for case in cases
        if case.model == gate.model
        and gate.suite in (None, case.suite)
        and (gate.tag is None or gate.tag in case.tags)
    }
    if comparison is None:
        return found
    models = {model.new for model in comparison.models if model.verdict == "inconclusive"}
    apart = {(c.suite, c.case) for c in (*comparison.cases.added, *comparison.cases.changed)}
    return found | {
        case.nodeid for case in cases if case.model in models and (case.suite, case.case) not in apart
    }


def compare_run(
    cases: Sequence[CaseRow], run: Run, settings: Settings, store: Path
) -> Comparison | None:
    """What the comparison with the baseline found, None without one. `store` is the `.tooleval`.

    Raises ToolevalError for models that one of the runs does not have.
    """
    baseline = settings.baseline
    if baseline is None:
        return None
    from ..history import load_document
    from ..verdicts.baseline import ALPHA
    from ..verdicts.baseline import Side
    from ..verdicts.baseline import compare

    evaluated = [case for case in cases if case.model]
    document = baseline.document
    if baseline.name.startswith("good"):
        # Which run that is depends on the files and models of this one, known only now.
        former = {now: before for before, now in baseline.models}
        pairs = {(case.file, str(former.get(case.model) or case.model)) for case in evaluated}
        document = load_document(baseline.name, store, holding=pairs)
    return compare(
        Side(baseline.name, document.run, _selected(document.cases, evaluated)),
        Side("this run", run, evaluated),
        models=baseline.models,
        alpha=_of_each_look(ALPHA, settings),
        max_drop=baseline.max_drop,
        strict=settings.strict,
    )


def _selected(old: Sequence[CaseRow], new: Sequence[CaseRow]) -> list[CaseRow]:
    """The old rows without those that this run may hold and did not select: they are not removed."""
    ran: dict[str, set[str]] = {}
    whole: dict[str, int] = {}
    for case in new:
        # By the file, as two may have a suite of one name; by the name for a file that was moved.
        for place in (case.file, case.suite):
            ran.setdefault(place, set()).add(case.case)
            whole[place] = case.suite_cases

    def may_be_compared(case: CaseRow) -> bool:
        place = case.file if case.file in ran else case.suite
        return place not in ran or len(ran[place]) >= whole[place] or case.case in ran[place]

    return list(filter(may_be_compared, old))


def remember_tolerated(session: pytest.Session, cases: Sequence[CaseRow]) -> None:
    """Let --lf run again what made a gate fail."""
    remembered = getattr(session.config.pluginmanager.getplugin("lfplugin"), "lastfailed", None)
    if remembered is None:
        return
    for case in cases:
        if case.tolerated and not case.was_expected:
            remembered[case.nodeid] = True


def report_verdict(session: pytest.Session, name: str, message: str, *, failed: bool = True) -> None:
    """Report a failure that belongs to no item, as xdist does for a worker that crashed.

    So it stands in the terminal, in JUnit's file and in annotations, and not only in the exit code.
    What is inconclusive and does not fail the run stands there as skipped, with the reason.
    """
    report = pytest.TestReport(
        nodeid=f"{GATE_FILE}::{printable(name)}",
        # The space at the end: pytest takes an end of the id that is the same for the path of a class,
        # and writes the dots in it as `::`.
        location=(GATE_FILE, None, printable(name) + " "),
        keywords={},
        outcome="failed" if failed else "skipped",
        longrepr=printable(message) if failed else (GATE_FILE, 0, printable(message)),
        when="call",
    )
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()  # the line of dots ends with [100%]
    session.testscollected += 1
    session.testsfailed += failed
    # Not for those who would stop the run or begin the next one with it: all tests have run, and no
    # later run could report it as passed.
    manager = session.config.pluginmanager
    names = ("session", "lfplugin", "stepwiseplugin")
    others = manager.subset_hook_caller("pytest_runtest_logreport", map(manager.getplugin, names))
    others(report=report)
