"""Sums over cases: counts, means, tokens and cost."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from .fields import doc
from .identity import Identity


class Mean(Struct, frozen=True, gc=False):
    """The mean of a metric, weighted by the cases' weights."""

    mean: Annotated[float, doc("The mean.")]
    n: Annotated[int, doc("The cases that have a value.", ge=0)]
    low: Annotated[float | None, doc("The lower end of the 95% interval; null: not computed.")] = None
    high: Annotated[float | None, doc("The upper end of the 95% interval; null: not computed.")] = None


class Reliability(Struct, frozen=True, gc=False, rename={"pass_at": "pass@k", "pass_hat": "pass^k"}):
    """pass@k and pass^k as weighted means over cases."""

    trials: Annotated[int, doc("The largest number of trials of a case.", ge=0)]
    cases: Annotated[dict[str, int], doc("k to the number of cases in the means: those with k trials.")]
    pass_at: Annotated[dict[str, float], doc("k to the chance that at least one of k trials passes.")]
    pass_hat: Annotated[dict[str, float], doc("k to the chance that all of k trials pass.")]


class Tokens(Struct, frozen=True, gc=False):
    """Token counts, null when unknown."""

    prompt: Annotated[int | None, doc("Prompt tokens.")] = None
    completion: Annotated[int | None, doc("Answer tokens.")] = None
    reasoning: Annotated[int | None, doc("Reasoning tokens, part of the answer tokens.")] = None


def fallback_text(parameter: str, sent: str | None) -> str:
    """The fallback for a parameter, in words."""
    if parameter == "tool_choice":
        return f"tool_choice sent as '{sent}', because this model refuses the case's"
    if parameter == "reasoning_effort":
        return "no reasoning effort sent, because this model is not known to reason"
    if sent is None:
        return f"{parameter} left out, because this model refuses it"
    return f"{parameter} sent as {sent}"


class Fallback(Struct, frozen=True, gc=False):
    """The value sent instead of a parameter that a model rejects."""

    parameter: Annotated[str, doc("The parameter.")]
    sent: Annotated[str | None, doc("The value sent instead; null for nothing.")]
    cases: Annotated[int, doc("The number of cases.", ge=0)]


class Summary(Struct, frozen=True, kw_only=True, gc=False):
    """Sums over cases."""

    cases: Annotated[int, doc("Cases, counted once for each model.", ge=0)]
    passed: Annotated[int, doc("Cases that passed.", ge=0)]
    failed: Annotated[int, doc("Cases that failed.", ge=0)]
    forbidden: Annotated[int, doc("Cases in which a forbidden call was made.", ge=0)]
    errors: Annotated[int, doc("Cases without an answer to judge.", ge=0)]
    failing: Annotated[int, doc("Failed cases and errors that fail the run themselves.", ge=0)] = 0
    counted: Annotated[int, doc("Failed cases and errors that a gate judges.", ge=0)] = 0
    tolerated: Annotated[int, doc("Failed cases and errors that do not fail the run.", ge=0)]
    skipped: Annotated[int, doc("Cases that were not run.", ge=0)]
    pass_rate: Annotated[
        Mean | None, doc("The share of the passed and failed cases that passed; null: none.")
    ]
    metrics: Annotated[dict[str, Mean], doc("Means over the passed and failed cases, by metric.")]
    reliability: Annotated[
        Reliability | None, doc("pass@k and pass^k; null when every case had one trial.")
    ]
    trials: Annotated[int, doc("Trials with an answer.", ge=0)]
    cached: Annotated[int, doc("Trials with cached answers.", ge=0)]
    recovered: Annotated[int, doc("Trials whose calls were written as text.", ge=0)]
    native_calls: Annotated[int, doc("Calls in the API's own form.", ge=0)] = 0
    recovered_calls: Annotated[int, doc("Calls that were written as text, and read.", ge=0)] = 0
    lost_calls: Annotated[int, doc("Calls that were written as text, and cannot be read.", ge=0)] = 0
    dialects: Annotated[dict[str, int], doc("Trials by the dialect of calls written as text.")] = {}
    fallbacks: Annotated[tuple[Fallback, ...], doc("Values sent instead of refused parameters.")]
    upstreams: Annotated[dict[str, int], doc("Trials by the provider that answered a router.")] = {}
    tokens: Annotated[Tokens, doc("Tokens of all trials.")]
    cost_usd: Annotated[
        float | None, doc("The answers' cost in US dollars, including cached ones. Null: unknown.")
    ]
    others_cost_usd: Annotated[
        float | None,
        doc(
            "What judges and simulated users cost in US dollars; a shared verdict counts for each "
            "trial, while `spent` of the run is what was paid. Null: unknown, or none."
        ),
    ]
    priced: Annotated[int, doc("Trials whose whole cost is known.", ge=0)]
    latency_s: Annotated[float | None, doc("The mean latency of a trial in seconds. Null: unknown.")]


class ModelSummary(Summary, frozen=True, kw_only=True, gc=False):
    """Sums over all cases of a model."""

    model: Annotated[str, doc("The model's label; empty when none was named.")]


class SuiteSummary(ModelSummary, frozen=True, kw_only=True, gc=False):
    """Sums over the cases of a suite on a model."""

    suite: Annotated[str, doc("The suite's name.")]
    file: Annotated[str, doc("Its file, relative to pytest's root folder.")]

    @property
    def identity(self) -> Identity:
        return Identity(self.suite, file=self.file, model=self.model)
