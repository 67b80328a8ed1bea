"""The baseline gate: is a run worse than an earlier one by more than chance?

Compares the cases of both runs pair by pair, all judged by the new run's thresholds, limits and pass
rule. docs/reference/methods.md explains how, and how often it raises a false alarm or misses a drop.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import astuple

from ..errors import ConfigError, ScoringError
from ..figures import TOLERANCE
from ..record.comparison import (
    ComparedCases,
    ComparedModel,
    ComparedRun,
    Comparison,
    Incomparable,
    LoosenedCase,
    RenamedCase,
)
from ..record.gates import Verdict
from ..record.identity import Identity, shared_names
from ..record.metrics import BUILT_IN
from ..record.results import CaseRow, without_variants
from ..record.summary import fallback_text
from ..text import shown
from .baseline_text import (
    differ_text,
    incomparable_text,
    labels_text,
    left_out_text,
    no_model_text,
    nothing_text,
    other_rules_text,
    verdict_text,
)
from .case import Standard, decide_again
from .loosened import loosened_needs
from .paired_metrics import ComparisonRules, PairedCase, PairedMetric, metrics_of, worse_and_better
from .pairing import Pairing, RowPair, find_moved_files, pair_cases
from .run_summary import strict_text
from .sides import FindSuite, Side
from .statistics import clusters_of, holm, is_newly_broken, newly_broken_test
from .summary import SCORED

_WORST_FIRST: tuple[Verdict, ...] = ("failed", "inconclusive", "passed")

_Rows = Mapping[str, Sequence[CaseRow]]


class _Model(NamedTuple):
    """A model in both runs, before Holm's correction. `left_out` pairs lack an answer in one of them."""

    old: str
    new: str
    pairing: Pairing
    cases: list[PairedCase]
    left_out: list[RowPair]
    incomparable: list[Incomparable]
    metrics: list[PairedMetric]
    newly_broken_p: float | None


def compare_runs(
    old: Side, new: Side, limits: ComparisonRules, models: Collection[tuple[str, str]] = ()
) -> Comparison:
    """Compare the unchanged cases of two runs.

    `models` are pairs of labels from `old` and `new`; other models are compared with the one of the same
    label. The comparison fails if some model's mean of some metric dropped by more than the limit with
    Holm's adjusted p below alpha, or if the adjusted p of the newly broken cases, which passed every
    trial before and fail every trial now, is below it. It passes if, for each model, a drop in the share
    of passing trials above the margin is ruled out. Otherwise it is inconclusive. Raises ConfigError for
    an unknown label, for NaN, and for one run without two models to compare.

    Runs with different versions of the scoring rules are not comparable, and never fail the comparison.
    """
    if math.isnan(limits.alpha) or math.isnan(limits.max_drop):  # click accepts NaN in any range
        raise ConfigError("alpha and max-drop: expected numbers from 0 to 1, got nan")
    old, new = (side._replace(cases=without_variants(side.cases)) for side in (old, new))
    names = old.name, new.name
    has_one_rule = 0 < old.run.scoring_version == new.run.scoring_version
    sides = _by_model(old), _by_model(new)
    other_rules = "" if has_one_rule else other_rules_text(old, new)
    is_one_run = old.run.id == new.run.id
    pairs = _model_pairs(*sides, models, names, new.run.id if is_one_run else "")
    suites = new.suites or old.suites
    moved_files = find_moved_files(old.cases, new.cases, suites)
    both = names, other_rules
    compared = [_compare_model(pair, sides, both, limits, moved_files, suites) for pair in pairs]
    if_nothing: Verdict = "failed" if limits.must_compare else "inconclusive"
    # Runs with different rules may share no case merely because the rules identify cases differently.
    verdict_if_empty = if_nothing if has_one_rule else "inconclusive"
    results = _results(compared, limits, verdict_if_empty, "" if is_one_run else old.name)
    changes = _changes(compared)
    not_compared = [
        nothing_text(each.new, each.pairing, names)
        for each in compared
        if not each.cases and not each.incomparable
    ]
    not_compared += [] if pairs else [no_model_text(names, sides)]
    verdicts = {model.verdict for model in results} or {if_nothing}
    verdict = next(each for each in _WORST_FIRST if each in verdicts)
    is_open = any(m.verdict == "inconclusive" and (m.cases or limits.must_compare) for m in results)
    judged = [result for result in results if result.cases]
    messages = [f"{shown(each.new)}: " * (len(judged) > 1) + each.message for each in judged]
    remarks = list(_remarks(compared, changes, sides[1], names if judged else None))
    end = strict_text(limits.strict) if verdict == "inconclusive" and is_open else ""
    return Comparison(
        old=_about(old),
        new=_about(new),
        alpha=limits.alpha,
        max_drop=limits.max_drop,
        margin=limits.margin,
        models=tuple(results),
        cases=changes,
        verdict=verdict,
        failed=verdict == "failed" or (limits.strict and is_open),
        message="; ".join([*not_compared, *messages, *remarks]) + end,
        remarks=(*not_compared, *remarks),
        shared_names=_shared_names(old.cases, new.cases, moved_files),
        loosened=_loosened(compared),
    )


