"""Thresholds on unknown metrics, and on metrics that a case cannot have."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...explain import listing, nearest
from ...findings import Finding, Findings, Loc
from ...matchers.modes import DEFAULT_MODE, MODES
from ...record.metrics import LIMITS, MAY_HAVE_THRESHOLD, METRICS, RATES
from ..case import TestCase
from ..fields import expected_at
from ..model import Suite
from ..resolved import NOTHING_JUDGES, judges, merged_thresholds
from .scope import Scope

_OWN = "a metric of your own needs its scorer, in conftest.py"


def threshold_errors(holder: Suite | TestCase, at: Loc, metrics: Collection[str] | None) -> Findings:
    """Thresholds on unknown metrics, on rates of a run, or above 1.

    `metrics` are those of third-party scorers; None allows any.
    """
    for metric, value in (holder.thresholds or {}).items():
        if metric in LIMITS:
            continue
        path = (*at, "thresholds", metric)
        if metric in RATES:
            message = f"a rate of the run, which no case has; use --tooleval-fail-over={metric}=0"
            yield Finding(path, message, at_key=True)
        elif metrics is not None and metric not in MAY_HAVE_THRESHOLD and metric not in metrics:
            names = dict.fromkeys((*MAY_HAVE_THRESHOLD, *metrics, *LIMITS))
            near = nearest(metric, names)
            hint = f", did you mean {near}?" if near else f"; expected one of {listing(names)}; {_OWN}"
            yield Finding(path, f"unknown metric{hint}", at_key=True)
        elif value is not None and value > 1:
            expected = expected_at(Suite, "thresholds", metric)
            yield Finding(path, f"expected {expected}, got the number {value:g}")


def judging_errors(scope: Scope) -> Findings:
    """A case without a threshold that can tell right from wrong."""
    if not (scope.suite.thresholds or scope.case.thresholds):
        return  # the defaults judge
    if not judges(_needed(scope)):
        at = scope.at if scope.case.thresholds is None else (*scope.at, "thresholds")
        yield Finding(at, NOTHING_JUDGES)


def _needed(scope: Scope) -> Mapping[str, float]:
    """The thresholds of a case, with those of its suite and the defaults."""
    suite, case = scope.suite, scope.case
    mode = MODES[case.param_scoring or suite.param_scoring or DEFAULT_MODE]
    return merged_thresholds(case, mode, suite.thresholds, case.thresholds)


def threshold_warnings(scope: Scope) -> Findings:
    case, at = scope.case, (*scope.at, "thresholds")
    of_case: Mapping[str, float | None] = case.thresholds or {}
    named = {**(scope.suite.thresholds or {}), **of_case}
    for metric in of_case:
        if why := _why_never(scope.suite, case, metric):
            message = f"{why}, so this threshold never applies"
            yield Finding((*at, metric), message, at_key=True)
    if not judges(metric for metric, least in _needed(scope).items() if least > 0):
        message = "a threshold of 0 always holds, so any usable answer passes"
        yield Finding(at if of_case else scope.at, message)
    if (
        "no_extra_calls" in of_case
        and named["no_extra_calls"] is None
        and not case.expected_tools
        and named.get("overall", 1.0) == 1.0
    ):
        message = "overall also counts extra calls here, so this has no effect; lower overall"
        yield Finding((*at, "no_extra_calls"), message, at_key=True)
    if "efficiency" in of_case and not (named.get("overall", 1.0) or named.get("completion")):
        message = "a chain that stops early can still be efficient; add a threshold for completion"
        yield Finding((*at, "efficiency"), message, at_key=True)
    most = named.get("max_calls")
    lists = [sum(not call.optional for call in each.calls or ()) for each in case.alternatives]
    fewest = case.optimal_hops or min(lists)
    if most is not None and most < fewest:
        path = (*at, "max_calls") if "max_calls" in of_case else scope.at
        yield Finding(path, f"max_calls allows fewer calls than are expected ({fewest})")


def suite_threshold_warnings(suite: Suite) -> Findings:
    for metric in suite.thresholds or ():
        reasons = [_why_never(suite, case, metric) for case in suite.test_cases]
        if reasons and all(reasons):
            message = f"{reasons[0]}, so this threshold applies to none of the cases"
            yield Finding(("thresholds", metric), message, at_key=True)


_KINDS = {row.name: row.kinds for row in METRICS}
_VARIANTS = {row.name: row.variant for row in METRICS}
_CASES = {
    "calls": "single-turn cases",
    "chain": "multi-turn cases",
    "conversation": "conversations",
}


def _why_never(suite: Suite, case: TestCase, metric: str) -> str:
    """Why a case cannot have a score in a metric; empty if it can, as for third-party metrics."""
    if variant := _VARIANTS.get(metric):
        return f"{metric} is measured only under the variant {variant}"
    kinds = _KINDS.get(metric, (case.kind,))
    if case.kind not in kinds:
        return f"{metric} is measured only in {' and '.join(_CASES[kind] for kind in kinds)}"
    mode = MODES[case.param_scoring or suite.param_scoring or DEFAULT_MODE]
    judged = [each for each in (case, *(case.turns or ())) if each.calls is not None]
    counts = (not each.takes_any and (each.match or case.match) != "contains" for each in judged)
    if metric == "no_extra_calls" and (mode.only_overall or not any(counts)):
        return "any number of calls is accepted here"
    if metric == "parameter_accuracy" and all(each.params is None for each in case.calls or ()):
        return "no expected params are given"
    return ""
