"""Combines and checks the command line, the ini file and the config tables."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import ConfigError
from ..settings.options import HISTORY, JUDGING, OPTIONS, ShardNumber
from ..settings.reading import UserOptions, read_baseline, read_gating, read_history, read_trials
from ..settings.settings import WITHOUT_SECRETS, Asking, Outputs, Settings
from ..suite.overrides import Overrides
from .options import ini_options, typed_options
from .processes import process_of

if TYPE_CHECKING:
    from ..engine.models.spec import ModelSpec
    from ..engine.models.tables import ModelTables
    from ..replies.outside_transcript import OutsideTranscript
    from ..reports.outputs import Report

_TABLES: pytest.StashKey[ModelTables] = pytest.StashKey()


def read_settings(config: pytest.Config) -> Settings:
    """Check and combine all settings. Raises `pytest.UsageError` with the fix."""
    typed, ini = typed_options(config), ini_options(config)
    left: dict[str, Any] = {}
    if typed.keys() & {"model", "resume", "estimate"}:
        ini.pop("transcripts", None)  # the ini file applies to all runs
    options = UserOptions(OPTIONS.values(), typed, ini)
    try:
        if "shard" in typed:
            ini, left = _split_ini(options, ini)
            options = UserOptions(OPTIONS.values(), typed, ini)
        options.check()
        settings = _read(config, options, left)
        settings = _of_shard(settings, settings.shard) if settings.shard else settings
    except ConfigError as error:
        preset = options.preset_text if f"preset={options.preset}" not in str(error) else ""
        more = f"\n{preset}; your own settings take precedence" if preset else ""
        raise pytest.UsageError(f"{error}{more}") from None
    process, asking = process_of(config), settings.asking
    if not process.is_worker:
        return settings
    of = asking.active_workers(process.workers)
    # A worker that replaces a crashed one has a number beyond the count.
    return dataclasses.replace(settings, asking=asking.with_share(of, process.number % of))


def _split_ini(options: UserOptions, ini: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ini file's and preset's options without those left to a merge, and the latter by name."""
    left = {option.key: option.name for option in (*JUDGING, HISTORY)}
    in_use = {key: value for key, value in {**options.sets, **ini}.items() if key not in left}
    return in_use, {left[key]: value for key, value in ini.items() if key in left}


def _of_shard(settings: Settings, shard: ShardNumber) -> Settings:
    """A shard's settings: its share of the limits. The history and GitHub get only the merged run."""
    outputs = settings.outputs
    github = "never" if outputs.github == "auto" else outputs.github
    return dataclasses.replace(
        settings,
        asking=settings.asking.with_share(shard.of, shard.number - 1),
        outputs=dataclasses.replace(outputs, history="", github=github),
    )


def _read(config: pytest.Config, options: UserOptions, left_to_merge: Mapping[str, Any]) -> Settings:
    transcripts = _transcripts(config, options)
    reports = _reports(config, options)
    process, shard, baseline = process_of(config), _shard(config, options, reports), None
    history = read_history(options, config.invocation_params.dir, config.rootpath)
    if not process.is_worker:  # the controller does the comparison
        baseline = read_baseline(options, process.store_folder, history)
    gating = read_gating(options, baseline, excuses_unasked=WITHOUT_SECRETS in os.environ)
    cassette = _cassette(config, options)
    asking = Asking(
        models=_models(config, options, transcripts),
        transcripts=transcripts,
        judge=_other(config, options["judge"]),
        user=_other(config, options["user"]),
        overrides=Overrides(
            tool_choice=options["tool_choice"],
            temperature=options["temperature"],
            trials=read_trials(options),
            pass_rule=options["pass"],
            thresholds=dict(options["threshold"]) or None,
        ),
        allowed_tools=_allowed_tools(config, options),
        concurrency=int(options["concurrency"]),
        timeout_s=options["timeout"],
        variants=tuple(dict.fromkeys(options["variant"])),
        cassette_path=cassette,
        record="none" if gating.excuses_unasked and cassette else options["record"],
        resume=options["resume"],
        max_cost=options["max_cost"],
    )
    outputs = Outputs(
        reports=reports,
        events=options["events"],
        history=history,
        writes_properties=_properties(config),
        github=options["github"],
    )
    return Settings(
        options={name: value for name, value in options.record().items() if name != "events"},
        preset=options.preset,
        preset_text=options.preset_text,
        replaced=tuple(options.replaced_texts),
        asking=asking,
        gating=gating,
        outputs=outputs,
        only_estimates=options["estimate"],
        shard=shard,
        left_to_merge=left_to_merge,
    )


