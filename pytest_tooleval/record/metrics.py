"""The built-in metrics: what each is called, and what it means."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Metric(NamedTuple):
    """A built-in metric.

    `title` heads a column. `single` and `chain` say what it means in a case of one reply and in a
    multi-turn case, in Markdown; None where it does not occur. Of a `penalty` less is better, so it
    can have no threshold.
    """

    name: str
    title: str
    single: str | None
    chain: str | None
    penalty: bool = False


BUILT_IN = {
    metric.name: metric
    for metric in (
        Metric(
            "overall",
            "overall",
            "0.6 × tool selection + 0.4 × parameter accuracy; tool selection alone where parameters are "
            "not scored",
            "completion × efficiency − redundancy − detours, between 0 and 1",
        ),
        Metric(
            "tool_selection",
            "tool",
            "1 if an expected tool was called, else 0; upper and lower case do not matter. Where "
            "nothing should be called: 1 only if nothing was",
            "1 if the chain reached an expected tool, else 0",
        ),
        Metric(
            "parameter_accuracy",
            "params",
            "expected parameters that are right / expected parameters. Nothing if `expected_params` is "
            "not given; 1 for `{}`, unless `bfcl` counts further ones",
            "the same, of the call to the expected tool; 0 if the chain never reached it",
        ),
        Metric(
            "no_extra_calls",
            "no extra",
            "1 if no more calls were made than expected, else 0. Nothing where any number is right: "
            '`expected_tool: "*"` and `bfcl`. Has no part in `overall`',
            None,
        ),
        Metric(
            "arguments_valid",
            "valid args",
            "1 if the arguments of every call are valid under the called tool's own JSON Schema (draft "
            "2020-12) and name only parameters that the tool has, else 0. Nothing without calls. Has no "
            "part in `overall`",
            "the same, of all calls of the chain",
        ),
        Metric(
            "completion",
            "completion",
            None,
            "0.6 + 0.4 × parameters of the call to the expected tool; 0 if the chain never reached it",
        ),
        Metric(
            "efficiency",
            "efficiency",
            None,
            "`optimal_hops` / calls made, at most 1; nothing, and 1 in the formula, without "
            "`optimal_hops`. A chain given up early is efficient, too: gate `completion` or `overall`",
        ),
        Metric(
            "redundancy_penalty",
            "redundancy",
            None,
            "0.1 for each call identical to the one before it, unless the two were answered differently",
            penalty=True,
        ),
        Metric(
            "detour_penalty",
            "detours",
            None,
            "0.1 for each call, other than the last, to a tool that is neither a prerequisite nor "
            "expected",
            penalty=True,
        ),
    )
}


class Budget(NamedTuple):
    """What a trial may take at most. `unit` follows the number in messages, `text` is in Markdown."""

    name: str
    unit: str
    text: str


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget("max_calls", "calls", "calls of tools, in all replies"),
        Budget("max_tokens_used", "tokens", "tokens of prompts and answers"),
        Budget("max_cost_usd", "USD", "US dollars"),
        Budget("max_latency_s", "s", "seconds of waiting for the model; of a cached answer as recorded"),
    )
}
# Those that may have a threshold, and those that may not.
METRICS = tuple(name for name, metric in BUILT_IN.items() if not metric.penalty)
PENALTIES = tuple(name for name, metric in BUILT_IN.items() if metric.penalty)


def ordered_metrics(names: Iterable[str]) -> list[str]:
    """Each name once: the built-in metrics in the order of the docs, then others by name."""
    places = {name: place for place, name in enumerate(BUILT_IN)}
    return sorted(set(names), key=lambda name: (places.get(name, len(places)), name))


def title_of(metric: str) -> str:
    """What heads the column of a metric, built in or not."""
    return BUILT_IN[metric].title if metric in BUILT_IN else metric
