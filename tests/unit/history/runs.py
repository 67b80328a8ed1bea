"""Runs and cases as a pytest run hands them to the history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from builders import result_of, trial_of
from msgspec import structs

from pytest_tooleval.history import History
from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.comparison import Comparison
from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import CaseResult, CaseRow, KeptCase, Outcome, Score
from pytest_tooleval.record.run import SCORING_VERSION, AskedModel, Git, Run, new_run_id
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side

COMMIT = "5bf4c1d0a9e8f7061524334455667788990011aa"


def case_of(
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
) -> CaseResult:
    reply = Reply(
        message={"role": "assistant", "content": answer},
        calls=(ToolCall("get_weather", {"city": "Paris"}),),
        cost_usd=cost_usd,
        latency_s=0.5,
    )
    transcript = Transcript(({"role": "user", "content": "Rain?"},), (reply,))
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
        "case_fingerprint": "c" * 16,
        "suite_fingerprint": "5" * 16,
        "suite_cases": 2,
        "line": 3,
        "trials": results,
    }
    return result_of(
        suite=suite,
        case=case,
        model=model,
        outcome=outcome,
        scores={"overall": overall},
        **{**given, **fields},
    )


def kept(*cases: CaseResult) -> list[KeptCase]:
    texts = map(to_json, cases)
    return [KeptCase(msgspec.json.decode(text, type=CaseRow), text) for text in texts]


def run_of(started: str = "2026-11-22T10:15:30+00:00", **fields: Any) -> Run:
    """What the result document says of a run, when it is over."""
    made = Run(
        id=new_run_id(datetime.fromisoformat(started)),
        started=started,
        duration_s=12.5,
        exitstatus=0,
        pytest_tooleval="0.1.0",
        pytest="9.2.0",
        python="3.11.7",
        scoring_version=SCORING_VERSION,
        options={"trials": 1},
        models=(AskedModel("claude-3", "x"), AskedModel("gpt-4o", "y")),
        git=Git(COMMIT, "main", False),
    )
    return structs.replace(made, **fields)


def problems_of(history: History) -> list[str]:
    """What a new reader says of the runs that it cannot read."""
    found: list[str] = []
    History(history.folder, history.place, found.append).runs()
    return found


def gate(passed: bool, message: str = "overall is 0.5") -> Gate:
    return Gate(
        kind="fail_under",
        name="overall",
        metric="overall",
        needed=0.4,
        verdict="passed" if passed else "failed",
        failed=not passed,
        message=message,
        cases=1,
    )


def comparison(message: str = "no drop") -> Comparison:
    """What comparing a run with itself finds."""
    old, new = (Side(name, run_of(), [case_of()]) for name in ("old", "new"))
    return structs.replace(compare_runs(old, new, ComparisonRules()), message=message)
