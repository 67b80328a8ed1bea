"""The scores of a conversation that ended without a usable answer."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from ..record.endings import NoAnswerCategory
from ..record.metrics import PENALTIES
from ..record.results import Score
from .registry import Scorer


def without_answer(
    category: NoAnswerCategory, scores: Mapping[str, Score], scorers: Sequence[Scorer]
) -> dict[str, Score]:
    """0 for each metric that applies, and for those of third parties, whose scorers are not asked.

    Penalties, of which lower is better, stay as they are.
    """
    zero = Score(0.0, f"no usable answer ({category.replace('_', ' ')})")
    built_in = {
        metric: score if metric in PENALTIES or score.value is None else zero
        for metric, score in scores.items()
    }
    return built_in | {metric: zero for scorer in scorers for metric in scorer.metrics}