def _shared_names(
    old: Sequence[CaseRow], new: Sequence[CaseRow], moved_files: Container[str]
) -> tuple[str, ...]:
    stayed = [row for row in (*old, *new) if row.file not in moved_files]
    names_by_run = (shared_names(row.identity for row in rows) for rows in (old, new, stayed))
    return tuple(sorted({name for names in names_by_run for name in names}))


def _by_model(side: Side) -> dict[str, list[CaseRow]]:
    """Rows by model, without those skipped because no model was set."""
    models: dict[str, list[CaseRow]] = {}
    for row in side.cases:
        if row.model:
            models.setdefault(row.model, []).append(row)
    return models


def _model_pairs(
    old: _Rows, new: _Rows, models: Collection[tuple[str, str]], names: tuple[str, str], one_run: str
) -> list[tuple[str, str]]:
    """The models to compare. `one_run` is the id of a run that is both sides; only other models pair."""
    paired = {label for _, label in models}
    sides = zip(*models, strict=True) if models else ()
    for labels, side, name in zip(sides, (old, new), names, strict=False):
        for label in labels:
            if label not in side:
                raise ConfigError(
                    f"model {shown(label)} is not in {shown(name)}, which has {labels_text(side)}"
                )
    if not one_run:
        return [*models, *((label, label) for label in new if label in old and label not in paired)]
    different_models = [(one, other) for one, other in models if one != other]
    if not different_models:
        raise ConfigError(
            f"{shown(names[0])} and {shown(names[1])} are the same run, {shown(one_run)}; name another "
            "run, or two models of this one"
        )
    return different_models


def _compare_model(
    labels: tuple[str, str],
    sides: tuple[_Rows, _Rows],
    about: tuple[tuple[str, str], str],
    limits: ComparisonRules,
    moved_files: Collection[str],
    suites: FindSuite | None,
) -> _Model:
    pairing = pair_cases(sides[0][labels[0]], sides[1][labels[1]], moved_files, suites)
    scored: list[RowPair] = []
    left_out: list[RowPair] = []
    incomparable: list[Incomparable] = []
    for pair in pairing.same:
        try:
            old, new = _judged_alike(pair, *about)
        except ScoringError as error:
            incomparable.append(Incomparable(*astuple(pair[1].identity.of_case), why=str(error)))
            continue
        has_both = all(row.answered and row.outcome in SCORED for row in (old, new))
        (scored if has_both else left_out).append((old, new))
    clusters = clusters_of(new for _, new in scored)
    cases = [PairedCase(*pair, cluster) for pair, cluster in zip(scored, clusters, strict=True)]
    counts = [case.counts for case in cases]
    # With single trials, the test of newly broken cases would repeat McNemar's test.
    several = any(n > 1 or m > 1 for n, _, m, _ in counts)
    broken_p = newly_broken_test(counts, clusters) if several else None
    return _Model(*labels, pairing, cases, left_out, incomparable, metrics_of(cases, limits), broken_p)


def _judged_alike(pair: RowPair, names: tuple[str, str], others: str) -> RowPair:
    """Judge both rows by the new one's thresholds, limits and pass rule.

    Raises ScoringError if either row lacks something needed for that, and with `others`, which says that
    the runs have other scoring rules.
    """
    old, new = pair
    if not (old.answered and new.answered):
        return pair
    if others:
        raise ScoringError(others)
    for metric in new.thresholds.keys() - BUILT_IN:
        lacking = [name for name, row in zip(names, pair, strict=True) if metric not in row.scores]
        if len(lacking) == 1:
            raise ScoringError(f"{lacking[0]} has no {metric}, which has a threshold")
    standard = Standard.of(new)
    if standard == Standard.of(old):
        return pair
    try:
        return decide_again(old, standard), new
    except ScoringError as error:
        raise ScoringError(f"{names[0]} cannot be judged by these thresholds: {error}") from None


def _results(
    models: Sequence[_Model], limits: ComparisonRules, empty: Verdict, name: str
) -> list[ComparedModel]:
    """The models after Holm's correction of all their tests; `empty` is the verdict without cases.

    A metric without differences is not a test. Metrics with proportional differences and the same p are
    one test, because they remain proportional for all signs; with more new trials than old ones, their
    p may differ. `name` is that of the old run; without one, a model is compared with another's label.
    """
    tests: dict[tuple[int, tuple[float, ...] | None, float | None], float] = {}
    for number, model in enumerate(models):
        for metric in model.metrics:
            if metric.direction:
                tests[number, metric.direction, metric.row.p] = metric.row.p
        if model.newly_broken_p is not None:
            tests[number, None, None] = model.newly_broken_p
    adjusted = dict(zip(tests, holm(list(tests.values())), strict=True))
    return [
        _result(
            model,
            [adjusted.get((number, each.direction, each.row.p), 1.0) for each in model.metrics],
            adjusted.get((number, None, None)),
            limits,
            "inconclusive" if model.incomparable else empty,
            name or model.old,
        )
        for number, model in enumerate(models)
    ]


