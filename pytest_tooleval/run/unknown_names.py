"""Names in thresholds and gates that nothing has."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..explain import listing
from ..figures import given_text
from ..record.metrics import LIMITS
from ..settings.settings import Settings
from ..text import near
from ..verdicts.rules import PASS_RATE
from .origin import CaseOnModel


def unknown_metric(settings: Settings, metrics: Collection[str]) -> str:
    """The problem with a metric that an option names; empty if there is none."""
    scored = [*metrics, PASS_RATE, "pass@K", "pass^K"]
    options = [
        (f"threshold={name}={'null' if value is None else given_text(value)}", name, [*metrics, *LIMITS])
        for name, value in (settings.asking.overrides.thresholds or {}).items()
    ]
    for rule in settings.gating.gates.fail_under:
        if not rule.is_derived:
            options.append((f"fail-under={rule.metric}={given_text(rule.needed)}", rule.metric, scored))
    for option, metric, names in options:
        if metric not in names:
            hint = near(metric, names) or f"; expected one of {', '.join(sorted(names))}"
            return f"--tooleval-{option}: unknown metric {metric}{hint}"
    return ""


def unknown_scope(settings: Settings, places: Iterable[CaseOnModel]) -> str:
    """The problem with a gate's scope; empty if there is none."""
    rules = [(rule, rule.name) for rule in settings.gating.gates.rules if rule.name is not None]
    rows = [on_model.blank for on_model in places] if rules else []
    for rule, name in rules:
        names = {key for row in rows for key, _ in rule.scope.keys(row) if key}
        if name not in names:
            scope = rule.scope.name
            there = f"there is {listing(sorted(names))}" if names else f"no case has any {scope}"
            gate = f"--tooleval-fail-{'over' if rule.is_limit else 'under'}={scope}={name}"
            return (
                f'{gate}: no collected case has the {scope} "{name}"{near(name, names) or f"; {there}"}'
            )
    return ""
