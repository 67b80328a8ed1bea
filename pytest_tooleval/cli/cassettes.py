"""`tooleval cassette`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import cast

import click

from ..text import counted
from ..text import printable

if TYPE_CHECKING:
    from ..suite.model import ToolChoice


@click.group()
def cassette() -> None:
    """Inspect recorded answers."""


@cassette.command()
@click.argument("cassette_file", type=click.Path(path_type=Path))
@click.argument("suite_file", type=click.Path(path_type=Path))
@click.option("--model", "models", multiple=True, required=True, help="A model, as in a run.")
@click.option("--case", "ids", multiple=True, help="A case's id; default: all.")
@click.option("--temperature", type=float, help="As --tooleval-temperature in the run.")
@click.option("--tool-choice", type=click.Choice(["required", "auto", "none"]), help="As in the run.")
@click.option("--trials", type=click.IntRange(1), help="As --tooleval-trials in the run.")
@click.option("--judge", help="As --tooleval-judge in the run.")
@click.option("--user", help="As --tooleval-user in the run.")
@click.option("--metric", "metrics", multiple=True, help="Your own metric that thresholds use.")
def explain(
    cassette_file: Path,
    suite_file: Path,
    models: tuple[str, ...],
    ids: tuple[str, ...],
    temperature: float | None,
    tool_choice: str | None,
    trials: int | None,
    judge: str | None,
    user: str | None,
    metrics: tuple[str, ...],
) -> None:
    """Show which answers are missing, and why.

    Models are looked up in the current folder's pyproject.toml or tooleval.toml. The exit status is 1
    if an answer is missing.
    """
    from ..engine.cassettes.cassette import Cassette
    from ..engine.cassettes.replay import first_missing
    from ..engine.models.tables import read_tables
    from ..engine.models.tables import resolve_models
    from ..engine.trial import Trial
    from ..engine.users import user_of
    from ..mcp.suite_tools import SuiteTools
    from ..suite.load import load_suite
    from ..suite.model import Overrides
    from ..suite.model import resolve

    if cassette_file.is_dir():
        files = sorted(cassette_file.rglob("*.jsonl"))
        such = f", such as {printable(str(files[0]))}" if files else ""
        raise click.UsageError(f"{printable(str(cassette_file))} is a folder; name a file in it{such}")
    if not cassette_file.is_file():
        raise click.UsageError(f"there is no cassette {printable(str(cassette_file))}")
    recorded = Cassette(cassette_file, "none")
    tools = SuiteTools(recorded, ())
    suite = load_suite(suite_file, metrics=metrics, fetch_tools=tools.fetch)
    tables = read_tables(Path.cwd())
    specs = resolve_models(models, tables)
    judging, playing = (resolve_models([name], tables)[0] if name else None for name in (judge, user))
    choice = cast("ToolChoice | None", tool_choice)
    overrides = Overrides(choice, temperature, trials=trials)
    chosen = [case for case in suite.test_cases if not ids or case.id in ids]
    missing = total = 0
    for case in chosen:
        resolved = resolve(suite, case, overrides)
        player = user_of(case, playing, lambda: tables)
        for spec in specs:
            for trial in range(resolved.trials):
                total += 1
                asked = first_missing(
                    Trial(
                        resolved,
                        spec,
                        trial,
                        cassette=recorded,
                        live=tools.live,
                        judge=judging,
                        user=player,
                    )
                )
                if asked is not None:
                    missing += 1
                    name = f"{case.id}[{spec.label}]"
                    name += f" trial {trial + 1}" if resolved.trials > 1 else ""
                    click.echo(printable(f"{name}: {recorded.why_missing(asked, always=True)}"))
    if not chosen:
        raise click.UsageError(f"the suite has no case {', '.join(ids)}")
    for line in recorded.damaged:
        click.echo(f"{cassette_file}:{line}: unreadable line, ignored")
    click.echo(f"{counted(total, 'conversation')}, {missing} with missing answers")
    if missing:
        raise SystemExit(1)
