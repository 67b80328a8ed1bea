"""The formulas against brute force, scipy and what the papers print."""

from __future__ import annotations

import itertools
import math
import random
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from power import after_drop, power, typical_pass_rates

from pytest_tooleval.verdicts import statistics
from pytest_tooleval.verdicts.statistics import (
    higher_rate_test,
    holm,
    kappa,
    largest_drop,
    mean_interval,
    newly_broken_test,
    pass_at_k,
    pass_hat_k,
    permutation_test,
    reliability,
    wilson,
)

DOCS = Path(__file__).parents[3] / "tests/benchmarks/simulations.md"

shares = st.floats(0, 1, allow_nan=False)


# pass@k, pass^k


@pytest.mark.parametrize("n", range(1, 9))
def test_pass_at_k_and_pass_hat_k_count_subsets(n: int) -> None:
    for c, k in itertools.product(range(n + 1), range(1, n + 1)):
        subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-12)
        assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, subsets)) / len(subsets), abs=1e-12)


def test_reliability_is_the_mean_over_cases_with_enough_trials() -> None:
    found = reliability([(3, 3, 1.0), (3, 1, 1.0), (1, 0, 1.0), (0, 0, 1.0)])
    assert found is not None
    assert found.trials == 3
    assert found.cases == {"1": 3, "2": 2, "3": 2}
    assert found.pass_at == pytest.approx({"1": (1 + 1 / 3 + 0) / 3, "2": (1 + 2 / 3) / 2, "3": 1.0})
    assert found.pass_hat == pytest.approx({"1": (1 + 1 / 3 + 0) / 3, "2": 0.5, "3": 0.5})


def test_reliability_of_many_trials_names_a_few_ks() -> None:
    found = reliability([(120, 60, 1.0)])
    assert found is not None
    assert list(found.pass_at) == ["1", "2", "5", "10", "20", "50", "100", "120"]


# Intervals


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "low", "high"),
    [
        # Newcombe 1998, "Two-sided confidence intervals for the single proportion", method 3.
        (81, 263, 0.95, 0.2553, 0.3662),
        (15, 148, 0.95, 0.0624, 0.1605),
        (0, 20, 0.95, 0.0, 0.1611),
        (1, 29, 0.95, 0.0061, 0.1718),
    ],
)
def test_wilson_as_printed(successes: int, n: int, confidence: float, low: float, high: float) -> None:
    assert wilson(successes, n, confidence) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.5, 0.999))
