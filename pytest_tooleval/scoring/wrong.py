"""What was wrong with an answer, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from ..record.metrics import CONVERSATION
from ..record.metrics import PENALTIES
from ..record.metrics import is_perfect
from ..record.results import ABSENT
from ..record.results import NO_TOOL
from ..record.results import Check
from ..record.results import FailureCategory
from ..text import shorten
from .conversation import JUDGE
from .drafts import Draft
from .thresholds import below
from .tool_selection import NOT_OFFERED

# Metrics of a whole chain, which their explanation shows better than a single call.
_OF_CHAIN = (*PENALTIES, "efficiency")
# The parts of `overall`, the most interesting first.
_PARTS = ("tool_selection", "parameter_accuracy", *_OF_CHAIN, *CONVERSATION)
_LONGEST = 300


def what_was_wrong(
    category: FailureCategory,
    values: Mapping[str, float | None],
    failing: Mapping[str, tuple[float | None, float]],
    drafts: Mapping[str, Draft],
) -> str:
    """The first reason why an answer missed its thresholds: `amount: expected 250, got "250 EUR"`.

    `failing` maps the metrics that are too low to score and threshold.
    """
    if category == "wrong_order":
        return "the right calls in the wrong order"
    if category == "unfinished_chain":
        return drafts["completion"].score(explained=True).explanation
    parts: Sequence[str] = ("conduct",) if category == "unfinished_turn" else _PARTS
    if category == "inefficient_chain":
        parts = _by_loss(values)
    if category == "surplus_call":
        parts = ("no_extra_calls", *_PARTS)
    for metric in (*(parts if {"overall", "completion"} & failing.keys() else ()), *failing):
        value = values.get(metric)
        if metric not in drafts or value is None or is_perfect(metric, value):
            continue
        score = drafts[metric].score(explained=True)
        check = next((check for check in score.checks if check.value < 1.0), None)
        if check is not None and metric not in _OF_CHAIN:
            return shorten(_phrase(metric, category, check), _LONGEST)
        if metric not in ("overall", "tool_selection"):
            return shorten(score.explanation, _LONGEST)
    return ", ".join(f"{metric} {below(*pair)}" for metric, pair in failing.items())


def _by_loss(values: Mapping[str, float | None]) -> list[str]:
    """The metrics that lower `overall` of a chain, the largest loss first."""
    completion, efficiency = values["completion"] or 0.0, values["efficiency"]
    lost = {metric: values[metric] or 0.0 for metric in PENALTIES}
    lost["efficiency"] = 0.0 if efficiency is None else completion * (1.0 - efficiency)
    return sorted(lost, key=lambda metric: -lost[metric])


def _phrase(metric: str, category: FailureCategory, check: Check) -> str:
    if metric in ("tool_selection", "no_extra_calls"):
        return _tool_phrase(check)
    if metric in CONVERSATION:
        if check.expected == NO_TOOL:
            return f"{check.name}: {check.actual}: {check.reason}"
        if check.what.endswith(JUDGE):
            return f"{check.name}: {check.reason} ({check.expected})"
        return f"{check.name}: expected {check.expected}, got {check.actual}"
    if metric != "parameter_accuracy":
        return f"{check.name}: {check.reason}"
    if category == "invalid_arguments":
        return f"{check.reason}: {check.actual}"
    if check.actual == ABSENT:
        return f"{check.name} {check.reason} (expected {check.expected})"
    if check.expected == ABSENT:
        return f"{check.name}: {check.actual} {check.reason}"
    return f"{check.name}: expected {check.expected}, got {check.actual}"


def _tool_phrase(check: Check) -> str:
    if check.expected == NO_TOOL:
        join = " " if check.reason.startswith("more often") else ": "
        return f"called {check.actual}{join}{check.reason}"
    place = f"{check.place}: " if check.place else ""
    if check.actual == NO_TOOL:
        return f"{place}expected {check.expected}, " + (
            "which was not called" if place else "no tool was called"
        )
    reason = f": {check.reason}" if check.reason == NOT_OFFERED else ""
    return f"{place}expected {check.expected}, called {check.actual}{reason}"
