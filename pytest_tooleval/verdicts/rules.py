"""The rules of gates: `--tooleval-fail-under` and `--tooleval-fail-over`."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..explain import nearest
from ..figures import TOLERANCE, given_text
from ..record.gates import Gate
from ..record.metrics import AMOUNTS, PENALTIES, POLICIES, RATES
from ..record.results import CaseRow
from ..text import near, read_number, read_share
from .statistics import pass_at_k, pass_hat_k

_Keys = Callable[[CaseRow], Iterable[tuple[str, str | None]]]


class GateScope(NamedTuple):
    """The groups that a gate judges separately.

    `keys` returns the names of a case's groups, each with the file if names are unique only there. With
    `is_sized`, groups are made of suites whose number of cases is known.
    """

    name: str
    keys: _Keys
    is_sized: bool = True


def _unchanged(keys: _Keys) -> _Keys:
    """`keys` for unchanged cases only: a variant's cases are judged only by its own gates."""
    return lambda case: () if case.variant else keys(case)


MODEL = GateScope("model", _unchanged(lambda case: [(case.model, None)]))
SCOPES = {
    scope.name: scope
    for scope in (
        MODEL,
        GateScope("suite", _unchanged(lambda case: [(case.suite, case.file)])),
        GateScope("tag", _unchanged(lambda case: [(tag, None) for tag in case.tags]), is_sized=False),
        GateScope("variant", lambda row: [(row.variant, None)] if row.variant else (), is_sized=False),
    )
}

