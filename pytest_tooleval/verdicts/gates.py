"""Gates over many cases: lower limits of means, and a limit of errors."""

from __future__ import annotations

import operator
import re
import sys
from collections import Counter
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from ..errors import ConfigError
from ..record.gates import Gate
from ..record.gates import Verdict
from ..record.metrics import PENALTIES
from ..record.results import CaseRow
from ..scoring.thresholds import TOLERANCE
from ..text import counted
from .options import read_number
from .options import strict_text
from .planning import more_cases
from .planning import more_trials
from .statistics import clusters_of
from .statistics import mean_interval
from .statistics import pass_at_k
from .statistics import pass_hat_k

Scope = Literal["model", "suite", "tag"]

_SCOPES: tuple[Scope, ...] = ("model", "suite", "tag")
_RELIABILITY = re.compile(r"pass([@^])([1-9][0-9]{0,5})")
PASS_RATE = "pass_rate"
_SYNTAX = (
    "expected [SCOPE:][METRIC=]VALUE with a value from 0 to 1, such as 0.9, tool_selection=0.95, "
    "suite:overall=0.8 or tag=smoke:1; a scope is model, suite or tag, with a name or "
    "without (each of them)"
)


@dataclass(frozen=True, slots=True)
class FailUnder:
    """The lowest mean of a metric over the cases of each model, or each suite or tag of it.

    `name` restricts the gate to one model, suite or tag. `metric` is a scored metric, `pass_rate` (the
    share of cases that passed), `pass@K` or `pass^K`.
    """

    metric: str
    needed: float
    scope: Scope = "model"
    name: str | None = None

    @property
    def is_derived(self) -> bool:
        """Whether the metric is made of verdicts or passes, not of scores."""
        return self.metric == PASS_RATE or _RELIABILITY.fullmatch(self.metric) is not None

    def covers(self, case: CaseRow) -> bool:
        """Whether the gate judges a case."""
        return bool(_names(self, case)) and value_of(case, self.metric) is not None

    @classmethod
    def parse(cls, text: str, where: str = "--tooleval-fail-under=") -> FailUnder:
        """Read `[SCOPE:][METRIC=]VALUE`. ConfigError, starting with `where`, if it is invalid."""
        # Model names contain colons (ollama/llama3:8b), metrics and numbers do not.
        group, _, condition = text.rpartition(":")
        metric, _, number = condition.rpartition("=")
        metric = metric.strip() or PASS_RATE
        scope, equals, name = group.partition("=")
        scope = scope.strip() or "model"
        needed = read_number(number)
        if scope not in _SCOPES or not 0.0 <= needed <= 1.0 or (equals and not name.strip()):
            raise ConfigError(f"{where}{text}: {_SYNTAX}")
        if metric.startswith(("pass@", "pass^")) and not _RELIABILITY.fullmatch(metric):
            raise ConfigError(f"{where}{text}: expected a number of trials after {metric[:5]}")
        if metric in PENALTIES:
            raise ConfigError(f"{where}{text}: lower is better for {metric}; use overall")
        chosen: Scope = next(known for known in _SCOPES if known == scope)
        return cls(metric, needed, chosen, name.strip() or None)


@dataclass(frozen=True, slots=True)
class MostErrors:
    """How many cases may have no answer: a number, or a share from 0 to 1."""

    number: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, text: str, where: str = "--tooleval-max-errors=") -> MostErrors:
        """Read `N` or `P%`. ConfigError, starting with `where`, if it is invalid."""
        percent = text.strip().endswith("%")
        value = read_number(text.strip().removesuffix("%"))
        most = 100 if percent else sys.maxsize
        if not 0 <= value <= most or not (percent or value.is_integer()):
            raise ConfigError(f"{where}{text}: expected a number of cases, or a share such as 2%")
        return cls(share=value / 100) if percent else cls(number=int(value))

    def of(self, cases: int) -> int:
        """The limit for a number of cases."""
        return self.number if self.number is not None else int((self.share or 0.0) * cases + TOLERANCE)

    def __str__(self) -> str:
        return str(self.number) if self.number is not None else f"{100 * (self.share or 0.0):g}%"


