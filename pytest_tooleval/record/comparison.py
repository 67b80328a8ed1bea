"""A comparison of two runs, paired by case and model."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from msgspec import Meta
from msgspec import Struct

from .gates import Verdict
from .run import Git


class ComparedRun(Struct, frozen=True, gc=False):
    """One of the two runs."""

    name: Annotated[str, Meta(description="What the user called it.")]
    id: Annotated[str, Meta(description="The id of the run.")]
    started: Annotated[str, Meta(description="When it started: ISO 8601, UTC.")]
    git: Annotated[Git | None, Meta(description="The state of the repository; null when unknown.")] = (
        None
    )


class ComparedMetric(Struct, frozen=True, kw_only=True, gc=False):
    """The comparison of a metric."""

    metric: Annotated[str, Meta(description="The metric; pass is the share of passed trials.")]
    suite: Annotated[str | None, Meta(description="The suite that it is of; null for all of them.")]
    old: Annotated[float, Meta(description="The mean in the baseline.")]
    new: Annotated[float, Meta(description="The mean now.")]
    drop: Annotated[float, Meta(description="old - new.")]
    n: Annotated[int, Meta(ge=0, description="The cases that have a value in both.")]
    p: Annotated[float, Meta(description="The p value.")]
    p_adjusted: Annotated[float, Meta(description="The same after Holm's correction.")]
    test: Annotated[Literal["sign-flip", "McNemar"], Meta(description="The test.")]
    bound: Annotated[float, Meta(description="The largest drop that is not ruled out.")]
    verdict: Annotated[
        Verdict,
        Meta(
            description="failed: a significant drop above max_drop; passed: a drop above the margin is "
            "ruled out; else inconclusive."
        ),
    ]

    @property
    def title(self) -> str:
        """Its name in tables: `pass` is no metric of a gate, whose pass rate is that of cases."""
        return "passing trials" if self.metric == "pass" else self.metric


class ComparedCase(Struct, frozen=True, gc=False):
    """A case by name."""

    suite: Annotated[str, Meta(description="The name of the suite.")]
    case: Annotated[str, Meta(description="The id of the case.")]


class RenamedCase(ComparedCase, frozen=True, kw_only=True, gc=False):
    """A case with its two names."""

    old_suite: Annotated[str, Meta(description="The suite in the baseline.")]
    old_case: Annotated[str, Meta(description="The id in the baseline.")]


class Flip(ComparedCase, frozen=True, kw_only=True, gc=False):
    """A case that passed always and now fails always."""

    old: Annotated[
        str, Meta(description="Passed trials of those with an answer, such as 4/5, in the baseline.")
    ]
    new: Annotated[str, Meta(description="The same now.")]


class Moved(ComparedCase, frozen=True, kw_only=True, gc=False):
    """A case that got worse or better."""

    old: Annotated[float | None, Meta(description="overall in the baseline.")]
    new: Annotated[float | None, Meta(description="overall now.")]
    old_passes: Annotated[
        str, Meta(description="Passed trials of those with an answer, such as 4/5, in the baseline.")
    ]
    new_passes: Annotated[str, Meta(description="The same now.")]


class ComparedModel(Struct, frozen=True, kw_only=True, gc=False):
    """The comparison of a model."""

    old: Annotated[str, Meta(description="The label in the baseline.")]
    new: Annotated[str, Meta(description="The label now.")]
    cases: Annotated[int, Meta(ge=0, description="The cases compared.")]
    verdict: Annotated[
        Verdict,
        Meta(description="failed if a metric or the flips did; else the verdict of the metric pass."),
    ]
    more_trials: Annotated[
        int | None,
        Meta(description="If inconclusive: about how many more trials of each case decide; null: none."),
    ]
    trials_in_both: Annotated[
        int | None,
        Meta(description="If none, as the baseline has too few: about how many in both runs decide."),
    ]
    metrics: Annotated[tuple[ComparedMetric, ...], Meta(description="The metrics.")]
    flips: Annotated[tuple[Flip, ...], Meta(description="Cases that passed always and now fail always.")]
    flips_p: Annotated[float | None, Meta(description="The p value of the flips.")]
    flips_p_adjusted: Annotated[float | None, Meta(description="The same after Holm's correction.")]
    flips_failed: Annotated[bool, Meta(description="Whether the flips fail the run.")]
    worse: Annotated[tuple[Moved, ...], Meta(description="Cases that got worse.")]
    better: Annotated[tuple[Moved, ...], Meta(description="Cases that got better.")]

    @property
    def got_worse(self) -> bool:
        """Whether a case, or the share of passes, is lower than before, chance or not."""
        return bool(self.worse or self.flips) or any(row.drop > 0 for row in self.metrics[:1])


class ComparedCases(Struct, frozen=True, gc=False):
    """What became of the baseline's cases."""

    same: Annotated[int, Meta(ge=0, description="Cases that both have.")]
    added: Annotated[tuple[ComparedCase, ...], Meta(description="Cases that only this run has.")]
    removed: Annotated[tuple[ComparedCase, ...], Meta(description="Cases that only the baseline has.")]
    changed: Annotated[
        tuple[ComparedCase, ...], Meta(description="Cases that ask or expect something else now.")
    ]
    renamed: Annotated[
        tuple[RenamedCase, ...], Meta(description="Cases that are the same under another name.")
    ]


class Comparison(Struct, frozen=True, kw_only=True, gc=False):
    """A comparison of two runs."""

    old: Annotated[ComparedRun, Meta(description="The baseline.")]
    new: Annotated[ComparedRun, Meta(description="The run compared with it.")]
    alpha: Annotated[float, Meta(description="The level of significance.")]
    max_drop: Annotated[float, Meta(description="The drop that is allowed: --tooleval-max-drop.")]
    margin: Annotated[
        float, Meta(description="The drop that must be ruled out to pass: max_drop, or 0.1 without one.")
    ]
    models: Annotated[tuple[ComparedModel, ...], Meta(description="The models, paired.")]
    cases: Annotated[ComparedCases, Meta(description="What became of the baseline's cases.")]
    verdict: Annotated[
        Verdict, Meta(description="failed if a model did or nothing could be compared; else the worst.")
    ]
    failed: Annotated[
        bool,
        Meta(description="Whether it fails the run; if inconclusive, it does with --tooleval-strict."),
    ]
    message: Annotated[str, Meta(description="All of it in one line.")]

    @property
    def is_only_unsure(self) -> bool:
        """Whether nothing got worse, and it does not pass only for want of answers."""
        open = self.verdict == "inconclusive" and not self.failed
        return open and not any(model.got_worse for model in self.models)

    @property
    def dropped(self) -> bool:
        """Whether the share of passes of a model was lower by more than the margin, chance or not."""
        return any(row.drop > self.margin for model in self.models for row in model.metrics[:1])
