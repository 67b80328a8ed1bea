"""Runs of one commit as one: each answer counts once."""

from __future__ import annotations

import pytest
from builders import result_of

from pytest_tooleval.record.results import Score, TrialError, TrialResult
from pytest_tooleval.verdicts.case import pool

# Each trial by a letter: right and wrong, fresh (in capitals) or cached; without an answer.
_RIGHT, _WRONG = ({"overall": Score(value, "", ())} for value in (1.0, 0.0))
_TRIALS = {
    "R": TrialResult(passed=True, scores=_RIGHT),
    "W": TrialResult(passed=False, scores=_WRONG),
    "r": TrialResult(passed=True, scores=_RIGHT, cached=True),
    "w": TrialResult(passed=False, scores=_WRONG, cached=True),
    "-": TrialResult(error=TrialError("timeout", "too slow")),
}


@pytest.mark.parametrize(
    ("runs", "passes", "trials"),
    [
        (["R", "W"], 1, 2),
        # Replayed from one cassette, or resumed.
        (["r", "r", "r"], 1, 1),
        (["rw", "rw"], 1, 2),
        (["rR", "R"], 2, 2),
        (["w", "R", "W"], 1, 2),
        (["-", "r", "w"], 1, 1),
        (["-", "R"], 1, 1),
        (["-", "-"], 0, 2),
        # A run by itself is as it is.
        (["rR"], 2, 2),
    ],
)
def test_each_answer_counts_once(runs: list[str], passes: int, trials: int) -> None:
    tried = (tuple(map(_TRIALS.__getitem__, each)) for each in runs)
    cases = [[result_of(trials=found, thresholds={"overall": 1.0})] for found in tried]
    (case,) = pool(cases)
    assert (case.passes, len(case.trials)) == (passes, trials)
