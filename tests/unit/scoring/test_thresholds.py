from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_tooleval.errors import ConfigError, ScoringError
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.scoring.trial import score_transcript

from .cases import call, resolved, score

PARAMS = {"x": 1, "y": 2, "z": 3}


def test_the_default_is_everything_right() -> None:
    assert score([call("a", **PARAMS)], expected_tool="a", expected_params=PARAMS).passed
    assert not score([call("a", x=1, y=2)], expected_tool="a", expected_params=PARAMS).passed


def test_every_threshold_must_be_reached() -> None:
    made = [call("a", x=1, y=2)]

    def passes(**thresholds: float | None) -> bool:
        return score(made, expected_tool="a", expected_params=PARAMS, thresholds=thresholds).passed

    assert passes(overall=0.8, tool_selection=1.0)
    assert not passes(overall=0.8, parameter_accuracy=0.7)
    assert passes(overall=None, parameter_accuracy=2 / 3)
    assert passes(overall=None, parameter_accuracy=2 / 3 + 5e-10)
    assert not passes(overall=None, parameter_accuracy=2 / 3 + 5e-9)


def test_thresholds_merge_over_the_default_ones_by_metric() -> None:
    case = resolved(None, expected_tool="a", thresholds={"overall": 0.5, "no_extra_calls": None})
    assert case.thresholds == {"overall": 0.5, "arguments_valid": 1.0}
    assert resolved(None, expected_tool="a", param_scoring="bfcl").thresholds == {"overall": 1.0}
    with pytest.raises(ConfigError, match="no active threshold, so wrong answers would pass"):
        resolved(None, expected_tool="a", thresholds={"overall": None})


def test_metrics_that_do_not_apply_are_skipped() -> None:
    thresholds = {"overall": 1.0, "parameter_accuracy": 1.0, "completion": 1.0}

    assert score([call("a")], expected_tool="a", thresholds=thresholds).passed


@pytest.mark.parametrize("metric", ["parameter_accuracy", "completion"])
def test_a_gate_that_judges_nothing_is_an_error(metric: str) -> None:
    with pytest.raises(ScoringError, match=rf"none of the metrics with a threshold \({metric}\)"):
        score([call("a")], expected_tool="a", thresholds={"overall": None, metric: 1.0})


def test_a_threshold_on_a_metric_that_nobody_reports_is_an_error() -> None:
    with pytest.raises(ScoringError, match="'overal', but no scorer reports it"):
        score([call("a")], expected_tool="a", thresholds={"overall": 1.0, "overal": 1.0})


def test_only_parameters_decide_when_only_they_have_a_threshold() -> None:
    result = score(
        [call("b", x=2)],
        expected_tool="a",
        expected_params={"x": 1},
        thresholds={"overall": None, "parameter_accuracy": 1.0},
    )

    assert result.failure == "wrong_value"


def test_the_trial_and_the_transcript_are_kept() -> None:
    transcript = Transcript.from_calls([call("a")])

    result = score_transcript(resolved(None, expected_tool="a"), transcript, trial=3)

    assert result.trial == 3
    assert result.transcript is transcript
    assert result.format == "native"


def test_importing_scoring_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest_tooleval.scoring, pytest_tooleval.record.recovery\n"
        "print([m for m in ('jsonschema', 'regex', 'rapidfuzz', 'litellm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
