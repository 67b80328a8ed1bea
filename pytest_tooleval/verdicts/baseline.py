"""The baseline gate: whether a run is worse than an earlier one by more than chance.

Compares the cases of both runs pair by pair. docs/concepts/statistics.md explains how, and how often it
raises a false alarm or misses a drop.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ..errors import ConfigError
from ..record.comparison import ComparedCase
from ..record.comparison import ComparedCases
from ..record.comparison import ComparedMetric
from ..record.comparison import ComparedModel
from ..record.comparison import ComparedRun
from ..record.comparison import Comparison
from ..record.comparison import Flip
from ..record.comparison import Incomparable
from ..record.comparison import Moved
from ..record.comparison import RenamedCase
from ..record.gates import Verdict
from ..record.metrics import METRICS
from ..record.metrics import PENALTIES
from ..record.results import CaseRow
from ..scoring.thresholds import TOLERANCE
from ..text import shown
from .baseline_text import incomparable_text
from .baseline_text import labels_text
from .baseline_text import left_out_text
from .baseline_text import nothing_text
from .baseline_text import otherwise_text
from .baseline_text import rescored_text
from .baseline_text import served_text
from .baseline_text import verdict_text
from .options import strict_text
from .pairing import Pair
from .pairing import Pairing
from .pairing import pair_cases
from .planning import trials_to_compare
from .sides import Rescored
from .sides import Side
from .statistics import clusters_of
from .statistics import dealt_tail
from .statistics import dealt_variance
from .statistics import drop_bound
from .statistics import flip_test
from .statistics import holm
from .statistics import is_flip
from .statistics import sign_flip_test
from .statistics import summed
from .summary import SCORED

PASS = "pass"
_WORST_FIRST: tuple[Verdict, ...] = ("failed", "inconclusive")
# The chance of a false alarm.
ALPHA = 0.05
# The drop that must be ruled out to pass, without --tooleval-max-drop.
MARGIN = 0.10


@dataclass(frozen=True)
class _Case:
    """A case with scores in both runs. `counts`: old trials, old passes, new trials, new passes."""

    old: CaseRow
    new: CaseRow
    counts: tuple[int, int, int, int]
    weight: float
    cluster: int

    @property
    def suite(self) -> tuple[str, str]:
        """Name and file: two files may have a suite of one name."""
        return self.new.suite, self.new.file

    def values(self, metric: str) -> tuple[float, float] | None:
        """The old and new score, None unless both are known."""
        if metric == PASS:
            n, c, m, d = self.counts
            return c / n, d / m
        old, new = self.old.scores.get(metric), self.new.scores.get(metric)
        return None if old is None or new is None else (old, new)


@dataclass(frozen=True)
class _Metric:
    """A metric over the `n` cases that have it, of one suite or all.

    `differences` are weighted and summed over clusters, and identify a test; 0 for other suites.
    """

    name: str
    suite: str | None
    old: float
    new: float
    n: int
    differences: tuple[float, ...]
    p: float
    test: Literal["sign-flip", "McNemar"]
    error: float
    step: float

    @property
    def drop(self) -> float:
        return self.old - self.new

    def bound(self, alpha: float) -> float:
        """The largest drop that is not ruled out, at most the old score."""
        return min(drop_bound(self.drop, self.error, self.step, alpha), self.old)


@dataclass(frozen=True)
class _Model:
    """A model in both runs, with uncorrected test results."""

    old: str
    new: str
    pairing: Pairing
    incomparable: list[Incomparable]
    cases: list[_Case]
    metrics: list[_Metric]
    tests_flips: bool
    flips_p: float | None


def compare(
    old: Side,
    new: Side,
    *,
    models: Collection[tuple[str, str]] = (),
    alpha: float = ALPHA,
    max_drop: float = 0.0,
    strict: bool = False,
) -> Comparison:
    """Compare two runs.

    `models` are pairs of labels of `old` and `new`; other models are compared with the one of the same
    label. The comparison fails if, for some model and metric, the mean dropped by more than `max_drop`
    with Holm's adjusted p below `alpha`, or if that of the flips is: cases that passed every trial
    before and fail every trial now. It also fails if there is nothing to compare. It passes if, for each
    model, a drop of the share of passing trials above `max_drop` (or `MARGIN`) is ruled out. Otherwise
    it is inconclusive, which fails the run if `strict`. Raises ConfigError for an unknown label, and for
    NaN.

    Runs of different versions of the scoring rules are compared by today's: their transcripts are scored
    again. What cannot be is not compared, and never fails the comparison.
    """
    if math.isnan(alpha) or math.isnan(max_drop):  # which click accepts in any range
        raise ConfigError("alpha and max-drop: expected numbers from 0 to 1, got nan")
    names = old.name, new.name
    has_one_rule = 0 < old.run.scoring_version == new.run.scoring_version
    both = (Rescored(old), Rescored(new)) if has_one_rule else _by_todays_rules(old, new)
    old, new = both[0].side, both[1].side
    sides = _by_model(old), _by_model(new)
    pairs = _model_pairs(*sides, models, names)
    problem = _problem(old, new, pairs, sides)
    compared = [] if problem else [_compare_model(pair, *sides, both) for pair in pairs]
    limits = max_drop, max_drop or MARGIN
    adjusted, tests = _adjust(compared)
    results = [
        _result(model, *each, tests, alpha, limits)
        for model, each in zip(compared, adjusted, strict=True)
    ]
    changes = _changes(compared)
    empty = [model for model in compared if not model.cases and not model.incomparable]
    nothing = [nothing_text(model.new, model.pairing, names) for model in empty]
    texts = [*nothing, *([problem] if problem else [])]
    judged = [result for result in results if result.cases]
    if judged:
        texts.append(verdict_text(judged, alpha))
        left = [pair for model in compared for pair in model.pairing.same if not _is_scored(pair)]
        skipped = sum(any(row.outcome == "skipped" for row in pair) for pair in left)
        compared_labels = {label for _, label in pairs}
        strange = [label for label in sides[1] if label not in compared_labels]
        left_out = left_out_text(len(left) - skipped, skipped, changes, strange)
        texts += [f"not compared: {left_out}"] if left_out else []
        texts += [text for model in compared for text in _asked_differently(model, names)]
    if changes.incomparable:
        texts.append(incomparable_text(changes.incomparable, both))
    if any(each.cases for each in both):
        texts.append(rescored_text(both))
    # Runs of other rules may have no case in common only because these know cases by something else.
    fails = bool(problem) or (bool(nothing) and has_one_rule)
    verdicts = {"failed"} if fails else {model.verdict for model in results}
    verdict: Verdict = next((each for each in _WORST_FIRST if each in verdicts), "passed")
    strictness = strict_text(strict) if verdict == "inconclusive" else ""
    return Comparison(
        old=_about(both[0]),
        new=_about(both[1]),
        alpha=alpha,
        max_drop=max_drop,
        margin=limits[1],
        models=tuple(results),
        cases=changes,
        verdict=verdict,
        failed=verdict == "failed" or (strict and verdict == "inconclusive"),
        message="; ".join(texts) + strictness,
    )


def _by_todays_rules(old: Side, new: Side) -> tuple[Rescored, Rescored]:
    from .rescoring import by_todays_rules

    return by_todays_rules(old, new), by_todays_rules(new, old)


def _by_model(side: Side) -> dict[str, list[CaseRow]]:
    """Rows by model, without those that were skipped as there is no model."""
    models: dict[str, list[CaseRow]] = {}
    for row in side.cases:
        if row.model:
            models.setdefault(row.model, []).append(row)
    return models


def _model_pairs(
    old: Mapping[str, Sequence[CaseRow]],
    new: Mapping[str, Sequence[CaseRow]],
    models: Collection[tuple[str, str]],
    names: tuple[str, str],
) -> list[tuple[str, str]]:
    paired = {label for _, label in models}
    sides = zip(*models, strict=True) if models else ()
    for labels, known, name in zip(sides, (old, new), names, strict=False):
        for label in labels:
            if label not in known:
                raise ConfigError(
                    f"model {shown(label)} is not in {shown(name)}, which has {labels_text(known)}"
                )
    return [*models, *((label, label) for label in new if label in old and label not in paired)]


def _problem(
    old: Side,
    new: Side,
    pairs: Sequence[tuple[str, str]],
    sides: tuple[Mapping[str, Sequence[CaseRow]], Mapping[str, Sequence[CaseRow]]],
) -> str:
    """Why the two runs cannot be compared at all, empty if they can."""
    names = old.name, new.name
    if not pairs:
        has = [f"{shown(name)} has {labels_text(side)}" for name, side in zip(names, sides, strict=True)]
        return f"nothing to compare, no model is in both runs: {', '.join(has)}; pair them as OLD=NEW"
    return ""


def _compare_model(
    labels: tuple[str, str],
    old: Mapping[str, Sequence[CaseRow]],
    new: Mapping[str, Sequence[CaseRow]],
    both: tuple[Rescored, Rescored],
) -> _Model:
    pairing = pair_cases(old[labels[0]], new[labels[1]])
    scored, incomparable = [], []
    for pair in filter(_is_scored, pairing.same):
        whys = (side.problems.get(row.nodeid) for side, row in zip(both, pair, strict=True))
        why = next(filter(None, whys), None)
        if why is None:
            scored.append(pair)
        else:
            incomparable.append(Incomparable(pair[1].suite, pair[1].case, why=why))
    clusters = clusters_of(new for _, new in scored)
    cases = [_case(*pair) for pair in zip(scored, clusters, strict=True)]
    metrics = [found for name in _metric_names(cases) if (found := _metric(name, cases)) is not None]
    metrics += _by_suite(cases)
    # With single trials, the test of flips would repeat McNemar's test.
    tests_flips = any(case.counts[0] > 1 or case.counts[2] > 1 for case in cases)
    flips_p = flip_test([case.counts for case in cases], clusters) if tests_flips else None
    return _Model(*labels, pairing, incomparable, cases, metrics, tests_flips, flips_p)


def _is_scored(pair: Pair) -> bool:
    return all(row.outcome in SCORED and row.scored for row in pair)


def _case(pair: Pair, cluster: int) -> _Case:
    old, new = pair
    return _Case(old, new, (old.scored, old.passes, new.scored, new.passes), new.weight, cluster)


def _metric_names(cases: Sequence[_Case]) -> list[str]:
    """The pass rate, built-in metrics, then others. Without penalties, where lower is better."""
    found = dict.fromkeys(name for case in cases for name in case.new.scores)
    return [
        PASS,
        *(name for name in METRICS if name in found),
        *(name for name in found if name not in METRICS and name not in PENALTIES and name != PASS),
    ]


def _by_suite(cases: Sequence[_Case]) -> list[_Metric]:
    """The overall score of each suite, if there are several, as gains can hide losses."""
    suites = dict.fromkeys(case.suite for case in cases)
    if len(suites) < 2:
        return []
    names = [name for name, _ in suites]
    labels = {
        (name, file): f"{name} ({file})" if names.count(name) > 1 else name for name, file in suites
    }
    found = (_metric("overall", cases, suite, label) for suite, label in labels.items())
    return [metric for metric in found if metric is not None]


def _metric(
    name: str,
    cases: Sequence[_Case],
    suite: tuple[str, str] | None = None,
    label: str | None = None,
) -> _Metric | None:
    everywhere = [(case, values) for case in cases if (values := case.values(name)) is not None]
    found = [(case, values) for case, values in everywhere if suite in (None, case.suite)]
    if not found:
        return None
    weights = [case.weight for case, _ in found]
    total = math.fsum(weights)
    old, new = (
        math.fsum(weight * values[side] for weight, (_, values) in zip(weights, found, strict=True))
        / total
        for side in (0, 1)
    )
    sums = summed(
        [
            case.weight * (was - now) if suite in (None, case.suite) else 0.0
            for case, (was, now) in everywhere
        ],
        [case.cluster for case, _ in everywhere],
    )
    differences = tuple(round(each, 12) for each in sums)
    single = all(case.counts[0] == case.counts[2] == 1 for case, _ in found) and len(set(weights)) == 1
    single = single and len({case.cluster for case, _ in found}) == len(found)
    binary = single and all(value in (0, 1) for _, values in found for value in values)
    test: Literal["sign-flip", "McNemar"] = "McNemar" if binary else "sign-flip"
    # With more new trials than old ones, differences are skewed even if nothing changed, which the
    # test of signs does not know.
    p = max(sign_flip_test(differences), _dealt_p(found))
    error = math.sqrt(math.fsum(each * each for each in differences)) / total
    step = _step([case for case, _ in found]) / total**2
    return _Metric(name, label, old, new, len(found), differences, p, test, error, step)


def _dealt_p(found: Sequence[tuple[_Case, tuple[float, float]]]) -> float:
    """The p of `dealt_tail`, 0 if no case has more trials than before."""
    if all(case.counts[2] <= case.counts[0] for case, _ in found):
        return 0.0
    drop = math.fsum(case.weight * (old - new) for case, (old, new) in found)
    variance = math.fsum(
        case.weight**2 * dealt_variance(old, case.counts[0], new, case.counts[2])
        for case, (old, new) in found
    )
    return dealt_tail(drop, variance)


def _step(cases: Sequence[_Case]) -> float:
    """The sum over clusters of squared weight over trials: how much one trial moves."""
    clusters = [case.cluster for case in cases]
    fewest: dict[int, int] = {}
    for case in cases:
        fewest[case.cluster] = min(case.counts[2], fewest.get(case.cluster, case.counts[2]))
    weights = summed([case.weight for case in cases], clusters)
    return math.fsum(weights[cluster] ** 2 / trials for cluster, trials in fewest.items())


def _asked_differently(model: _Model, names: tuple[str, str]) -> Iterator[str]:
    """How the fallbacks of a model, and the model that answered, differ between the runs."""
    old = [trial for case in model.cases for trial in case.old.trials]
    new = [trial for case in model.cases for trial in case.new.trials]
    before, now = ({pair for t in side for pair in t.fallbacks.items()} for side in (old, new))
    if before != now:
        yield otherwise_text(model.new, before, now, names)
    served, serves = ({t.served_model for t in side if t.served_model} for side in (old, new))
    if served and serves and served != serves:
        yield served_text(model.new, served, serves, names)


def _adjust(models: Sequence[_Model]) -> tuple[list[tuple[list[float], float | None]], int]:
    """Holm's adjusted p of each model's metrics and of its flips; and the number of tests.

    A metric without differences is not a test, and metrics with proportional differences are one test,
    as both stay so for all signs.
    """
    family: dict[tuple[int, tuple[float, ...] | None], float] = {}
    for number, model in enumerate(models):
        family |= {(number, _direction(m.differences)): m.p for m in model.metrics if any(m.differences)}
        if model.flips_p is not None:
            family[number, None] = model.flips_p
    adjusted = dict(zip(family, holm(list(family.values())), strict=True))
    found = [
        (
            [adjusted.get((number, _direction(m.differences)), 1.0) for m in model.metrics],
            adjusted.get((number, None)),
        )
        for number, model in enumerate(models)
    ]
    return found, len(family)


def _direction(differences: Sequence[float]) -> tuple[float, ...]:
    """The differences relative to the largest one, which the test of signs depends on."""
    largest = max(map(abs, differences), default=0.0)
    return tuple(round(value / largest, 9) for value in differences) if largest else (0.0,)


def _result(
    model: _Model,
    adjusted: Sequence[float],
    flips_p: float | None,
    tests: int,
    alpha: float,
    limits: tuple[float, float],
) -> ComparedModel:
    flips = [case for case in model.cases if is_flip(case.counts)]
    flips_failed = bool(flips) and flips_p is not None and flips_p < alpha
    metrics = tuple(map(partial(_row, alpha=alpha, limits=limits), model.metrics, adjusted))
    verdict: Verdict = metrics[0].verdict if metrics else "inconclusive"
    if flips_failed or any(row.verdict == "failed" for row in metrics):
        verdict = "failed"
    more: int | None = None
    both: int | None = None
    if metrics and verdict == "inconclusive":
        passes, counts = model.metrics[0], [case.counts for case in model.cases]
        figures = passes.drop, passes.error, passes.step
        more, both = trials_to_compare(counts, *figures, limits=limits, alpha=alpha, tests=tests)
    worse, better = _moved(model.cases)
    return ComparedModel(
        old=model.old,
        new=model.new,
        cases=len(model.cases),
        verdict=verdict,
        more_trials=more,
        trials_in_both=both,
        metrics=metrics,
        flips=tuple(
            Flip(case.new.suite, case.new.case, old=_share(case, 0), new=_share(case, 2))
            for case in flips
        ),
        flips_p=model.flips_p,
        flips_p_adjusted=flips_p,
        flips_failed=flips_failed,
        worse=worse,
        better=better,
    )


def _row(metric: _Metric, p: float, alpha: float, limits: tuple[float, float]) -> ComparedMetric:
    allowed, margin = limits
    bound = metric.bound(alpha)
    verdict: Verdict = "passed" if bound <= margin + TOLERANCE else "inconclusive"
    return ComparedMetric(
        metric=metric.name,
        suite=metric.suite,
        old=metric.old,
        new=metric.new,
        drop=metric.drop,
        n=metric.n,
        p=metric.p,
        p_adjusted=p,
        test=metric.test,
        bound=bound,
        verdict="failed" if p < alpha and metric.drop > allowed + TOLERANCE else verdict,
    )


def _moved(cases: Sequence[_Case]) -> tuple[tuple[Moved, ...], tuple[Moved, ...]]:
    """Worse and better cases, by overall score, then by passes; the largest change first."""
    moved = []
    for case in cases:
        n, c, m, d = case.counts
        old, new = case.values("overall") or (None, None)
        change = 0.0 if old is None or new is None else round(old - new, 12)
        passes = c / n - d / m
        if change or passes:
            row = Moved(
                case.new.suite,
                case.new.case,
                old=old,
                new=new,
                old_passes=_share(case, 0),
                new_passes=_share(case, 2),
            )
            moved.append(((change, passes), row))
    moved.sort(key=lambda entry: entry[0], reverse=True)
    worse = tuple(row for change, row in moved if change > (0.0, 0.0))
    better = tuple(row for change, row in reversed(moved) if change < (0.0, 0.0))
    return worse, better


def _share(case: _Case, side: int) -> str:
    return f"{case.counts[side + 1]}/{case.counts[side]}"


def _name(row: CaseRow) -> ComparedCase:
    return ComparedCase(row.suite, row.case)


def _about(rescored: Rescored) -> ComparedRun:
    name, run = rescored.side.name, rescored.side.run
    return ComparedRun(name, run.id, run.started, run.git, run.scoring_version, rescored.cases)


def _changes(models: Sequence[_Model]) -> ComparedCases:
    """How cases changed, each once for all models."""
    found = [model.pairing for model in models]
    renamed = {
        _name(new): RenamedCase(new.suite, new.case, old_suite=old.suite, old_case=old.case)
        for pairing in found
        for old, new in pairing.renamed
    }
    return ComparedCases(
        same=len({_name(new) for pairing in found for _, new in pairing.same}),
        added=_unique(row for pairing in found for row in pairing.added),
        removed=_unique(row for pairing in found for row in pairing.removed),
        changed=_unique(new for pairing in found for _, new in pairing.changed),
        renamed=tuple(renamed.values()),
        incomparable=tuple(dict.fromkeys(case for model in models for case in model.incomparable)),
    )


def _unique(rows: Iterable[CaseRow]) -> tuple[ComparedCase, ...]:
    return tuple(dict.fromkeys(map(_name, rows)))
