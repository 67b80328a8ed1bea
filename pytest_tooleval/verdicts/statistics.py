"""Statistics over trials and cases: pass@k, pass^k, intervals, paired tests.

Pure functions of numbers. docs/reference/methods.md explains them to readers of a report, and
`tests/benchmarks/bench_calibration.py` measures how well calibrated they are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence

from ..record.results import CaseRow
from ..record.summary import Mean, Reliability

# Cases added when measuring the spread of scores; see `mean_interval`.
PSEUDO_CASES = 1 / 3

# Limits of the exact tests: the bits to move when counting sums, the number of differences to round,
# and cases times newly broken ones.
WORK = 2**30
ROUNDED = 300
BROKEN_WORK = 10**6


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Probability that any of k trials passes, from c passes in n trials: 1 - C(n-c, k) / C(n, k).

    The mean over all ways to draw k of the n trials, an unbiased estimate for k new ones (Chen et al.
    2021, "Evaluating Large Language Models Trained on Code"). None when n < k.
    """
    return None if n < k else 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Probability that k trials all pass, from c passes in n trials: C(c, k) / C(n, k).

    The mean over all ways to draw k of the n trials (Yao et al. 2024, "tau-bench"). None when n < k.
    """
    return None if n < k else math.comb(c, k) / math.comb(n, k)


def reliability(cases: Sequence[tuple[int, int, float]]) -> Reliability | None:
    """pass@k and pass^k by k, as means over cases given as (scored trials, passes, weight).

    None if no case has several trials. For each k, cases with fewer than k trials are left out; `cases`
    is the number of the others.
    """
    most = max((n for n, _, _ in cases), default=0)
    if most <= 1:
        return None
    ks = _ks(most)
    return Reliability(
        trials=most,
        cases={str(k): sum(n >= k for n, _, _ in cases) for k in ks},
        pass_at={str(k): _mean_over_cases(pass_at_k, cases, k) for k in ks},
        pass_hat={str(k): _mean_over_cases(pass_hat_k, cases, k) for k in ks},
    )


def _ks(most: int) -> list[int]:
    """1 to `most` up to 10 trials; above that 1, 2, 5, 10, 20, 50, ... and `most`."""
    if most <= 10:
        return list(range(1, most + 1))
    ks = [step * 10**power for power in range(len(str(most))) for step in (1, 2, 5)]
    return [*(k for k in ks if k < most), most]


def _mean_over_cases(
    formula: Callable[[int, int, int], float | None], cases: Sequence[tuple[int, int, float]], k: int
) -> float:
    weighted = [(value, weight) for n, c, weight in cases if (value := formula(n, c, k)) is not None]
    return math.fsum(value * weight for value, weight in weighted) / math.fsum(w for _, w in weighted)


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Interval for a rate (Wilson 1927): the rates that a test would not reject, given successes / n.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), where p = successes / n and z is the normal
    quantile. `successes` and `n` may be fractions. (0, 1) when n is 0.
    """
    if n <= 0:
        return 0.0, 1.0
    p, z = successes / n, _normal_quantile(0.5 + confidence / 2)
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(max(p * (1 - p), 0.0) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, min(p, (centre - half) / scale)), min(1.0, max(p, (centre + half) / scale))


def clusters_of(cases: Iterable[CaseRow]) -> list[int]:
    """A number for each case, the same for cases in one cluster of a suite."""
    numbers: dict[object, int] = {}
    return [
        numbers.setdefault(
            (case.identity.of_suite, case.cluster) if case.cluster else number, len(numbers)
        )
        for number, case in enumerate(cases)
    ]


def cluster_sums(values: Sequence[float], clusters: Sequence[int]) -> list[float]:
    """The sum of each cluster's values, by cluster number."""
    sums = [0.0] * (max(clusters, default=-1) + 1)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value
    return sums


def mean_of(cases: Sequence[tuple[float, float, int]], *, intervals: bool) -> Mean:
    """The mean over cases given as (value, weight, cluster), with its interval if `intervals`."""
    values, weights, clusters = zip(*cases, strict=True)
    mean = sum(map(operator.mul, values, weights)) / sum(weights)
    if not intervals:
        return Mean(mean, len(cases))
    return Mean(mean, len(cases), *mean_interval(values, weights, clusters=clusters))


