"""A comparison of two runs, paired by case and model."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from .fields import doc
from .gates import Gate, Verdict
from .identity import Identity
from .run import Git


class ComparedRun(Struct, frozen=True, gc=False):
    """One of the two runs."""

    name: Annotated[str, doc("The user's name for it.")]
    id: Annotated[str, doc("The run's id.")]
    started: Annotated[str, doc("When it started: ISO 8601, UTC.")]
    git: Annotated[Git | None, doc("The repository's state; null when unknown.")] = None
    scoring_version: Annotated[int, doc("The scoring version in its record; 0: unknown.", ge=0)] = 0
    gates: Annotated[tuple[Gate, ...], doc("The gates of the run.")] = ()


class ComparedMetric(Struct, frozen=True, kw_only=True, gc=False):
    """The comparison of a metric."""

    metric: Annotated[str, doc("The metric; pass is the share of passed trials.")]
    suite: Annotated[str | None, doc("The suite; null for all suites.")]
    old: Annotated[float, doc("The mean in the baseline.")]
    new: Annotated[float, doc("The mean now.")]
    drop: Annotated[float, doc("old - new.")]
    low: Annotated[float | None, doc("The lower end of the 95% interval of new - old.")] = None
    high: Annotated[float | None, doc("The upper end of the 95% interval of new - old.")] = None
    n: Annotated[int, doc("The cases that have a value in both.", ge=0)]
    p: Annotated[float, doc("The p value.")]
    p_adjusted: Annotated[float, doc("The same after Holm's correction.")]
    test: Annotated[Literal["permutation", "McNemar"], doc("The test.")]
    largest_drop: Annotated[float, doc("The largest drop that is not ruled out.")]
    verdict: Annotated[
        Verdict,
        doc(
            "failed: a significant drop above max_drop; passed: a drop above the margin is "
            "ruled out; else inconclusive."
        ),
    ]

    @property
    def title(self) -> str:
        """The name in tables; `pass` is renamed, as the pass rate of gates counts cases, not trials."""
        return "passing trials" if self.metric == "pass" else self.metric


class RenamedCase(Identity, frozen=True, kw_only=True, gc=False):
    """A case with its old and its new name."""

    old_suite: Annotated[str, doc("The suite in the baseline.")]
    old_case: Annotated[str, doc("The id in the baseline.")]
    old_file: Annotated[str, doc("The file in the baseline.")] = ""


class Incomparable(Identity, frozen=True, kw_only=True, gc=False):
    """A case that cannot be judged by the same rules in both runs."""

    why: Annotated[str, doc("The part that one of the runs lacks.")]


class LoosenedCase(Identity, frozen=True, kw_only=True, gc=False):
    """A case that needs less than in the baseline."""

    what: Annotated[str, doc("What it needs less of: before and now.")]


class CaseShift(Identity, frozen=True, kw_only=True, gc=False):
    """A case that got worse or better."""

    was: Annotated[Identity, doc("The case that it is compared with.")]
    old: Annotated[float | None, doc("overall in the baseline.")]
    new: Annotated[float | None, doc("overall now.")]
    old_passes: Annotated[str, doc("Passed of the answered trials in the baseline, such as 4/5.")]
    new_passes: Annotated[str, doc("The same now.")]
    newly_broken: Annotated[bool, doc("Whether it passed every trial before, and none now.")] = False

    @property
    def newly_right(self) -> bool:
        """True if it passed no trial before, and every one now."""
        return self.old_passes.startswith("0/") and len(set(self.new_passes.split("/"))) == 1


class ComparedModel(Struct, frozen=True, kw_only=True, gc=False):
    """The comparison of a model."""

    old: Annotated[str, doc("The label in the baseline.")]
    new: Annotated[str, doc("The label now.")]
    cases: Annotated[int, doc("The cases compared.", ge=0)]
    verdict: Annotated[
        Verdict,
        doc(
            "failed if a metric or the newly broken cases did, or if nothing is comparable with a run "
            "that the user named; else the verdict of the metric pass."
        ),
    ]
    metrics: Annotated[tuple[ComparedMetric, ...], doc("The metrics.")]
    newly_broken_p: Annotated[
        float | None, doc("The p value of the number of newly broken cases; null: not tested.")
    ]
    newly_broken_p_adjusted: Annotated[float | None, doc("The same after Holm's correction.")]
    newly_broken_failed: Annotated[bool, doc("Whether the newly broken cases fail the run.")]
    newly_broken_clusters: Annotated[
        int, doc("Newly broken cases, where the rows of one parametrize count once.", ge=0)
    ] = 0
    worse: Annotated[tuple[CaseShift, ...], doc("Cases that got worse, newly broken ones first.")]
    better: Annotated[tuple[CaseShift, ...], doc("Cases that got better.")]
    message: Annotated[str, doc("The verdict in one line; empty if no case was compared.")] = ""

    @property
    def passing(self) -> ComparedMetric | None:
        """The share of passed trials over all suites; None if no case was compared."""
        return next((row for row in self.metrics if row.metric == "pass"), None)

    @property
    def newly_broken(self) -> tuple[CaseShift, ...]:
        """The cases that passed every trial before and now pass none."""
        return tuple(case for case in self.worse if case.newly_broken)

    @property
    def got_worse(self) -> bool:
        """True if a case or the pass rate of trials is worse than before, by chance or not."""
        return bool(self.worse) or any(row.drop > 0 for row in self.metrics[:1])


class ComparedCases(Struct, frozen=True, gc=False):
    """The cases of both runs."""

    same: Annotated[int, doc("Cases that both have.", ge=0)]
    added: Annotated[tuple[Identity, ...], doc("Cases that only this run has.")]
    removed: Annotated[tuple[Identity, ...], doc("Cases that only the baseline has.")]
    changed: Annotated[tuple[Identity, ...], doc("Cases that now ask or expect something else.")]
    renamed: Annotated[tuple[RenamedCase, ...], doc("Cases that are the same under another name.")]
    incomparable: Annotated[
        tuple[Incomparable, ...],
        doc("Cases that both have, but that cannot be judged by the same rules."),
    ] = ()
    not_selected: Annotated[int, doc("Cases that one of the runs did not select.", ge=0)] = 0


class Comparison(Struct, frozen=True, kw_only=True, gc=False):
    """A comparison of two runs."""

    old: Annotated[ComparedRun, doc("The baseline.")]
    new: Annotated[ComparedRun, doc("The run compared with it.")]
    alpha: Annotated[float, doc("The level of significance.")]
    max_drop: Annotated[float, doc("The drop that is allowed: --tooleval-max-drop.")]
    margin: Annotated[float, doc("The drop to rule out to pass: max_drop, or 0.1 without one.")]
    models: Annotated[tuple[ComparedModel, ...], doc("The models, paired.")]
    cases: Annotated[ComparedCases, doc("The cases of both runs.")]
    verdict: Annotated[
        Verdict, doc("The worst of all models; without a common model, as without a comparable case.")
    ]
    failed: Annotated[
        bool,
        doc("Whether it fails the run; if inconclusive, it does with --tooleval-fail-inconclusive."),
    ]
    message: Annotated[str, doc("The comparison in one line.")]
    remarks: Annotated[
        tuple[str, ...], doc("Cases not compared, and why; different requests. Also in message.")
    ] = ()
    shared_names: Annotated[tuple[str, ...], doc("Names of suites in several files of a run.")] = ()
    loosened: Annotated[
        tuple[LoosenedCase, ...], doc("Thresholds, limits and pass rules that need less now.")
    ] = ()

    @property
    def is_only_unsure(self) -> bool:
        """True if cases were compared, none got worse, and only a lack of answers prevents a pass."""
        open = self.verdict == "inconclusive" and not self.failed
        compared = any(model.cases for model in self.models)
        return open and compared and not any(model.got_worse for model in self.models)

    @property
    def dropped(self) -> bool:
        """True if a model's pass rate of trials fell, so that the run makes no good baseline.

        Chance makes some cases worse and others better, so a drop up to the margin counts only if no
        case got better. Otherwise `good` would become the luckiest of many runs.
        """
        return any(
            row.drop > (self.margin if model.better else self.max_drop)
            for model in self.models
            for row in model.metrics[:1]
        )
