"""The metrics of two runs, case by case: means, their difference, and how certain it is.

docs/reference/methods.md explains the tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import astuple

from ..figures import TOLERANCE
from ..record.comparison import CaseShift, ComparedMetric
from ..record.identity import Identity, suite_names
from ..record.metrics import HIGHER_IS_BETTER, PENALTIES
from ..record.results import CaseRow
from .statistics import (
    cluster_sums,
    dealt_tail,
    dealt_variance,
    difference_interval,
    is_newly_broken,
    largest_drop,
    permutation_test,
)

PASS = "pass"
# The probability of a false alarm.
ALPHA = 0.05


class ComparisonRules(NamedTuple):
    """What a comparison allows: the probability of a false alarm, and a drop.

    `strict` fails it if it is inconclusive, and `must_compare` if nothing can be compared, as the user
    named the old run.
    """

    alpha: float = ALPHA
    max_drop: float = 0.0
    strict: bool = False
    must_compare: bool = True

    @property
    def margin(self) -> float:
        """The drop that must be ruled out to pass."""
        return self.max_drop or 0.10


class PairedCase(NamedTuple):
    """A case with scores in both runs."""

    old: CaseRow
    new: CaseRow
    cluster: int

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Old trials, old passes, new trials, new passes."""
        return self.old.answered, self.old.passes, self.new.answered, self.new.passes

    @property
    def suite(self) -> Identity:
        return self.new.identity.of_suite

    def values(self, metric: str) -> tuple[float, float] | None:
        """The old and new score; None unless both are known."""
        if metric == PASS:
            n, c, m, d = self.counts
            return c / n, d / m
        old, new = self.old.scores.get(metric), self.new.scores.get(metric)
        return None if old is None or new is None else (old, new)


class PairedMetric(NamedTuple):
    """A metric before Holm's correction.

    Metrics with the same `direction` and p are one test; those with an empty `direction` are none.
    """

    row: ComparedMetric
    direction: tuple[float, ...]


def metrics_of(cases: Sequence[PairedCase], limits: ComparisonRules) -> list[PairedMetric]:
    """The metrics of these cases, and each suite's overall score if there are several suites."""
    metrics = (_metric(name, cases, limits) for name in _metric_names(cases))
    return list(filter(None, (*metrics, *_by_suite(cases, limits))))


def _metric_names(cases: Sequence[PairedCase]) -> list[str]:
    """The pass rate, then built-in metrics, then others, without penalties (lower is better)."""
    names = dict.fromkeys(name for case in cases for name in case.new.scores)
    return [
        PASS,
        *(name for name in HIGHER_IS_BETTER if name in names),
        *(name for name in names if name not in (*HIGHER_IS_BETTER, *PENALTIES, PASS)),
    ]


def _by_suite(cases: Sequence[PairedCase], limits: ComparisonRules) -> Iterator[PairedMetric | None]:
    """Each suite's overall score if there are several: gains in one can hide another's losses."""
    labels = suite_names(case.suite for case in cases)
    if len(labels) > 1:
        for suite, label in labels.items():
            yield _metric("overall", cases, limits, suite, label)


def _metric(
    name: str,
    cases: Sequence[PairedCase],
    limits: ComparisonRules,
    suite: Identity | None = None,
    label: str | None = None,
) -> PairedMetric | None:
    """A metric over one suite's cases, or all, that have it. Other suites count as unchanged."""
    everywhere = [(case, values) for case in cases if (values := case.values(name)) is not None]
    of_suite = [(case, values) for case, values in everywhere if suite in (None, case.suite)]
    if not of_suite:
        return None
    weights = [case.new.weight for case, _ in of_suite]
    total = math.fsum(weights)
    old, new = (
        math.fsum(weight * values[side] for weight, (_, values) in zip(weights, of_suite, strict=True))
        / total
        for side in (0, 1)
    )
    sums = cluster_sums(
        [
            case.new.weight * (was - now) if suite in (None, case.suite) else 0.0
            for case, (was, now) in everywhere
        ],
        [case.cluster for case, _ in everywhere],
    )
    differences = [round(each, 12) for each in sums]
    single = all(case.counts[0] == case.counts[2] == 1 for case, _ in of_suite)
    single = single and len(set(weights)) == 1
    single = single and len({case.cluster for case, _ in of_suite}) == len(of_suite)
    binary = single and all(value in (0, 1) for _, values in of_suite for value in values)
    # With more new trials than old ones, differences are skewed even if nothing changed. The sign
    # test does not allow for that.
    p = permutation_test(differences)
    if any(case.counts[2] > case.counts[0] for case, _ in of_suite):
        p = max(p, dealt_p([case for case, _ in of_suite], [values for _, values in of_suite]))
    error = math.sqrt(math.fsum(each * each for each in differences)) / total
    step = _step([case for case, _ in of_suite]) / total**2
    most = min(largest_drop(old - new, error, step, limits.alpha), old)
    low, high = difference_interval(new - old, error, step)
    row = ComparedMetric(
        metric=name,
        suite=label,
        old=old,
        new=new,
        drop=old - new,
        low=max(low, -old),
        high=min(high, 1.0 - old),
        n=len(of_suite),
        p=p,
        p_adjusted=1.0,
        test="McNemar" if binary else "permutation",
        largest_drop=most,
        verdict="passed" if most <= limits.margin + TOLERANCE else "inconclusive",
    )
    return PairedMetric(row, _direction(differences))


def _direction(differences: Sequence[float]) -> tuple[float, ...]:
    """The differences relative to the largest, which are all that the sign test depends on."""
    largest = max(map(abs, differences))
    return tuple(round(value / largest, 9) for value in differences) if largest else ()


def dealt_p(cases: Sequence[PairedCase], values: Sequence[tuple[float, float]]) -> float:
    """The p of `dealt_tail` for the cases' drop; `values` are their old and new values."""
    valued = list(zip(cases, values, strict=True))
    drop = math.fsum(case.new.weight * (old - new) for case, (old, new) in valued)
    variance = math.fsum(
        case.new.weight**2 * dealt_variance(old, case.counts[0], new, case.counts[2])
        for case, (old, new) in valued
    )
    return dealt_tail(drop, variance)


def _step(cases: Sequence[PairedCase]) -> float:
    """How much one trial moves the drop: the sum over clusters of squared weight / trials."""
    clusters = [case.cluster for case in cases]
    fewest: dict[int, int] = {}
    for case in cases:
        fewest[case.cluster] = min(case.new.answered, fewest.get(case.cluster, case.new.answered))
    weights = cluster_sums([case.new.weight for case in cases], clusters)
    return math.fsum(weights[cluster] ** 2 / trials for cluster, trials in fewest.items())


def worse_and_better(cases: Sequence[PairedCase]) -> tuple[tuple[CaseShift, ...], tuple[CaseShift, ...]]:
    """Worse and better cases by overall score, then passes. Newly broken ones come first."""
    entries = []
    for case in cases:
        n, c, m, d = case.counts
        old, new = case.values("overall") or (None, None)
        row = CaseShift(
            *astuple(case.new.identity),
            was=case.old.identity,
            old=old,
            new=new,
            old_passes=f"{c}/{n}",
            new_passes=f"{d}/{m}",
            newly_broken=is_newly_broken(case.counts),
        )
        change = 0.0 if old is None or new is None else round(old - new, 12)
        entries.append(((row.newly_broken, change, c / n - d / m), row))
    entries.sort(key=lambda entry: entry[0], reverse=True)
    same = False, 0.0, 0.0
    worse = tuple(row for change, row in entries if change > same)
    better = tuple(row for change, row in reversed(entries) if change < same)
    return worse, better
