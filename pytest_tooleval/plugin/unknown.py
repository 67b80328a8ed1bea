"""Names in thresholds and gates that nothing has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..explain import listing
from ..record.metrics import LIMITS
from ..record.results import CaseRow
from ..settings.parts import Settings
from ..text import near
from ..verdicts.rules import PASS_RATE
from .items import CaseItem


def unknown_metric(settings: Settings, known: Collection[str]) -> str:
    """The problem with a metric that an option names; empty if there is none."""
    derived = [PASS_RATE, "pass@K", "pass^K"]
    asked = [
        (f"threshold={name}={'null' if value is None else f'{value:g}'}", name, [*known, *LIMITS])
        for name, value in (settings.asking.overrides.thresholds or {}).items()
    ]
    for rule in settings.judging.gates.fail_under:
        if not rule.is_derived:
            asked.append((f"fail-under={rule.metric}={rule.needed:g}", rule.metric, [*known, *derived]))
    for option, metric, names in asked:
        if metric not in names:
            hint = near(metric, names) or f"; expected one of {', '.join(sorted(names))}"
            return f"--tooleval-{option}: unknown metric {metric}{hint}"
    return ""


def unknown_scope(settings: Settings, cases: Sequence[CaseItem]) -> str:
    """The problem with a gate's scope; empty if there is none."""
    rows = [_planned(case) for case in cases]
    for rule in settings.judging.gates.rules:
        known = {name for row in rows for name, _ in rule.scope.keys(row) if name}
        if rule.name is not None and rule.name not in known:
            scope = rule.scope.name
            hint = near(rule.name, known) or f"; there is {listing(sorted(known)) or 'none'}"
            gate = f"--tooleval-fail-{'over' if rule.over else 'under'}={scope}={rule.name}"
            return f"{gate}: no case has this {scope}{hint}"
    return ""


def _planned(item: CaseItem) -> CaseRow:
    return CaseRow(
        nodeid=item.nodeid,
        suite=item.origin.suite.name,
        case=item.case.id,
        model=item.model,
        variant=item.case.arm.variant,
        outcome="skipped",
        tags=tuple(item.case.tags),
    )
