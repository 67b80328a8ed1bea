"""The verdict of a run in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..engine.fallbacks import fallback_text
from ..record.comparison import Comparison
from ..record.document import RowsDocument
from ..record.gates import Gate
from ..record.gates import Verdict
from ..record.results import CaseRow
from ..record.run import Run
from ..record.run import Status
from ..record.summary import Fallback
from ..text import counted
from ..verdicts.rules import judged_by

Outcome = Literal["passed", "failed", "inconclusive", "skipped"]
# A model that lacks answers has not failed.
ModelVerdict = Verdict | Literal["error"]
# Words and colours of a terminal.
VERDICTS: dict[ModelVerdict, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "red"),
    "error": ("ERROR", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}
# pytest's own exit codes beyond passed, failed, and no test collected.
_EXITS = {2: "interrupted", 3: "pytest internal error", 4: "pytest usage error"}

TOLERATED, COUNTED, NOT_JUDGED = "tolerated", "counted by a failed gate", "not judged yet"
OTHER_TEST = "another test in the run failed"
_EMPTY = "Nothing was evaluated"
_NOTHING_COLLECTED = 5


class RunWords(Struct, frozen=True):
    """The verdict of a run, the outcome that marks it, and the reasons."""

    outcome: Outcome
    words: str
    details: list[str]


def run_verdict(run: Run, *, is_empty: bool, failed: bool, unsure: bool) -> tuple[Outcome, str]:
    """The outcome that marks a run, and its verdict.

    `is_empty`: no case ran, so the run has not passed, whatever its exit status.
    `failed`: a case, a gate or the baseline failed.
    `unsure`: `is_inconclusive` says so of its gates and comparison.
    """
    if run.status == "running":
        return "skipped", "Running"
    if why := ending(run.status, run.exitstatus):
        return "failed", f"Incomplete ({why})"
    if run.exitstatus or failed:
        return "failed", _EMPTY if run.exitstatus == _NOTHING_COLLECTED else "Failed"
    if is_empty:
        return "skipped", _EMPTY
    if run.shard is not None:
        return "skipped", f"Shard {run.shard.number}/{run.shard.of}, not judged"
    return ("inconclusive", "Inconclusive") if unsure else ("passed", "Passed")


def is_inconclusive(gates: Iterable[Gate], baseline: Comparison | None) -> bool:
    """Whether a gate, or a baseline against which something got worse, could not decide."""
    unsure = baseline is not None and baseline.verdict == "inconclusive" and not baseline.is_only_unsure
    return unsure or any(gate.verdict == "inconclusive" for gate in gates)


def run_words(document: RowsDocument) -> RunWords:
    """The verdict, and the reasons by cases, gates and baseline."""
    run, total, baseline = document.run, document.run.total, document.baseline
    failed = total.fails_run or any(gate.failed for gate in document.gates)
    failed = failed or bool(baseline and baseline.failed)
    unsure = is_inconclusive(document.gates, baseline)
    is_empty = total.cases == total.skipped
    outcome, words = run_verdict(run, is_empty=is_empty, failed=failed, unsure=unsure)
    details = _problems(document)
    tolerated = [f"{count} {word}" for word, count in tolerated_words(document).items()]
    if words == "Failed":
        details = details or [OTHER_TEST]
    elif outcome == "skipped" and words == _EMPTY:
        details = [f"{counted(total.cases, 'case')} skipped" if total.cases else "no case was collected"]
    elif outcome != "failed":  # a run can pass in spite of problems
        details = [f"{total.passed} of {counted(total.cases, 'result')} passed", *details]
    return RunWords(outcome, words, details + tolerated)


def _problems(document: RowsDocument) -> list[str]:
    run, total, baseline = document.run, document.run.total, document.baseline
    results, gates = counted(total.cases, "result"), counted(len(document.gates), "gate")
    failed = sum(gate.failed for gate in document.gates)
    unsure = sum(gate.verdict == "inconclusive" and not gate.failed for gate in document.gates)
    found = [
        (total.cases < run.selected, f"only {total.cases} of {counted(run.selected, 'result')}"),
        (total.forbidden, f"{counted(total.forbidden, 'result')} with a forbidden call"),
        (total.fails_run and total.failed, f"{total.failed} of {results} failed"),
        (total.fails_run and total.errors, f"{counted(total.errors, 'result')} without an answer"),
        (failed, f"{failed} of {gates} failed"),
        (unsure, f"{unsure} of {gates} inconclusive"),
        (baseline and baseline.verdict == "inconclusive", "comparison with the baseline inconclusive"),
        (baseline and baseline.verdict == "failed", "worse than the baseline"),
        (run.collection_errors, f"{counted(run.collection_errors, 'file')} could not be read"),
        (run.exitstatus == _NOTHING_COLLECTED, "no test was collected"),
    ]
    return [words for is_so, words in found if is_so]


def ending(status: Status, exitstatus: int | None) -> str:
    """Why a run is incomplete; empty if it is complete."""
    return _EXITS.get(exitstatus or 0, "") if status == "finished" else status


def cases_text(cases: int, selected: int) -> str:
    """`6`, or `3 of 6` if the run ended before all selected cases ran."""
    return f"{cases} of {selected}" if cases < selected else str(cases)


def tolerated_word(case: CaseRow, document: RowsDocument) -> str:
    """The word for a failure that a gate judges; `tooleval merge` judges those of shards."""
    if document.run.shard is not None:
        return NOT_JUDGED
    failed = any(gate.failed and judged_by(case, gate) for gate in document.gates)
    return COUNTED if failed else TOLERATED


def tolerated_words(document: RowsDocument) -> Counter[str]:
    """How many cases have which word."""
    return Counter(tolerated_word(case, document) for case in document.cases if case.tolerated)


def option_text(name: str, value: object) -> str:
    """`trials=5`, `fail-under=0.9,tag=smoke:1`."""
    return f"{name}={','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}"


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """What a model was sent instead of what it refuses, on one line; empty for nothing."""
    return "; ".join(
        f"{fallback_text(each.parameter, each.sent)} ({counted(each.cases, 'case')})"
        for each in fallbacks
    )
