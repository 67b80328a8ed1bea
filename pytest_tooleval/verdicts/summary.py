"""A run's result document: its cases, and summaries by model and suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from ..record.comparison import Comparison
from ..record.document import Document, RowsDocument
from ..record.gates import Gate
from ..record.metrics import ordered_metrics
from ..record.results import CaseResult, CaseRow, Outcome, without_variants
from ..record.run import Run, SummedRun
from ..record.summary import Fallback, Mean, ModelSummary, SuiteSummary, Summary, Tokens
from ..record.variants import ComparedVariant
from .rules import judged_by
from .statistics import clusters_of, mean_of, reliability

SCORED: tuple[Outcome, ...] = ("passed", "failed")

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
_Row = TypeVar("_Row", bound=CaseRow)


def rows_document(
    run: Run,
    cases: Sequence[CaseRow],
    gates: Sequence[Gate] = (),
    baseline: Comparison | None = None,
    *,
    intervals: bool = False,
) -> RowsDocument:
    """The document without explanations and transcripts. Totals are over unchanged cases.

    The gates settle which counted cases are tolerated. `intervals` adds those of means.
    """
    cases = [tolerated_if_passed(case, gates) for case in cases]
    plain = without_variants(cases)
    total = summarise(plain, intervals=intervals)

    def fields(group: Sequence[CaseRow]) -> dict[str, Any]:
        # With one suite and model, all summaries are the same.
        return _fields(total if len(group) == len(plain) else summarise(group, intervals=intervals))

    models = group_by(plain, lambda case: case.model).items()
    suites = group_by(plain, lambda case: (case.model, case.suite, case.file)).items()
    return RowsDocument(
        run=SummedRun(**{**_fields(run), "total": total}),  # a shard's run already has its own
        models=tuple(ModelSummary(model=model, **fields(group)) for model, group in models),
        suites=tuple(
            SuiteSummary(model=model, suite=suite, file=file, **fields(group))
            for (model, suite, file), group in suites
        ),
        cases=cases,
        gates=tuple(gates),
        baseline=baseline,
        variants=_variants(run, cases) if len(plain) < len(cases) else (),
    )


def tolerated_if_passed(case: _Row, gates: Sequence[Gate]) -> _Row:
    """The case, tolerated if the gates that judge it passed."""
    if not case.counted or not gates or any(gate.failed and judged_by(case, gate) for gate in gates):
        return case
    return structs.replace(case, tolerated=True)


def whole_document(rows: RowsDocument, cases: Sequence[CaseResult]) -> Document:
    """The document with explanations and transcripts."""
    return Document(**{**_fields(rows), "cases": cases})


def _variants(run: Run, cases: Sequence[CaseRow]) -> tuple[ComparedVariant, ...]:
    from .variants import compare_variants

    return compare_variants(cases, run.started)


def _fields(of: Run | Summary | RowsDocument) -> dict[str, Any]:
    return {name: getattr(of, name) for name in of.__struct_fields__}


def file_order(models: Iterable[str]) -> Callable[[CaseRow], tuple[str, int, int, str]]:
    """A key that sorts cases by file and position, then by these models, then by variant."""
    order = {model: number for number, model in enumerate(models)}
    return lambda case: (case.file, case.position, order.get(case.model, len(order)), case.variant)


def ran_partly(cases: Iterable[CaseRow]) -> bool:
    """True if some case of a suite was not selected or did not run."""
    plain = without_variants(cases)
    ran = Counter((case.file, case.model) for case in plain)
    return any(ran[case.file, case.model] < case.suite_cases for case in plain)


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Cases or gates by a key, in order of first appearance."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def summarise(cases: Sequence[CaseRow], *, intervals: bool = False) -> Summary:
    """The cases' counts, means, tokens and cost. Means exclude errors and skipped cases."""
    counts = Counter(case.outcome for case in cases)
    scored = [case for case in cases if case.outcome in SCORED]
    trials = [trial for case in cases for trial in case.trials if trial.error is None]
    latencies = [trial.latency_s for trial in trials if trial.latency_s is not None]
    costs = [trial.cost_usd for trial in trials if trial.cost_usd is not None]
    written = sum(trial.recovered_calls for trial in trials)
    others = [trial.others_cost_usd for trial in trials if trial.others_cost_usd is not None]
    return Summary(
        cases=len(cases),
        passed=counts["passed"],
        failed=counts["failed"],
        forbidden=sum(case.called_forbidden for case in cases),
        errors=counts["error"],
        failing=sum(case.fails_run for case in cases),
        counted=sum(case.counted for case in cases),
        tolerated=sum(case.tolerated for case in cases),
        skipped=counts["skipped"],
        pass_rate=_pass_rate(scored, intervals),
        metrics=_means(scored, intervals),
        reliability=reliability([(case.answered, case.passes, case.weight) for case in scored]),
        trials=len(trials),
        cached=sum(trial.cached for trial in trials),
        recovered=sum(trial.format == "recovered" for trial in trials),
        native_calls=sum(trial.calls_made for trial in trials) - written,
        recovered_calls=written,
        lost_calls=sum(trial.lost_calls for trial in trials),
        dialects=dict(Counter(trial.dialect for trial in trials if trial.dialect)),
        fallbacks=_fallbacks(cases),
        upstreams=dict(Counter(trial.upstream for trial in trials if trial.upstream).most_common()),
        tokens=Tokens(
            prompt=_total(trial.prompt_tokens for trial in trials),
            completion=_total(trial.completion_tokens for trial in trials),
            reasoning=_total(trial.reasoning_tokens for trial in trials),
        ),
        cost_usd=sum(costs) if costs else None,
        others_cost_usd=sum(others) if others else None,
        priced=sum(t.cost_usd is not None and not t.is_cost_partial for t in trials),
        latency_s=sum(latencies) / len(latencies) if latencies else None,
    )


def _pass_rate(cases: Sequence[CaseRow], intervals: bool) -> Mean | None:
    clusters = clusters_of(cases)
    rates = [
        (float(case.passed), case.weight, cluster) for case, cluster in zip(cases, clusters, strict=True)
    ]
    return mean_of(rates, intervals=intervals) if rates else None


def _means(cases: Sequence[CaseRow], intervals: bool) -> dict[str, Mean]:
    values: dict[str, list[tuple[float, float, int]]] = {}
    for case, cluster in zip(cases, clusters_of(cases), strict=True):
        for metric, value in case.scores.items():
            if value is not None:
                values.setdefault(metric, []).append((value, case.weight, cluster))
    return {metric: mean_of(values[metric], intervals=intervals) for metric in ordered_metrics(values)}


def _total(values: Iterable[int | None]) -> int | None:
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def _fallbacks(cases: Iterable[CaseRow]) -> tuple[Fallback, ...]:
    """The fallbacks, each with its number of cases."""
    counts = Counter(
        pair
        for case in cases
        for pair in {pair for trial in case.trials for pair in trial.fallbacks.items()}
    )
    return tuple(Fallback(*pair, count) for pair, count in sorted(counts.items(), key=str))
