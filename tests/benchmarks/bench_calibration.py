"""How often the baseline gate cries wolf, which drops it sees, and how well the intervals cover.

    python tests/benchmarks/bench_calibration.py [--pairs N] [--seed N] [--gate | --variants | ...]

Prints the tables of tests/benchmarks/simulations.md; without a choice all of them, in about ten minutes.

Pairs of result documents are made up and go through the real `compare`. The cases of a suite have
pass rates as `typical_pass_rates` draws them: most are answered the same way each time,
right or wrong, and some are not, as it is with models at temperature 0. A right answer scores 1 in
every metric. A wrong one has the wrong tool in two of five cases, one to four parameters of which
some are right, and in one of ten cases arguments that break the schema. So the metrics move
together, as they do in real runs. All is drawn from one seed: the figures are the same everywhere.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from power import after_drop, power, typical_pass_rates

from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.record.run import SCORING_VERSION, Run
from pytest_tooleval.verdicts import statistics
from pytest_tooleval.verdicts.baseline import compare_runs
from pytest_tooleval.verdicts.paired_metrics import ComparisonRules
from pytest_tooleval.verdicts.sides import Side
from pytest_tooleval.verdicts.variants import compare_variants

# Tool, parameters and validity of an answer.
Answer = tuple[float, float, float]
RIGHT: Answer = (1.0, 1.0, 1.0)  # tool, parameters, validity
SIZES = (50, 100, 400)
DROPS = (0.02, 0.05, 0.10, 0.20)
POWER_CASES = (25, 50, 100, 200, 400)
POWER_TRIALS = (1, 3, 5, 10)
# The share of cases that pass nearly always, and nearly never, the rest lies anywhere between; and
# the weights that the cases may have.
MIXES = {
    "typical": (0.55, 0.15, (1.0,)),
    "strong": (0.85, 0.03, (1.0,)),
    "near 1": (0.93, 0.01, (1.0,)),
    "weak": (0.20, 0.50, (1.0,)),
    "typical, weights 1 and 3": (0.55, 0.15, (1.0, 3.0)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=2000, help="simulated pairs of runs (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    for name in ("gate", "intervals", "power", "variants"):
        parser.add_argument(f"--{name}", action="store_true", help=f"only the {name} tables")
    options = parser.parse_args()
    chosen = (options.gate, options.intervals, options.power, options.variants)
    everything = not any(chosen)
    if options.gate or everything:
        print_table(false_alarms(options.pairs, options.seed))
        print_table(detection(options.pairs, options.seed))
        print_table(stress(options.pairs, options.seed))
    if options.intervals or everything:
        print_table(coverage(options.pairs, options.seed))
    if options.power or everything:
        print_table(power_table(options.pairs, options.seed))
    if options.variants or everything:
        print_table(paired_variants(options.pairs, options.seed))


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table, each line as soon as it is known."""
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if number == 0:
            print("|" + "---|" * len(row), flush=True)
    print()


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


# The gate


def simulate(
    rates: Sequence[float],
    trials: int,
    chance: random.Random,
    *,
    models: int = 1,
    suites: int = 1,
    alike: bool = False,
) -> Side:
    """A run, without what `compare` does not read. `alike`: a case has one answer in all trials."""
    rows = []
    for model, (number, rate) in itertools.product(range(models), enumerate(rates)):
        answers = [_answer(chance.random() < rate, chance) for _ in range(1 if alike else trials)]
        answers *= trials if alike else 1
        rows.append(_row(number, answers, f"model-{model}", f"suite-{number % suites}"))
    return _side(rows)


def _row(
    number: int, answers: Sequence[Answer], model: str = "model-0", suite: str = "suite-0"
) -> CaseRow:
    tool, parameters, valid = (sum(column) / len(answers) for column in zip(*answers, strict=True))
    scores = {
        "overall": 0.6 * tool + 0.4 * parameters,
        "tool_selection": tool,
        "parameter_accuracy": parameters,
        "arguments_valid": valid,
    }
    passes = sum(answer == RIGHT for answer in answers)
    names = {"suite": suite, "case": f"case-{number}", "model": model}
    counts = {"outcome": "failed", "passes": passes, "answered": len(answers)}
    row = {**names, "nodeid": "", "case_fingerprint": f"{number:016x}", **counts, "scores": scores}
    return msgspec.convert(row, CaseRow)


