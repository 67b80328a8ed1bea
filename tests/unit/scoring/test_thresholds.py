from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_tooleval.errors import ConfigError, ScoringError

from .cases import call, resolved, score

PARAMS = {"x": 1, "y": 2, "z": 3}


def test_thresholds_merge_over_the_default_ones_by_metric() -> None:
    case = resolved(None, expected_tool="a", thresholds={"overall": 0.5, "no_extra_calls": None})
    assert case.thresholds == {"overall": 0.5, "arguments_valid": 1.0}
    assert resolved(None, expected_tool="a", param_scoring="bfcl").thresholds == {"overall": 1.0}
    with pytest.raises(ConfigError, match="no active threshold, so wrong answers would pass"):
        resolved(None, expected_tool="a", thresholds={"overall": None})


@pytest.mark.parametrize("metric", ["parameter_accuracy", "completion"])
def test_a_gate_that_judges_nothing_is_an_error(metric: str) -> None:
    with pytest.raises(ScoringError, match=rf"none of the metrics with a threshold \({metric}\)"):
        score([call("a")], expected_tool="a", thresholds={"overall": None, metric: 1.0})


def test_a_threshold_on_a_metric_that_nobody_reports_is_an_error() -> None:
    with pytest.raises(ScoringError, match="'overal', which no scorer reports, did you mean overall"):
        score([call("a")], expected_tool="a", thresholds={"overall": 1.0, "overal": 1.0})


def test_only_parameters_decide_when_only_they_have_a_threshold() -> None:
    result = score(
        [call("b", x=2)],
        expected_tool="a",
        expected_params={"x": 1},
        thresholds={"overall": None, "parameter_accuracy": 1.0},
    )

    assert result.failure == "wrong_value"


def test_importing_scoring_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest_tooleval.scoring, pytest_tooleval.replies.recovery\n"
        "print([m for m in ('jsonschema', 'regex', 'rapidfuzz', 'litellm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
