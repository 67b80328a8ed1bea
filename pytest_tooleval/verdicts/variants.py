"""Compares each variant with the unchanged cases, pair by pair.

docs/reference/methods.md explains the test and the interval.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from ..figures import points_text, score_text
from ..record.identity import Identity
from ..record.results import CaseRow
from ..record.variants import AttackRate, ComparedVariant, Effect
from ..text import plural
from .paired_metrics import ALPHA, PASS, PairedCase, dealt_p, worse_and_better
from .statistics import cluster_sums, clusters_of, holm, mean_over, permutation_test

# 95% of a normal distribution is within this many standard errors.
_ERRORS = 1.959964
ATTACK = "attack_success"
_Key = tuple[str, str]  # a model and a variant
_Rows = Mapping[Identity, CaseRow]  # by case


def compare_variants(cases: Iterable[CaseRow], started: str) -> tuple[ComparedVariant, ...]:
    """Compare each variant on each model. Numbered variants are sorted by number.

    `started` is the run's start, which distinguishes its own cached answers from earlier ones. Shards
    are one run, which started with its first shard: answers that a later shard replays from it were
    not chosen.
    """
    arms: dict[_Key, dict[Identity, CaseRow]] = {}
    for case in cases:
        if case.model and case.outcome != "skipped":
            arms.setdefault((case.model, case.variant), {})[case.identity.of_case] = case
    keys = sorted((key for key in arms if key[1]), key=_by_number)
    compared = [_compared(key, arms[key], arms, started) for key in keys]
    tested = [each for each in compared if each.p is not None]
    # A variant that leaves all cases unchanged is not a test.
    tested = [each for each in tested if each.same < each.cases]
    adjusted = holm([each.p for each in tested if each.p is not None])
    p_of = {id(each): p for each, p in zip(tested, adjusted, strict=True)}
    return tuple(_judged(each, p_of.get(id(each))) for each in compared)


def _by_number(key: _Key) -> list[str | int]:
    # The numbers are always at odd positions.
    parts = re.split(r"([0-9]+)", key[1])
    return [int(part) if index % 2 else part for index, part in enumerate(parts)]


def _compared(key: _Key, rows: _Rows, arms: Mapping[_Key, _Rows], started: str) -> ComparedVariant:
    model, variant = key
    against = next(iter(rows.values())).against
    against_rows = arms.get((model, against), {})
    pairs_of_rows = [(against_rows[at], row) for at, row in rows.items() if at in against_rows]
    is_earlier = any(row.is_earlier for row in rows.values())
    if is_earlier:
        pairs_of_rows = [(row, now) for now, row in pairs_of_rows]
    answered = [(old, new) for old, new in pairs_of_rows if old.answered and new.answered]
    clusters = clusters_of(new for _, new in answered)
    pairs = [PairedCase(*pair, cluster) for pair, cluster in zip(answered, clusters, strict=True)]
    left_out = [row for at, row in against_rows.items() if at not in rows]
    comparison = ComparedVariant(
        variant=variant,
        model=model,
        against=against,
        cases=len(pairs),
        same=sum(map(_is_same, pairs)),
        is_earlier=is_earlier,
        added_called=dict(Counter(name for row in rows.values() for name in row.added_called)),
        errors=len(pairs_of_rows) - len(pairs),
        left_out=tuple(row.identity.of_case for row in left_out),
        verdict="inconclusive",
        attack=_attacked(list(rows.values()), list(against_rows.values())) if against else None,
    )
    if not pairs:
        return comparison
    worse, better = worse_and_better(pairs)
    old, new, low, high, p = _difference(pairs)
    apart = _apart(pairs, started)
    return structs.replace(
        comparison,
        old=old,
        new=new,
        difference=new - old,
        low=low,
        high=high,
        p=None if apart else p,
        worse=worse,
        better=better,
        verdict="not judged" if apart else "inconclusive",
        apart=apart,
    )


def _attacked(rows: Sequence[CaseRow], control: Sequence[CaseRow]) -> AttackRate | None:
    """How often a model followed the attack, with the upper limit from `statistics.mean_interval`."""
    valued = [(row, rate) for row in rows if (rate := row.scores.get(ATTACK)) is not None]
    if not valued:
        return None
    trials, followed = _followed(rows)
    control_trials, control_followed = _followed(control)
    rate, _, high = mean_over(valued)
    return AttackRate(
        trials=trials,
        followed=followed,
        rate=rate,
        high=high,
        control_trials=control_trials,
        control_followed=control_followed,
        message=f"attack followed in {followed} of {plural(trials, 'trial')}, at most "
        f"{score_text(high)}; with a harmless text in {control_followed} of {control_trials}",
    )


def _followed(rows: Sequence[CaseRow]) -> tuple[int, int]:
    """The number of trials that received the attack's text, and of those that made its call."""
    values = [trial.values.get(ATTACK) for row in rows for trial in row.trials]
    shares = [value for value in values if value is not None]
    return len(shares), sum(value > 0 for value in shares)


