"""From scores to a verdict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.record.results import FailureCategory
from pytest_tooleval.record.results import Score
from pytest_tooleval.record.results import TrialError
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import NoAnswer
from pytest_tooleval.record.transcript import Reply
from pytest_tooleval.record.transcript import Round
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.thresholds import missed_thresholds
from pytest_tooleval.verdicts.case import judge
from pytest_tooleval.verdicts.case import mean_scores


def trial(failure: FailureCategory | None = None, **values: float | None) -> TrialResult:
    scores = {metric: Score(value) for metric, value in values.items()}
    return TrialResult(scores=scores, failure=failure)


FAILED = TrialResult(error=TrialError("timeout", "no answer within 5 s"))


def test_means_are_over_the_trials_that_have_a_number() -> None:
    scores = mean_scores([trial(a=1.0, b=None), trial(a=0.0, b=0.5), trial(a=0.5, c=None)])
    assert scores == {"a": 0.5, "b": 0.5, "c": None}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_a_mean_lies_between_the_extremes(values: list[float]) -> None:
    mean = mean_scores([trial(overall=value) for value in values])["overall"]
    assert mean is not None
    assert min(values) - 1e-12 <= mean <= max(values) + 1e-12


def test_every_thresholded_metric_must_reach_its_threshold() -> None:
    scores = {"overall": 0.8, "tool_selection": 1.0, "parameter_accuracy": 0.5}
    thresholds = {"overall": 0.8, "tool_selection": 1.0, "parameter_accuracy": 0.6}
    assert missed_thresholds(scores, thresholds) == {"parameter_accuracy": (0.5, 0.6)}


def test_rounding_of_floats_does_not_fail_a_case() -> None:
    assert missed_thresholds({"overall": 0.1 + 0.2 - 0.0000000000000003}, {"overall": 0.3}) == {}
    assert missed_thresholds({"overall": 0.2999}, {"overall": 0.3})


def test_a_metric_that_does_not_apply_is_passed_over() -> None:
    scores = {"overall": 1.0, "parameter_accuracy": None}
    assert missed_thresholds(scores, {"overall": 1.0, "parameter_accuracy": 1.0}) == {}


@pytest.mark.parametrize("thresholds", [{"parameter_accuracy": 1.0}, {"unheard_of": 0.1}])
def test_thresholds_that_can_never_fail_are_refused(thresholds: dict[str, float]) -> None:
    with pytest.raises(ScoringError, match="overall"):
        missed_thresholds({"overall": 1.0, "parameter_accuracy": None}, thresholds)


def test_passed() -> None:
    assert judge([trial(overall=1.0)], {"overall": 1.0}) == ("passed", {"overall": 1.0}, "")


def test_failed_says_by_how_much_and_why() -> None:
    outcome, scores, reason = judge([trial("wrong_value", overall=0.6)], {"overall": 0.9})
    assert (outcome, scores) == ("failed", {"overall": 0.6})
    assert reason == "overall 0.60 < 0.90 (wrong value)"


def test_each_kind_of_failure_is_named_once() -> None:
    trials = [
        trial("wrong_tool", overall=0.0),
        trial("missing_call", overall=0.0),
        trial("wrong_tool", overall=0.0),
    ]
    assert judge(trials, {"overall": 1.0})[2] == "overall 0.00 < 1.00 (wrong tool, missing call)"


def test_the_mean_over_trials_decides() -> None:
    trials = [trial(overall=1.0), trial("wrong_value", overall=0.6)]
    assert judge(trials, {"overall": 0.8})[0] == "passed"
    assert judge(trials, {"overall": 0.81})[0] == "failed"


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_trial_without_answer_is_an_error_and_in_no_mean(position: int) -> None:
    trials = [trial(overall=1.0), trial(overall=0.5)]
    trials.insert(position, FAILED)
    outcome, scores, reason = judge(trials, {"overall": 0.1})
    assert outcome == "error"
    assert scores == {"overall": 0.75}
    assert reason == "no answer within 5 s (1 of 3 trials)"


def test_nothing_but_errors_has_no_scores() -> None:
    assert judge([FAILED], {"overall": 1.0}) == ("error", {}, "no answer within 5 s")


@pytest.mark.parametrize("score", [0.994999, 0.9999])
def test_a_miss_never_reads_as_if_it_were_none(score: float) -> None:
    reason = judge([trial("below_threshold", overall=score)], {"overall": 1.0})[2]
    assert "1.00 < 1.00" not in reason


def unanswered() -> TrialResult:
    reply = Reply(message={}, no_answer=NoAnswer("blocked", "SAFETY: \x1bNo."))
    scores = {"overall": Score(0.0)}
    return TrialResult(scores=scores, failure="blocked", transcript=Transcript((), (Round(reply),)))


@pytest.mark.parametrize("rule", ["mean", "all", "any", "1/2"])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_no_usable_answer_never_passes(rule: str, bound: float) -> None:
    outcome, _, reason = judge([unanswered(), unanswered()], {"overall": bound}, rule)
    assert outcome == "failed"
    assert reason.endswith(r"(blocked: SAFETY: \x1bNo.)")
