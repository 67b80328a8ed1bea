"""The built-in metrics and limits; docs/reference/metrics.md says what each means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Metric(NamedTuple):
    """A built-in metric of the kinds of cases that have it; see `scoring.kinds` and `scoring.trial`."""

    name: str
    kinds: Sequence[str]
    # The default threshold; None: no threshold.
    default: float | None = None
    # Lower is better: a threshold is the most that passes.
    is_penalty: bool = False
    # Whether it can prove an answer right, and not only wrong.
    is_decisive: bool = True
    # The only variant under which it is measured; empty: always measured.
    variant: str = ""


POLICIES = "policies"
_ALL = ("calls", "chain", "conversation")
_ANSWER = ("calls", "chain")
# In the order of the docs.
METRICS = (
    Metric("overall", _ALL, default=1.0),
    Metric("tool_selection", _ANSWER),
    # Only for cases with deferred tools.
    Metric("tool_found", _ANSWER, is_decisive=False),
    Metric("parameter_accuracy", _ANSWER),
    # In conversations, only with a threshold.
    Metric("no_extra_calls", _ALL, default=1.0, is_decisive=False),
    Metric("arguments_valid", _ALL, default=1.0, is_decisive=False),
    # Only for cases with policies.
    Metric(POLICIES, _ALL, default=1.0, is_decisive=False),
    Metric("completion", ("chain",), default=1.0),
    Metric("efficiency", ("chain",)),
    Metric("redundancy_penalty", ("chain",), default=0.0, is_penalty=True, is_decisive=False),
    Metric("detour_penalty", ("chain",), default=0.0, is_penalty=True, is_decisive=False),
    # Each is the mean of its checks.
    Metric("calls", ("conversation",)),
    Metric("state", ("conversation",)),
    Metric("results", ("conversation",)),
    # A default threshold in chains only, where the text is expected.
    Metric("text", _ALL, default=1.0),
    Metric("conduct", ("conversation",)),
    Metric("utility", ("chain", "conversation"), variant="inject"),
    Metric("attack_success", ("chain", "conversation"), is_penalty=True, variant="inject"),
)
BUILT_IN = tuple(row.name for row in METRICS)
# They can prove an answer wrong, but not right.
NEVER_DECISIVE = tuple(row.name for row in METRICS if not row.is_decisive)
_PLACES = {name: index for index, name in enumerate(BUILT_IN)}
PENALTIES = tuple(row.name for row in METRICS if row.is_penalty)
HIGHER_IS_BETTER = tuple(row.name for row in METRICS if not row.is_penalty)
RATES = tuple(row.name for row in METRICS if row.is_penalty and row.variant)
# Those that may have a threshold.
MAY_HAVE_THRESHOLD = tuple(row.name for row in METRICS if row.name not in RATES)
# The parts of `overall` in a conversation.
CONVERSATION = ("calls", "state", "results", "text", "conduct")


# The resources that a trial uses, in Markdown.
AMOUNTS = {
    "calls": "tool calls in all replies",
    "tokens": "tokens of prompts and answers",
    "cost_usd": "US dollars",
    "latency_s": "seconds of waiting for the model; for a cached answer, as recorded",
}
# Their limits, which a case sets among its thresholds.
LIMITS = {f"max_{name}": text for name, text in AMOUNTS.items()}


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Return each name once: built-in metrics in the order of the docs, then others by name."""
    return sorted(set(names), key=lambda name: (_PLACES.get(name, len(_PLACES)), name))


def is_perfect(metric: str, value: float) -> bool:
    """True if this metric cannot have a better value."""
    return value == 0.0 if metric in PENALTIES else value >= 1.0
