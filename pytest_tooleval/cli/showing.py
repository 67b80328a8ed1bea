"""The output of `tooleval show`: a summary of a run, or every trial of a case."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from ..figures import seconds_text
from ..record.document import RowsDocument
from ..record.results import CaseResult, TrialResult
from ..record.run import Run
from ..reports.confusion import confusion_text
from ..reports.run_lines import score_lines, verdict_lines
from ..reports.run_text import option_text
from ..reports.text import render_scores, render_transcript
from ..text import local_time, printable
from ..verdicts.words import ending
from .tables import branch_text, commit_text, short

_WRONG = ("failed", "error")


def run_lines(document: RowsDocument, model: str | None, *, all_failed: bool) -> Iterator[str]:
    """A run as pytest shows it: origin, tables, a line for each failed case (20 or all), the verdict."""
    yield from [*_head(document.run), ""]
    lines = [
        *score_lines(document, model, whole=True),
        *verdict_lines(document, model, whole=all_failed, listed=lambda row: row.outcome in _WRONG),
    ]
    yield from (line.text for line in lines)


def _head(run: Run) -> Iterator[str]:
    how = ", ".join(filter(None, [seconds_text(run.duration_s), ending(run.status, run.exitstatus)]))
    yield f"run {short(run.id)}  {local_time(run.started)}, {how}"
    about = {
        "commit": " ".join(filter(None, [commit_text(run.git), branch_text(run.git)])),
        "options": ", ".join(starmap(option_text, run.options.items())),
        "versions": f"pytest-tooleval {run.pytest_tooleval}, pytest {run.pytest}, Python {run.python}",
    }
    yield from (f"{name}: {short(text, 300)}" for name, text in about.items() if text)


def confusion_lines(document: RowsDocument, model: str | None) -> Iterator[str]:
    """The confusion matrix of each model, or of one."""
    found = [each for each in document.confusion if model in (None, each.model)]
    if not found:
        yield "no answered case expects a tool or no call"
    for each in found:
        yield from [*confusion_text(each), ""]


def case_lines(result: CaseResult, *, only_failed: bool) -> Iterator[str]:
    """The verdict of a case, then scores and transcript of each trial, or each failed one."""
    yield printable(f"{result.suite} :: {result.case} [{result.model}]  {result.outcome_text}")
    yield printable(f"{result.file}:{result.line}")
    if result.reason:
        yield printable(result.reason)
    for trial in result.trials:
        if not (only_failed and trial.passed):
            yield from _trial_lines(trial, result)
    yield ""


def _trial_lines(trial: TrialResult, result: CaseResult) -> Iterator[str]:
    word = "error" if trial.error else "passed" if trial.passed else "failed"
    yield ""
    yield f"trial {trial.trial + 1} of {len(result.trials)}: {word}"
    if trial.error:
        yield f"  {printable(trial.error.message)}"
    blocks = [render_scores(trial, result) if trial.scores else "", render_transcript(trial)]
    yield from (printable(block, keep_newlines=True) for block in blocks if block)
