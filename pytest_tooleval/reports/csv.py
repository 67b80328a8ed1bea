"""The trials of a run as CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ..record.calls import ToolCall
from ..record.document import Document
from ..record.metrics import ordered_metrics
from ..record.results import CaseResult
from ..record.transcript import Transcript
from ..text import printable
from .columns import COLUMNS

_OF_CASE = ("suite", "file", "line", "case", "model", "variant", "outcome", "counted", "tolerated")
_BEFORE = ("run", *_OF_CASE)
_VERDICT = ("trial", "passed", "failure")
_MEASURED = [column.name for column in COLUMNS if "csv" in column.shown]
_AFTER = ("tags", "reason", "error", "calls")
# Where a spreadsheet may see a formula: at the start of a cell, and after a semicolon, which separates
# cells in locales with a decimal comma. Full-width signs count too.
_FORMULA = re.compile(r"(^|;)(?=\s*[=+\-@＝＋－＠])")

Cell = str | int | float


def csv_text(document: Document) -> str:
    """One row per trial, and one for a case without trials; RFC 4180, lines end in CR LF.

    The score of each metric is in `score.METRIC`. `calls` is JSON, a list of `{"name", "arguments"}`;
    arguments that are not a JSON object are the model's text. Unknown values are empty. Control
    characters are escaped, and text that a spreadsheet would run as a formula gets an apostrophe.
    """
    cases = document.cases
    of_trials = (name for case in cases for trial in case.trials for name in trial.scores)
    metrics = ordered_metrics([*(name for case in cases for name in case.scores), *of_trials])
    columns = [*_BEFORE, *_VERDICT, *map(_score_column, metrics), *_MEASURED, *_AFTER]
    run = document.run.id
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\r\n")
    writer.writeheader()
    for case in cases:
        for row in _rows(case):
            writer.writerow({name: _cell(value) for name, value in {"run": run, **row}.items()})
    return file.getvalue()


def _rows(case: CaseResult) -> Iterator[dict[str, Any]]:
    """The values of each trial by column, or those of a case without trials."""
    of_case = {name: getattr(case, name) for name in (*_OF_CASE, "reason")}
    of_case |= {"line": case.line or None, "tags": " ".join(case.tags)}
    if not case.trials:
        yield {**of_case, **{_score_column(name): value for name, value in case.scores.items()}}
    for trial in case.trials:
        error, transcript = trial.error, trial.transcript
        yield {
            **of_case,
            **{name: getattr(trial, name) for name in (*_VERDICT, *_MEASURED)},
            **{_score_column(name): score.value for name, score in trial.scores.items()},
            "error": f"{error.kind}: {error.message}" if error else None,
            "calls": _calls_text(transcript) if transcript else None,
        }


def _score_column(metric: str) -> str:
    return f"score.{printable(metric)}"


def _calls_text(transcript: Transcript) -> str:
    """The calls as JSON, with escapes for characters that are not printable or could act."""
    calls = [{"name": call.name, "arguments": _arguments(call)} for call in transcript.calls]
    text = json.dumps(calls, ensure_ascii=False)
    # These characters only occur in strings, where JSON allows escapes.
    text = text.replace(";", "\\u003b")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _arguments(call: ToolCall) -> object:
    return call.raw_arguments if call.arguments is None else call.arguments


def _cell(value: object) -> Cell:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return value if math.isfinite(value) else ""
    if isinstance(value, int):
        return value
    return _text(str(value))


def _text(text: str) -> str:
    return _FORMULA.sub(r"\1'", printable(text))