def judge_gates(
    cases: Sequence[CaseRow],
    gates: Sequence[FailUnder],
    most_errors: MostErrors | None = None,
    confidence: float | None = None,
    *,
    strict: bool = False,
) -> list[Gate]:
    """Judge all gates of a run.

    With `confidence` (0 to 1), the lower bound of the interval must reach the value to pass, and the
    upper one be below it to fail; otherwise the gate is inconclusive, which fails the run if `strict`.
    Cases without an answer fail their gates unless `most_errors` allows them. A gate without cases
    fails.
    """
    evaluated = [case for case in cases if case.model and case.outcome != "skipped"]
    errors = sum(case.outcome == "error" for case in evaluated)
    allowed = errors == 0 if most_errors is None else errors <= most_errors.of(len(evaluated))
    rows = [row for gate in gates for row in _judge(gate, evaluated, allowed, confidence)]
    for place, row in enumerate(rows):
        if row.verdict == "inconclusive":
            message = row.message + strict_text(strict)
            rows[place] = structs.replace(row, failed=strict, message=message)
    if most_errors is not None:
        rows.append(_errors_gate(most_errors, errors, len(evaluated), allowed))
    return rows


def _errors_gate(most: MostErrors, errors: int, cases: int, passed: bool) -> Gate:
    message = f"{errors} of {counted(cases, 'case')} without an answer, {most} allowed"
    if not cases:
        passed, message = False, "no case was evaluated"
    return Gate(
        kind="errors",
        name="errors",
        needed=most.of(cases),
        value=errors,
        cases=cases,
        errors=errors,
        verdict="passed" if passed else "failed",
        failed=not passed,
        message=message,
    )


def _judge(
    gate: FailUnder, cases: Sequence[CaseRow], errors_allowed: bool, confidence: float | None
) -> list[Gate]:
    groups = groups_of(gate, cases)
    if not groups:
        what = f"{gate.scope} {gate.name}" if gate.name else f"any {gate.scope}"
        message = f"{gate.metric}: no case of {what} was evaluated, needs {gate.needed:g}"
        return [
            Gate(
                kind="fail_under",
                name=gate.metric,
                metric=gate.metric,
                needed=gate.needed,
                verdict="failed",
                failed=True,
                message=message,
            )
        ]
    files = {(name, file) for _, name, file in groups}
    shared = {name for name, count in Counter(name for name, _ in files).items() if count > 1}
    return [
        # The file distinguishes suites of the same name.
        _judge_group(
            gate, model, name, file if name in shared else None, rows, errors_allowed, confidence
        )
        for (model, name, file), rows in groups.items()
    ]


def groups_of(
    gate: FailUnder, cases: Sequence[CaseRow]
) -> dict[tuple[str, str | None, str | None], list[CaseRow]]:
    """The cases of each model, or of each suite or tag of each model, in order of appearance.

    The key is (model, suite or tag, file of the suite).
    """
    groups: dict[tuple[str, str | None, str | None], list[CaseRow]] = defaultdict(list)
    for case in cases:
        for name in _names(gate, case):
            groups[case.model, name, case.file if gate.scope == "suite" else None].append(case)
    return groups


def _names(gate: FailUnder, case: CaseRow) -> list[str | None]:
    """The suite or tags of a case that a gate judges, or None for the model; empty if it does not."""
    if gate.scope == "model":
        return [None] if gate.name in (None, case.model) else []
    found = [case.suite] if gate.scope == "suite" else case.tags
    return [name for name in found if gate.name in (None, name)]


def _judge_group(
    gate: FailUnder,
    model: str,
    name: str | None,
    file: str | None,
    cases: Sequence[CaseRow],
    errors_allowed: bool,
    confidence: float | None,
) -> Gate:
    errors = sum(case.outcome == "error" for case in cases)
    scored = [case for case in cases if case.outcome != "error"]
    found = [(case, value) for case in scored if (value := value_of(case, gate.metric)) is not None]
    pairs = [(value, case.weight) for case, value in found]
    where = model if name is None else f"{model}, {gate.scope} {name}"
    where += f" ({file})" if file is not None else ""
    value = low = high = None
    verdict: Verdict = "failed"
    further: tuple[int | None, int | None] = None, None
    if not pairs:
        text = "no case has a value"
    else:
        values, weights = zip(*pairs, strict=True)
        clusters = clusters_of(case for case, _ in found)
        value = sum(map(operator.mul, values, weights)) / sum(weights)
        low, high = mean_interval(values, weights, confidence or 0.95, clusters)
        bounds = (low, high) if confidence is not None else (value, value)
        verdict, text = _verdict(gate.needed, value, bounds, confidence)
        if verdict == "inconclusive":
            further = _further(gate, found, confidence or 0.95)
    text += f", over {_how_many(gate, pairs, scored)}"
    if gate.metric == PASS_RATE and len({weight for _, weight in pairs}) > 1:
        text += f", of which {sum(value for value, _ in pairs):.0f} passed (cases have weights)"
    silent = sum(len(case.trials) - case.scored for case in scored)
    if silent:
        text += f"; {counted(silent, 'trial')} without an answer"
    if errors:
        text += f"; {counted(errors, 'case')} without an answer"
        text += "" if errors_allowed else ", more than --tooleval-max-errors allows"
    if errors and not errors_allowed:
        verdict = "failed"
    if verdict == "inconclusive":
        text += _would_decide(*further, single=all(case.scored == 1 for case in scored))
    return Gate(
        kind="fail_under",
        name=f"{gate.metric} of {where}",
        model=model,
        suite=name if gate.scope == "suite" else None,
        tag=name if gate.scope == "tag" else None,
        metric=gate.metric,
        needed=gate.needed,
        value=value,
        low=low,
        high=high,
        confidence=confidence,
        cases=len(pairs),
        errors=errors,
        verdict=verdict,
        failed=verdict == "failed",
        more_trials=further[0],
        more_cases=further[1],
        message=f"{gate.metric} of {where}: {text}",
    )