def test_wilson_equals_scipys(a: int, b: int, confidence: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    n = a + b + 1
    expected = stats.binomtest(a, n).proportion_ci(confidence, method="wilson")
    assert wilson(a, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_wilson_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.lists(st.tuples(shares, st.floats(0.01, 100)), max_size=40), st.floats(0.5, 0.99))
def test_an_interval_holds_the_mean_and_stays_between_0_and_1(
    pairs: list[tuple[float, float]], confidence: float
) -> None:
    values, weights = [value for value, _ in pairs], [weight for _, weight in pairs]
    low, high = mean_interval(values, weights, confidence)
    assert 0 <= low <= high <= 1
    assert high - low > 0
    if pairs:
        mean = sum(value * weight for value, weight in pairs) / sum(weights)
        assert low - 1e-9 <= mean <= high + 1e-9
        mirrored = mean_interval([1 - value for value in values], weights, confidence)
        assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_few_perfect_cases_prove_little() -> None:
    assert mean_interval([]) == (0.0, 1.0)
    assert mean_interval([1.5, -0.5]) == mean_interval([1.0, 0.0])
    assert mean_interval([1.0]) == pytest.approx((0.2065, 1.0), abs=1e-4)
    assert mean_interval([1.0] * 5) == pytest.approx((0.5655, 1.0), abs=1e-4)
    low, high = mean_interval([0.9] * 5)
    assert low < 0.75
    assert high > 0.95


@pytest.mark.parametrize(("cases", "trials"), [(50, 1), (100, 5)])
def test_intervals_cover_at_their_nominal_rate(cases: int, trials: int) -> None:
    chance = random.Random(20)
    runs, truth = 1200, 0.55 * 0.985 + 0.15 * 0.015 + 0.3 * 0.5
    hits = 0
    for _ in range(runs):
        rates = typical_pass_rates(cases, chance)
        values = [sum(chance.random() < rate for _ in range(trials)) / trials for rate in rates]
        low, high = mean_interval(values)
        hits += low <= truth <= high
    assert hits / runs == pytest.approx(0.95, abs=0.02)


def test_a_clustered_interval_is_wilsons_by_the_clustered_standard_error() -> None:
    chance = random.Random(4)
    clusters = [number // 4 for number in range(4000)]
    rates = [chance.random() for _ in range(1000)]
    values = [float(chance.random() < rates[cluster]) for cluster in clusters]
    mean = sum(values) / len(values)
    # Equation 4 of Miller 2024: all pairs of a cluster, the case with itself among them.
    residuals = statistics.cluster_sums([value - mean for value in values], clusters)
    error = math.sqrt(sum(each * each for each in residuals)) / len(values)
    low, high = mean_interval(values, clusters=clusters)
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.02)
    assert error > 1.2 * math.sqrt(mean * (1 - mean) / len(values))


def test_an_interval_is_quick() -> None:
    values = [(number % 7) / 7 for number in range(400)]
    start = time.process_time()
    for _ in range(20):
        mean_interval(values)
    assert (time.process_time() - start) / 20 < 0.01


# Paired tests

fifths = st.lists(st.integers(-5, 5), min_size=2, max_size=11)


def brute_force(differences: list[float]) -> float:
    signs = itertools.product((1, -1), repeat=len(differences))
    sums = [sum(s * abs(d) for s, d in zip(row, differences, strict=True)) for row in signs]
    return sum(value >= sum(differences) - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize("seed", range(25))
def test_permutations_equal_scipys(seed: int) -> None:
    np = pytest.importorskip("numpy")
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(seed)
    n = chance.randint(2, 12)
    # Whole numbers and real ones: scipy tells sums of fractions apart that are equal but for rounding.
    for differences in (
        [float(chance.randint(-5, 6)) for _ in range(n)],
        [chance.gauss(0.3, 1) for _ in range(n)],
    ):
        expected = stats.permutation_test(
            (differences,),
            lambda x, axis: np.sum(x, axis=axis),
            permutation_type="samples",
            alternative="greater",
            n_resamples=math.inf,
            vectorized=True,
        )
        assert permutation_test(differences) == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("cases", [200, 1000])
def test_many_differences_on_no_lattice_agree_with_drawn_signs(cases: int) -> None:
    np = pytest.importorskip("numpy")
    chance = np.random.default_rng(5)
    differences = chance.standard_t(4, cases)
    differences += 1.5 * math.sqrt((differences**2).sum()) / cases - differences.mean()
    drawn = chance.choice([-1.0, 1.0], (20_000, cases)) @ np.abs(differences)
    expected = (drawn >= differences.sum()).mean()
    assert permutation_test(list(differences)) == pytest.approx(expected, abs=0.008)


def test_the_normal_approximation_meets_the_count() -> None:
    chance = random.Random(3)
    differences = [chance.randint(-4, 5) / 5 for _ in range(400)]
    sizes = [abs(difference) for difference in differences if difference]
    counted = permutation_test(differences)
    approximate = statistics._normal_tail(sizes, math.fsum(differences), 0.2)
    assert approximate == pytest.approx(counted, rel=1e-3)


def test_permutations_are_quick_however_many() -> None:
    chance = random.Random(1)
    start = time.process_time()
    for cases in (290, 310, 3000):
        permutation_test([chance.gauss(0.01, 1) for _ in range(cases)])
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ((4, 4, 0, 4), 1 / 70),  # the lady tasting tea (Fisher 1935)
        ((3, 4, 1, 4), 17 / 70),
        ((2, 4, 2, 4), 53 / 70),
        ((0, 4, 4, 4), 1.0),
        ((0, 0, 3, 4), 1.0),
    ],
)
def test_a_higher_rate_has_the_p_of_fisher(rates: tuple[int, int, int, int], expected: float) -> None:
    assert higher_rate_test(*rates) == pytest.approx(expected)