def mean_over(
    valued: Sequence[tuple[CaseRow, float]], confidence: float = 0.95
) -> tuple[float, float, float]:
    """The weighted mean of these cases' values, and the ends of its interval."""
    values, weights = [value for _, value in valued], [case.weight for case, _ in valued]
    clusters = clusters_of(case for case, _ in valued)
    mean = sum(map(operator.mul, values, weights)) / sum(weights)
    return mean, *mean_interval(values, weights, confidence, clusters)


def mean_interval(
    values: Sequence[float],
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
    clusters: Sequence[int] | None = None,
) -> tuple[float, float]:
    """Interval for the mean of case scores (0 to 1), each the mean over the case's trials.

    The unit of variation is the case, not the trial. This is Wilson's interval for the effective number
    of cases p(1-p) / SE², with mean p and standard error SE: the number of deterministic cases that
    would be as certain (Franco et al. 2019; Kott 2017). If all scores are 0 or 1 with equal weights,
    that is the number of cases, and the interval is Wilson's own.

    A cluster counts as one case with the cases' mean and total weight, so SE is the clustered standard
    error of Miller 2024 ("Adding Error Bars to Evals").

    A few cases near 1 look more certain than they are, because the rare bad one is missing. SE
    therefore includes a third of a case that scored 0 and a third of one that scored 1, so it is never
    0, and five perfect cases prove little: 0.57 to 1. (0, 1) without cases.
    """
    mean, effective = _effective_cases(values, weights, clusters)
    return wilson(mean * effective, effective, confidence)


def _effective_cases(
    values: Sequence[float], weights: Sequence[float] | None, clusters: Sequence[int] | None
) -> tuple[float, float]:
    """The mean and the effective number of cases for `mean_interval`; (0, 0) without cases."""
    if not values:
        return 0.0, 0.0
    scores = [min(max(value, 0.0), 1.0) for value in values]
    weights = [1.0] * len(scores) if weights is None else weights
    largest = max(weights)
    shares = [weight / largest for weight in weights]  # otherwise squares of tiny weights would be 0
    if clusters is not None:
        sums = cluster_sums([a * b for a, b in zip(shares, scores, strict=True)], clusters)
        shares = cluster_sums(shares, clusters)
        scores = [value / share for value, share in zip(sums, shares, strict=True) if share]
        shares = [share for share in shares if share]  # numbers may have gaps
    total, squares = math.fsum(shares), math.fsum(share * share for share in shares)
    n = total * total / squares  # Kish's effective size: below the number of cases if weights differ
    mean = math.fsum(share * score for share, score in zip(shares, scores, strict=True)) / total
    added = n + 2 * PSEUDO_CASES
    centre = (n * mean + PSEUDO_CASES) / added
    squared = math.fsum(
        (share * (score - centre)) ** 2 for share, score in zip(shares, scores, strict=True)
    )
    spread = squared / squares * n + PSEUDO_CASES * (centre**2 + (1 - centre) ** 2)
    return mean, n * centre * (1 - centre) * added / spread


