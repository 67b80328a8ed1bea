"""`tooleval merge`: one run and one verdict from the shards of `--tooleval-shard`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from ..errors import ConfigError, ToolevalError
from ..project.root import Project
from ..record.results import CaseRow
from ..reports.outputs import Report, check_reports, on_github, report_of, write_reports
from ..run.history_writer import HistoryWriter
from ..run.report_files import UNWRITTEN
from ..run.shards import ShardRun, check_shards, join, read_shards
from ..settings.options import JUDGING, OUTPUTS, PRESETS, Option
from ..settings.reading import UserOptions, read_baseline, read_gating, read_history
from ..text import plural, printable
from ..verdicts.run import RunVerdict
from .history import folder_option, own_options, print_lines
from .output import run_lines

_JUNIT = Option("junitxml", "write a report to FILE in the format of JUnit, as pytest does", "FILE")
_OPTIONS = (*JUDGING, *OUTPUTS, _JUNIT)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _with_options(command: _Command) -> _Command:
    for option in reversed(_OPTIONS):
        settings: dict[str, Any] = {"help": own_options(option.help)}
        if option.is_flag:
            settings["is_flag"] = True
        else:
            settings["metavar"] = option.metavar or "|".join(option.choices)
            settings["multiple"] = option.repeats
        command = click.option(f"--{option.name}", **settings)(command)
    return command


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN.json|FOLDER...")
@_with_options
@folder_option
def merge(runs: tuple[str, ...], folder: Path | None, **options: Any) -> None:
    """Merge shards and evaluate gates.

    RUN.json are the JSON reports of all shards; FOLDER means all *.json in it, except in hidden folders.
    They contain the gates of the ini file. The exit status is 1 if the run failed, and 2 if the shards
    cannot be merged: one is missing, duplicate, cut short, or from another run.
    """
    typed = {name: value for name, value in options.items() if value not in (None, False, ())}
    store = Project.around(folder).store_folder
    shards = read_shards(list(_documents(runs)))
    check_shards(shards)
    try:
        merge_options = _given_options(typed, shards[0])
        reports = _reports(merge_options, shards)
        place = read_history(merge_options, Path(), store.parent)
        baseline = read_baseline(merge_options, store, place)
    except ConfigError as error:
        raise click.UsageError(printable(own_options(str(error)))) from None
    names = {option.name for option in JUDGING}
    rules = {name: value for name, value in merge_options.record().items() if name in names}
    results, run = join(shards, read_gating(merge_options, baseline), rules)
    document, verdict = results.whole_document(run), results.verdict
    print_lines(map(own_options, merge_options.replaced_texts))
    print_lines(map(own_options, run_lines(document, None, all_failed=False)))
    if verdict.why_uncompared:
        print_lines([f"NOT COMPARED with a baseline: {verdict.why_uncompared}"])
    elsewhere = "failed for reasons other than the models' answers; see its own report"
    print_lines(f"{shard}: {elsewhere}" for shard in shards if shard.run.exitstatus)
    history_writer = HistoryWriter(results, lambda: run, store, place) if place else None
    if history_writer is not None:
        history_writer.keep()
        saved = f"saved as {run.id}; view: tooleval show" if history_writer.is_saved else ""
        print_lines(filter(None, [history_writer.unsaved, saved]))
    written = write_reports(
        document,
        reports,
        history_writer.trends if history_writer else None,
        store.parent,
        github=on_github(merge_options["github"]),
        findings=verdict.problems,
    )
    for command in written.commands:
        click.echo(command)  # safe already, and GitHub needs its first characters unchanged
    print_lines(map(own_options, written.problems))
    print_lines(f"wrote {report.path}" for report in written.reports)
    end = f"FAILED{_why(results.rows, verdict)}" if document.run.exitstatus else "passed"
    print_lines([f"{plural(len(shards), 'shard')} joined: {end}"])
    raise SystemExit(UNWRITTEN if written.problems else document.run.exitstatus)


def _given_options(typed: Mapping[str, Any], shard: ShardRun) -> UserOptions:
    """The options of the merge over those of the ini file, which every shard has."""
    ini = {name.replace("-", "_"): value for name, value in shard.about.judging.items()}
    options = UserOptions(_OPTIONS, typed, ini)
    options.check()
    rule = PRESETS[options.preset].sets.get("pass") if "preset" in typed else None
    if rule and "pass" not in shard.run.options:
        preset = f"--preset={options.preset}"
        raise click.UsageError(f"{preset}: run the shards with --tooleval-pass={rule}")
    return options


def _reports(options: UserOptions, shards: Sequence[ShardRun]) -> list[Report]:
    reports = [report_of(text, Path()) for text in options["report"]]
    file = options[_JUNIT.name]
    if file is not None:
        reports.append(Report(_JUNIT.name, Path(file), f"--{_JUNIT.name}={file}"))
    check_reports(reports, options["baseline"])
    files = {Path(shard.path).resolve() for shard in shards}
    for report in reports:
        if report.path.resolve() in files:
            raise ConfigError(f"{report.option}: is a shard; name another file")
    return reports


def _documents(runs: Sequence[str]) -> Iterator[Path]:
    for name in runs:
        path = Path(name)
        files = [path]
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            files = [each for each in below if "/." not in f"/{each.relative_to(path).as_posix()}"]
        if not files:
            raise ToolevalError(f"{name}: no *.json files in this folder")
        yield from files


def _why(rows: Sequence[CaseRow], verdict: RunVerdict) -> str:
    """What failed the run, other than the shards themselves."""
    wrong = [row for row in rows if row.fails_run]
    forbidden = sum(row.called_forbidden for row in wrong)
    covered = ", tolerated by no gate" if verdict.gates else ""
    counts = {
        "with a forbidden call": forbidden,
        f"failed or without an answer{covered}": len(wrong) - forbidden,
    }
    reasons = [finding.name for finding in verdict.problems if finding.failed]
    reasons += [f"{plural(n, 'case')} {what}" for what, n in counts.items() if n]
    return f": {'; '.join(reasons)}" if reasons else ""