def _properties(config: pytest.Config) -> bool:
    """True if cases get properties, which --junitxml's xunit2 schema does not allow."""
    writes = config.pluginmanager.hasplugin("junitxml") and config.getoption("xmlpath")
    return not writes or config.getini("junit_family") != "xunit2"


def _shard(config: pytest.Config, options: UserOptions, reports: Sequence[Report]) -> ShardNumber | None:
    shard: ShardNumber | None = options["shard"]
    if shard is None or config.option.collectonly or options["estimate"]:
        return shard
    if not any(report.format == "json" for report in reports):
        raise ConfigError(
            "--tooleval-shard: needs a JSON report, which `tooleval merge` reads; add "
            "--tooleval-report=FILE.json"
        )
    return shard


def _models(
    config: pytest.Config, options: UserOptions, transcripts: Sequence[OutsideTranscript] | None
) -> tuple[ModelSpec, ...]:
    if transcripts is not None:
        from ..engine.models.spec import HttpModel

        return tuple(HttpModel(name, name) for name in dict.fromkeys(each.model for each in transcripts))
    return _resolved(config, [name for names in options["model"] for name in names])


def _other(config: pytest.Config, name: str | None) -> ModelSpec | None:
    """The judge model, or the model that plays users."""
    return _resolved(config, [name])[0] if name else None


def _resolved(config: pytest.Config, names: Sequence[str]) -> tuple[ModelSpec, ...]:
    if not names:
        return ()
    from ..engine.models.names import resolve_models

    return tuple(resolve_models(names, config_tables(config)))


def _transcripts(config: pytest.Config, options: UserOptions) -> tuple[OutsideTranscript, ...] | None:
    names = options["transcripts"]
    if not names:
        return None
    from ..errors import SuiteError
    from ..imports.transcripts import read_transcripts
    from ..text import printable

    typed = "transcripts" in options.typed
    try:
        return tuple(read_transcripts([Path("" if typed else config.rootpath, name) for name in names]))
    except SuiteError as error:
        text = printable(str(error), keep_newlines=True)
        raise ConfigError(f"{options.where('transcripts')}: cannot be read\n{text}") from None


def config_tables(config: pytest.Config) -> ModelTables:
    """The run's config tables, read and checked once. Raises ConfigError."""
    from ..engine.models.table_checks import check_tables

    if _TABLES not in config.stash:
        tables = _read_tables(config)
        check_tables(tables)
        config.stash[_TABLES] = tables
    return config.stash[_TABLES]


def _read_tables(config: pytest.Config) -> ModelTables:
    """The tables in the root folder, else beside the ini file, else in the current folder."""
    from ..engine.models.tables import ModelTables, read_tables

    folders = [config.rootpath, config.invocation_params.dir]
    if config.inipath is not None:
        folders.insert(1, config.inipath.parent)
    first = ModelTables()
    for folder in dict.fromkeys(folders):
        tables = read_tables(folder)
        if tables.tables:
            return tables
        first = first if first.path else tables
    return first


def _allowed_tools(config: pytest.Config, options: UserOptions) -> tuple[str, ...]:
    """The allowed tools. Only the command line itself can allow them, never the project."""
    option, entries = "--tooleval-allow-tools", options.typed.get("allow_tools", [])
    if entries and not process_of(config).is_worker:
        typed = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        typed.add_argument(option, action="append", default=[], dest="entries")
        if typed.parse_known_args(config.invocation_params.args)[0].entries != entries:
            raise ConfigError(
                f"{option}: give it on the command line itself; it came from addopts, "
                "PYTEST_ADDOPTS or an arguments file"
            )
    return tuple(name for names in options["allow_tools"] for name in names)


def _reports(config: pytest.Config, options: UserOptions) -> tuple[Report, ...]:
    if not options["report"]:
        return ()
    from ..reports.outputs import check_reports, report_of

    # Paths in the ini file are relative to the root folder.
    folder = config.invocation_params.dir if "report" in options.typed else config.rootpath
    reports = tuple(report_of(text, folder) for text in options["report"])
    check_reports(reports, options["baseline"])
    return reports


def _cassette(config: pytest.Config, options: UserOptions) -> Path | None:
    if options["cassette"] is None:
        return None
    if options["resume"]:
        raise ConfigError(
            "--tooleval-resume: this run has a cassette, which already keeps its answers; "
            "--tooleval-record=new asks only for what is missing"
        )
    typed = "cassette" in options.typed
    return Path(config.invocation_params.dir if typed else config.rootpath, options["cassette"])
