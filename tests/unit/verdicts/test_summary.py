"""The result document: counts and means."""

from __future__ import annotations

from typing import Any

from builders import result_of, trial_of

from pytest_tooleval.record.results import CaseResult, Outcome, TrialError, TrialResult
from pytest_tooleval.record.run import Run
from pytest_tooleval.record.summary import Fallback, Mean, Tokens
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.verdicts.summary import summarise

RUN = Run(id="r", started="now", pytest_tooleval="1", pytest="9", python="3")


def trial(**fields: Any) -> TrialResult:
    reply = Reply(message={"role": "assistant", "content": None}, **fields)
    return trial_of(Transcript((), (reply,)))


def row(outcome: Outcome = "passed", overall: float | None = 1.0, **fields: Any) -> CaseResult:
    given = {"nodeid": "n", "suite": "s", "case": "c", "model": "m", "tool_choice": "required"}
    return result_of(**{**given, "outcome": outcome, "scores": {"overall": overall}, **fields})


def test_errors_and_skipped_cases_are_in_no_mean() -> None:
    rows = [row("passed", 1.0), row("failed", 0.5), row("error", 0.0), row("skipped", 0.0)]
    assert summarise(rows).metrics == {"overall": Mean(0.75, 2)}


def test_what_is_known_is_summed() -> None:
    one = trial(cost_usd=0.5, latency_s=1.0, prompt_tokens=10, completion_tokens=1)
    two = trial(cost_usd=0.25, latency_s=3.0, prompt_tokens=5, cached=True)
    found = summarise([row(trials=(one, two)), row(trials=(trial(format="recovered"),))])
    assert found.cost_usd == 0.75
    assert found.latency_s == 2.0
    assert found.tokens == Tokens(15, 1)
    assert (found.trials, found.priced, found.cached, found.recovered) == (3, 2, 1, 1)


def test_trials_without_answer_are_not_counted_as_trials() -> None:
    failed = TrialResult(error=TrialError("timeout", "too slow"))
    assert summarise([row("error", trials=(failed, trial()))]).trials == 1


def test_fallbacks_are_counted_by_case() -> None:
    warm, forced = trial(fallbacks={"temperature": None}), trial(fallbacks={"tool_choice": "auto"})
    found = summarise([row(trials=(warm, warm, forced)), row(trials=(warm,)), row(trials=(trial(),))])
    assert found.fallbacks == (Fallback("temperature", None, 2), Fallback("tool_choice", "auto", 1))
