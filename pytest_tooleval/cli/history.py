"""`tooleval history`, `show`, `compare` and `trend`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import click
from click.core import ParameterSource

from ..errors import ConfigError, ToolevalError, os_reason
from ..history import History, Place, ShortCase, load_side
from ..project.root import Project
from ..record.encoding import to_ascii_json
from ..reports.comparison import render_comparison
from ..reports.outputs import check_reports, report_of, report_parts
from ..text import near, plural, printable
from ..verdicts.sides import Side
from ..writing import write_whole
from .output import case_lines, history_lines, mixed_up_lines, run_lines, trend_lines
from .shared import Group, ShareType
from .suite_files import STDOUT

_HOURS = {"h": 1, "d": 24, "w": 24 * 7}

folder_option = click.option(
    "--folder",
    "-C",
    type=click.Path(path_type=Path),
    help="The project, or a folder in it; default: the current folder.",
)
history_option = click.option(
    "--history",
    "place",
    metavar="FOLDER|URL",
    help="Where the runs are; default: as in the ini file, else .tooleval.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _NoHistory(click.ClickException):
    exit_code = 2  # as in `tooleval compare`, where 1 means worse


def _open(folder: Path | None, place: str | None) -> History:
    project = Project.around(folder)
    history = History(project.store_folder, place_from(place, project), _tell)
    if history.is_empty:
        raise _NoHistory(
            printable(
                f"{history.place.name}: no history yet; run pytest with a model first, or name the "
                "project's folder with -C"
            )
        )
    return history


def _tell(problem: str) -> None:
    click.echo(printable(problem), err=True)


def place_from(typed: str | None, project: Project) -> Place:
    """Where the runs of a project are."""
    try:
        return project.history(typed)
    except ConfigError as error:
        raise ToolevalError(own_options(str(error))) from None


def side_of(name: str) -> Side:
    """A report, or a run of the project around the current folder."""
    project = Project.around()
    return load_side(name, project.store_folder, place=place_from(None, project))


def own_options(text: str) -> str:
    """Replace the names of pytest's options by those of the commands."""
    return text.replace("--tooleval-", "--")


def print_lines(lines: Iterable[str]) -> None:
    # Not every terminal or pipe can encode all characters, such as the bars of a trend.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    for line in lines:
        safe = printable(line, keep_newlines=True)
        click.echo(safe.encode(encoding, "replace").decode(encoding))


def _print_json(value: object) -> None:
    click.echo(to_ascii_json(value), nl=False)


