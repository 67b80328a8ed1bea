"""How often the baseline gate sees a drop: the first table in tests/benchmarks/simulations.md."""

from __future__ import annotations

from pytest_tooleval.verdicts.simulation import seen, typical_pass_rates


def power(
    cases: int,
    trials: int,
    drop: float,
    *,
    broken: bool = False,
    tests: int = 6,
    alpha: float = 0.05,
    pairs: int = 1000,
    seed: int = 0,
) -> float:
    """How often the baseline gate sees a drop in suites with `typical_pass_rates`."""
    return seen(
        typical_pass_rates,
        cases,
        trials,
        drop,
        broken=broken,
        tests=tests,
        alpha=alpha,
        pairs=pairs,
        seed=seed,
    )
