"""Scoring: a case and a transcript in, scores with explanations out. Knows no model and no pytest."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ..errors import ScoringError
from ..results import Score
from ..results import ToolCall
from ..results import Transcript
from ..results import TrialResult
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import TestCase
from ..suite.model import resolve
from .analysis import BUILT_IN_METRICS
from .analysis import analyse
from .analysis import failure_category
from .problems import CannotCompare
from .registry import BUILT_IN
from .registry import BuiltInScorer
from .registry import Scorer
from .registry import run_scorer
from .thresholds import missed_thresholds

__all__ = ["score_calls", "score_transcript"]


def score_calls(
    suite: Suite, case: TestCase, calls: Iterable[ToolCall | Mapping[str, Any]] | None
) -> TrialResult:
    """Score the calls that a model made for a case of a suite.

    `calls` are `ToolCall`s or `{"name": ..., "arguments": {...} | "raw text"}`; `[]` and None are
    an answer without calls. For a multi-turn case they are the whole trajectory. Raises
    ScoringError when the suite asks for something that cannot be carried out.
    """
    return score_transcript(resolve(suite, case), Transcript.from_calls(calls))


def score_transcript(
    case: ResolvedCase,
    transcript: Transcript,
    *,
    scorers: Sequence[Scorer] = BUILT_IN,
    trial: int = 0,
) -> TrialResult:
    """Score one conversation with all scorers, and judge it by the thresholds of the case.

    Raises ScoringError when the suite asks for something that cannot be carried out, when a
    scorer misbehaves, or when no thresholded metric applies to a right answer.
    """
    try:
        analysis, built_in = analyse(case, transcript)
        scores: dict[str, Score] = {}
        for scorer in scorers:
            if isinstance(scorer, BuiltInScorer):
                scores.update(built_in)
            else:
                scores.update(run_scorer(scorer, case, transcript))
        failing = _failing(case, scores, scorers)
        failure = failure_category(case, transcript, analysis, failing) if failing else None
    except CannotCompare as error:
        raise ScoringError(f"{case.suite}::{case.id}: {error.place}: {error.message}") from None
    return TrialResult(scores, not failing, failure, analysis.extra_calls, transcript, None, trial)


def _failing(case: ResolvedCase, scores: Mapping[str, Score], scorers: Sequence[Scorer]) -> list[str]:
    """The metrics that miss their thresholds."""
    for metric in case.thresholds:
        if metric not in scores:
            _require_known(case, metric, scorers)
    values = {metric: score.value for metric, score in scores.items()}
    try:
        return list(missed_thresholds(values, case.thresholds))
    except ScoringError as error:
        raise ScoringError(f"{case.suite}::{case.id}: {error}") from None


def _require_known(case: ResolvedCase, metric: str, scorers: Sequence[Scorer]) -> None:
    if metric not in BUILT_IN_METRICS and not any(metric in scorer.metrics for scorer in scorers):
        raise ScoringError(
            f"{case.suite}::{case.id}: there is a threshold for {metric!r}, but no scorer reports it"
        )
