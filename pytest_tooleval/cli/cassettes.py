"""`tooleval cassette`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.cassettes.cassette import Cassette
from ..engine.models.names import resolve_models
from ..project.root import Project
from ..suite.overrides import ChoiceWord, Overrides
from ..text import plural, printable
from .shared import Group

if TYPE_CHECKING:
    from ..engine.trial import TrialRequest


@click.group(cls=Group)
def cassette() -> None:
    """Inspect recorded answers."""


@cassette.command()
@click.argument("cassette_file", type=click.Path(path_type=Path))
@click.argument("suite_file", type=click.Path(path_type=Path))
@click.option("--model", "models", multiple=True, required=True, help="A model, as in a run.")
@click.option("--temperature", type=float, help="As --tooleval-temperature in the run.")
@click.option("--tool-choice", type=click.Choice(["required", "auto", "none"]), help="As in the run.")
@click.option("--trials", type=click.IntRange(1), help="As --tooleval-trials in the run.")
@click.option("--judge", help="As --tooleval-judge in the run.")
@click.option("--user", help="As --tooleval-user in the run.")
@click.option("--metric", "metrics", multiple=True, help="Your own metric that thresholds use.")
@click.option("--case", "ids", multiple=True, help="A case's id; default: all.")
def explain(
    cassette_file: Path,
    suite_file: Path,
    models: tuple[str, ...],
    temperature: float | None,
    tool_choice: ChoiceWord | None,
    trials: int | None,
    judge: str | None,
    user: str | None,
    metrics: tuple[str, ...],
    ids: tuple[str, ...],
) -> None:
    """Show which answers are missing, and why.

    Models are looked up in the project's pyproject.toml or tooleval.toml. The exit status is 1
    if an answer is missing.
    """
    from ..engine.replay import first_missing
    from ..engine.trial import Job, TrialRequest
    from ..engine.users import user_of
    from ..mcp.suite_tools import SuiteTools
    from ..suite.load import load_suite
    from ..suite.resolved import resolve

    _check_is_file(cassette_file)
    recorded = Cassette(cassette_file, may_ask=False)
    tools = SuiteTools(recorded, ())
    suite = load_suite(suite_file, metrics=metrics, fetch_tools=tools.fetch)
    overrides = Overrides(tool_choice, temperature, trials=trials)
    cases = [resolve(suite, case, overrides) for case in suite.test_cases if not ids or case.id in ids]
    if not cases:
        raise click.UsageError(f"the suite has no case {', '.join(ids)}")
    tables = Project.around().tables()
    specs = resolve_models(models, tables)
    judge_spec, user_spec = (
        resolve_models([name], tables)[0] if name else None for name in (judge, user)
    )

    played = [(case, user_of(case.user, user_spec, lambda: tables)) for case in cases]
    jobs = (
        Job(case, spec, recorded, tools.live, judge_spec, player)
        for case, player in played
        for spec in specs
    )
    every = [TrialRequest(job, number) for job in jobs for number in range(job.case.trials)]
    missing: dict[str, list[str]] = {}
    for trial in every:
        if (question := first_missing(trial)) is not None:
            missing.setdefault(recorded.why_missing(question, always=True), []).append(_name(trial))
    for line in _missing_lines(missing):
        click.echo(printable(line))
    for number in recorded.damaged:
        click.echo(f"{cassette_file}:{number}: unreadable line, ignored")
    total, unanswered = len(every), sum(map(len, missing.values()))
    click.echo(f"{plural(total, 'conversation')}, {unanswered} with missing answers")
    if missing:
        raise SystemExit(1)


def _name(trial: TrialRequest) -> str:
    job = trial.job
    which = f" trial {trial.number + 1}" if job.case.trials > 1 else ""
    return f"{job.case.id}[{job.model.label}]{which}"


def _missing_lines(missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each reason once, with the conversations that it concerns."""
    for why, names in missing.items():
        yield why
        yield f"  {plural(len(names), 'conversation')}: {', '.join(names)}"


def _check_is_file(file: Path) -> None:
    if file.is_dir():
        files = sorted(file.rglob("*.jsonl"))
        such = f", such as {printable(str(files[0]))}" if files else ""
        raise click.UsageError(f"{printable(str(file))} is a folder; name a file in it{such}")
    if not file.is_file():
        raise click.UsageError(f"there is no cassette {printable(str(file))}")
