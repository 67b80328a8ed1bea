"""Sums over cases: counts, means, tokens and cost."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec import Struct


class Mean(Struct, frozen=True, gc=False):
    """The mean of a metric, weighted by the cases' weights."""

    mean: Annotated[float, Meta(description="The mean.")]
    n: Annotated[int, Meta(ge=0, description="The cases that have a value.")]
    low: Annotated[
        float | None, Meta(description="The lower bound of the 95% interval; null when not computed.")
    ] = None
    high: Annotated[
        float | None, Meta(description="The upper bound of the 95% interval; null when not computed.")
    ] = None


class Reliability(Struct, frozen=True, gc=False, rename={"pass_at": "pass@k", "pass_hat": "pass^k"}):
    """pass@k and pass^k, means over cases by their weights."""

    trials: Annotated[int, Meta(ge=0, description="The most trials of a case.")]
    cases: Annotated[
        dict[str, int],
        Meta(description="k to the number of cases that have so many trials: those of the means."),
    ]
    pass_at: Annotated[
        dict[str, float], Meta(description="k to the chance that at least one of k trials passes.")
    ]
    pass_hat: Annotated[dict[str, float], Meta(description="k to the chance that all of k trials pass.")]


class Tokens(Struct, frozen=True, gc=False):
    """Numbers of tokens, null when unknown."""

    prompt: Annotated[int | None, Meta(description="Tokens of the prompts.")] = None
    completion: Annotated[int | None, Meta(description="Tokens of the answers.")] = None
    reasoning: Annotated[
        int | None, Meta(description="Those of the answers' that went into reasoning.")
    ] = None

    @property
    def total(self) -> int | None:
        known = [count for count in (self.prompt, self.completion) if count is not None]
        return sum(known) if known else None


class Fallback(Struct, frozen=True, gc=False):
    """What was sent in place of a parameter that a model refuses."""

    parameter: Annotated[str, Meta(description="The parameter.")]
    sent: Annotated[str | None, Meta(description="What was sent instead; null for nothing.")]
    cases: Annotated[int, Meta(ge=0, description="The cases that this was done in.")]


class Summary(Struct, frozen=True, kw_only=True, gc=False):
    """Sums over cases."""

    cases: Annotated[int, Meta(ge=0, description="Cases, counted once for each model.")]
    passed: Annotated[int, Meta(ge=0, description="Cases that passed.")]
    failed: Annotated[int, Meta(ge=0, description="Cases that failed.")]
    forbidden: Annotated[int, Meta(ge=0, description="Cases in which a forbidden call was made.")]
    errors: Annotated[int, Meta(ge=0, description="Cases without an answer to judge.")]
    tolerated: Annotated[
        int,
        Meta(ge=0, description="Those of the failed cases and errors that do not fail the run."),
    ]
    skipped: Annotated[int, Meta(ge=0, description="Cases that were not run.")]
    pass_rate: Annotated[
        Mean | None,
        Meta(description="The share of the passed and failed cases that passed; null: none."),
    ]
    metrics: Annotated[
        dict[str, Mean],
        Meta(description="A metric to its mean over the passed and failed cases."),
    ]
    reliability: Annotated[
        Reliability | None,
        Meta(description="pass@k and pass^k; null when every case had one trial."),
    ]
    trials: Annotated[int, Meta(ge=0, description="Trials with an answer.")]
    cached: Annotated[int, Meta(ge=0, description="Trials whose answers were not asked for now.")]
    recovered: Annotated[int, Meta(ge=0, description="Trials whose calls were written as text.")]
    fallbacks: Annotated[
        tuple[Fallback, ...], Meta(description="What was sent in place of refused parameters.")
    ]
    tokens: Annotated[Tokens, Meta(description="Tokens of all trials.")]
    cost_usd: Annotated[
        float | None,
        Meta(description="What the answers cost, cached ones too, in US dollars. Null: unknown."),
    ]
    others_cost_usd: Annotated[
        float | None,
        Meta(
            description="What judges and simulated users cost, in US dollars, a verdict once for each "
            "trial that shares it; `spent` of the run is what was paid. Null: unknown, or none."
        ),
    ]
    priced: Annotated[int, Meta(ge=0, description="Trials whose cost is known.")]
    latency_s: Annotated[
        float | None, Meta(description="The mean latency of a trial in seconds. Null: unknown.")
    ]

    @property
    def fails_run(self) -> bool:
        """Whether a failure or an error is not tolerated."""
        return self.failed + self.errors > self.tolerated


class ModelSummary(Summary, frozen=True, kw_only=True, gc=False):
    """Sums over all cases of a model."""

    model: Annotated[str, Meta(description="The label of the model; empty when none was named.")]


class SuiteSummary(ModelSummary, frozen=True, kw_only=True, gc=False):
    """Sums over the cases of a suite on a model."""

    suite: Annotated[str, Meta(description="The name of the suite.")]
    file: Annotated[str, Meta(description="Its file, relative to pytest's root folder.")]
