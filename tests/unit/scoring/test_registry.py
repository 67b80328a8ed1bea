from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_tooleval.errors import ConfigError, ScoringError
from pytest_tooleval.record.results import Score, TrialResult
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.registry import ScorerRegistry
from pytest_tooleval.scoring.trial import score_trial
from pytest_tooleval.suite.case import ResolvedCase

from .cases import call, resolved


class Brevity:
    metrics = ("brevity",)

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def score(self, case: ResolvedCase, transcript: Transcript) -> Mapping[str, Score]:
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: Mapping[str, Score] = self.answer
        return answer


def run(answer: Any, **case: Any) -> TrialResult:
    registry = ScorerRegistry()
    registry.register(Brevity(answer))
    transcript = Transcript.from_calls([call("a")])
    fields = {"expected_tool": "a", **case}
    return score_trial(resolved(None, **fields), transcript, scorers=registry.scorers).result


def test_its_metric_can_have_a_threshold() -> None:
    thresholds = {"overall": 1.0, "brevity": 0.6}

    assert run({"brevity": Score(0.6)}, thresholds=thresholds).passed
    result = run({"brevity": Score(0.5)}, thresholds=thresholds)
    assert not result.passed
    assert result.failure == "below_threshold"


def test_its_metric_may_not_apply() -> None:
    assert run({"brevity": Score(None)}).values["brevity"] is None
    assert "brevity" not in run({}).values
    with pytest.raises(ScoringError, match="none of the metrics with a threshold"):
        run({}, thresholds={"overall": None, "brevity": 1.0})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (ValueError("oops"), "raised ValueError: oops"),
        (None, "returned None, expected a dict"),
        (0.5, "returned 0.5, expected a dict"),
        ({"brevity": 0.5}, "expected a Score"),
        ({"brevity": Score(1.5)}, "value 1.5, expected a number from 0 to 1"),
        ({"brevity": Score(-0.1)}, "value -0.1"),
        ({"brevity": Score(math.nan)}, "value nan"),
        ({"brevity": Score(True)}, "value True"),
        ({"brevity": Score("1")}, "value '1'"),  # type: ignore[arg-type]
        ({"speed": Score(1.0)}, "'speed', which is not in its metrics"),
        ({"brevity": Score(1.0, 5)}, "an invalid Score"),  # type: ignore[arg-type]
    ],
)
def test_a_scorer_that_misbehaves_is_an_error_with_its_name(answer: Any, words: str) -> None:
    with pytest.raises(ScoringError) as raised:
        run(answer)

    message = str(raised.value)
    assert words in message
    assert message.startswith("suite::one: scorer ")
    assert "Brevity (brevity)" in message


def scorer_with(metrics: Any) -> Any:
    scorer = Brevity()
    scorer.metrics = metrics
    return scorer


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        (scorer_with(["overall"]), "'overall' is built in"),
        (scorer_with(["detour_penalty"]), "'detour_penalty' is built in"),
        (scorer_with(["answer length"]), "must be a name of letters"),
        (scorer_with([""]), "must be a name of letters"),
        (scorer_with([5]), "must be a name of letters"),
        (scorer_with(["x", "x"]), "'x' is already registered"),
        (scorer_with([]), "metrics must be a list"),
        (scorer_with("brevity"), "metrics must be a list"),
        (object(), "no method score"),
        (Brevity, "got the class, expected an instance"),
    ],
)
def test_refuses(scorer: Any, words: str) -> None:
    registry = ScorerRegistry()

    with pytest.raises(ConfigError, match=words):
        registry.register(scorer)
    assert registry.scorers == ()


def test_refuses_a_metric_that_another_scorer_has() -> None:
    registry = ScorerRegistry()
    registry.register(Brevity())

    with pytest.raises(ConfigError, match=r"'brevity' is already registered by .*\.Brevity"):
        registry.register(Brevity())
    assert registry.metrics[-1] == "brevity"
    assert registry.metrics.count("brevity") == 1


def test_rates_of_a_run_have_no_threshold() -> None:
    metrics = ScorerRegistry().metrics

    assert "attack_success" not in metrics
    assert {"redundancy_penalty", "detour_penalty"} <= {*metrics}
