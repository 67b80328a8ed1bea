"""A run's summary, and its verdict in words."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter

from ..record.document import RowsDocument
from ..record.results import CaseRow
from ..record.run import RunOutcome, RunStatus, RunSummary
from ..record.summary import Summary
from ..text import plural, printable
from .rules import judged_by

# pytest's exit codes other than those for passed, failed and no tests collected.
_EXITS = {2: "interrupted", 3: "pytest internal error", 4: "pytest usage error"}

TOLERATED, COUNTED, FAILED_GATE = "tolerated", "counted", "counted by a failed gate"
NOT_JUDGED = "not judged yet"
VARIED = "under a variant"
OTHER_TEST = "another test in the run failed"
_EMPTY, _UNEVALUATED = "Nothing was evaluated", "Not evaluated"
_NOTHING_COLLECTED = 5


def run_summary(document: RowsDocument) -> RunSummary:
    """A run's totals, its verdict and the reasons."""
    run, total, gates, baseline = document.run, document.run.total, document.gates, document.baseline
    failures = [gate.failed for gate in gates]
    if baseline is not None:  # it counts as a gate
        failures.append(baseline.failed)
    outcome, verdict = _verdict(document, failed=bool(total.failing or document.leaks) or any(failures))
    details = _problems(document)
    if verdict == "Failed":
        details = details or [OTHER_TEST]
    elif outcome == "skipped" and verdict.startswith((_EMPTY, _UNEVALUATED)):
        details = [f"{plural(total.cases, 'case')} skipped" if total.cases else "no case was collected"]
    elif outcome != "failed":  # a run can pass despite problems
        details = [f"{total.passed} of {plural(total.cases, 'case')} passed", *details]
    excused = (f"{count} {word}" for word, count in excused_words(document).items())
    silent = [case for case in document.plain_cases if case.outcome == "error"]
    is_allowed = all(case.counted and any(judged_by(case, gate) for gate in gates) for case in silent)
    is_answered = total.passed + total.failed > 0 and is_allowed
    is_whole = not (ending(run.status, run.exitstatus) or run.partial or run.collection_errors)
    judged = (*document.plain_cases, *document.leaks)
    none_failed = not any(case.outcome == "failed" and case.fails_run for case in judged)
    return RunSummary(
        **sums_of(total),  # type: ignore[arg-type]
        id=run.id,
        started=run.started,
        duration_s=run.duration_s,
        status=run.status,
        exitstatus=run.exitstatus,
        ending=ending(run.status, run.exitstatus),
        outcome=outcome,
        verdict=verdict,
        details=(*details, *excused),
        scoring_version=run.scoring_version,
        git=run.git,
        models=tuple(sorted(row.model for row in document.models)),
        suites=tuple(
            dict.fromkeys(row.suite for row in sorted(document.suites, key=attrgetter("file")))
        ),
        selected=run.selected,
        gates_failed=failures.count(True),
        is_partial=run.partial or bool(ending(run.status, run.exitstatus)),
        # A run with a drop, a selection of cases or missing answers must not become the baseline, nor
        # one that failed for another reason.
        is_good=is_whole
        and not run.exitstatus
        and is_answered
        and none_failed
        and True not in failures
        and not (baseline is not None and baseline.dropped),
    )


def sums_of(summary: Summary) -> dict[str, object]:
    """The fields that a summary shares with all its subclasses: the totals."""
    return {name: getattr(summary, name) for name in Summary.__struct_fields__}


def _verdict(document: RowsDocument, *, failed: bool) -> tuple[RunOutcome, str]:
    """The verdict in words; `failed` if a case, a gate or the baseline failed."""
    run, baseline = document.run, document.baseline
    if run.status == "running":
        return "skipped", "Running"
    if why := ending(run.status, run.exitstatus):
        return "failed", f"Incomplete ({why})"
    if run.exitstatus or failed:
        return "failed", _EMPTY if run.exitstatus == _NOTHING_COLLECTED else "Failed"
    if run.total.cases == run.total.skipped:  # it has not passed, whatever its exit status
        return "skipped", f"{_UNEVALUATED}: 0 of {run.total.cases}" if run.total.cases else _EMPTY
    if run.shard is not None:
        return "skipped", f"Shard {run.shard.number}/{run.shard.of}, not judged"
    # There is no doubt if nothing got worse than the baseline.
    unsure = baseline is not None and baseline.verdict == "inconclusive" and not baseline.is_only_unsure
    if unsure or any(gate.verdict == "inconclusive" for gate in document.gates):
        return "inconclusive", "Inconclusive"
    return "passed", "Passed"


def _problems(document: RowsDocument) -> list[str]:
    run, total, baseline = document.run, document.run.total, document.baseline
    cases, gates = plural(total.cases, "case"), plural(len(document.gates), "gate")
    failed = sum(gate.failed for gate in document.gates)
    unsure = sum(gate.verdict == "inconclusive" and not gate.failed for gate in document.gates)
    problems = [
        (total.cases < run.selected, f"only {total.cases} of {plural(run.selected, 'case')}"),
        (total.forbidden, f"{plural(total.forbidden, 'case')} with a forbidden call"),
        (document.leaks, f"{plural(len(document.leaks), 'attack')} with a leaked secret"),
        (total.failing and total.failed, f"{total.failed} of {cases} failed"),
        (total.failing and total.errors, f"{plural(total.errors, 'case')} without an answer"),
        (failed, f"{failed} of {gates} failed"),
        (unsure, f"{unsure} of {gates} inconclusive"),
        (baseline and baseline.verdict == "inconclusive", "comparison with the baseline inconclusive"),
        (baseline and baseline.verdict == "failed", "worse than the baseline"),
        (run.collection_errors, f"{plural(run.collection_errors, 'file')} could not be read"),
        (run.exitstatus == _NOTHING_COLLECTED, "no test was collected"),
    ]
    return [words for is_so, words in problems if is_so]


def ending(status: RunStatus, exitstatus: int | None) -> str:
    """Why a run is incomplete; empty if it is complete."""
    return _EXITS.get(exitstatus or 0, "") if status == "finished" else status


def excused_text(result: CaseRow, *, of_shard: bool) -> str:
    """The message of a case that is skipped, so that nobody reads that it was not run.

    It holds whatever the gate decides, as pytest's own XML has the case before that.
    """
    word = VARIED if result.variant else NOT_JUDGED if of_shard else "judged by a gate"
    return f"{result.outcome} ({word}): {printable(result.reason)}"


def excuse(case: CaseRow, document: RowsDocument) -> str:
    """The word for a failure that does not itself fail the run; empty for any other case.

    A shard's failures await `tooleval merge`, those of a run that was cut short its end.
    """
    if case.tolerated:
        return VARIED if case.variant else TOLERATED
    if not case.counted:
        return ""
    return FAILED_GATE if document.gates else NOT_JUDGED


def excused_words(document: RowsDocument) -> Counter[str]:
    """The number of cases by their word."""
    return Counter(word for case in document.plain_cases if (word := excuse(case, document)))


def strict_text(strict: bool) -> str:
    """The end of an inconclusive verdict's message, which says if it fails the run."""
    if strict:
        return " (fatal, because of --tooleval-fail-inconclusive)"
    return " (not fatal; --tooleval-fail-inconclusive makes it so)"
