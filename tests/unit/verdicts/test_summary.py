"""The result document: counts and means."""

from __future__ import annotations

from typing import Any

from builders import result_of, trial_of
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.results import CaseResult, Outcome, TrialError, TrialResult
from pytest_tooleval.record.run import Run
from pytest_tooleval.record.summary import Fallback, Mean, Tokens
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.verdicts.summary import rows_document, summarise

RUN = Run(id="r", started="now", pytest_tooleval="1", pytest="9", python="3")


def trial(**fields: Any) -> TrialResult:
    reply = Reply(message={"role": "assistant", "content": None}, **fields)
    return trial_of(Transcript((), (reply,)))


def row(outcome: Outcome = "passed", overall: float | None = 1.0, **fields: Any) -> CaseResult:
    given = {"nodeid": "n", "suite": "s", "case": "c", "model": "m", "tool_choice": "required"}
    return result_of(**{**given, "outcome": outcome, "scores": {"overall": overall}, **fields})


def test_counts_by_outcome() -> None:
    outcomes: list[Outcome] = ["passed", "passed", "failed", "failed", "error", "skipped"]
    found = summarise([row(outcome) for outcome in outcomes])
    counts = {
        name: getattr(found, name)
        for name in ("cases", "passed", "failed", "errors", "tolerated", "skipped")
    }
    assert counts == {"cases": 6, "passed": 2, "failed": 2, "errors": 1, "tolerated": 0, "skipped": 1}


def test_errors_and_skipped_cases_are_in_no_mean() -> None:
    rows = [row("passed", 1.0), row("failed", 0.5), row("error", 0.0), row("skipped", 0.0)]
    assert summarise(rows).metrics == {"overall": Mean(0.75, 2)}


def test_means_are_weighted() -> None:
    rows = [row("passed", 1.0, weight=3.0), row("failed", 0.0, weight=1.0)]
    assert summarise(rows).metrics["overall"] == Mean(0.75, 2)


def test_a_metric_without_numbers_is_left_out() -> None:
    rows = [row(scores={"overall": 1.0, "parameter_accuracy": None})]
    assert list(summarise(rows).metrics) == ["overall"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 100)), min_size=1, max_size=10))
def test_a_mean_lies_between_the_extremes(pairs: list[tuple[float, float]]) -> None:
    found = summarise([row("failed", value, weight=weight) for value, weight in pairs])
    mean = found.metrics["overall"].mean
    values = [value for value, _ in pairs]
    assert min(values) - 1e-9 <= mean <= max(values) + 1e-9


def test_what_is_unknown_is_null_and_never_zero() -> None:
    found = summarise([row(trials=(trial(),))])
    assert found.cost_usd is None
    assert found.latency_s is None
    assert found.tokens == Tokens()
    assert (found.trials, found.priced) == (1, 0)


def test_what_is_known_is_summed() -> None:
    one = trial(cost_usd=0.5, latency_s=1.0, prompt_tokens=10, completion_tokens=1)
    two = trial(cost_usd=0.25, latency_s=3.0, prompt_tokens=5, cached=True)
    found = summarise([row(trials=(one, two)), row(trials=(trial(format="recovered"),))])
    assert found.cost_usd == 0.75
    assert found.latency_s == 2.0
    assert found.tokens == Tokens(15, 1)
    assert (found.trials, found.priced, found.cached, found.recovered) == (3, 2, 1, 1)


def test_a_cost_that_is_known_in_part_counts_and_is_not_whole() -> None:
    found = summarise([row(trials=(trial(cost_usd=0.5), trial(cost_usd=0.25, cost_at_least=True)))])
    assert (found.cost_usd, found.trials, found.priced) == (0.75, 2, 1)


def test_trials_without_answer_are_not_counted_as_trials() -> None:
    failed = TrialResult(error=TrialError("timeout", "too slow"))
    assert summarise([row("error", trials=(failed, trial()))]).trials == 1


def test_fallbacks_are_counted_by_case() -> None:
    warm, forced = trial(fallbacks={"temperature": None}), trial(fallbacks={"tool_choice": "auto"})
    found = summarise([row(trials=(warm, warm, forced)), row(trials=(warm,)), row(trials=(trial(),))])
    assert found.fallbacks == (Fallback("temperature", None, 2), Fallback("tool_choice", "auto", 1))


def test_rows_per_model_and_per_suite_in_order_of_appearance() -> None:
    rows = [row(model="b", suite="y"), row(model="a", suite="x"), row("failed", model="b", suite="x")]
    made = rows_document(RUN, rows)
    assert [(r.model, r.cases, r.failed) for r in made.models] == [("b", 2, 1), ("a", 1, 0)]
    assert [(r.model, r.suite) for r in made.suites] == [("b", "y"), ("a", "x"), ("b", "x")]
    assert (made.run.started, made.gates) == ("now", ())
    assert (made.run.total.cases, made.run.total.failed) == (3, 1)
    assert made.cases == rows


def test_a_run_without_cases() -> None:
    assert rows_document(RUN, []).models == ()
