"""Gates over many cases: minimum means, and maximum amounts and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from ..figures import TOLERANCE, amount_text, given_text, limit_text, most_text, score_text
from ..record.comparison import ComparedModel, Comparison
from ..record.gates import Gate, Verdict
from ..record.metrics import RATES
from ..record.results import CaseRow
from ..text import plural
from .rules import BROKEN, COUNTED, ERRORS, MODEL, PASS_RATE, RECOVERED, Rule, groups_of, value_of
from .run_summary import strict_text
from .statistics import mean_over


class _Judgement(NamedTuple):
    """What a rule finds in a group of cases: its verdict, with the figures in words and as numbers."""

    verdict: Verdict
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    cases: int = 0
    errors: int = 0


def decide_gates(
    cases: Sequence[CaseRow],
    rules: Sequence[Rule],
    confidence: float | None = None,
    *,
    strict: bool = False,
    collected: Mapping[str, int] = MappingProxyType({}),
    comparison: Comparison | None = None,
) -> list[Gate]:
    """Judge all gates of a run, for which `collected` cases of each model were there to select.

    `comparison` is that with the baseline, which a gate of newly broken cases needs.

    With `confidence` (0 to 1), a gate passes if the lower end of the interval reaches the value, and
    fails if the upper end is below it; otherwise it is inconclusive, which fails the run if `strict`.
    Cases without an answer fail their gates unless a rule allows that many errors. A gate without cases
    fails.
    """
    evaluated = [case for case in cases if case.model and case.outcome != "skipped"]
    allowed = _allowed_errors(evaluated, rules)
    models = {model.new: model for model in comparison.models} if comparison else {}
    rows = [
        row for rule in rules for row in _judge(rule, evaluated, allowed, confidence, collected, models)
    ]
    for index, row in enumerate(rows):
        if row.verdict == "inconclusive":
            end = strict_text(strict)
            rows[index] = structs.replace(
                row, failed=strict, message=row.message + end, detail=row.detail + end
            )
    return rows


def _allowed_errors(cases: Sequence[CaseRow], rules: Sequence[Rule]) -> set[str]:
    """The node ids of cases in groups whose errors are all allowed by a rule."""
    allowed: set[str] = set()
    for rule in rules:
        for rows in groups_of(rule, cases).values() if rule.metric == ERRORS else ():
            if _errors(rows) <= _most_errors(rule, len(rows)):
                allowed.update(row.nodeid for row in rows)
    return allowed


def _errors(cases: Sequence[CaseRow]) -> int:
    return sum(case.outcome == "error" for case in cases)


def _most_errors(rule: Rule, cases: int) -> int:
    return int(rule.needed * (cases if rule.is_share else 1) + TOLERANCE)


def _judge(
    rule: Rule,
    cases: Sequence[CaseRow],
    allowed: Collection[str],
    confidence: float | None,
    collected: Mapping[str, int],
    compared: Mapping[str, ComparedModel],
) -> list[Gate]:
    groups = groups_of(rule, cases)
    if not groups:
        scope = rule.scope.name
        what = f"{scope} {rule.name}" if rule.name else f"any {scope}"
        needs = "" if rule.is_limit else f", needs {given_text(rule.needed)}"
        judgement = _Judgement("failed", f"no case of {what} was evaluated{needs}")
        return [_gate(rule, judgement, rule.needed)]
    files = {(name, file) for _, name, file in groups}
    shared = {name for name, count in Counter(name for name, _ in files).items() if count > 1}
    gates = []
    for (model, name, file), rows in groups.items():
        group = "" if rule.scope is MODEL else f"{rule.scope.name} {name}"
        # The file distinguishes suites of the same name.
        group += f" ({file})" if file is not None and name in shared else ""
        total = collected.get(model, 0) if rule.scope is MODEL else 0
        judgement = (
            _judge_broken(rule, rows, compared.get(model))
            if rule.metric == BROKEN
            else _judge_group(rule, rows, allowed, confidence, total)
        )
        needed = _most_errors(rule, len(rows)) if rule.metric in COUNTED else rule.needed
        gates.append(_gate(rule, judgement, needed, model, name, group))
    return gates


def _gate(
    rule: Rule,
    judgement: _Judgement,
    needed: float,
    model: str | None = None,
    of: str | None = None,
    group: str = "",
) -> Gate:
    where = ", ".join(filter(None, (model, group)))
    name = f"{rule.metric} of {where}" if where else rule.metric
    return Gate(
        kind="fail_over" if rule.is_limit else "fail_under",
        name=name,
        metric=rule.metric,
        needed=needed,
        model=model,
        scope="model" if model is None else rule.scope.name,
        of=of,
        value=judgement.value,
        low=judgement.low,
        high=judgement.high,
        confidence=judgement.confidence,
        cases=judgement.cases,
        errors=judgement.errors,
        verdict=judgement.verdict,
        failed=judgement.verdict == "failed",
        message=f"{name}: {judgement.text}",
        detail=f"{', '.join(filter(None, (rule.metric, group)))}: {judgement.text}",
    )


def _judge_group(
    rule: Rule,
    cases: Sequence[CaseRow],
    allowed: Collection[str],
    confidence: float | None,
    total: int,
) -> _Judgement:
    if not rule.is_limit:
        return _judge_mean(rule, cases, allowed, confidence, total)
    if rule.metric in RATES:
        return _judge_rate(rule, cases, allowed, confidence)
    if rule.metric == RECOVERED:
        as_text = [case for case in cases if any(t.recovered_calls + t.lost_calls for t in case.trials)]
        return _judge_count(rule, cases, len(as_text), "with a call written as text")
    if rule.metric == ERRORS:
        judgement = _judge_count(rule, cases, _errors(cases), "without an answer")
        # An agent that crashes in every case has shown nothing.
        return judgement._replace(verdict="failed") if judgement.errors == judgement.cases else judgement
    return _judge_amount(rule, cases)


def _judge_rate(
    rule: Rule, cases: Sequence[CaseRow], allowed: Collection[str], confidence: float | None
) -> _Judgement:
    """Judge the mean over the cases that have the metric; without any, the gate fails."""
    confidence = confidence if rule.needed > 0 else None  # no interval reaches 0
    valued = [(case, value) for case in cases if (value := value_of(case, rule.metric)) is not None]
    value = low = high = None
    verdict: Verdict = "failed"
    text = "no case has a value"
    if valued:
        value, low, high = mean_over(valued, confidence or 0.95)
        least, most = (value, value) if confidence is None else (low, high)
        verdict = "passed" if most <= rule.needed + TOLERANCE else "inconclusive"
        verdict = "failed" if least > rule.needed + TOLERANCE else verdict
        text = score_text(value, [rule.needed])
        if confidence is not None:
            text += _between(low, high, rule.needed, confidence)
        text += f" over {plural(len(valued), 'case')}"
    too_many, silent = _unanswered(cases, allowed)
    return _Judgement(
        "failed" if too_many else verdict,
        f"{text}, at most {limit_text(rule.needed)} allowed{silent}",
        value,
        low,
        high,
        confidence,
        cases=len(valued),
        errors=_errors(cases),
    )


def _unanswered(
    cases: Sequence[CaseRow], allowed: Collection[str], if_failed: float | None = None
) -> tuple[bool, str]:
    """True if more cases than allowed have no answer, and the end of a message with their number.

    `if_failed` is the mean as it would be if they had failed; missing answers may be the hard ones.
    """
    errors = [case for case in cases if case.outcome == "error"]
    too_many = any(case.nodeid not in allowed for case in errors)
    silent = sum(len(case.trials) - case.answered for case in cases if case.outcome != "error")
    text = f"; {plural(silent, 'trial')} without an answer" if silent else ""
    if errors:
        if too_many or if_failed is None:
            text += f"; {plural(len(errors), 'case')} without an answer"
        else:
            text += f"; {score_text(if_failed)} if the {len(errors)} without an answer had failed"
    return too_many, text + (", more than --tooleval-fail-over=errors allows" if too_many else "")


def _judge_count(rule: Rule, cases: Sequence[CaseRow], count: int, what: str) -> _Judgement:
    """Judge the number of cases of which something is true."""
    most = _most_errors(rule, len(cases))
    shown = f"{given_text(round(100 * rule.needed, 9))}%" if rule.is_share else str(most)
    return _Judgement(
        "passed" if count <= most else "failed",
        f"{count} of {plural(len(cases), 'case')} {what}, {shown} allowed",
        count,
        cases=len(cases),
        errors=_errors(cases),
    )


def _judge_broken(rule: Rule, cases: Sequence[CaseRow], compared: ComparedModel | None) -> _Judgement:
    """Judge the number of newly broken cases; without a comparable baseline, it is unknown."""
    if compared is None or not compared.cases:
        return _Judgement("inconclusive", "no baseline with comparable cases", errors=_errors(cases))
    broken = {case.of_case for case in compared.newly_broken}
    count = sum(case.identity.of_case in broken for case in cases)
    return _judge_count(rule, cases, count, "newly broken")


def _judge_amount(rule: Rule, cases: Sequence[CaseRow]) -> _Judgement:
    """Judge the mean over the answered trials; if some values are unknown, the gate fails."""
    spent = [trial.amounts[f"max_{rule.metric}"] for c in cases for trial in c.trials if not trial.error]
    amounts = [value for value in spent if value is not None]
    mean, passed = None, False
    if not spent:
        text = "no trial has an answer"
    elif len(amounts) < len(spent):
        text = f"unknown for {len(spent) - len(amounts)} of {plural(len(spent), 'trial')}"
    else:
        mean = sum(amounts) / len(amounts)
        passed = mean <= rule.needed * (1 + TOLERANCE)
        shown = amount_text(rule.metric, mean, [rule.needed])
        text = f"{shown} on average over {plural(len(amounts), 'trial')}"
    text = f"{text}, at most {most_text(rule.metric, rule.needed)} allowed"
    return _Judgement("passed" if passed else "failed", text, mean, cases=len(spent))


def _judge_mean(
    rule: Rule,
    cases: Sequence[CaseRow],
    allowed: Collection[str],
    confidence: float | None,
    total: int,
) -> _Judgement:
    confidence = confidence if rule.needed < 1 else None  # no interval reaches 1
    scored = [case for case in cases if case.outcome != "error"]
    total += sum(case.is_python for case in cases)
    valued = [(case, value) for case in scored if (value := value_of(case, rule.metric)) is not None]
    value = low = high = None
    verdict: Verdict = "failed"
    if not valued:
        text = "no case has a value"
    else:
        value, low, high = mean_over(valued, confidence or 0.95)
        bounds = (low, high) if confidence is not None else (value, value)
        verdict, text = _verdict(rule.needed, value, bounds, confidence)
    text += f", over {_how_many(rule, [case for case, _ in valued], scored, total)}"
    text += _loud(verdict, scored)
    if few := sum(0 < len(case.trials) < rule.trials for case in scored):
        verdict = "failed"
        text += f"; {plural(few, 'case')} had fewer trials than {rule.metric} needs"
    if rule.metric == PASS_RATE and len({case.weight for case, _ in valued}) > 1:
        text += f", of which {sum(value for _, value in valued):.0f} passed (cases have weights)"
    errors = [(case, 0.0) for case in cases if case.outcome == "error"]
    if_failed = mean_over([*valued, *errors], 0.95)[0] if valued and errors else None
    too_many, silent = _unanswered(cases, allowed, if_failed)
    text += silent
    verdict = "failed" if too_many else verdict
    if verdict == "inconclusive":
        text += "; more cases or trials may decide"
    return _Judgement(verdict, text, value, low, high, confidence, len(valued), _errors(cases))


def _loud(verdict: Verdict, cases: Sequence[CaseRow]) -> str:
    """The number of cases that failed every trial, for the message of an inconclusive gate."""
    wrong = sum(not case.passes for case in cases) if verdict == "inconclusive" else 0
    every = " IN EVERY TRIAL" if any(case.answered > 1 for case in cases) else ""
    return f", {wrong} of which FAILED{every}" if wrong else ""


def _how_many(rule: Rule, valued: Sequence[CaseRow], scored: Sequence[CaseRow], collected: int) -> str:
    """`12 cases (36 trials)`, or `3 of 12 cases` after a selection, but not for tags."""
    whole = {case.identity.of_suite: case.suite_cases for case in scored}
    # Suites without a selected case count as collected; a path on the command line may be one case.
    total = max(collected, sum(whole.values())) if rule.scope.is_sized else 0
    trials = sum(case.answered for case in valued)
    valued_of = f"{len(valued)} of " if total > len(valued) else ""
    text = valued_of + plural(max(total, len(valued)), "case")
    return f"{text} ({plural(trials, 'trial')})" if trials > len(valued) else text


def _verdict(
    needed: float, value: float, bounds: tuple[float, float], confidence: float | None
) -> tuple[Verdict, str]:
    """The verdict and its figures, such as `0.87 < 0.90`, with as many digits as they need."""
    low, high = bounds
    passed, failed = low >= needed - TOLERANCE, high < needed - TOLERANCE
    shown, bound = score_text(value, [needed]), limit_text(needed)
    if confidence is None:
        return ("passed", f"{shown} >= {bound}") if passed else ("failed", f"{shown} < {bound}")
    interval = shown + _between(low, high, needed, confidence)
    if passed:
        return "passed", f"{interval} >= {bound}"
    return (
        ("failed", f"{interval} < {bound}") if failed else ("inconclusive", f"{interval} needs {bound}")
    )


def _between(low: float, high: float, needed: float, confidence: float) -> str:
    begin, end = score_text(low, [needed]), score_text(high, [needed])
    return f" ({begin} to {end} at {100 * confidence:.4g}%)"