def _side(rows: Sequence[CaseRow]) -> Side:
    run = Run(
        id="",
        started="",
        pytest_tooleval="",
        pytest="",
        python="",
        scoring_version=SCORING_VERSION,
    )
    return Side("simulated", run, rows)


def _answer(right: bool, chance: random.Random) -> Answer:
    if right:
        return RIGHT
    expected = chance.randint(1, 4)
    parameters = chance.randrange(expected) / expected
    tool = 0.0 if chance.random() < 0.4 else 1.0
    return tool, parameters, 0.0 if chance.random() < 0.1 else 1.0


def alarm_rates(
    cases: int,
    trials: tuple[int, int],
    pairs: int,
    seed: int,
    *,
    drop: float = 0.0,
    broken: bool = False,
    max_drop: float = 0.0,
    **kind: Any,
) -> list[float]:
    """The share of pairs that fail: at all, for a metric, for newly broken cases."""
    chance = random.Random(f"{seed} {cases} {trials} {drop} {broken} {max_drop} {kind}")
    found = [0, 0, 0]
    for _ in range(pairs):
        rates = typical_pass_rates(cases, chance)
        after = after_drop(rates, drop, chance, broken=broken)
        old, new = (
            simulate(rates, number, chance, **kind)
            for rates, number in zip((rates, after), trials, strict=True)
        )
        comparison = compare_runs(old, new, ComparisonRules(max_drop=max_drop))
        models = comparison.models
        found[0] += comparison.failed
        found[1] += any(metric.verdict == "failed" for model in models for metric in model.metrics)
        found[2] += any(model.newly_broken_failed for model in models)
    return [number / pairs for number in found]


def false_alarms(pairs: int, seed: int) -> Iterable[list[str]]:
    yield ["cases", "trials, old and new", "false alarms", "by a metric", "by newly broken cases"]
    for cases in SIZES:
        for trials in ((1, 1), (5, 5), (5, 1)):
            shares = alarm_rates(cases, trials, pairs, seed)
            yield [str(cases), "{} and {}".format(*trials), *map(percent, shares)]


