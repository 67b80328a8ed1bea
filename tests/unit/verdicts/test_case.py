"""From scores to a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from builders import result_of
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.errors import ScoringError
from pytest_tooleval.record.no_answer import NoAnswer
from pytest_tooleval.record.results import CaseRow, FailureCategory, Score, TrialError, TrialResult
from pytest_tooleval.record.thresholds import missed_thresholds
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.suite.case import TestCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.overrides import Overrides
from pytest_tooleval.suite.resolved import resolve
from pytest_tooleval.verdicts.case import Decision, Standard, decide, decide_again, mean_scores


def trial(
    wrong: str = "", failure: FailureCategory = "wrong_value", **values: float | None
) -> TrialResult:
    scores = {metric: Score(value) for metric, value in values.items()}
    return TrialResult(
        scores=scores, passed=not wrong, failure=failure if wrong else None, mistake=wrong, calls_made=1
    )


def judged(
    trials: list[TrialResult], overall: float = 1.0, rule: str = "mean", **thresholds: float
) -> Decision:
    """The verdict on a case with this threshold, and limits among the others."""
    case = TestCase.model_validate(
        {"prompt": "p", "expected_tool": None, "thresholds": {"overall": overall, **thresholds}}
    )
    trials_or_rule = {"pass_rule": rule} if "/" in rule else {"pass_rule": rule, "trials": len(trials)}
    suite = Suite(name="s", test_cases=[case])
    found = resolve(suite, case, Overrides(**trials_or_rule))
    return decide(trials, Standard(found.thresholds, found.limits, found.pass_rule))


RULES = ("mean", "all", "any", "1/5", "4/5")


@pytest.mark.parametrize("rule", RULES)
def test_no_other_trial_makes_up_for_a_broken_policy(rule: str) -> None:
    right, wrong = (
        trial(overall=1.0, policies=1.0),
        trial("policy 1", "broken_policy", overall=1.0, policies=0.0),
    )
    trials = [right] * 4 + [wrong]
    outcome, _, reason = decide(trials, Standard({"overall": 1.0, "policies": 1.0}, {}, rule))
    assert (outcome, reason) == ("failed", "policy 1 (1 of 5 trials failed)")
    outcome, _, _ = decide(trials, Standard({"overall": 1.0, "policies": 0.5}, {}, rule))
    assert outcome == ("failed" if rule == "all" else "passed")


@pytest.mark.parametrize("rule", RULES)
def test_no_other_trial_makes_up_for_a_broken_world(rule: str) -> None:
    trials = [trial(overall=1.0)] * 4 + [TrialResult(error=TrialError("world", "shared"))]
    outcome, _, reason = decide(trials, Standard({"overall": 1.0}, {}, rule))
    assert (outcome, reason.partition(" (")[0]) == ("error", "shared")


FAILED = TrialResult(error=TrialError("timeout", "no answer within 5 s"))


def test_means_are_over_the_trials_that_have_a_number() -> None:
    scores = mean_scores([trial(a=1.0, b=None), trial(a=0.0, b=0.5), trial(a=0.5, c=None)])
    assert scores == {"a": 0.5, "b": 0.5, "c": None}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_a_mean_lies_between_the_extremes(values: list[float]) -> None:
    mean = mean_scores([trial(overall=value) for value in values])["overall"]
    assert mean is not None
    assert min(values) - 1e-12 <= mean <= max(values) + 1e-12


Thresholds = dict[str, float | None]
# Thresholds of the suite, the case and the command line, and whether a right tool with wrong parameters
# passes.
NARROWEST: list[tuple[Thresholds, Thresholds, Thresholds, bool]] = [
    ({}, {}, {}, False),
    ({"overall": 0.6}, {}, {}, True),
    ({"overall": 0.61}, {}, {}, False),
    ({"tool_selection": 1.0}, {}, {}, False),
    ({"tool_selection": 1.0, "overall": None}, {}, {}, True),
    ({"overall": 0.5, "parameter_accuracy": 1.0}, {}, {}, False),
    ({}, {"overall": 0.6}, {}, True),
    ({"overall": 0.1}, {"overall": 1.0}, {}, False),
    ({"parameter_accuracy": 1.0}, {"overall": 0.5}, {}, False),
    ({"overall": None, "tool_selection": 1.0}, {"overall": 1.0}, {}, False),
    ({"overall": 0.1}, {"overall": 0.1}, {"overall": 0.9}, False),
    ({}, {}, {"overall": 0.0}, True),
    ({"overall": 1.0}, {}, {"overall": 0.6}, True),
    ({}, {}, {"tool_selection": 1.0}, False),
    ({}, {}, {"tool_selection": 1.0, "overall": None}, True),
    ({}, {}, {"tool_selection": 1.0, "overall": 0.6}, True),
    ({}, {}, {"tool_selection": 1.0, "parameter_accuracy": 0.5}, False),
]


@pytest.mark.parametrize(("suite", "case", "typed", "passes"), NARROWEST)
def test_the_narrowest_threshold_holds(
    suite: Thresholds, case: Thresholds, typed: Thresholds, *, passes: bool
) -> None:
    one = TestCase.model_validate({"prompt": "p", "expected_tool": "a", "thresholds": case})
    whole = Suite(name="s", thresholds=suite, tools=[], test_cases=[one])
    found = resolve(whole, one, Overrides(thresholds=typed or None))
    trials = [trial("wrong", overall=0.6, tool_selection=1.0, parameter_accuracy=0.0)]
    outcome = decide(trials, Standard(found.thresholds, found.limits))[0]
    assert (outcome == "passed") is passes


@pytest.mark.parametrize("thresholds", [{"parameter_accuracy": 1.0}, {"unheard_of": 0.1}])
def test_thresholds_that_can_never_fail_are_refused(thresholds: dict[str, float]) -> None:
    with pytest.raises(ScoringError, match="overall"):
        missed_thresholds({"overall": 1.0, "parameter_accuracy": None}, thresholds)


def test_passed() -> None:
    assert judged([trial(overall=1.0)]) == ("passed", {"overall": 1.0}, "")


def test_failed_says_what_was_wrong() -> None:
    outcome, scores, reason = judged([trial("amount: expected 250, got 25", overall=0.6)], 0.9)
    assert (outcome, scores, reason) == ("failed", {"overall": 0.6}, "amount: expected 250, got 25")


def test_of_several_trials_the_first_failure_is_told_and_how_many_there_were() -> None:
    trials = [trial(overall=1.0), trial("wrong tool", overall=0.0), trial("no call", overall=0.0)]
    assert judged(trials)[2] == "wrong tool (2 of 3 trials failed)"
    assert judged(trials, rule="all")[2] == "1 of 3 trials passed, needs 3: wrong tool"


@pytest.mark.parametrize("rule", ["mean", "any", "4/5"])
def test_a_forbidden_call_is_never_outvoted(rule: str) -> None:
    bad = trial("called delete_all, which is forbidden", "forbidden_call", overall=1.0)
    trials = [*[trial(overall=1.0)] * 3, bad, trial(overall=1.0)]
    outcome, _, reason = judged(trials, rule=rule)
    assert outcome == "failed"
    assert reason == "called delete_all, which is forbidden (1 of 5 trials failed)"


def test_a_mean_over_limit_fails() -> None:
    assert judged([trial(overall=1.0)], max_calls=1)[0] == "passed"
    reason = "max_calls: 1, at most 0 allowed"
    assert judged([trial(reason, "over_limit", overall=1.0)], max_calls=0)[::2] == ("failed", reason)
    with pytest.raises(ScoringError, match="max_cost_usd: the price of the answer is unknown"):
        judged([trial(overall=1.0)], max_cost_usd=1)
    assert judged([trial("wrong", overall=0.0)], max_cost_usd=1)[::2] == ("failed", "wrong")


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_trial_without_answer_is_an_error_and_in_no_mean(position: int) -> None:
    trials = [trial(overall=1.0), trial(overall=0.5)]
    trials.insert(position, FAILED)
    outcome, scores, reason = judged(trials, 0.1)
    assert outcome == "error"
    assert scores == {"overall": 0.75}
    assert reason == "no answer within 5 s (1 of 3 trials)"


def test_nothing_but_errors_has_no_scores() -> None:
    assert judged([FAILED]) == ("error", {}, "no answer within 5 s")


P, F, E = trial(overall=1.0), trial("wrong", overall=0.6), FAILED


@pytest.mark.parametrize(
    ("rule", "trials", "outcome"),
    [
        ("mean", [P, P, F], "failed"),
        ("mean", [E, F, F], "error"),
        ("all", [P, P, P], "passed"),
        ("all", [P, P, F], "failed"),
        ("any", [F, F, P], "passed"),
        ("any", [F, F, F], "failed"),
        ("2/3", [P, F, P], "passed"),
        ("2/3", [P, F, F], "failed"),
        # Trials without an answer make an error only where the verdict hangs on them.
        ("any", [E, F, P], "passed"),
        ("any", [E, F, F], "error"),
        ("all", [E, F, P], "failed"),
        ("all", [E, P, P], "error"),
        ("2/3", [E, P, P], "passed"),
        ("2/3", [E, P, F], "error"),
    ],
)
def test_the_rule_makes_the_verdict(rule: str, trials: list[TrialResult], outcome: str) -> None:
    assert judged(trials, rule=rule)[0] == outcome


def unanswered() -> TrialResult:
    reply = Reply(message={}, no_answer=NoAnswer("blocked", "SAFETY: No."))
    transcript = Transcript((), (reply,))
    return TrialResult(
        scores={"overall": Score(0.0)},
        failure="blocked",
        mistake="blocked: SAFETY: No.",
        transcript=transcript,
    )


@pytest.mark.parametrize("rule", ["mean", "all", "any", "1/2"])
@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_no_usable_answer_never_passes(rule: str, bound: float) -> None:
    outcome, _, reason = judged([unanswered(), unanswered()], bound, rule)
    assert outcome == "failed"
    assert "blocked: SAFETY: No." in reason


# Recorded cases


def recorded(*trials: TrialResult, **fields: Any) -> CaseRow:
    names = dict.fromkeys(("nodeid", "suite", "case", "model"), "")
    return result_of(**names, outcome="failed", trials=trials, **fields).row()


def test_a_recorded_case_is_judged_by_the_scores_of_its_trials() -> None:
    row = recorded(trial(overall=1.0), trial("wrong", overall=0.6), trial("wrong", overall=0.0))
    found = [decide_again(row, Standard({"overall": least}, {})) for least in (0.5, 0.6, 1.0)]
    assert [(each.outcome, each.passes) for each in found] == [
        ("passed", 2),
        ("failed", 2),
        ("failed", 1),
    ]
    assert found[1].scores == {"overall": pytest.approx(1.6 / 3)}
    assert [each.mistake for each in found[1].trials] == ["", "", "overall 0.00 < 0.60"]


def test_a_rule_of_other_trials_judges_those_that_were_asked() -> None:
    row = recorded(trial(overall=1.0), FAILED)
    outcomes = {rule: decide_again(row, Standard({"overall": 1.0}, {}, rule)).outcome for rule in RULES}
    assert outcomes == {
        "mean": "error",
        "all": "error",
        "any": "passed",
        "1/5": "passed",
        "4/5": "error",
    }


@pytest.mark.parametrize("failure", ["forbidden_call", "unexpected_exception", "blocked"])
def test_no_threshold_makes_it_pass(failure: FailureCategory) -> None:
    row = recorded(trial("told", failure, overall=1.0))
    assert decide_again(row, Standard({"overall": 0.1}, {}, "any")).passes == 0


def test_a_recorded_case_is_judged_by_other_limits() -> None:
    row = recorded(trial("told", "over_limit", overall=1.0), limits={"max_calls": 0})
    assert decide_again(row, Standard({"overall": 1.0}, {})).outcome == "passed"
    again = decide_again(row, Standard({"overall": 1.0}, {"max_calls": 0.5}))
    assert [(each.failure, each.mistake) for each in again.trials] == [
        ("over_limit", "max_calls: 1, at most 0.5 allowed")
    ]
