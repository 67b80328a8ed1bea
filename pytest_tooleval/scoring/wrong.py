"""A one-line account of what was wrong with an answer."""

from __future__ import annotations

from collections.abc import Mapping

from ..record.metrics import is_perfect
from ..record.results import FailureCategory
from ..record.thresholds import below
from ..text import shorten
from .assessment import Assessment

_LONGEST = 300


def what_was_wrong(
    category: FailureCategory,
    found: Assessment,
    failing: Mapping[str, tuple[float | None, float]],
) -> str:
    """Return the first reason for missed thresholds, such as `amount: expected 250, got "250 EUR"`.

    `failing` maps the metrics that are too low to score and threshold.
    """
    if category == "wrong_order":
        return "the right calls in the wrong order"
    if category == "unfinished_chain":
        return found.drafts["completion"].explained()[0]
    if category == "broken_policy":
        failing = {"policies": failing["policies"]}
    parts = found.parts(category) if {"overall", "completion"} & failing.keys() else ()
    for metric in (*parts, *failing):
        draft = found.drafts.get(metric)
        if draft is None or draft.value is None or is_perfect(metric, draft.value):
            continue
        text, lines = draft.explained()
        line = next((line for line in lines if line.check.value < 1.0), None)
        if line is not None and line.says is not None:
            return shorten(line.says(line.check), _LONGEST)
        if metric not in ("overall", "tool_selection"):
            return shorten(text, _LONGEST)
    return ", ".join(f"{metric} {below(*pair)}" for metric, pair in failing.items())