@click.group(cls=Group, invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many runs.")
@click.option("--model", help="Only runs of this model, with its figures.")
@click.option("--branch", help="Only runs on this git branch.")
@_json_option
@history_option
@folder_option
@click.pass_context
def history(
    context: click.Context,
    limit: int,
    model: str | None,
    branch: str | None,
    as_json: bool,
    folder: Path | None,
    place: str | None,
) -> None:
    """List the runs, the newest whole one first; tag or delete them.

    A + after a commit means uncommitted changes.
    """
    if context.invoked_subcommand is not None:
        sources = map(context.get_parameter_source, context.params)
        if any(source is ParameterSource.COMMANDLINE for source in sources):
            raise click.UsageError(f"put options after {context.invoked_subcommand}")
        return

    runs = _open(folder, place).runs(limit, model=model, branch=branch)
    if as_json:
        _print_json(runs)
    else:
        print_lines(history_lines(runs) if runs else ["no run matches"])


@click.command()
@click.argument("run", default="latest")
@click.argument("case", required=False)
@click.option("--failed", is_flag=True, help="All failed cases; with CASE, only its failed trials.")
@click.option("--confusion", is_flag=True, help="Which tools each model mixed up; not with CASE.")
@click.option("--model", help="Only this model.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="[FORMAT:]FILE",
    help="Write a report as --tooleval-report does; json:- prints it. Repeatable.",
)
@history_option
@folder_option
def show(
    run: str,
    case: str | None,
    failed: bool,
    confusion: bool,
    model: str | None,
    reports: tuple[str, ...],
    folder: Path | None,
    place: str | None,
) -> None:
    """Show a run and what failed, or every trial of one case.

    RUN is latest (the default), latest~2, latest:BRANCH, @TAG, or the beginning of an id. CASE is a
    case's id, SUITE::CASE, FILE::CASE or a node id.
    """
    store = _open(folder, place)
    try:
        id = store.find(run)
    except ToolevalError as error:
        raise ToolevalError(f"{error}{_perhaps_a_case(store, run)}") from None
    if reports:
        if case is not None or failed or confusion or model is not None:
            raise click.UsageError("--report writes a whole run; leave out CASE and the other options")
        _write_reports(store, id, reports)
        return
    if case is not None and not confusion:
        _show_case(store, id, case, model, only_failed=failed)
        return
    document = store.rows_document(id)
    _check_model(id, model, [row.model for row in document.models])
    if confusion:
        if case is not None or failed:
            raise click.UsageError("--confusion shows a whole run; leave out CASE and --failed")
        print_lines(mixed_up_lines(document, model))
    else:
        print_lines(run_lines(document, model, all_failed=failed))


def _check_model(id: str, model: str | None, models: Sequence[str]) -> None:
    if model is not None and model not in models:
        raise ToolevalError(f"the run {id} has no model {model}, only {', '.join(models) or 'none'}")


def _show_case(store: History, id: str, name: str, model: str | None, *, only_failed: bool) -> None:
    every = store.short_cases(id)
    _check_model(id, model, list(dict.fromkeys(case.model for case in every)))
    cases = [case for case in every if model in (None, case.model)]
    meant = [case for case in cases if _is_called(case, name)]
    if not meant:
        alike = near(name, list({case.case for case in cases})[:1000])
        raise ToolevalError(f"the run {id} has no case {name}{alike}")
    for case in meant:
        print_lines(case_lines(store.case(id, case.nodeid), only_failed=only_failed))


def _write_reports(store: History, id: str, options: Sequence[str]) -> None:
    try:
        reports = [report_of(text, Path()) for text in options]
        check_reports([report for report in reports if report.path != STDOUT])
    except ConfigError as error:
        raise click.UsageError(printable(own_options(str(error)))) from None
    document = store.document(id)
    for report in reports:
        parts = report_parts(report.format, document, store.trends_for)
        if report.path == STDOUT:
            # As bytes, independent of the terminal's encoding and line ends.
            for part in parts:
                sys.stdout.buffer.write(part)
            sys.stdout.flush()
            continue
        try:
            write_whole(report.path, parts)
        except OSError as error:
            message = f"{own_options(report.option)}: cannot be written: {os_reason(error)}"
            raise ToolevalError(message) from None
        click.echo(f"wrote {printable(str(report.path))}")


def _is_called(row: ShortCase, name: str) -> bool:
    return name in (row.case, row.nodeid, f"{row.suite}::{row.case}", f"{row.file}::{row.case}")


def _perhaps_a_case(store: History, name: str) -> str:
    """A hint if a case was given instead of a run."""
    try:
        rows = store.short_cases(store.find("latest"))
    except ToolevalError:
        return ""
    is_case = any(_is_called(row, name) for row in rows)
    return f"; for the case of the last run: tooleval show latest {shlex.quote(name)}" if is_case else ""


@click.command()
@click.argument("old", default="latest~1")
@click.argument("new", default="latest")
@click.option("--model", "models", multiple=True, metavar="OLD=NEW", help="Compare across models.")
@click.option("--max-drop", type=ShareType(0, 1), default=0.0, help="The largest drop to allow.")
@click.option(
    "--alpha",
    type=ShareType(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="The chance of a false alarm.",
)
@click.option("--fail-inconclusive", is_flag=True, help="Exit with status 1 also if inconclusive.")
@_json_option
@history_option
@folder_option
def compare(
    old: str,
    new: str,
    models: tuple[str, ...],
    max_drop: float,
    alpha: float,
    fail_inconclusive: bool,
    as_json: bool,
    folder: Path | None,
    place: str | None,
) -> None:
    """Compare two runs case by case.

    OLD and NEW are runs as in `tooleval show`, or JSON reports; default: the last two runs.
    The exit status is 1 if NEW is significantly worse, or if no case can be compared.
    """
    from ..verdicts.baseline import compare_runs
    from ..verdicts.paired_metrics import ComparisonRules

    pairs = list(map(_pair, models))
    project = Project.around(folder)
    where = place_from(place, project)
    before, now = (load_side(name, project.store_folder, place=where) for name in (old, new))
    comparison = compare_runs(before, now, ComparisonRules(alpha, max_drop, fail_inconclusive), pairs)
    if as_json:
        _print_json(comparison)
    else:
        print_lines(map(own_options, render_comparison(comparison)))
    if comparison.failed:
        raise SystemExit(1)


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise click.UsageError(f"--model={printable(text)}: expected OLD=NEW, the labels of two models")
    return old, new


@click.command()
@click.argument("name", metavar="CASE|SUITE")
@click.option("--model", help="Only this model.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many runs.")
@_json_option
@history_option
@folder_option
def trend(
    name: str, model: str | None, limit: int, as_json: bool, folder: Path | None, place: str | None
) -> None:
    """Show a case or a suite over time, newest last.

    If several suites have a case with that id, use SUITE::CASE.
    """
    result = _open(folder, place).trend(name, model=model, limit=limit)
    if as_json:
        _print_json(result)
    else:
        print_lines(trend_lines(result))


@history.command()
@click.argument("run", required=False)
@click.argument("name", required=False)
@click.option("--delete", metavar="NAME", help="Delete this tag.")
@history_option
@folder_option
def tag(
    run: str | None, name: str | None, delete: str | None, folder: Path | None, place: str | None
) -> None:
    """Name a run @NAME, and keep it.

    A tag can be a baseline. prune never deletes a tagged run.
    """
    store = _open(folder, place)
    if delete is not None and run is None:
        store.untag(delete.removeprefix("@"))
        click.echo(f"deleted the tag {delete}")
    elif delete is None and run is not None and name is not None:
        id, name = store.find(run), name.removeprefix("@")
        store.tag(id, name)
        click.echo(f"@{name} is the run {id}")
    else:
        raise click.UsageError("give RUN and NAME, or --delete=NAME")


@history.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--keep", type=click.IntRange(0), help="Keep this many of the newest runs.")
@click.option("--older-than", metavar="90d", help="Delete runs older than this many h, d or w.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@history_option
@folder_option
def prune(
    runs: tuple[str, ...],
    keep: int | None,
    older_than: str | None,
    yes: bool,
    folder: Path | None,
    place: str | None,
) -> None:
    """Delete runs by name or age.

    With --keep and --older-than, only runs that both select are deleted. Running and tagged runs stay.
    """
    by_age = keep is not None or older_than is not None
    if bool(runs) == by_age:
        raise click.UsageError("name the runs to delete, or give --keep=N, --older-than=90d, or both")
    age = None if older_than is None else _age(older_than)
    store = _open(folder, place)
    ids = (
        store.expired_ids(keep=keep or 0, older_than=age)
        if by_age
        else list(dict.fromkeys(store.find(run) for run in runs))
    )
    if not ids:
        click.echo("nothing to delete")
        return
    if not yes:
        what = plural(len(ids), "run") if by_age else ", ".join(ids)
        click.confirm(f"delete {what} of {printable(store.place.name)}?", abort=True)
    cases, size = store.delete(*ids)
    freed = f", {size / 1e6:.1f} MB freed" if size else ""
    click.echo(f"deleted {plural(len(ids), 'run')} with {plural(cases, 'case row')}{freed}")


def _age(text: str) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,5})([hdw])", text)
    if not match:
        raise click.UsageError(
            f"--older-than={printable(text)}: expected hours, days or weeks, such as 90d"
        )
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])
