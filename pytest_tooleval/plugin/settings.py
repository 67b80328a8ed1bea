"""Combines and checks the command line, the ini file and the config tables."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from ..errors import ConfigError
from ..verdicts.given import Baseline
from ..verdicts.given import Gates
from ..verdicts.given import read_baseline
from ..verdicts.given import read_gates
from ..verdicts.options import JUDGING
from ..verdicts.options import read_number
from .options import DEFAULT_MOST
from .options import RECORD_MODES
from .presets import AppliedPreset
from .presets import apply_preset
from .shard_options import Part
from .shard_options import read_part
from .shard_options import take_judging

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import RecordMode
    from ..engine.models.spec import ModelSpec
    from ..engine.models.tables import ModelTables
    from ..imports.transcripts.given import GivenTranscript
    from ..reports.outputs import Report
    from ..verdicts.sides import Side

# In the controller of xdist: the file in which all processes record what they spend.
LEDGER: pytest.StashKey[Path] = pytest.StashKey()
# With --tooleval-stop-on-eof: a descriptor of pytest's own input.
STANDARD_INPUT: pytest.StashKey[int] = pytest.StashKey()


@dataclass(frozen=True)
class Settings:
    """The checked settings of a run.

    `overrides` are the arguments of `suite.model.Overrides`, which is imported only with a suite.
    `transcripts` are those to judge instead of asking `models`, which are then theirs. `most_trials` is
    the maximum of `--tooleval-trials=auto`, None without it.
    With --tooleval-shard (`part`), limits except `max_cost` are those of the part, and `judging` are the
    gates of the ini file, by option, for `tooleval merge`.
    """

    models: tuple[ModelSpec, ...]
    transcripts: tuple[GivenTranscript, ...] | None
    judge: ModelSpec | None
    user: ModelSpec | None
    overrides: Mapping[str, Any]
    allowed_tools: tuple[str, ...]
    concurrency: int
    timeout_s: float
    most_trials: int | None
    gates: Gates
    baseline: Baseline | None
    strict: bool
    reports: tuple[Report, ...]
    events: str | None
    history: bool
    properties: bool
    github: str
    cassette: Path | None
    record: RecordMode
    resume: bool
    max_cost: float | None
    estimate: bool
    preset: AppliedPreset
    part: Part | None
    judging: Mapping[str, Any]

    @property
    def looks(self) -> int:
        """How often the run may be judged: once per step of --tooleval-trials=auto."""
        return self.most_trials or 1

    def writes(self, format: str) -> bool:
        return any(report.format == format for report in self.reports)

    @property
    def explains(self) -> bool:
        """Whether to explain the scores of cases that passed."""
        return self.writes("json") or self.events is not None


def read_settings(config: pytest.Config) -> Settings:
    """Check and combine all settings. Raises `pytest.UsageError` with the fix."""
    part = read_part(config)
    preset = apply_preset(config)
    try:
        settings = _read(config, preset, part)
        return settings if part is None else _of_part(settings, part)
    except (ConfigError, pytest.UsageError) as error:
        more = f"\n{preset.text}; your own settings take precedence" if preset.sets else ""
        raise pytest.UsageError(f"{error}{more}") from None


def _of_part(settings: Settings, part: Part) -> Settings:
    """Settings for a part: its share of limits, and no history or GitHub, which get the merged run."""
    from ..engine.models.spec import share

    cut = part.of, part.number - 1
    return dataclasses.replace(
        settings,
        models=tuple(spec.part(*cut) for spec in settings.models),
        judge=settings.judge and settings.judge.part(*cut),
        user=settings.user and settings.user.part(*cut),
        concurrency=share(settings.concurrency, *cut),
        history=False,
        github="never" if settings.github == "auto" else settings.github,
    )


def _read(config: pytest.Config, preset: AppliedPreset, part: Part | None) -> Settings:
    _check_numbers(config)
    transcripts = _transcripts(config)
    trials, most_trials = _trials(config)
    overrides = {
        "tool_choice": config.getoption("tooleval_tool_choice"),
        "temperature": config.getoption("tooleval_temperature"),
        "trials": trials,
        "pass_rule": _pass_rule(config, trials),
        "reasoning_effort": _effort(config),
        "thresholds": _thresholds(config.getoption("tooleval_threshold") or ()),
    }
    cassette = _cassette(config)
    gates, judging = _gates(config, preset), {}
    if part is not None:
        gates, judging = Gates(), take_judging(config)
    baseline = _baseline(config, preset)
    if transcripts is not None:
        most_trials = None  # of the ini file, which applies to all runs
    if most_trials is not None and not _check_auto(config, gates, baseline):
        most_trials = None
    if config.getoption("tooleval_resume") and cassette is not None:
        raise pytest.UsageError(
            "--tooleval-resume: this run has a cassette, which already keeps its answers; "
            "--tooleval-record=new asks only for what is missing"
        )
    return Settings(
        models=_models(config, transcripts),
        transcripts=transcripts,
        judge=_other(config, "judge"),
        user=_other(config, "user"),
        overrides=overrides,
        allowed_tools=_allowed_tools(config),
        concurrency=config.getoption("tooleval_concurrency"),
        timeout_s=config.getoption("tooleval_timeout"),
        most_trials=most_trials,
        gates=gates,
        baseline=baseline,
        strict=config.getoption("tooleval_fail_inconclusive")
        or _ini_flag(config, "tooleval_fail_inconclusive"),
        reports=_reports(config),
        events=config.getoption("tooleval_events"),
        history=not config.getoption("tooleval_no_history") and _ini_flag(config, "tooleval_history"),
        properties=_properties(config),
        github=config.getoption("tooleval_github"),
        cassette=cassette,
        record=_record(config, cassette),
        resume=config.getoption("tooleval_resume"),
        max_cost=config.getoption("tooleval_max_cost"),
        estimate=config.getoption("tooleval_estimate"),
        preset=preset,
        part=part,
        judging=judging,
    )


def _properties(config: pytest.Config) -> bool:
    """Whether cases have properties: by default unless the JUnit schema forbids them."""
    if config.getini("tooleval_junit_properties") is not None:
        return _ini_flag(config, "tooleval_junit_properties")
    writes = config.pluginmanager.hasplugin("junitxml") and config.getoption("xmlpath")
    return not writes or config.getini("junit_family") != "xunit2"


_NUMBERS: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "concurrency": (lambda number: number >= 1, "at least 1"),
    "timeout": (lambda seconds: seconds > 0, "seconds above 0"),
    "temperature": (lambda degree: 0 <= degree <= 2, "0 to 2"),
    "max-cost": (lambda usd: usd > 0, "US dollars above 0"),
}


def _check_numbers(config: pytest.Config) -> None:
    for name, (is_right, expected) in _NUMBERS.items():
        number: float | None = config.getoption(f"tooleval_{name.replace('-', '_')}")
        if number is not None and not is_right(number):
            raise pytest.UsageError(f"--tooleval-{name}: expected {expected}, got {number:g}")
    for option in JUDGING:
        number = config.getoption(f"tooleval_{option.key}") if option.between else None
        if number is not None:
            option.check(number)


def _ini_flag(config: pytest.Config, name: str) -> bool:
    try:
        return bool(config.getini(name))
    except (ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"{name}: expected true or false: {error}") from None


def _models(
    config: pytest.Config, transcripts: Sequence[GivenTranscript] | None
) -> tuple[ModelSpec, ...]:
    if transcripts is not None:
        from ..engine.models.spec import ModelSpec

        return tuple(ModelSpec(name, name) for name in dict.fromkeys(each.model for each in transcripts))
    given: list[str] | None = config.getoption("tooleval_model")
    entries: list[str] = given if given is not None else config.getini("tooleval_models")
    names = [name.strip() for entry in entries for name in entry.split(",")]
    if given is not None and not all(names):
        # A gate must not pass because a CI variable is empty.
        raise pytest.UsageError(
            f"--tooleval-model={','.join(given)}: expected the name of a model, got an empty one"
        )
    return _resolved(config, [name for name in names if name])


def _other(config: pytest.Config, role: str) -> ModelSpec | None:
    """The judge, or the model that plays users."""
    name, where = _given(config, role)
    if where.startswith("--") and not name.strip():
        raise pytest.UsageError(f"{where} expected the name of a model, got an empty one")
    return _resolved(config, [name])[0] if name else None


def _resolved(config: pytest.Config, names: Sequence[str]) -> tuple[ModelSpec, ...]:
    if not names:
        return ()
    from ..engine.models.tables import resolve_models

    try:
        return tuple(resolve_models(names, config_tables(config)))
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None


def _transcripts(config: pytest.Config) -> tuple[GivenTranscript, ...] | None:
    """The runs of --tooleval-transcripts. --tooleval-model overrides those of the ini file."""
    given, where = _given(config, "transcripts")
    typed = where.startswith("--")
    if not given or (not typed and config.getoption("tooleval_model") is not None):
        return None
    for name in ("model", "resume", "estimate"):
        if config.getoption(f"tooleval_{name}"):
            raise pytest.UsageError(
                f"--tooleval-{name}: cannot be combined with --tooleval-transcripts, which asks no model"
            )
    if str(config.getoption("tooleval_trials")).startswith("auto"):
        raise pytest.UsageError(
            "--tooleval-trials=auto: cannot be combined with --tooleval-transcripts, which has "
            "no more trials"
        )
    if not all(name.strip() for name in given):
        raise pytest.UsageError(
            "--tooleval-transcripts=: expected the name of a file or folder, got nothing"
        )
    from ..errors import SuiteError
    from ..imports.transcripts.files import read_transcripts
    from ..text import printable

    try:
        return tuple(
            read_transcripts([Path(name) if typed else config.rootpath / name for name in given])
        )
    except SuiteError as error:
        text = printable(str(error), keep_newlines=True)
        raise pytest.UsageError(f"{where.rstrip('=: ')}: cannot be read\n{text}") from None


def config_tables(config: pytest.Config) -> ModelTables:
    """The config tables of the root folder, else beside the ini file, else of the current folder."""
    from ..engine.models.tables import ModelTables
    from ..engine.models.tables import read_tables

    folders = [config.rootpath, config.invocation_params.dir]
    if config.inipath is not None:
        folders.insert(1, config.inipath.parent)
    found = ModelTables()
    for folder in dict.fromkeys(folders):
        tables = read_tables(folder)
        if tables.tables:
            return tables
        found = found if found.path else tables
    return found


def _thresholds(entries: Sequence[str]) -> dict[str, float | None] | None:
    if not entries:
        return None
    from ..record.metrics import LIMITS

    thresholds: dict[str, float | None] = {}
    for entry in entries:
        name, separator, text = entry.rpartition("=")
        name = name.strip() if separator else "overall"
        value = None if text.strip() == "null" else read_number(text)
        most = sys.float_info.max if name in LIMITS else 1.0
        if not name or (value is not None and not 0.0 <= value <= most):
            raise pytest.UsageError(
                f"--tooleval-threshold={entry}: expected [METRIC=]VALUE with a value from 0 to 1, "
                "such as 0.8 or tool_selection=1.0; a limit such as max_calls=3; or null for none, "
                "such as no_extra_calls=null"
            )
        thresholds[name] = value
    return thresholds


def _effort(config: pytest.Config) -> str | None:
    effort: str | None = config.getoption("tooleval_reasoning")
    if effort is None:
        return None
    from ..engine.models.spec import EFFORTS

    if effort not in EFFORTS:
        raise pytest.UsageError(f"--tooleval-reasoning={effort}: expected one of {', '.join(EFFORTS)}")
    return effort


def _allowed_tools(config: pytest.Config) -> tuple[str, ...]:
    """Only the command line itself can allow tools, nothing in the project."""
    option = "--tooleval-allow-tools"
    entries: list[str] = config.getoption("tooleval_allow_tools") or []
    if entries and not hasattr(config, "workerinput"):
        typed = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        typed.add_argument(option, action="append", default=[], dest="entries")
        if typed.parse_known_args(config.invocation_params.args)[0].entries != entries:
            raise pytest.UsageError(
                f"{option}: give it on the command line itself; it came from addopts, "
                "PYTEST_ADDOPTS or an arguments file"
            )
    return tuple(name.strip() for entry in entries for name in entry.split(",") if name.strip())


def _trials(config: pytest.Config) -> tuple[int | None, int | None]:
    """The number of trials, and the maximum of `auto`; at least one is None."""
    given: str | int | None = config.getoption("tooleval_trials")
    text = config.getini("tooleval_trials") if given is None else str(given)
    if not text:
        return None, None
    auto, _, most = text.partition(":")
    number = (most or str(DEFAULT_MOST)) if auto == "auto" and not text.endswith(":") else text
    if not (number.isdecimal() and 1 <= int(number) <= _most_trials()):
        expected = f"1 to {_most_trials()}, auto, or auto:MAX"
        raise pytest.UsageError(f"--tooleval-trials: expected {expected}, got {text}")
    return (None, int(number)) if auto == "auto" else (int(number), None)


def _check_auto(config: pytest.Config, gates: Gates, baseline: Baseline | None) -> bool:
    """Refuse options that need a fixed number of trials.

    False if there is nothing to decide and the ini file, which applies to all runs, asks for auto.
    """
    option = "--tooleval-trials=auto"
    if baseline is None and not (gates.fail_under and gates.confidence):
        if config.getoption("tooleval_trials") is None:
            return False
        raise pytest.UsageError(
            f"{option}: there is nothing to decide; add --tooleval-baseline, or a gate "
            "(--tooleval-fail-under) and --tooleval-confidence"
        )
    if "/" in (config.getoption("tooleval_pass") or ""):
        raise pytest.UsageError(
            f"{option}: --tooleval-pass=K/N already sets the number of trials; leave one out"
        )
    if gates.confidence and any(gate.metric == "pass_rate" for gate in gates.fail_under):
        raise pytest.UsageError(
            f"{option}: how many cases pass depends on how often they are asked; use pass^1, the "
            "share of trials that pass, instead of pass_rate"
        )
    return True


def _most_trials() -> int:
    from ..suite.model import MAX_TRIALS

    return MAX_TRIALS


def _pass_rule(config: pytest.Config, trials: int | None) -> str | None:
    rule: str | None = config.getoption("tooleval_pass")
    if rule is None or rule in ("mean", "all", "any"):
        return rule
    needed, _, total = rule.partition("/")
    if not (needed.isdecimal() and total.isdecimal() and 1 <= int(needed) <= int(total)):
        raise pytest.UsageError(f"--tooleval-pass={rule}: expected mean, all, any, or K/N such as 4/5")
    if int(total) > _most_trials():
        raise pytest.UsageError(f"--tooleval-pass={rule}: expected at most {_most_trials()} trials")
    if trials not in (None, int(total)):
        raise pytest.UsageError(
            f"--tooleval-pass={rule} asks each case {int(total)} times, which contradicts "
            f"--tooleval-trials={trials}; leave that out"
        )
    return f"{int(needed)}/{int(total)}"


def _gates(config: pytest.Config, preset: AppliedPreset) -> Gates:
    return read_gates(
        partial(_given, config),
        config.getoption("tooleval_confidence"),
        by_ini=preset.sets if preset.by_ini else (),
    )


def _given(config: pytest.Config, name: str) -> tuple[Any, str]:
    """The value of an option, else of its ini key, and the prefix for messages about it."""
    given = config.getoption(f"tooleval_{name}")
    if given is not None:
        return given, f"--tooleval-{name.replace('_', '-')}="
    return config.getini(f"tooleval_{name}"), f"tooleval_{name}: "


def _baseline(config: pytest.Config, preset: AppliedPreset) -> Baseline | None:
    def load(name: str, holding: Collection[tuple[str, str]]) -> Side:
        from ..history import load_side

        return load_side(name, config.rootpath / ".tooleval", holding)

    if hasattr(config, "workerinput"):
        return None  # the controller compares
    return read_baseline(
        config.getoption("tooleval_baseline"),
        config.getoption("tooleval_baseline_model") or (),
        config.getoption("tooleval_max_drop"),
        load,
        by_preset="baseline" in preset.sets,
    )


def _reports(config: pytest.Config) -> tuple[Report, ...]:
    given = config.getoption("tooleval_report")
    if not given:
        return ()
    from ..reports.outputs import check_reports
    from ..reports.outputs import report_of

    reports = tuple(report_of(text, config.invocation_params.dir) for text in given)
    check_reports(reports)
    return reports


def _cassette(config: pytest.Config) -> Path | None:
    given = config.getoption("tooleval_cassette")
    if given is not None:
        if not given.strip():
            raise pytest.UsageError("--tooleval-cassette=: expected the name of a folder, got nothing")
        return Path(config.invocation_params.dir, given)
    ini = config.getini("tooleval_cassette")
    return Path(config.rootpath, ini) if ini else None


def _record(config: pytest.Config, cassette: Path | None) -> RecordMode:
    mode = config.getoption("tooleval_record") or config.getini("tooleval_record") or "new"
    if mode not in RECORD_MODES:
        raise pytest.UsageError(f"tooleval_record: expected none, once, new or all, got {mode!r}")
    if mode != "new" and cassette is None:
        # Or a strict replay would silently become a run that costs money.
        purpose = "record on" if mode == "all" else "replay"
        raise pytest.UsageError(
            f"--tooleval-record={mode}: needs a cassette to {purpose}; name its folder with "
            "--tooleval-cassette=FOLDER (ini: tooleval_cassette)"
        )
    return cast("RecordMode", mode)