def test_cases_that_could_have_broken_make_a_broken_one_likelier() -> None:
    q = 1 / math.comb(10, 5)
    could_break = [(5, 5, 5, 0), (5, 3, 5, 2), (5, 0, 5, 5)]
    assert newly_broken_test(could_break) == pytest.approx(1 - (1 - q) ** 3)
    assert newly_broken_test([(5, 5, 5, 0), (5, 5, 5, 5), (5, 4, 5, 4)]) == pytest.approx(q)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=4), st.randoms())
def test_newly_broken_cases_equal_all_ways_to_deal_the_passes(
    sizes: list[tuple[int, int]], draw: random.Random
) -> None:
    cases = []
    for n, m in sizes:
        dealt = draw.sample([1] * n + [0] * m, n + m)
        cases.append((n, sum(dealt[:n]), m, sum(dealt[n:])))
    broken = sum(statistics.is_newly_broken(case) for case in cases)
    ways = [list(itertools.combinations(range(n + m), n)) for n, m in sizes]
    # A way names the trials that pass; the first n are the old ones.
    deals = list(itertools.product(*ways))
    as_many = sum(
        sum(set(way) == set(range(n)) for way, (n, _) in zip(deal, sizes, strict=True)) >= broken
        for deal in deals
    )
    assert newly_broken_test(cases) == pytest.approx(as_many / len(deals))


def test_a_cluster_shows_one_flip() -> None:
    broken = [(5, 5, 5, 0)] * 3 + [(5, 4, 5, 1)] * 4
    assert newly_broken_test(broken, range(7)) == newly_broken_test(broken)
    # Three paraphrases of one intent: a chance of 3 in 252 that any of them breaks.
    assert newly_broken_test(broken[:3], [0, 0, 0]) == pytest.approx(3 / 252)


@pytest.mark.parametrize("alpha", [0.05, 0.005])
def test_a_drop_of_the_margin_is_seldom_ruled_out(alpha: float) -> None:
    # Cases that passed always and now fail in one of ten trials: exact, over all numbers of failures.
    for answers in range(10, 300, 6):
        passing = 0.0
        for failures in range(answers + 1):
            error = math.sqrt(failures) / answers
            if largest_drop(failures / answers, error, 1 / answers, alpha) > 0.1:
                break
            passing += math.comb(answers, failures) * 0.1**failures * 0.9 ** (answers - failures)
        assert passing <= alpha * 1.05, answers


@pytest.mark.parametrize(("n", "m"), [(1, 4), (3, 2), (2, 6)])
def test_the_variance_of_dealing_equals_all_ways_to_deal(n: int, m: int) -> None:
    for passes in range(1, n + m):
        trials = [1.0] * passes + [0.0] * (n + m - passes)
        drops = [sum(old) / n - (passes - sum(old)) / m for old in itertools.combinations(trials, n)]
        expected = sum(drop * drop for drop in drops) / len(drops)
        old = sum(trials[:n]) / n
        new = (passes - sum(trials[:n])) / m
        assert statistics.dealt_variance(old, n, new, m) == pytest.approx(expected)


def test_very_many_newly_broken_cases_are_counted_about_right() -> None:
    cases = [(2, 2, 2, 0)] * 1200 + [(2, 1, 2, 1)] * 6000
    chances = len(cases) / 6
    exact = 0.5 * math.erfc((1199.5 - chances) / math.sqrt(chances * 5 / 6) / math.sqrt(2))
    assert newly_broken_test(cases) == pytest.approx(exact)
    assert newly_broken_test(cases[500:]) == pytest.approx(1.0)


def test_holm_as_in_the_paper() -> None:
    # Holm 1979: the smallest times m, the next times m - 1; never below one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


# Power


