"""Result documents to make reports of."""

from __future__ import annotations

from typing import Any

import msgspec
from builders import as_json, result_of, trial_of
from hypothesis import strategies as st

from pytest_tooleval.record.calls import ToolCall
from pytest_tooleval.record.comparison import Comparison
from pytest_tooleval.record.document import Document
from pytest_tooleval.record.gates import Gate
from pytest_tooleval.record.results import CaseResult, Outcome, Score, TrialError, TrialResult
from pytest_tooleval.record.run import Run
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.verdicts.summary import rows_document

RUN = {
    "id": "20261122-101530-3fa9c1",
    "started": "2026-11-22T10:15:30+00:00",
    "duration_s": 12.5,
    "pytest_tooleval": "0.1.0",
    "pytest": "9.2.0",
    "python": "3.11.7",
    "exitstatus": 1,
    "collection_errors": 0,
    "max_cost_usd": None,
    "cached_answers_from": "replayed",
    "models": [{"model": "gpt-4o", "identity": "openai/gpt-4o"}],
    "options": {"trials": 2},
    "git": {"commit": "0123456789abcdef", "branch": "main", "dirty": False},
    "partial": False,
}

# What hostile text is made of: everything that acts in some format, and a word to look for.
_PIECES = (
    "EVIL", "`", "``", "```\n", "|", "\\", "**", "~~", "[^1]", "&lt;", "$x$", "   ", "@org/team", "#12",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</details>", "<!--", "-->",
    "](http://evil.example)", "![i](http://evil.example/i.png)", "www.evil.example", "a@evil.example",
    "\n", "\r\n\r\n# h\n", "\t", "\x00", "\x1b[31m", "\x85", "\u2028", "\u202e", "\u200b",
    "::error::", "%0A", "%", ":", ",", ";", "=", "=1+1", "+", "-", "@SUM(A1)", '"', "'", "日本語",
)  # fmt: skip
hostile = st.lists(st.sampled_from(_PIECES), max_size=6).map(lambda pieces: "EVIL" + "".join(pieces))
any_text = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | hostile.map(lambda text: text.removeprefix("EVIL"))
    | hostile
)


def trial(number: int = 0, overall: float = 1.0, *calls: ToolCall, **fields: Any) -> TrialResult:
    reply = Reply(message={"role": "assistant", "content": None}, calls=calls, **fields)
    return trial_of(
        Transcript(({"role": "user", "content": "hi"},), (reply,)),
        scores={"overall": Score(overall, "because")},
        passed=overall == 1.0,
        failure=None if overall == 1.0 else "wrong_value",
        trial=number,
    )


def no_answer(number: int = 0, message: str = "too slow") -> TrialResult:
    return TrialResult(error=TrialError("timeout", message), trial=number)


def row(outcome: Outcome = "passed", *trials: TrialResult, **fields: Any) -> dict[str, Any]:
    """A case of a document; by default of the suite Weather on the model gpt-4o."""
    given = {
        "nodeid": "weather.tooleval.json::paris[gpt-4o]",
        "suite": "Weather",
        "case": "paris",
        "model": "gpt-4o",
        "tool_choice": "required",
        "file": "weather.tooleval.json",
        "line": 21,
        "case_fingerprint": "0" * 16,
        "suite_fingerprint": "f" * 16,
        "suite_cases": 3,
        "reason": "" if outcome == "passed" else "overall 0.60 < 1.00 (wrong value)",
    }
    means = [
        score.value for trial in trials for score in trial.scores.values() if score.value is not None
    ]
    scores = {"overall": sum(means) / len(means)} if means else {}
    made: dict[str, Any] = as_json(
        result_of(**{**given, "outcome": outcome, "scores": scores, "trials": trials, **fields})
    )
    return made


def gate(passed: bool, message: str = "overall of gpt-4o: 0.80 < 0.90", **fields: Any) -> dict[str, Any]:
    return {
        "kind": "fail_under",
        "name": "overall of gpt-4o",
        "model": "gpt-4o",
        "scope": "model",
        "of": "gpt-4o",
        "metric": "overall",
        "needed": 0.9,
        "value": 0.8,
        "low": 0.7,
        "high": 0.88,
        "confidence": None,
        "cases": 30,
        "errors": 0,
        "verdict": "passed" if passed else "failed",
        "failed": not passed,
        "message": message,
        "detail": f"overall: {message.rpartition(': ')[2]}",
        **fields,
    }


def comparison(failed: bool = True, **texts: str) -> dict[str, Any]:
    """A comparison in which every list has an entry; `texts` replace its names."""
    model, metric = texts.get("model", "gpt-4o"), texts.get("metric", "overall")
    case = {"suite": texts.get("suite", "Weather"), "case": texts.get("case", "paris")}
    of = {**case, "file": "weather.tooleval.json", "model": model}
    moved = {**of, "was": of, "old": 1.0, "new": 0.6, "old_passes": "5/5", "new_passes": "0/5"}
    measured = {
        "metric": metric,
        "suite": texts.get("suite"),
        "old": 0.9,
        "new": 0.8,
        "drop": 0.1,
        "n": 30,
        "p": 0.001,
        "p_adjusted": 0.004,
        "test": "permutation",
        "largest_drop": 0.15,
        "verdict": "failed" if failed else "inconclusive",
    }
    side = {"id": "20261121-101530-3fa9c1", "started": "2026-11-21T10:15:30+00:00", "git": RUN["git"]}
    return {
        "old": {"name": texts.get("name", "main.json"), **side},
        "new": {"name": "this run", **side},
        "alpha": 0.05,
        "max_drop": 0.0,
        "margin": 0.1,
        "models": [
            {
                "old": model,
                "new": model,
                "cases": 30,
                "verdict": "failed",
                "metrics": [measured],
                "newly_broken_p": 0.01,
                "newly_broken_p_adjusted": 0.02,
                "newly_broken_failed": failed,
                "worse": [{**moved, "newly_broken": True}, moved],
                "better": [moved],
                "message": texts.get("message", "worse than main.json: paris newly broken (p = 0.020)"),
            }
        ],
        "cases": {
            "same": 27,
            "added": [case],
            "removed": [case],
            "changed": [case],
            "renamed": [{**case, "old_suite": case["suite"], "old_case": case["case"]}],
        },
        "verdict": "failed" if failed else "passed",
        "failed": failed,
        "message": texts.get("message", "overall of gpt-4o dropped by 0.10 (p 0.004)"),
    }


def document(
    *cases: dict[str, Any],
    gates: tuple[dict[str, Any], ...] = (),
    baseline: dict[str, Any] | None = None,
    intervals: bool = False,
    **run: Any,
) -> Document:
    rows = rows_document(
        msgspec.convert({**RUN, **run}, Run),
        msgspec.convert(cases, list[CaseResult]),
        msgspec.convert(gates, list[Gate]),
        msgspec.convert(baseline, Comparison | None),
        intervals=intervals,
    )
    return Document(**{name: getattr(rows, name) for name in Document.__struct_fields__})
