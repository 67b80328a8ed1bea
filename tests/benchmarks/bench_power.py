"""Is what `tooleval power` says of a gate true?

    python tests/benchmarks/bench_power.py [--pairs N]

Prints the table "Power" of simulations.md in some minutes. Each row has suites with known pass rates.
One simulated run of each of a few suites is given to `power`, which knows only its results. What it says
(the median) stands beside how often the gate really fails, in 4,000 simulated pairs of runs of suites
with the same known rates.
"""

from __future__ import annotations

import argparse
import random
import statistics
from functools import partial

from pytest_tooleval.verdicts.simulation import seen, smallest_drop, spreads_of, typical_pass_rates

MIXES = {"typical": (0.55, 0.15), "strong": (0.85, 0.03)}
SIZES = (50, 100, 200)
TRIALS = (1, 3, 5)
RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=4000)
    pairs = parser.parse_args().pairs
    print("| mix of cases | cases | trials | fails unchanged | smallest drop it names | seen in truth |")
    print("|---|---|---|---|---|---|")
    for mix, (sure, never) in MIXES.items():
        truth = partial(typical_pass_rates, sure=sure, never=never)
        for cases in SIZES:
            for trials in TRIALS:
                falls = seen(truth, cases, trials, 0.0, pairs=pairs, seed=1)
                print(f"| {mix} | {cases} | {trials} | {falls:.1%} | ", end="")
                named = [_named(truth, cases, trials, seed) for seed in range(RUNS)]
                ends = [statistics.median(found) for found in zip(*named, strict=True)]
                shares = [seen(truth, cases, trials, drop, pairs=pairs, seed=2) for drop in ends]
                points = " to ".join(f"{100 * drop:.0f} points" for drop in ends)
                print(f"{points} | {' to '.join(f'{share:.0%}' for share in shares)} |", flush=True)


def _named(truth: partial[list[float]], cases: int, trials: int, seed: int) -> list[float]:
    """The smallest drops that `power` names after one run, one or two of them."""
    chance = random.Random(seed)
    rates = truth(cases, chance)
    counts = [(trials, sum(chance.random() < rate for _ in range(trials))) for rate in rates]
    found = spreads_of(counts)
    drops = [smallest_drop(each.rates, cases, trials, seed) for each in found]
    return [1.0 if drop is None else drop for drop in drops]


if __name__ == "__main__":
    main()