def _result(
    model: _Model,
    adjusted: Sequence[float],
    broken_p: float | None,
    limits: ComparisonRules,
    empty: Verdict,
    name: str,
) -> ComparedModel:
    metrics = tuple(
        structs.replace(
            each.row,
            p_adjusted=p,
            verdict="failed"
            if p < limits.alpha and each.row.drop > limits.max_drop + TOLERANCE
            else each.row.verdict,
        )
        for each, p in zip(model.metrics, adjusted, strict=True)
    )
    worse, better = worse_and_better(model.cases)
    broke = any(case.newly_broken for case in worse)
    broken_failed = broke and broken_p is not None and broken_p < limits.alpha
    verdict = metrics[0].verdict if metrics else empty
    if broken_failed or any(row.verdict == "failed" for row in metrics):
        verdict = "failed"
    result = ComparedModel(
        old=model.old,
        new=model.new,
        cases=len(model.cases),
        verdict=verdict,
        metrics=metrics,
        newly_broken_p=model.newly_broken_p,
        newly_broken_p_adjusted=broken_p,
        newly_broken_failed=broken_failed,
        newly_broken_clusters=len({c.cluster for c in model.cases if is_newly_broken(c.counts)}),
        worse=worse,
        better=better,
    )
    message = verdict_text(result, name, strict=limits.strict) if result.cases else ""
    return structs.replace(result, message=message)


def _remarks(
    compared: Sequence[_Model],
    changes: ComparedCases,
    new: _Rows,
    names: tuple[str, str] | None,
) -> Iterator[str]:
    """Remarks on what is not compared, and on requests and rules that differ between the runs.

    Without `names`, as no model has a case to compare, only on what cannot be.
    """
    if names:
        left = [pair for model in compared for pair in model.left_out]
        skipped = sum(any(row.outcome == "skipped" for row in pair) for pair in left)
        strange = [label for label in new if label not in {model.new for model in compared}]
        left_out = left_out_text(len(left) - skipped, skipped, changes, strange)
        yield from [f"not compared: {left_out}"] if left_out else []
        for model in compared:
            yield from _asked_differently(model, names)
    if changes.incomparable:
        yield incomparable_text(changes.incomparable)


_MAY_BE_UNKNOWN = ("served model", "upstreams")


def _asked_differently(model: _Model, names: tuple[str, str]) -> Iterator[str]:
    """How a model's fallbacks, its settings and the model that answered differ between the runs."""
    old = _asked([case.old for case in model.cases])
    new = _asked([case.new for case in model.cases])
    for what in old:
        if old[what] != new[what] and (what not in _MAY_BE_UNKNOWN or (old[what] and new[what])):
            yield differ_text(f"{shown(model.new)}: {what}", old[what], new[what], names)


def _asked(cases: Sequence[CaseRow]) -> dict[str, set[str]]:
    trials = [trial for case in cases for trial in case.trials]
    warmth = {trial.temperature for trial in trials if trial.error is None}
    return {
        "fallbacks": {fallback_text(*each) for trial in trials for each in trial.fallbacks.items()},
        "tool_choice": {case.tool_choice for case in cases},
        "temperature": {"the default" if each is None else str(each) for each in warmth},
        "served model": {trial.served_model for trial in trials if trial.served_model},
        "upstreams": {trial.upstream for trial in trials if trial.upstream},
    }


def _about(side: Side) -> ComparedRun:
    run = side.run
    gates = tuple(side.gates)
    return ComparedRun(side.name, run.id, run.started, run.git, run.scoring_version, gates)


def _changes(models: Sequence[_Model]) -> ComparedCases:
    """How cases changed. Each is listed once for all models."""
    pairings = [model.pairing for model in models]
    renamed = {
        new.identity.of_case: RenamedCase(
            *astuple(new.identity.of_case), old_suite=old.suite, old_case=old.case, old_file=old.file
        )
        for pairing in pairings
        for old, new in pairing.renamed
    }
    return ComparedCases(
        same=len({new.identity.of_case for pairing in pairings for _, new in pairing.same}),
        added=_unique(row for pairing in pairings for row in pairing.added),
        removed=_unique(row for pairing in pairings for row in pairing.removed),
        changed=_unique(new for pairing in pairings for _, new in pairing.changed),
        renamed=tuple(renamed.values()),
        incomparable=tuple(dict.fromkeys(case for model in models for case in model.incomparable)),
        not_selected=len(_unique(row for pairing in pairings for row in pairing.not_selected)),
    )


def _loosened(models: Sequence[_Model]) -> tuple[LoosenedCase, ...]:
    pairs = ((old, new) for m in models for old, new in m.pairing.same if old.answered and new.answered)
    cases = (
        LoosenedCase(*astuple(new.identity.of_case), what=what)
        for old, new in pairs
        for what in loosened_needs(Standard.of(old), Standard.of(new))
    )
    return tuple(dict.fromkeys(cases))


def _unique(rows: Iterable[CaseRow]) -> tuple[Identity, ...]:
    return tuple(dict.fromkeys(row.identity.of_case for row in rows))
