"""`tooleval schema` and `tooleval validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..engine.exchange.chat import ChatRequest
from ..engine.models.names import resolve_models
from ..engine.models.spec import Agent, ModelSpec
from ..engine.models.table_checks import spec_from_table
from ..engine.tools.features import FEATURES, features_of, wanted_by
from ..engine.tools.schemas import rules_of
from ..errors import ConfigError, Problem, SuiteError, os_reason
from ..project.root import Project
from ..suite.discovery import SUITE_ENDING, is_searched
from ..text import plural, printable
from .suite_files import STDOUT

if TYPE_CHECKING:
    from ..suite.model import Suite

_PATTERN = f"*{SUITE_ENDING}"


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=STDOUT,
    help="Write to this file; - (default) prints it.",
)
def schema(out: Path) -> None:
    """Print the JSON Schema of suite files, for editors."""
    from ..suite.schema import schema_text

    if out == STDOUT:
        click.echo(schema_text(), nl=False)
        return
    try:
        out.write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {os_reason(error)}") from None
    click.echo(f"wrote {out}")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Also fail on warnings.")
@click.option("--metric", "metrics", multiple=True, help="Your own metric that thresholds use.")
def validate(paths: tuple[Path, ...], strict: bool, metrics: tuple[str, ...]) -> None:
    """Check suite files or folders, without a model.

    Prints problems and warnings as FILE:LINE:COLUMN: MESSAGE. Plays the expected calls of cases with a
    world on that world, twice. Says which configured models have what the tools ask for, such as
    defer_loading. The exit status is 1 for problems (with --strict, even for warnings), and
    2 if there is nothing to check.
    """
    from ..scoring.evidence.half_work import unnoticed_calls
    from ..scoring.evidence.rehearsal import rehearse
    from ..suite.lint import lint_suite
    from ..suite.load import load_document

    project = Project.around()
    files, specs = suite_files(paths), _configured(project)
    for_vertex = any("Vertex AI" in rules_of(spec) for spec in specs)
    without_agents = bool(specs) and not any(isinstance(spec, Agent) for spec in specs)
    suites = cases = problems = warnings = 0
    for file in files:
        try:
            suite, document = load_document(file, metrics=metrics)
        except SuiteError as error:
            problems += len(error.problems)
            for problem in error.problems:
                click.echo(printable(str(problem)))
            continue
        suites += 1
        cases += len(suite.test_cases)
        listed = document.problems(rehearse(suite), limit=None)
        problems += len(listed)
        for problem in listed:
            click.echo(printable(str(problem)))
        if not file.name.endswith(SUITE_ENDING):
            warnings += 1
            click.echo(printable(f"{file}:1:1: warning: pytest collects only files named {_PATTERN}"))
        listed = lint_suite(suite, document, for_vertex=for_vertex, without_agents=without_agents)
        listed += document.problems(unnoticed_calls(suite), limit=None)
        warnings += len(listed)
        for warning in listed:
            click.echo(printable(_as_warning(warning)))
        if needs := _features(suite, project):
            click.echo(printable(f"{file}: {needs}"))
    counts = [f"{plural(suites, 'suite')}, {plural(cases, 'case')}"] if suites else []
    if suites < len(files):
        counts.append(f"{plural(len(files) - suites, 'file')} unusable")
    click.echo(f"{'; '.join(counts)}: {plural(problems, 'problem')}, {plural(warnings, 'warning')}")
    if problems or (strict and warnings):
        raise SystemExit(1)


def _configured(project: Project) -> list[ModelSpec]:
    """The configured models. Vertex AI hides parts of schemas, and agents answer their own calls."""
    try:
        tables = project.tables()
        return [spec_from_table(name, tables) for name in tables.tables]
    except ConfigError:  # of no concern to suites without special features
        return []


def _features(suite: Suite, project: Project) -> str:
    """What the suite's tools ask of a model beyond functions, and which configured models have it."""
    from ..suite.tools import AllowedTools

    tools = [*suite.tools, *(tool for case in suite.test_cases for tool in case.tools or ())]
    choices = [suite.tool_choice, *(case.tool_choice for case in suite.test_cases)]
    needed = wanted_by(ChatRequest((), [tool.wire for tool in tools]))
    if any(isinstance(choice, AllowedTools) for choice in choices):
        needed |= {"allowed_tools"}
    if not needed:
        return ""
    parts = [f"the tools use {', '.join(name for name in FEATURES if name in needed)}"]
    tables = project.tables()
    for spec in resolve_models(tables.tables, tables):
        lacking = [name for name in FEATURES if name in needed - features_of(spec)]
        has = f"lacks {', '.join(lacking)}" if lacking else "has all of it"
        parts.append(f"{spec.label} {has}")
    return "; ".join(parts)


def _as_warning(problem: Problem) -> str:
    where = f"{problem.path}:{problem.line}:{problem.column}"
    field = f"{problem.field}: " if problem.field else ""
    return f"{where}: warning: {field}{problem.message}"


def suite_files(paths: tuple[Path, ...], *, may_have_none: bool = False) -> list[Path]:
    """The given files, and all suites in the given folders, each once."""
    files: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            files[path] = None
            continue
        inside = [file.relative_to(path) for file in sorted(path.rglob(_PATTERN))]
        suites = [path / file for file in inside if all(map(is_searched, file.parts[:-1]))]
        if not suites and not may_have_none:
            raise click.UsageError(f"no {_PATTERN} file in the folder {printable(str(path))}")
        files.update(dict.fromkeys(suites))
    return list(files)
