"""`tooleval power`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ..errors import ConfigError
from ..record.identity import Identity
from ..record.results import CaseRow
from ..reports.planning import Design, design_lines
from ..suite.discovery import SUITE_ENDING
from ..text import counted, printable
from ..verdicts.simulation import spreads_of, typical_pass_rates
from .history import side_of
from .suites import suite_files


@click.command()
@click.argument("sources", nargs=-1, required=True)
def power(sources: tuple[str, ...]) -> None:
    """Simulate which drops a comparison with a baseline can detect.

    SOURCES are suites, or runs: names in the history (latest, good, an id, ...) or JSON reports. Answers
    of several runs are pooled. For each model, the output shows how often a comparison fails although
    nothing changed, the smallest drop in the pass rate that it detects in 80% of runs, and how many
    cases and trials detect a drop of 5 points. Replayed answers are not counted, because they never
    change. Suites say nothing about a model, so the command assumes typical pass rates for them.
    """
    suites = [source for source in sources if source.endswith(SUITE_ENDING) or Path(source).is_dir()]
    if suites and len(suites) < len(sources):
        raise click.UsageError("name either suites or runs")
    designs = _of_suites(suites) if suites else _of_runs(sources)
    for design in designs:
        for line in design_lines(design):
            click.echo(printable(line))


def _of_suites(sources: Sequence[str]) -> Iterator[Design]:
    from ..suite.load import load_suite
    from ..suite.resolved import resolve

    for file in suite_files(tuple(map(Path, sources))):
        suite = load_suite(file, metrics=None)
        cases = [resolve(suite, case) for case in suite.test_cases if not case.skip]
        if not cases:
            raise ConfigError(f"{printable(str(file))}: there is no case to run")
        trials = min(case.trials for case in cases)
        yield Design(f"{file} (typical pass rates)", len(cases), trials, [typical_pass_rates])


def _of_runs(sources: Sequence[str]) -> Iterator[Design]:
    counts: dict[str, dict[tuple[Identity, str], list[CaseRow]]] = {}
    for source in sources:
        for row in side_of(source).cases:
            if row.model and not row.variant and row.outcome != "skipped":
                key = row.identity.of_case, row.content
                counts.setdefault(row.model, {}).setdefault(key, []).append(row)
    for model, cases in counts.items():
        live = [
            [trial for row in rows for trial in row.trials if not trial.cached and trial.error is None]
            for rows in cases.values()
        ]
        found = [trials for trials in live if trials]
        if not found:
            raise ConfigError(
                f"{printable(model)}: all answers were replayed or missing, which says nothing of how "
                "much they vary; run once with --tooleval-record=all"
            )
        spreads = spreads_of((len(each), sum(trial.passed for trial in each)) for each in found)
        costs = [trial.cost_usd for each in found for trial in each if trial.cost_usd is not None]
        trials = min(max(len(row.trials) for row in rows) for rows in cases.values())
        yield Design(
            f"{model} ({counted(sum(map(len, found)), 'answer')} to {counted(len(found), 'case')})",
            len(cases),
            trials or 1,
            [spread.rates for spread in spreads],
            sum(costs) / len(costs) if costs else None,
        )
