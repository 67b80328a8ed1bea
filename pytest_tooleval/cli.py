"""The `tooleval` command. Subcommands import what they need when they run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import cast

import click

from . import __version__
from .errors import Problem
from .errors import SuiteError
from .errors import ToolevalError
from .text import printable

if TYPE_CHECKING:
    from .suite.model import ToolChoice

_PATTERN = "*.tooleval.json"
_UNSEARCHED = ("node_modules", "__pycache__", "venv")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tooleval")
def main() -> None:
    """Tools around suites of tool-calling cases; pytest itself runs them."""


@main.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
def schema(out: Path | None) -> None:
    """Print the JSON Schema of suite files, for editors and other tools."""
    from .suite.schema import schema_text

    if out is None:
        click.echo(schema_text(), nl=False)
        return
    try:
        out.write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror}") from None
    click.echo(f"wrote {out}")


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--metric", "metrics", multiple=True, help="A metric of your own that thresholds use.")
def validate(paths: tuple[Path, ...], strict: bool, metrics: tuple[str, ...]) -> None:
    """Check suite files, or all suites in folders, without asking any model.

    Prints problems and warnings as FILE:LINE:COLUMN: MESSAGE. The exit code is 1 when a file has a
    problem (with --strict: or a warning), 2 when there is nothing to check, else 0.
    """
    from .suite.lint import lint_suite
    from .suite.load import load_document

    files = _suite_files(paths)
    cases = problems = warnings = 0
    for file in files:
        try:
            suite, document = load_document(file, metrics=metrics)
        except SuiteError as error:
            problems += len(error.problems)
            for problem in error.problems:
                click.echo(printable(str(problem)))
            continue
        cases += len(suite.test_cases)
        found = lint_suite(suite, document)
        warnings += len(found)
        for warning in found:
            click.echo(printable(_as_warning(warning)))
    counts = [_count(len(files), "suite"), _count(cases, "valid case")]
    click.echo(f"{', '.join(counts)}: {_count(problems, 'problem')}, {_count(warnings, 'warning')}")
    if problems or (strict and warnings):
        raise SystemExit(1)


@main.group()
def cassette() -> None:
    """Look into recorded answers."""


@cassette.command()
@click.argument("cassette_file", type=click.Path(path_type=Path))
@click.argument("suite_file", type=click.Path(path_type=Path))
@click.option("--model", "models", multiple=True, required=True, help="A model, as in a run.")
@click.option("--case", "ids", multiple=True, help="A case's id; default: all.")
@click.option("--temperature", type=float, help="As --tooleval-temperature in the run.")
@click.option("--tool-choice", type=click.Choice(["required", "auto", "none"]), help="As in the run.")
@click.option("--trials", type=click.IntRange(1), help="As --tooleval-trials in the run.")
@click.option("--metric", "metrics", multiple=True, help="A metric of your own that thresholds use.")
def explain(
    cassette_file: Path,
    suite_file: Path,
    models: tuple[str, ...],
    ids: tuple[str, ...],
    temperature: float | None,
    tool_choice: str | None,
    trials: int | None,
    metrics: tuple[str, ...],
) -> None:
    """Say which answers of a suite are not on a cassette, and which field of the question differs.

    Models are looked up in the current folder's pyproject.toml or tooleval.toml. The exit code is 1
    when an answer is missing.
    """
    from .engine.cassette import Cassette
    from .engine.models import read_tables
    from .engine.models import resolve_models
    from .engine.replay import first_missing
    from .suite.load import load_suite
    from .suite.model import Overrides
    from .suite.model import resolve

    if not cassette_file.is_file():
        raise click.UsageError(f"there is no cassette {printable(str(cassette_file))}")
    try:
        suite = load_suite(suite_file, metrics=metrics)
        specs = resolve_models(models, read_tables(Path.cwd()))
        recorded = Cassette(cassette_file, "none")
        choice = cast("ToolChoice | None", tool_choice)
        overrides = Overrides(tool_choice=choice, temperature=temperature, trials=trials)
        chosen = [case for case in suite.test_cases if not ids or case.id in ids]
        missing = total = 0
        for case in chosen:
            resolved = resolve(suite, case, overrides)
            for spec in specs:
                for trial in range(resolved.trials):
                    total += 1
                    asked = first_missing(resolved, spec, recorded, trial)
                    if asked is not None:
                        missing += 1
                        name = f"{case.id}[{spec.label}]"
                        name += f" trial {trial + 1}" if resolved.trials > 1 else ""
                        click.echo(printable(f"{name}: {recorded.why_missing(asked, always=True)}"))
    except ToolevalError as error:
        raise click.ClickException(printable(str(error), keep_newlines=True)) from None
    if not chosen:
        raise click.UsageError(f"the suite has no case {', '.join(ids)}")
    for line in recorded.damaged:
        click.echo(f"{cassette_file}:{line}: the line cannot be read and is left out")
    click.echo(f"{_count(total, 'conversation')}, {missing} with an answer that is not recorded")
    if missing:
        raise SystemExit(1)


def _as_warning(problem: Problem) -> str:
    place = f"{problem.path}:{problem.line}:{problem.column}"
    field = f"{problem.field}: " if problem.field else ""
    return f"{place}: warning: {field}{problem.message}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _suite_files(paths: tuple[Path, ...]) -> list[Path]:
    """The files named, and every suite in the folders named, each once."""
    files: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            files[path] = None
            continue
        found = [file for file in sorted(path.rglob(_PATTERN)) if _is_searched(file.relative_to(path))]
        if not found:
            raise click.UsageError(f"no {_PATTERN} file in the folder {printable(str(path))}")
        files.update(dict.fromkeys(found))
    return list(files)


def _is_searched(inside: Path) -> bool:
    folders = inside.parts[:-1]
    return not any(folder.startswith(".") or folder in _UNSEARCHED for folder in folders)
