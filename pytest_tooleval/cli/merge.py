"""`tooleval merge`: one run and one verdict from the shards of `--tooleval-shard`."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from typing import TypeVar

import click
from msgspec import structs

from ..errors import ConfigError
from ..errors import ToolevalError
from ..errors import os_reason
from ..text import counted
from ..text import printable
from ..verdicts.options import JUDGING
from ..verdicts.options import OUTPUTS
from ..verdicts.options import Option
from ..verdicts.presets import PRESETS
from ..verdicts.presets import Setting
from ..verdicts.presets import options_text
from ..writing import write_whole
from .history import folder_option
from .history import own_options
from .history import print_lines
from .history import store_of

if TYPE_CHECKING:
    from ..history import Trends
    from ..record.document import Document
    from ..record.results import KeptCase
    from ..reports.outputs import Report
    from ..verdicts.given import Baseline
    from ..verdicts.given import Gates
    from ..verdicts.merge import Part
    from ..verdicts.run import RunVerdict
    from ..verdicts.sides import Side

_JUNIT = Option("junitxml", "write a report to FILE in the format of JUnit, as pytest does", "FILE")
_JUDGED = {option.key: option for option in JUDGING}
_UNWRITTEN = 4  # as pytest with --tooleval-report

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _sets(preset: str) -> dict[str, Setting]:
    """The options of a preset that apply here."""
    return {key: value for key, value in PRESETS[preset].sets.items() if key in _JUDGED}


_PRESET = _JUDGED["preset"]._replace(
    help="set options, unless you set them yourself: "
    + "; ".join(f"{name}: {options_text(_sets(name))}" for name in PRESETS)
)


def _with_options(options: Sequence[Option]) -> Callable[[_Command], _Command]:
    def add(command: _Command) -> _Command:
        for option in reversed(options):
            settings: dict[str, Any] = {"help": own_options(option.help), "default": option.default}
            if option.choices:
                settings["type"] = click.Choice(option.choices)
            elif option.metavar:
                settings.update(metavar=option.metavar, multiple=option.many, type=option.type)
            else:
                settings["is_flag"] = True
            command = click.option(f"--{option.name}", **settings)(command)
        return command

    return add


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN.json|FOLDER...")
@_with_options([*({**_JUDGED, "preset": _PRESET}.values()), *OUTPUTS, _JUNIT])
@folder_option
def merge(runs: tuple[str, ...], folder: Path | None, **options: Any) -> None:
    """Join the shards of a run, and judge it.

    RUN.json are the JSON reports, one for each shard; a FOLDER means all *.json in it,
    except in hidden folders. They contain the gates of the ini file. The exit status is 1 if the run
    failed, and 2 if the shards cannot be joined: one is missing, duplicate, cut short, or from another
    run.
    """
    from ..reports.outputs import check_reports
    from .showing import run_lines

    given = {name: value for name, value in options.items() if value not in (None, False, ())}
    store = store_of(folder)
    try:
        reports = _reports(given)
        check_reports(reports)
        parts = _shards(runs, given.get("preset"))
        read = {Path(part.path).resolve() for part in parts}
        for report in reports:
            if report.path.resolve() in read:
                raise ConfigError(f"{report.option}: is a shard; name another file")
        asked = _asked(given, parts[0].shard.judging, store)
    except ConfigError as error:
        raise click.UsageError(printable(own_options(str(error)))) from None
    cases, document, verdict = _judged(parts, asked)
    print_lines(map(own_options, run_lines(document, None, all_failed=False)))
    if verdict.uncompared:
        print_lines([verdict.uncompared])
    own = "failed for reasons other than the models' answers; see its own report"
    print_lines(f"{part}: {own}" for part in parts if part.run.exitstatus)
    trends = _keep(document, cases, store) if asked.keeps else None
    unwritten = _leave(document, verdict, reports, trends, store, given["github"])
    end = f"FAILED{_why(cases, verdict)}" if document.run.exitstatus else "passed"
    print_lines([f"{counted(len(parts), 'shard')} joined: {end}"])
    raise SystemExit(_UNWRITTEN if unwritten else document.run.exitstatus)


def _reports(given: Mapping[str, Any]) -> list[Report]:
    from ..reports.outputs import Report
    from ..reports.outputs import report_of

    reports = [report_of(text, Path.cwd()) for text in given.get("report", ())]
    if _JUNIT.name in given:
        file = given[_JUNIT.name]
        reports.append(Report(_JUNIT.name, Path(file), f"--{_JUNIT.name}={file}"))
    return reports


def _shards(runs: Sequence[str], preset: str | None) -> list[Part]:
    from ..verdicts.merge import check_parts
    from ..verdicts.merge import read_parts

    parts = read_parts(list(_documents(runs)))
    check_parts(parts)
    rule = PRESETS[preset].sets.get("pass") if preset else None
    if rule and "pass" not in parts[0].run.options:
        raise click.UsageError(f"--preset={preset}: the shards must be run with --tooleval-pass={rule}")
    return parts


def _documents(runs: Sequence[str]) -> Iterator[Path]:
    for name in runs:
        path = Path(name)
        found = [path]
        if path.is_dir():
            below = sorted(path.rglob("*.json"))
            found = [each for each in below if "/." not in f"/{each.relative_to(path).as_posix()}"]
        if not found:
            raise ToolevalError(f"{name}: no *.json files in this folder")
        yield from found


class _Asked(NamedTuple):
    """How to judge the run, whether to save it, and the `options` for the record."""

    gates: Gates
    baseline: Baseline | None
    strict: bool
    keeps: bool
    options: Mapping[str, Any]


def _asked(given: Mapping[str, Any], judging: Mapping[str, Any], store: Path) -> _Asked:
    """The command line takes precedence over the ini file (`judging`), and both over their preset."""
    from ..history import load_side
    from ..verdicts.given import read_baseline
    from ..verdicts.given import read_gates

    ini = {name.replace("-", "_"): value for name, value in judging.items()}
    typed: dict[str, Any] = {
        key: list(value) if _JUDGED[key].many else value
        for key, value in given.items()
        if key in _JUDGED
    }
    for key, value in typed.items():
        if _JUDGED[key].between:
            _JUDGED[key].check(value)
    name: str | None = typed.get("preset") or ini.get("preset")
    preset = _sets(name) if name else {}
    sets = {key: value for key, value in preset.items() if key not in {**typed, **ini}}
    options: dict[str, Any] = {**typed, **sets}

    def look(key: str) -> tuple[Any, str]:
        if key in options:
            return options[key], f"--tooleval-{_JUDGED[key].name}="
        return ini.get(key, []), f"tooleval_{key}: "

    def load(name: str, holding: Collection[tuple[str, str]]) -> Side:
        return load_side(name, store, holding)

    return _Asked(
        read_gates(
            look,
            options.get("confidence"),
            by_ini=() if "preset" in typed else sets,
        ),
        read_baseline(
            options.get("baseline"),
            options.get("baseline_model", ()),
            options.get("max_drop"),
            load,
            by_preset="baseline" in sets,
        ),
        bool(options.get("fail_inconclusive") or ini.get("fail_inconclusive")),
        not given.get("no_history") and not ini.get("no_history"),
        {_JUDGED[key].name: value for key, value in options.items()},
    )


def _judged(parts: Sequence[Part], asked: _Asked) -> tuple[Sequence[KeptCase], Document, RunVerdict]:
    """The whole run with its verdict and exit status."""
    from ..verdicts.merge import join_cases
    from ..verdicts.merge import join_runs
    from ..verdicts.run import judge
    from ..verdicts.summary import kept_document

    run, cases = join_runs(parts, asked.options), join_cases(parts, asked.gates)
    rows = [case.row for case in cases]
    misnamed = parts[0].shard.misnamed
    verdict = judge(rows, run, asked.gates, asked.baseline, strict=asked.strict, misnamed=misnamed)
    if verdict.failed or any(row.fails_run for row in rows):
        run = structs.replace(run, exitstatus=1)
    return cases, kept_document(run, cases, verdict.gates, verdict.comparison), verdict


def _why(cases: Sequence[KeptCase], verdict: RunVerdict) -> str:
    """What failed the run, other than the shards themselves."""
    wrong = [case.row for case in cases if case.row.fails_run]
    forbidden = sum(row.called_forbidden for row in wrong)
    covered = ", tolerated by no gate" if verdict.gates else ""
    counts = {
        "with a forbidden call": forbidden,
        f"failed or without an answer{covered}": len(wrong) - forbidden,
    }
    reasons = [finding.name for finding in verdict.findings if finding.failed]
    reasons += [f"{counted(n, 'result')} {what}" for what, n in counts.items() if n]
    return f": {'; '.join(reasons)}" if reasons else ""


def _keep(document: Document, cases: Sequence[KeptCase], store: Path) -> Trends | None:
    """Save the run to the history, and return its trends. Errors do not fail the run."""
    from ..history import History

    history = History(store)
    try:
        writer = history.begin(document.run)
        writer.add(case for case in cases if case.row.model)
        writer.finish(document.run, document.gates, document.baseline)
        trends = history.trends_for(document)
    except (ToolevalError, OSError) as error:
        click.echo(printable(f"the run was not saved in the history: {error}"))
        return None
    click.echo(f"saved as {document.run.id}; view: tooleval show")
    return trends


def _leave(
    document: Document,
    verdict: RunVerdict,
    reports: Sequence[Report],
    trends: Trends | None,
    store: Path,
    github: str,
) -> list[str]:
    """Write the reports. Returns a line for each file that cannot be written."""
    from ..reports.junit import junit_xml
    from ..reports.outputs import leave
    from ..reports.outputs import on_github

    others = [report for report in reports if report.format != _JUNIT.name]
    left = leave(document, others, trends, store.parent, github=on_github(github))
    unwritten = list(map(own_options, left.unwritten))
    for report in reports:
        if report.format == _JUNIT.name:
            try:
                write_whole(report.path, [junit_xml(document, verdict.findings)])
            except OSError as error:
                unwritten.append(f"{report.option}: cannot be written: {os_reason(error)}")
    for command in left.annotations:
        click.echo(command)  # safe already, and GitHub needs its first characters unchanged
    print_lines(unwritten)
    return unwritten
