"""Scorers of third parties: the protocol, and the registry of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol
from typing import runtime_checkable

import msgspec

from ..errors import ConfigError
from ..errors import ScoringError
from ..errors import error_text
from ..errors import raised_at
from ..record.metrics import BUILT_IN
from ..record.metrics import METRICS
from ..record.results import Score
from ..record.transcript import Transcript
from ..suite.model import ResolvedCase


@runtime_checkable
class Scorer(Protocol):
    """Adds metrics to every trial.

    `metrics` are the names that `score` may return: Python identifiers that no other scorer uses.
    `score` is called once per trial, with the whole conversation and the case, which has all defaults
    applied. It returns a `Score` for each metric. A metric that does not apply is left out, or has None
    in `value`. It must not change its arguments.
    """

    @property
    def metrics(self) -> Sequence[str]:
        """The names that `score` may return; a plain class attribute will do."""

    def score(self, case: ResolvedCase, transcript: Transcript) -> Mapping[str, Score]:
        """The scores of one trial."""


class ScorerRegistry:
    """The scorers that were registered for a run, in their order."""

    def __init__(self) -> None:
        self._scorers: list[Scorer] = []

    @property
    def scorers(self) -> tuple[Scorer, ...]:
        return tuple(self._scorers)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every metric that may have a threshold."""
        return (*METRICS, *(metric for scorer in self._scorers for metric in scorer.metrics))

    def register(self, scorer: Scorer) -> None:
        """Add a scorer. Raises ConfigError when it is none or its metrics cannot be used."""
        name = scorer_name(scorer)
        if isinstance(scorer, type):
            raise ConfigError(f"scorer {name}: got the class, expected an instance: {name}()")
        if not callable(getattr(scorer, "score", None)):
            raise ConfigError(f"scorer {name}: it has no method score(case, transcript)")
        metrics = getattr(scorer, "metrics", None)
        if isinstance(metrics, str) or not isinstance(metrics, Sequence) or not metrics:
            raise ConfigError(
                f"scorer {name}: metrics must be a list of the names that it returns, got {metrics!r}"
            )
        taken = {metric: other for other in self._scorers for metric in other.metrics}
        for metric in metrics:
            if not isinstance(metric, str) or not metric.isidentifier():
                raise ConfigError(
                    f"scorer {name}: the metric {metric!r} must be a name of letters, digits and "
                    "underscores, such as answer_length"
                )
            if metric in BUILT_IN:
                raise ConfigError(
                    f"scorer {name}: the metric {metric!r} is built in; choose another name"
                )
            if metric in taken:
                other = scorer_name(taken[metric])
                raise ConfigError(
                    f"scorer {name}: the metric {metric!r} is already registered by {other}; "
                    "choose another name"
                )
            taken[metric] = scorer
        self._scorers.append(scorer)


def scorer_name(scorer: object) -> str:
    """How messages call a scorer: the name of its class, with its module."""
    kind = scorer if isinstance(scorer, type) else type(scorer)
    return f"{kind.__module__}.{kind.__qualname__}"


def run_scorer(scorer: Scorer, case: ResolvedCase, transcript: Transcript) -> dict[str, Score]:
    """The scores of a third-party scorer.

    Raises ScoringError when it raises, or returns something else than what it announced.
    """
    place = f"{case.suite}::{case.id}: scorer {scorer_name(scorer)} ({', '.join(scorer.metrics)})"
    try:
        scores = scorer.score(case, transcript)
    except Exception as error:
        raise ScoringError(f"{place} raised {error_text(error)}{raised_at(error)}") from error
    if not isinstance(scores, Mapping):
        raise ScoringError(
            f"{place} returned {scores!r:.200}, "
            f'expected a dict such as {{"{scorer.metrics[0]}": Score(1.0)}}'
        )
    for metric, score in scores.items():
        if metric not in scorer.metrics:
            raise ScoringError(f"{place} returned {metric!r}, which is not in its metrics")
        _require_score(score, f"{place} returned for {metric!r}")
    return dict(scores)


def _require_score(score: object, place: str) -> None:
    if not isinstance(score, Score):
        raise ScoringError(f"{place} {score!r:.200}, expected a Score such as Score(1.0)")
    value: object = score.value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and 0 <= value <= 1):  # type: ignore[arg-type, operator]
        raise ScoringError(f"{place} the value {value!r:.200}, expected a number from 0 to 1, or None")
    try:
        msgspec.convert(msgspec.to_builtins(score), Score)
    except (msgspec.ValidationError, TypeError) as error:
        raise ScoringError(f"{place} a Score that cannot be kept: {error}") from None