def _normal_quantile(share: float) -> float:
    # Lazy import: it loads decimal and fractions, which a run without intervals does not need.
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def permutation_test(differences: Sequence[float]) -> float:
    """One-sided p of the paired permutation test, for a sum as high as observed (Fisher 1935).

    If nothing changed, each difference is equally likely to have either sign: p is the share of all 2^n
    sign assignments whose sum is at least as high. A positive difference is a drop, old minus new. p is
    1 if all are 0.

    Assignments are counted, not sampled, on a step that all differences share, such as a fifth with
    five trials. Without a shared step, differences are rounded to a fine one, which changes no sign, so
    the test stays exact. For too many differences, p is the normal approximation with Edgeworth's term.
    """
    sizes = sorted(abs(difference) for difference in differences if difference)
    if not sizes:
        return 1.0
    n, total, observed = len(sizes), math.fsum(sizes), math.fsum(differences)
    step = _common_step(sizes)
    finest = total / max(min(WORK // (n * n), 2**20), 1)
    if step < finest:
        if n > ROUNDED:
            return _normal_tail(sizes, observed, step)
        step = finest
    gains = sum(round(-difference / step) for difference in differences if difference < 0)
    return _share_of_subsets([round(size / step) for size in sizes], gains)


def dealt_tail(drop: float, variance: float) -> float:
    """One-sided p of a drop if each case's trials were dealt to the two runs at random.

    A normal approximation; `variance` is the sum of `dealt_variance` over the cases.
    """
    return math.erfc(drop / math.sqrt(2 * variance)) / 2 if variance > 0 else 1.0


def dealt_variance(old: float, n: int, new: float, m: int) -> float:
    """The variance of old minus new, means of n and m scores (0 to 1), if dealt at random.

    Exact for scores of 0 and 1, otherwise an upper limit (Bhatia & Davis 2000).
    """
    mean = (n * old + m * new) / (n + m)
    return mean * (1 - mean) * (1 / n + 1 / m) * (n + m) / (n + m - 1)


def largest_drop(drop: float, error: float, step: float, alpha: float) -> float:
    """The largest drop that is not ruled out, with a one-sided error of alpha.

    A true drop d is ruled out if the observed one is below it by more than z standard errors. The excess
    of d comes in steps of one trial, and adds a Poisson variance: (d - drop)^2 = z^2 (error^2 + step
    (d - drop)). So the result is above the observed drop and, if nothing changed in n answers, about
    z^2 / n: the rule of three. (It is a score interval, like Wilson's.)
    """
    z = _normal_quantile(1 - alpha)
    extra = step * z * z / 2
    return drop + extra + math.sqrt(extra * extra + (z * error) ** 2)


def difference_interval(gain: float, error: float, step: float) -> tuple[float, float]:
    """The 95% interval of a difference, with ends as `largest_drop` has them at 97.5%.

    The end near 0 of a difference that is more than chance has no Poisson variance, as nothing
    unobserved is needed for it. So the interval leaves out 0 where the test of signs does.
    """
    alpha = 0.025
    low, high = -largest_drop(-gain, error, step, alpha), largest_drop(gain, error, step, alpha)
    near = abs(gain) - _normal_quantile(1 - alpha) * error
    if near > 0:
        return (near, high) if gain > 0 else (low, -near)
    return low, high


def _common_step(sizes: Sequence[float]) -> float:
    """The largest number that divides all sizes (Euclid), near 0 if there is none."""
    smallest = 1e-9 * sizes[-1]
    step = 0.0
    for size in dict.fromkeys(sizes):
        rest = size
        while rest > smallest:
            step, rest = rest, abs(math.remainder(step, rest))
        if step < 100 * smallest:
            break
    return step


def _share_of_subsets(sizes: Sequence[int], most: int) -> float:
    """The share of subsets whose sum is at most `most`."""
    n, total = len(sizes), sum(sizes)
    if most > total - most:  # count the complements, whose sums are smaller
        return 1.0 - _share_of_subsets(sizes, total - most - 1)
    if most < 0:
        return 0.0
    # One large integer packs the counts for all sums up to `most`, n + 1 bits each: shifting and adding
    # it does the usual dynamic programming for all sums together.
    width = n + 1
    room = (1 << width * (most + 1)) - 1
    counts = 1
    for size in sizes:
        if size <= most:
            counts += (counts << width * size) & room
    # The sum of the digits is below their base minus one, so it is the remainder modulo that.
    return (counts % ((1 << width) - 1)) / (1 << n)


def _normal_tail(sizes: Sequence[float], observed: float, step: float) -> float:
    """The share of signs by a normal approximation with the next term of Edgeworth's series.

    Signs are symmetric, so that term uses the fourth cumulant: -2 times the sum of the fourth powers.
    """
    variance = math.fsum(size * size for size in sizes)
    excess = -2 * math.fsum(size**4 for size in sizes) / variance**2
    z = (observed - step) / math.sqrt(variance)  # sums are two steps apart
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    tail = math.erfc(z / math.sqrt(2)) / 2 + density * excess / 24 * (z**3 - 3 * z)
    return min(max(tail, 0.5 ** len(sizes)), 1.0)


def higher_rate_test(passes: int, trials: int, other_passes: int, other_trials: int) -> float:
    """One-sided p of Fisher's exact test, for a pass rate as far above another one."""
    all_passes = passes + other_passes
    as_high = sum(
        math.comb(trials, k) * math.comb(other_trials, all_passes - k)
        for k in range(passes, min(trials, all_passes) + 1)
    )
    return as_high / math.comb(trials + other_trials, all_passes)


def newly_broken_test(
    cases: Sequence[tuple[int, int, int, int]], clusters: Sequence[int] | None = None
) -> float | None:
    """Exact p of the number of newly broken cases, which passed every trial before and none now.

    Each case is (old trials, old passes, new trials, new passes). If nothing changed, all ways to deal
    a case's passes to its trials are equally likely (Fisher's exact test). Only a case with as many
    passes as old trials can break, in one of C(old + new trials, old trials) ways. p is the probability
    of at least as many (Poisson-binomial). A cluster counts as one case, whose probability is at most
    the sum over its cases, however they depend on each other. None if no case can break.
    """
    could_break: dict[int, float] = {}
    for (n, c, m, d), cluster in zip(cases, clusters or range(len(cases)), strict=True):
        if n and m and c + d == n:
            could_break[cluster] = could_break.get(cluster, 0.0) + 1 / math.comb(n + m, n)
    if not could_break:
        return None
    chances = [min(chance, 1.0) for chance in could_break.values()]
    numbers = zip(clusters or range(len(cases)), cases, strict=True)
    broken = len({cluster for cluster, case in numbers if is_newly_broken(case)})
    if broken * len(chances) > BROKEN_WORK:
        spread = math.sqrt(math.fsum(chance * (1 - chance) for chance in chances))
        return math.erfc((broken - 0.5 - math.fsum(chances)) / spread / math.sqrt(2)) / 2
    seen = [1.0] + [0.0] * broken  # probabilities of 0, 1, ... broken cases; the last is for "or more"
    for chance in chances:
        for number in range(broken, 0, -1):
            moved = seen[number - 1] * chance
            seen[number - 1] -= moved
            seen[number] += moved
    return min(seen[broken], 1.0)


def is_newly_broken(case: tuple[int, int, int, int]) -> bool:
    """True if a case (old trials, old passes, new trials, new passes) passed all before, none now."""
    n, c, m, d = case
    return n > 0 and m > 0 and c == n and d == 0


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the given order (Holm 1979); all below alpha are jointly significant.

    The i-th smallest of m is multiplied by m - i + 1, and never below the one before. Valid under any
    dependence, even for metrics that move together.
    """
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def kappa(both: int, first: int, second: int, neither: int) -> tuple[float | None, float, float]:
    """Cohen's kappa (1960), the agreement of two raters beyond chance, and its 95% interval.

    (po - pe) / (1 - pe), with the observed agreement po and the agreement expected by chance, pe.
    `first` and `second` count cases where only that rater said yes. None if both always say the same.

    The interval uses the standard error of Fleiss, Cohen & Everitt (1969), with half a case added to
    each of the four counts (Haldane 1956); otherwise complete agreement would have none.
    """
    counts = both, first, second, neither
    value = _kappa(counts)[0] if max(both, neither) < sum(counts) else None
    centre, error = _kappa([count + 0.5 for count in counts])
    half = _normal_quantile(0.975) * error
    return value, max(-1.0, centre - half), min(1.0, centre + half)


def _kappa(counts: Sequence[float]) -> tuple[float, float]:
    """Kappa and its standard error from the counts of yes-yes, yes-no, no-yes and no-no."""
    n = math.fsum(counts)
    a, b, c, d = (count / n for count in counts)
    rows, columns = (a + b, c + d), (a + c, b + d)
    chance = rows[0] * columns[0] + rows[1] * columns[1]
    value = (a + d - chance) / (1 - chance)
    agreed = sum(
        share * (1 - (rows[i] + columns[i]) * (1 - value)) ** 2 for i, share in enumerate((a, d))
    )
    differed = b * (columns[0] + rows[1]) ** 2 + c * (columns[1] + rows[0]) ** 2
    variance = agreed + (1 - value) ** 2 * differed - (value - chance * (1 - value)) ** 2
    return value, math.sqrt(max(variance, 0.0) / n) / (1 - chance)