@pytest.mark.parametrize("broken", [True, False])
@pytest.mark.parametrize("drop", [0.0, 0.1, 0.25])
def test_a_drop_is_exactly_as_large_as_asked(drop: float, *, broken: bool) -> None:
    chance = random.Random(2)
    rates = typical_pass_rates(200, chance)
    after = after_drop(rates, drop, chance, broken=broken)
    assert sum(rates) - sum(after) == pytest.approx(drop * 200)
    assert all(0 <= rate <= 1 for rate in after)


def test_more_trials_see_more() -> None:
    few, many = (power(50, trials, 0.1, pairs=100, seed=4) for trials in (1, 5))
    assert few < 0.5 < many
    assert power(50, 5, 0.0, pairs=200, seed=4) <= 0.05


def power_table() -> dict[tuple[int, int], list[float]]:
    """The table of tests/benchmarks/simulations.md: cases and trials to the power for each drop."""
    rows: dict[tuple[int, int], list[float]] = {}
    for line in DOCS.read_text(encoding="utf-8").splitlines():
        if re.fullmatch(r"\| \d+ \| \d+ \|( \d+% \|){4}", line):
            cases, trials, *shares = (int(number) for number in re.findall(r"\d+", line))
            rows[cases, trials] = [share / 100 for share in shares]
    return rows


def test_the_power_table_of_the_docs_is_what_the_code_computes() -> None:
    table = power_table()
    assert len(table) == 20
    for cases, trials, drop, column in ((50, 5, 0.10, 2), (100, 1, 0.20, 3)):
        measured = power(cases, trials, drop, pairs=300, seed=9)
        assert table[cases, trials][column] == pytest.approx(measured, abs=0.1)


def test_in_the_power_table_more_is_never_less() -> None:
    table = power_table()
    for row in table.values():
        assert row == sorted(row)
    for (cases, trials), row in table.items():
        for other, more in table.items():
            if other[0] >= cases and other[1] >= trials:
                assert all(b >= a - 0.05 for a, b in zip(row, more, strict=True))


# kappa


@pytest.mark.parametrize(
    ("counts", "value", "error"),
    # By statsmodels 0.14, cohens_kappa.
    [((20, 5, 10, 15), 0.4, 0.126996), ((88, 2, 5, 5), 0.551282, 0.150028)],
)
def test_kappa_and_its_standard_error(
    counts: tuple[int, int, int, int], value: float, error: float
) -> None:
    assert statistics._kappa(counts) == pytest.approx((value, error), abs=1e-6)
    assert kappa(*counts)[0] == pytest.approx(value, abs=1e-6)


def test_kappa_of_complete_agreement_is_not_certain() -> None:
    value, low, high = kappa(5, 0, 0, 5)
    assert (value, high) == (1.0, 1.0)
    assert 0.4 < low < 0.6
    assert kappa(50, 0, 0, 50)[1] > 0.9
    assert kappa(0, 50, 50, 0)[1] == -1.0
    assert kappa(10, 0, 0, 0)[0] is None
    assert kappa(0, 0, 0, 0)[0] is None


@pytest.mark.parametrize(("n", "least"), [(20, 0.935), (50, 0.935)])
@pytest.mark.parametrize(
    ("yes", "sees_yes", "sees_no"),
    [(0.5, 0.9, 0.9), (0.5, 0.98, 0.98), (0.8, 0.9, 0.9), (0.9, 0.95, 0.95), (0.5, 0.7, 0.7)],
)
def test_the_interval_of_kappa_holds(
    n: int, least: float, yes: float, sees_yes: float, sees_no: float
) -> None:
    """Over all tables of n labels, each by its chance."""
    chances = (yes * sees_yes, yes * (1 - sees_yes), (1 - yes) * (1 - sees_no), (1 - yes) * sees_no)
    true = statistics._kappa(chances)[0]
    covered = 0.0
    for a, b, c in itertools.product(range(n + 1), repeat=3):
        d = n - a - b - c
        if d >= 0:
            ways = math.comb(n, a) * math.comb(n - a, b) * math.comb(n - a - b, c)
            _, low, high = kappa(a, b, c, d)
            if low <= true <= high:
                powers = zip(chances, (a, b, c, d), strict=True)
                covered += ways * math.prod(chance**count for chance, count in powers)
    assert least < covered < 0.9999