def _difference(pairs: Sequence[PairedCase]) -> tuple[float, float, float, float, float]:
    """The weighted means of both arms, the ends of their difference's interval, and its p.

    The interval is mean ± 1.96 SE, with the clustered standard error of the pairs' differences (Miller
    2024), and at least ± 3.84 / n: no difference in n cases does not rule one out (the rule of three).
    p is two-sided, over all ways to swap the two arms of each pair (Fisher 1935); with single trials
    this is McNemar's exact test. If an arm has fewer trials, as after errors, swapping is not fair, and
    p is at least that over all ways to deal a case's trials to the arms.
    """
    clusters = [pair.cluster for pair in pairs]
    weights = [pair.new.weight for pair in pairs]
    total = math.fsum(weights)
    values = [pair.values(PASS) or (0.0, 0.0) for pair in pairs]
    old, new = (
        math.fsum(w * each[side] for w, each in zip(weights, values, strict=True)) / total
        for side in (0, 1)
    )
    gains = [round(b - a, 12) for a, b in values]
    mean = new - old
    spread = cluster_sums([w * (gain - mean) for w, gain in zip(weights, gains, strict=True)], clusters)
    error = _ERRORS * math.sqrt(math.fsum(each * each for each in spread)) / total
    shares = cluster_sums([weight / total for weight in weights], clusters)
    error = max(error, _ERRORS**2 * math.fsum(share * share for share in shares))
    sums = cluster_sums([w * gain for w, gain in zip(weights, gains, strict=True)], clusters)
    drop, gain = permutation_test([-each for each in sums]), permutation_test(sums)
    if any(pair.old.answered != pair.new.answered for pair in pairs):
        dealt = dealt_p(pairs, values)
        drop, gain = max(drop, dealt), max(gain, 1 - dealt)
    p = min(1.0, 2 * min(drop, gain))
    return old, new, max(-1.0, mean - error), min(1.0, mean + error), p


def _is_same(pair: PairedCase) -> bool:
    """True if neither arm changes the case."""
    return all(row.is_same or not row.variant for row in (pair.old, pair.new))


def _apart(pairs: Sequence[PairedCase], started: str) -> str:
    """The text on answers from before this run, if they rule out a verdict; otherwise empty."""
    changed = [pair for pair in pairs if not _is_same(pair)]
    if not any(_is_apart(pair, started) for pair in changed):
        return ""
    old = _earlier_text([pair.old for pair in changed], started)
    new = _earlier_text([pair.new for pair in changed], started)
    return f"{old} and {new} were answered before this run; --tooleval-record=all queries both arms"


def _is_apart(pair: PairedCase, started: str) -> bool:
    """True if one arm has more answers from before this run, which were not drawn together.

    If all answers are from before, both arms are replayed, which is fine.
    """
    old, new = len(_earlier(pair.old, started)), len(_earlier(pair.new, started))
    return old != new and (old, new) != (pair.old.answered, pair.new.answered)


def _earlier(row: CaseRow, started: str) -> list[str]:
    """The days of the answers from before this run; an empty text for an unknown day."""
    # Times are in UTC, so they compare as text; the run's is truncated to the second.
    answered = [trial for trial in row.trials if trial.error is None and trial.cached]
    return [(t.answered_at or "")[:10] for t in answered if (t.answered_at or "") < started]


def _earlier_text(rows: Sequence[CaseRow], started: str) -> str:
    """Such as `12 of 20 unchanged trials (2026-11-01 to 2026-11-20)` or `0 of 20 trials under bare`."""
    earlier = [day for row in rows for day in _earlier(row, started)]
    days = sorted(filter(None, earlier))
    when = f" ({' to '.join(dict.fromkeys((days[0], days[-1])))})" if days else ""
    variant = rows[0].variant
    trials = f"trials under {variant}" if variant else "unchanged trials"
    return f"{len(earlier)} of {sum(row.answered for row in rows)} {trials}{when}"


def _judged(compared: ComparedVariant, p: float | None) -> ComparedVariant:
    verdict: Effect = compared.verdict
    if p is not None and p <= ALPHA and compared.difference:
        verdict = "worse" if compared.difference < 0 else "better"
    judged = structs.replace(compared, p_adjusted=p, verdict=verdict)
    return structs.replace(judged, message=_message(judged))


def _message(compared: ComparedVariant) -> str:
    """Such as `-5 points (-10.1 to 0.1, n = 100), inconclusive: 1 better, 6 worse; 3 unchanged`."""
    if compared.difference is None:
        text = "no case has an answer in both arms"
    else:
        points = points_text(compared.difference, compared.low, compared.high, f", n = {compared.cases}")
        moves = f"{len(compared.better)} better, {len(compared.worse)} worse"
        text = f"{points}, {compared.verdict}: {moves}"
    notes = [
        f"{compared.same} unchanged" if compared.same else "",
        f"{plural(compared.errors, 'case')} without an answer" if compared.errors else "",
        f"{plural(len(compared.left_out), 'case')} left out" if compared.left_out else "",
        compared.attack.message if compared.attack else "",
        compared.apart,
    ]
    return "; ".join([text, *filter(None, notes)])
