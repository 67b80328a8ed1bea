"""Third-party scorers: their protocol, and a run's registry of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from ..errors import ConfigError, ScoringError, error_text, raised_at
from ..record.metrics import BUILT_IN, MAY_HAVE_THRESHOLD
from ..record.results import Score
from ..record.transcript import Transcript
from ..suite.case import ResolvedCase


@runtime_checkable
class Scorer(Protocol):
    """Adds metrics to every trial.

    `metrics` are the names that `score` may return: Python identifiers that no other scorer uses.
    `score` is called once per trial with the case and the whole conversation, and must not change them.
    It returns a `Score` for each metric; one that does not apply is left out or has the `value` None.
    """

    @property
    def metrics(self) -> Sequence[str]:
        """The names that `score` may return; usually a class attribute."""

    def score(self, case: ResolvedCase, transcript: Transcript) -> Mapping[str, Score]:
        """Return the scores of one trial."""


class ScorerRegistry:
    """The scorers of a run, in registration order."""

    def __init__(self) -> None:
        self._scorers: list[Scorer] = []

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        return tuple(self._scorers)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that may have a threshold."""
        return (*MAY_HAVE_THRESHOLD, *(metric for scorer in self._scorers for metric in scorer.metrics))

    def register(self, scorer: Scorer) -> None:
        """Add a scorer. Raises ConfigError if it is not a scorer, or if its metrics cannot be used."""
        problem = self._problem(scorer)
        if problem is not None:
            raise ConfigError(f"scorer {scorer_name(scorer)}: {problem}")
        self._scorers.append(scorer)

    def _problem(self, scorer: Scorer) -> str | None:
        if isinstance(scorer, type):
            return f"got the class, expected an instance: {scorer_name(scorer)}()"
        if not callable(getattr(scorer, "score", None)):
            return "it has no method score(case, transcript)"
        metrics = getattr(scorer, "metrics", None)
        if isinstance(metrics, str) or not isinstance(metrics, Sequence) or not metrics:
            return f"metrics must be a list of the names that it returns, got {metrics!r}"
        taken = {metric: other for other in self._scorers for metric in other.metrics}
        for metric in metrics:
            what = f"the metric {metric!r}"
            if not isinstance(metric, str) or not metric.isidentifier():
                return f"{what} must be a name of letters, digits and underscores, such as answer_length"
            if metric in BUILT_IN:
                return f"{what} is built in; choose a different name"
            if metric in taken:
                other = scorer_name(taken[metric])
                return f"{what} is already registered by {other}; choose a different name"
            taken[metric] = scorer
        return None


def scorer_name(scorer: object) -> str:
    """Return a scorer's name for messages: its class, with the module."""
    kind = scorer if isinstance(scorer, type) else type(scorer)
    return f"{kind.__module__}.{kind.__qualname__}"


def run_scorer(scorer: Scorer, case: ResolvedCase, transcript: Transcript) -> dict[str, Score]:
    """Run a third-party scorer.

    Raises ScoringError if it raises, or returns anything but valid scores for its `metrics`.
    """
    subject = f"scorer {scorer_name(scorer)} ({', '.join(scorer.metrics)})"
    try:
        scores = scorer.score(case, transcript)
    except Exception as error:
        raise ScoringError(f"{subject} raised {error_text(error)}{raised_at(error)}") from error
    if not isinstance(scores, Mapping):
        expected = f'a dict such as {{"{scorer.metrics[0]}": Score(1.0)}}'
        raise ScoringError(f"{subject} returned {scores!r:.200}, expected {expected}")
    for metric, score in scores.items():
        if metric not in scorer.metrics:
            raise ScoringError(f"{subject} returned {metric!r}, which is not in its metrics")
        _require_score(score, f"{subject} returned for {metric!r}")
    return dict(scores)


def _require_score(score: object, subject: str) -> None:
    if not isinstance(score, Score):
        raise ScoringError(f"{subject} {score!r:.200}, expected a Score such as Score(1.0)")
    value: object = score.value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and 0 <= value <= 1):  # type: ignore[arg-type, operator]
        raise ScoringError(f"{subject} the value {value!r:.200}, expected a number from 0 to 1, or None")
    try:
        msgspec.convert(msgspec.to_builtins(score), Score)
    except (msgspec.ValidationError, TypeError) as error:
        raise ScoringError(f"{subject} an invalid Score: {error}") from None
