"""The built-in metrics and limits; docs/reference/metrics.md says what each means."""

from __future__ import annotations

from collections.abc import Iterable

BUILT_IN = (
    "overall",
    "tool_selection",
    "parameter_accuracy",
    "no_extra_calls",
    "arguments_valid",
    "completion",
    "efficiency",
    "redundancy_penalty",
    "detour_penalty",
    "calls",
    "state",
    "results",
    "text",
    "conduct",
)
# For these, less is better, so they cannot have a threshold.
PENALTIES = ("redundancy_penalty", "detour_penalty")
# Only conversations have these, each the mean of its checks.
CONVERSATION = ("calls", "state", "results", "text", "conduct")
METRICS = tuple(name for name in BUILT_IN if name not in PENALTIES)


# What a trial takes, in Markdown.
AMOUNTS = {
    "calls": "tool calls in all replies",
    "tokens": "tokens of prompts and answers",
    "cost_usd": "US dollars",
    "latency_s": "seconds of waiting for the model; for a cached answer, as recorded",
}
# Their limits among the thresholds of a case.
LIMITS = {f"max_{name}": text for name, text in AMOUNTS.items()}


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Each name once: the built-in metrics in the order of the docs, then others by name."""
    places = {name: place for place, name in enumerate(BUILT_IN)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))


def is_perfect(metric: str, value: float) -> bool:
    """Whether no value of this metric is better."""
    return value == 0.0 if metric in PENALTIES else value >= 1.0