def _how_many(gate: FailUnder, pairs: Sequence[object], scored: Sequence[CaseRow]) -> str:
    """`12 cases (36 trials)`, or `3 of 12 cases` after a selection, but not for tags."""
    whole = {(case.file, case.suite): case.suite_cases for case in scored}
    total = 0 if gate.scope == "tag" else sum(whole.values())
    trials = sum(case.scored for case in scored)
    part = f"{len(pairs)} of " if total > len(pairs) else ""
    text = part + counted(max(total, len(pairs)), "case")
    return f"{text} ({counted(trials, 'trial')})" if trials > len(scored) else text


def _verdict(
    needed: float, value: float, bounds: tuple[float, float], confidence: float | None
) -> tuple[Verdict, str]:
    """The verdict and its figures, such as `0.87 < 0.90`, with as many digits as needed."""
    low, high = bounds
    passed, failed = low >= needed - TOLERANCE, high < needed - TOLERANCE
    for digits in range(2, 10):
        shown, begin, end, bound = (f"{each:.{digits}f}" for each in (value, low, high, needed))
        if passed or (bound not in (begin, end)):
            break
    if confidence is None:
        return ("passed", f"{shown} >= {bound}") if passed else ("failed", f"{shown} < {bound}")
    interval = f"{shown}, its {100 * confidence:.4g}% interval"
    if passed:
        return "passed", f"{interval} starts at {begin} >= {bound}"
    if failed:
        return "failed", f"{interval} ends at {end} < {bound}"
    return "inconclusive", f"{interval} from {begin} to {end} includes {bound}"


def _further(
    gate: FailUnder, found: Sequence[tuple[CaseRow, float]], confidence: float
) -> tuple[int | None, int | None]:
    """How many more trials, and how many more cases, would decide a gate."""
    values, weights = [value for _, value in found], [case.weight for case, _ in found]
    clusters, trials = clusters_of(case for case, _ in found), [case.scored for case, _ in found]
    cases = more_cases(values, weights, clusters, gate.needed, confidence)
    # How more trials change verdicts, or several trials at once, is unknown.
    if gate.is_derived and gate.metric not in ("pass@1", "pass^1"):
        return None, cases
    return more_trials(values, weights, clusters, trials, gate.needed, confidence), cases


def _would_decide(trials: int | None, cases: int | None, *, single: bool) -> str:
    """What would decide an inconclusive gate. With single trials, only a minimum is known."""
    ways = [] if cases is None else [f"about {counted(cases, 'more case')} like these"]
    if trials is not None:
        word = "at least" if single else "about"
        ways.insert(0, f"{word} {counted(trials, 'more trial')} of each case")
    return f"; {', or '.join(ways)} would decide" if ways else "; too close to decide"


def value_of(case: CaseRow, metric: str) -> float | None:
    """A case's value in a gate: a score, 0 or 1 for its outcome, pass@k or pass^k; None without one."""
    if metric == PASS_RATE:
        return 1.0 if case.outcome == "passed" else 0.0
    reliability = _RELIABILITY.fullmatch(metric)
    if reliability is None:
        return case.scores.get(metric)
    formula = pass_at_k if reliability[1] == "@" else pass_hat_k
    return formula(case.scored, case.passes, int(reliability[2]))