PASS_RATE = "pass_rate"
ERRORS = "errors"
# Cases in which a call was written as text, recovered or lost.
RECOVERED = "recovered"
# Cases that passed every trial in the baseline, and pass none now.
BROKEN = "broken"
COUNTED = (ERRORS, RECOVERED, BROKEN)
RELIABILITY = re.compile(r"pass([@^])([1-9][0-9]{0,5})")
_SCOPED = f"scopes: {', '.join(SCOPES)}; add =NAME to pick one"
_UNDER = (
    "expected [SCOPE:][METRIC=]VALUE with a value from 0 to 1, such as 0.9, 90%, "
    f"tool_selection=0.95, suite:overall=0.8 or tag=smoke:1; {_SCOPED}"
)
_OVER = (
    "expected [SCOPE:]NAME=VALUE, such as cost_usd=0.01, errors=2%, errors=3 or suite:latency_s=5; "
    f"names are {', '.join((*AMOUNTS, *RATES, RECOVERED, BROKEN))} and {ERRORS}; {_SCOPED}"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a gate needs from the cases of each model, or each of its suites, tags or variants.

    `name` restricts it to one of these. The mean of `metric` must reach `needed`: a scored metric,
    `pass_rate` (the share of cases that passed), `pass@K` or `pass^K`. With `is_limit`, the metric is
    one of `AMOUNTS`, `RATES` or `COUNTED`, and must not exceed `needed`; `is_share` means a share of
    the cases.
    """

    metric: str
    needed: float
    scope: GateScope = MODEL
    name: str | None = None
    is_limit: bool = False
    is_share: bool = False

    @property
    def subject(self) -> tuple[object, ...]:
        """Its subject, without the value: two gates with the same subject contradict each other."""
        return self.metric, self.scope, self.name, self.is_limit, self.is_share

    @property
    def is_derived(self) -> bool:
        """True if the metric is derived from verdicts or passes instead of scores."""
        return self.metric == PASS_RATE or RELIABILITY.fullmatch(self.metric) is not None

    @property
    def trials(self) -> int:
        """The number of trials that each case needs: K of `pass@K` and `pass^K`, else 1."""
        reliability = RELIABILITY.fullmatch(self.metric)
        return int(reliability[2]) if reliability else 1

    def keys(self, case: CaseRow) -> list[tuple[str, str | None]]:
        """The scope's keys under which this rule judges a case; empty if it does not."""
        return [key for key in self.scope.keys(case) if self.name in (None, key[0])]

    def covers(self, case: CaseRow) -> bool:
        """True if a gate of this rule takes over the verdict on a case that failed or has no answer.

        One on a metric does not where that is 1: it does not measure what went wrong. Only one on
        policies takes over a broken one.
        """
        if not self.keys(case) or (case.broke_policy and self.metric != POLICIES):
            return False
        if case.outcome == "error":
            return self.metric == ERRORS and bool(case.trials)
        value = value_of(case, self.metric)
        return not self.is_limit and value is not None and (self.is_derived or value < 1.0 - TOLERANCE)


def groups_of(rule: Rule, cases: Sequence[CaseRow]) -> dict[tuple[str, str, str | None], list[CaseRow]]:
    """Cases by model, or by model and suite, tag or variant, in order of appearance.

    A key is a model and a key of the rule's scope.
    """
    groups: dict[tuple[str, str, str | None], list[CaseRow]] = defaultdict(list)
    for case in cases:
        for name, file in rule.keys(case):
            groups[case.model, name, file].append(case)
    return groups


def rule_of(gate: Gate) -> Rule:
    """A recorded gate's rule, for the one group it judged. A share of errors is recorded as a number."""
    assert gate.metric is not None
    assert gate.needed is not None
    return Rule(gate.metric, gate.needed, SCOPES[gate.scope], gate.of, is_limit=gate.kind == "fail_over")


def judged_by(case: CaseRow, gate: Gate) -> bool:
    """True if this recorded gate has taken over the verdict on a case."""
    return gate.metric is not None and gate.model == case.model and rule_of(gate).covers(case)


def value_of(case: CaseRow, metric: str) -> float | None:
    """A case's value in a gate: a score, 0 or 1 for its outcome, pass@k or pass^k; None without one."""
    if metric == PASS_RATE:
        return 1.0 if case.outcome == "passed" else 0.0
    reliability = RELIABILITY.fullmatch(metric)
    if reliability is None:
        return case.scores.get(metric)
    formula = pass_at_k if reliability[1] == "@" else pass_hat_k
    return formula(case.answered, case.passes, int(reliability[2]))


def read_rule(text: str, *, over: bool) -> Rule:
    """Read `[SCOPE:][METRIC=]VALUE`. ValueError if it is invalid."""
    # Model names contain colons (ollama/llama3:8b); metrics and numbers do not.
    group, _, condition = text.rpartition(":")
    metric, _, number = (part.strip() for part in condition.rpartition("="))
    scope, equals, name = (part.strip() for part in group.partition("="))
    scope = scope or "model"
    if scope not in SCOPES and not equals:
        meant = nearest(scope, SCOPES)
        hint = meant or f"tag={scope}:{condition} or suite={scope}:{condition}"
        raise ValueError(f"unknown scope {scope}, did you mean {hint}?")
    if meant := near(scope, SCOPES) if scope not in SCOPES else "":
        raise ValueError(f"unknown scope {scope}{meant}")
    problem = _over_problem(metric) if over else _under_problem(metric)
    if problem:
        raise ValueError(problem)
    needed, share = _most(metric, number) if over else (read_share(number), False)
    fits = 0.0 <= needed <= (sys.float_info.max if over else 1.0)
    if not over and 1.0 < needed <= 100.0 and not number.endswith("%"):
        share_of_100 = f"{group}:" if group else ""
        of = f"{metric}=" if metric else ""
        raise ValueError(f"a share is at most 1, did you mean {share_of_100}{of}{given_text(needed)}%?")
    if not fits or scope not in SCOPES or (equals and not name):
        raise ValueError(_OVER if over else _UNDER)
    return Rule(metric or PASS_RATE, needed, SCOPES[scope], name or None, over, share)


def _under_problem(metric: str) -> str:
    if metric in SCOPES:
        return f"{metric} is a scope, not a metric; write {metric}:VALUE, or {metric}=NAME:VALUE"
    if metric.startswith(("pass@", "pass^")) and not RELIABILITY.fullmatch(metric):
        return f"expected a number of trials after {metric[:5]}"
    if metric in (*AMOUNTS, *RATES, *COUNTED) and metric != "calls":  # it is also a conversation metric
        return f"lower is better for {metric}; use --tooleval-fail-over"
    return f"lower is better for {metric}; use overall" if metric in PENALTIES else ""


def _over_problem(metric: str) -> str:
    metrics = (*AMOUNTS, *RATES, *COUNTED)
    if metric in metrics:
        return ""
    meant = near(metric, metrics)
    return f"unknown name {metric}{meant}" if meant else _OVER


def _most(metric: str, text: str) -> tuple[float, bool]:
    """The value (-1 if invalid), and True if it is a share."""
    if metric in RATES:
        value = read_share(text)
        return value if value <= 1 else -1.0, True
    if metric not in COUNTED:
        return read_number(text), False
    value = read_share(text)
    if text.endswith("%") or 0 < value < 1:
        return value if value <= 1 else -1.0, True
    return value if value.is_integer() else -1.0, False
