"""Runs and case rows as a pytest run hands them to the history."""

from __future__ import annotations

from typing import Any

import msgspec
from records import as_json
from records import result_of
from records import trial_of

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.document import RowsDocument
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.results import Outcome
from pytest_tooleval.record.results import Score
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.reports.document import build_document
from pytest_tooleval.rows import pack
from pytest_tooleval.verdicts.baseline import Side
from pytest_tooleval.verdicts.baseline import compare

COMMIT = "5bf4c1d0a9e8f7061524334455667788990011aa"


def case_row(
    case: str = "paris",
    *,
    suite: str = "Weather",
    model: str = "claude-3",
    outcome: Outcome = "passed",
    overall: float | None = 1.0,
    answer: str = "It rains.",
    trials: int = 1,
    cost_usd: float | None = 0.25,
    **fields: Any,
) -> dict[str, Any]:
    """A row with whole trials, as it stands in the result document."""
    reply = Reply(
        message={"role": "assistant", "content": answer},
        calls=(ToolCall("get_weather", {"city": "Paris"}),),
        cost_usd=cost_usd,
        latency_s=0.5,
    )
    transcript = Transcript(({"role": "user", "content": "Rain?"},), (Round(reply),))
    results = tuple(
        trial_of(
            transcript,
            scores={"overall": Score(overall, "half of it", ())},
            passed=outcome == "passed",
            trial=number,
        )
        for number in range(trials)
    )
    given: dict[str, Any] = {
        "nodeid": f"{suite.lower()}.tooleval.json::{case}[{model}]",
        "file": f"{suite.lower()}.tooleval.json",
        "thresholds": {"overall": 1.0},
        "reason": "" if outcome == "passed" else f"overall {overall} < 1.00",
        "tool_choice": "required",
        "content": "c" * 16,
        "suite_content": "5" * 16,
        "suite_cases": 2,
        "line": 3,
    }
    result = result_of(
        suite=suite,
        case=case,
        model=model,
        outcome=outcome,
        scores={"overall": overall},
        trials=results,
        **{**given, **fields},
    )
    made: dict[str, Any] = as_json(result)
    return made


def packed(*cases: dict[str, Any]) -> list[dict[str, Any]]:
    return [pack(msgspec.convert(case, CaseResult)) for case in cases]


def run(started: str = "2026-11-22T10:15:30+00:00", **fields: Any) -> dict[str, Any]:
    """What the result document says of a run, when it is over."""
    return {
        "started": started,
        "duration_s": 12.5,
        "exitstatus": 0,
        "collection_errors": 0,
        "max_cost_usd": None,
        "answers": "shared",
        "pytest_tooleval": "0.1.0",
        "pytest": "9.2.0",
        "python": "3.11.7",
        "options": {"trials": 1},
        "models": [{"model": "claude-3", "calls": "x"}, {"model": "gpt-4o", "calls": "y"}],
        "git": {"commit": COMMIT, "branch": "main", "dirty": False},
        **fields,
    }


def gate(passed: bool) -> dict[str, Any]:
    unknown = dict.fromkeys(("model", "suite", "tag", "needed", "value", "low", "high", "confidence"))
    counts = {"cases": 1, "errors": 0}
    said = {"passed": passed, "message": "overall is 0.5"}
    return {"kind": "fail_under", "name": "overall", "metric": "overall", **unknown, **counts, **said}


def comparison(message: str = "no drop") -> dict[str, Any]:
    """What comparing a run with itself finds."""
    document = msgspec.convert(build_document(run(), [case_row()]), RowsDocument)
    side = Side("latest", document.run, document.cases)
    found: dict[str, Any] = as_json(compare(side, side))
    return {**found, "message": message}
