"""The verdict of a run in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ..engine.fallbacks import fallback_text
from ..record.document import RowsDocument
from ..record.gates import Verdict
from ..record.run import Status
from ..record.summary import Fallback
from ..text import counted

# Words and colours of a terminal.
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "passed": ("passed", "green"),
    "failed": ("FAILED", "red"),
    "inconclusive": ("INCONCLUSIVE", "yellow"),
}
# pytest's own exit codes beyond passed, failed, and no test collected.
EXITS = {2: "interrupted", 3: "pytest internal error", 4: "pytest usage error"}

OTHER_TEST = "another test in the run failed"
_NOTHING_COLLECTED = 5


class RunWords(Struct, frozen=True):
    """The verdict of a run, the outcome that marks it, and the reasons."""

    outcome: Literal["passed", "failed", "skipped"]
    words: str
    details: list[str]


def run_words(document: RowsDocument) -> RunWords:
    """The verdict by pytest's exit status, cases, gates and baseline.

    A run that evaluated nothing has not passed, whatever its exit status.
    """
    run, total = document.run, document.run.total
    details = _problems(document)
    tolerated = [f"{total.tolerated} {tolerated_word(run.shard)}"] if total.tolerated else []
    why = ending(run.status, run.exitstatus)
    if why:
        return RunWords("failed", f"Incomplete ({why})", details + tolerated)
    failed = total.fails_run or any(gate.failed for gate in document.gates)
    if run.exitstatus or failed or (document.baseline and document.baseline.failed):
        words = "Nothing was evaluated" if run.exitstatus == _NOTHING_COLLECTED else "Failed"
        return RunWords("failed", words, (details or [OTHER_TEST]) + tolerated)
    if total.cases == total.skipped:
        skipped = f"{counted(total.cases, 'case')} skipped" if total.cases else "no case was collected"
        return RunWords("skipped", "Nothing was evaluated", [skipped])
    passed = f"{total.passed} of {counted(total.cases, 'result')} passed"
    if run.shard is not None:
        words = f"Shard {run.shard.number}/{run.shard.of}, not judged"
        return RunWords("skipped", words, [passed, *details, *tolerated])
    # A run can pass in spite of problems.
    return RunWords("passed", "Passed", [passed, *details, *tolerated])


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
    return EXITS.get(exitstatus or 0, "") if status == "finished" else status


def cases_text(cases: int, selected: int) -> str:
    """`6`, or `3 of 6` if the run ended before all selected cases ran."""
    return f"{cases} of {selected}" if cases < selected else str(cases)


def tolerated_word(shard: object | None) -> str:
    """The word for a failure that does not fail the run; `tooleval merge` judges those of shards."""
    return "tolerated" if shard is None else "not judged yet"


def option_text(name: str, value: object) -> str:
    """`trials=5`, `fail-under=0.9,tag=smoke:1`."""
    return f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"


def fallbacks_text(fallbacks: Sequence[Fallback]) -> str:
    """What a model was sent instead of what it refuses, on one line; empty for nothing."""
    return "; ".join(
        f"{fallback_text(each.parameter, each.sent)} ({counted(each.cases, 'case')})"
        for each in fallbacks
    )