def stress(pairs: int, seed: int) -> Iterable[list[str]]:
    yield ["100 cases, 5 trials", "alarms", "by a metric", "by newly broken cases"]
    kinds: dict[str, dict[str, Any]] = {
        "three models in each run": {"models": 3},
        "four suites in each run": {"suites": 4},
        "the trials of a case all alike": {"alike": True},
        "a drop of 10 points in all four suites": {"suites": 4, "drop": 0.10},
        "a drop of 2 points, 5 allowed": {"drop": 0.02, "max_drop": 0.05},
        "a drop of 5 points, 5 allowed": {"drop": 0.05, "max_drop": 0.05},
        "a drop of 10 points, 5 allowed": {"drop": 0.10, "max_drop": 0.05},
    }
    for text, kind in kinds.items():
        yield [text, *map(percent, alarm_rates(100, (5, 5), pairs // 2, seed, **kind))]


def detection(pairs: int, seed: int) -> Iterable[list[str]]:
    yield ["cases", "trials", "10 points, all cases less sure", "10 points, some cases broken"]
    for cases in SIZES:
        for trials in (1, 5):
            shares = [
                alarm_rates(cases, (trials, trials), pairs, seed, drop=0.1, broken=broken)[0]
                for broken in (False, True)
            ]
            yield [str(cases), str(trials), *map(percent, shares)]


# Variants


def paired_variants(pairs: int, seed: int) -> Iterable[list[str]]:
    """How often a variant that changes nothing gets a verdict, and how often its interval misses 0."""
    yield ["mix", "variants", "cases", "trials", "alarms", "interval without 0", "10 points found"]
    for mix, variants in (("typical", 1), ("typical", 5), ("near 1", 1)):
        for cases in SIZES:
            for trials in (1, 5):
                chance = random.Random(f"{seed} {mix} {variants} {cases} {trials}")
                found = [0, 0, 0]
                for _ in range(2 * pairs):
                    rates = typical_pass_rates(cases, chance, *MIXES[mix][:2])
                    effects = compare_variants(_arms([rates] * (variants + 1), trials, chance), "")
                    found[0] += any(each.verdict in ("worse", "better") for each in effects)
                    found[1] += not (effects[0].low or 0.0) <= 0 <= (effects[0].high or 0.0)
                for _ in range(pairs // 4):
                    rates = typical_pass_rates(cases, chance, *MIXES[mix][:2])
                    fallen = after_drop(rates, 0.1, chance, broken=True)
                    arms = [rates, fallen, *[rates] * (variants - 1)]
                    found[2] += compare_variants(_arms(arms, trials, chance), "")[0].verdict == "worse"
                shares = (found[0] / 2 / pairs, found[1] / 2 / pairs, found[2] / (pairs // 4))
                yield [mix, str(variants), str(cases), str(trials), *map(percent, shares)]


def _arms(rates: Sequence[Sequence[float]], trials: int, chance: random.Random) -> list[CaseRow]:
    """The same cases unchanged, and under the variants 1, 2, ..."""
    return [
        structs.replace(row, variant=str(number or ""))
        for number, of_arm in enumerate(rates)
        for row in simulate(of_arm, trials, chance).cases
    ]


# The intervals


def coverage(pairs: int, seed: int) -> Iterable[list[str]]:
    yield ["mix", "metric", "mean", "trials", *(f"{n} cases, {c}%" for n in SIZES for c in (95, 90))]
    for mix, (sure, never, weights) in MIXES.items():
        for metric in ("pass", "overall"):
            for trials in (1, 5):
                chance = random.Random(f"{seed} {mix} {metric} {trials}")
                truth = _mean(sure, never, metric)
                cells = []
                for cases in SIZES:
                    hits = [0, 0]
                    for _ in range(2 * pairs):
                        sample = _scores(sure, never, metric, cases, trials, chance)
                        weighing = chance.choices(weights, k=cases)
                        for place, confidence in enumerate((0.95, 0.90)):
                            low, high = statistics.mean_interval(sample, weighing, confidence)
                            hits[place] += low <= truth <= high
                    cells += [percent(number / (2 * pairs)) for number in hits]
                yield [mix, metric, f"{truth:.3f}", str(trials), *cells]


def _scores(
    sure: float, never: float, metric: str, cases: int, trials: int, chance: random.Random
) -> list[float]:
    """The scores of a suite: means over the trials of each case."""
    means = []
    for rate in typical_pass_rates(cases, chance, sure, never):
        total = 0.0
        for _ in range(trials):
            tool, parameters, _valid = _answer(right := chance.random() < rate, chance)
            total += 0.6 * tool + 0.4 * parameters if metric == "overall" else right
        means.append(total / trials)
    return means


def _mean(sure: float, never: float, metric: str) -> float:
    """The mean over all cases that there could be. A wrong answer has overall 0.6 x 0.6 + 0.4 x part."""
    passes = 0.985 * sure + 0.015 * never + 0.5 * (1 - sure - never)
    part = sum((n - 1) / 2 / n for n in range(1, 5)) / 4
    return passes if metric == "pass" else passes + (1 - passes) * (0.36 + 0.4 * part)


# The power


def power_table(pairs: int, seed: int) -> Iterable[list[str]]:
    yield ["cases", "trials", *(f"drop of {100 * drop:g} points" for drop in DROPS)]
    for cases in POWER_CASES:
        for trials in POWER_TRIALS:
            shares = [power(cases, trials, drop, pairs=max(pairs // 2, 1), seed=seed) for drop in DROPS]
            yield [str(cases), str(trials), *(f"{100 * share:.0f}%" for share in shares)]


if __name__ == "__main__":
    main()
