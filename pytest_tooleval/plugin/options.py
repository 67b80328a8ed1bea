"""The command line, the ini keys, and what they say in the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

if TYPE_CHECKING:
    from ..engine.cassette import RecordMode
    from ..engine.models import ModelSpec
    from ..engine.models import ModelTables

RECORD_MODES = ("none", "once", "new", "all")
NO_MODEL = (
    "no model named: use --tooleval-model=NAME, or set tooleval_models in the ini file "
    "(baseline/lexical needs no key and no network)"
)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("tooleval", "evaluation of LLM tool calling (pytest-tooleval)")
    group.addoption(
        "--tooleval-model",
        action="append",
        metavar="NAME[,NAME...]",
        help="model to evaluate: a name from [tool.tooleval.models], a litellm name such as "
        "openai/gpt-4o, or baseline/lexical; may be repeated",
    )
    group.addoption(
        "--tooleval-threshold",
        action="append",
        default=[],
        metavar="[METRIC=]VALUE",
        help="least score (0 to 1) that passes, of METRIC (default: overall), for every case",
    )
    group.addoption(
        "--tooleval-temperature",
        type=float,
        metavar="T",
        help="sampling temperature for every case (default: the suite's, else 0)",
    )
    group.addoption(
        "--tooleval-tool-choice",
        choices=("required", "auto", "none"),
        help="tool_choice for every case (default: the suite's, else required)",
    )
    group.addoption(
        "--tooleval-trials",
        type=int,
        metavar="N",
        help="how often each case is asked; the verdict is by the mean (default: the suite's, else 1)",
    )
    group.addoption(
        "--tooleval-concurrency",
        type=int,
        default=32,
        metavar="N",
        help="requests under way at a time, over all models (default: 32)",
    )
    group.addoption(
        "--tooleval-timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="time allowed for one answer (default: 120)",
    )
    group.addoption(
        "--tooleval-json", metavar="FILE", help="write the results of all cases to FILE as JSON"
    )
    group.addoption(
        "--tooleval-cassette",
        metavar="FOLDER",
        help="keep answers in FOLDER and replay them from there",
    )
    group.addoption(
        "--tooleval-record",
        choices=RECORD_MODES,
        help="with a cassette: none replays only, once records only if there is no file yet, "
        "new (default) records what is missing, all asks everything again",
    )
    group.addoption(
        "--tooleval-resume",
        action="store_true",
        help="take over the answers of the last run, which was killed or had errors, and ask only for "
        "what is missing",
    )
    group.addoption(
        "--tooleval-max-cost",
        type=float,
        metavar="USD",
        help="stop asking once the answers have cost this much; the cases left are errors",
    )
    group.addoption(
        "--tooleval-estimate",
        action="store_true",
        help="print calls, prompt tokens and a price range per model, and ask nothing",
    )
    parser.addini(
        "tooleval_models", "models to evaluate when --tooleval-model is not given", type="args"
    )
    parser.addini("tooleval_cassette", "default of --tooleval-cassette")
    parser.addini("tooleval_record", "default of --tooleval-record")


@dataclass(frozen=True)
class Settings:
    """What options, ini file and config tables say, checked.

    `overrides` are the arguments of `suite.model.Overrides`, which is not imported before a suite
    is met.
    """

    models: tuple[ModelSpec, ...]
    overrides: Mapping[str, Any]
    concurrency: int
    timeout_s: float
    json: Path | None
    cassette: Path | None
    record: RecordMode
    resume: bool
    max_cost: float | None
    estimate: bool


def read_settings(config: pytest.Config) -> Settings:
    """Check and combine everything; `pytest.UsageError` with the way out when something is wrong."""
    concurrency, timeout_s = (
        config.getoption("tooleval_concurrency"),
        config.getoption("tooleval_timeout"),
    )
    trials, temperature = config.getoption("tooleval_trials"), config.getoption("tooleval_temperature")
    if concurrency < 1:
        raise pytest.UsageError(f"--tooleval-concurrency: expected at least 1, got {concurrency}")
    if not timeout_s > 0:
        raise pytest.UsageError(f"--tooleval-timeout: expected seconds above 0, got {timeout_s:g}")
    if trials is not None and trials < 1:
        raise pytest.UsageError(f"--tooleval-trials: expected at least 1, got {trials}")
    if temperature is not None and not 0 <= temperature <= 2:
        raise pytest.UsageError(f"--tooleval-temperature: expected 0 to 2, got {temperature:g}")
    overrides = {
        "tool_choice": config.getoption("tooleval_tool_choice"),
        "temperature": temperature,
        "trials": trials,
        "thresholds": _thresholds(config.getoption("tooleval_threshold")),
    }
    max_cost = config.getoption("tooleval_max_cost")
    if max_cost is not None and not max_cost > 0:
        raise pytest.UsageError(f"--tooleval-max-cost: expected US dollars above 0, got {max_cost:g}")
    cassette = _cassette(config)
    if config.getoption("tooleval_resume") and cassette is not None:
        raise pytest.UsageError(
            "--tooleval-resume: this run has a cassette, which keeps its answers already; "
            "--tooleval-record=new asks only for what is missing on it"
        )
    return Settings(
        models=_models(config),
        overrides=overrides,
        concurrency=concurrency,
        timeout_s=timeout_s,
        json=_json(config),
        cassette=cassette,
        record=_record(config, cassette),
        resume=config.getoption("tooleval_resume"),
        max_cost=max_cost,
        estimate=config.getoption("tooleval_estimate"),
    )


def _models(config: pytest.Config) -> tuple[ModelSpec, ...]:
    given: list[str] | None = config.getoption("tooleval_model")
    entries: list[str] = given if given is not None else config.getini("tooleval_models")
    names = [name.strip() for entry in entries for name in entry.split(",")]
    if given is not None and not all(names):
        # A gate must not pass by accident, because a variable in a CI file was empty.
        raise pytest.UsageError(
            f"--tooleval-model={','.join(given)}: expected the name of a model, got an empty one"
        )
    names = [name for name in names if name]
    if not names:
        return ()
    from ..engine.models import resolve_models
    from ..errors import ConfigError

    try:
        return tuple(resolve_models(names, config_tables(config)))
    except ConfigError as error:
        raise pytest.UsageError(str(error)) from None


def config_tables(config: pytest.Config) -> ModelTables:
    """The config tables of the root folder, else beside the ini file, else of the current folder."""
    from ..engine.models import ModelTables
    from ..engine.models import read_tables

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


def _thresholds(entries: list[str]) -> dict[str, float] | None:
    thresholds: dict[str, float] = {}
    for entry in entries:
        metric, separator, text = entry.rpartition("=")
        metric = metric.strip() if separator else "overall"
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not metric or not 0.0 <= value <= 1.0:
            raise pytest.UsageError(
                f"--tooleval-threshold={entry}: expected [METRIC=]VALUE with a value from 0 to 1, "
                "such as 0.8 or tool_selection=1.0"
            )
        thresholds[metric] = value
    return thresholds or None


def _json(config: pytest.Config) -> Path | None:
    given = config.getoption("tooleval_json")
    if given is None:
        return None
    if not given.strip():
        raise pytest.UsageError("--tooleval-json=: expected the name of a file, got nothing")
    try:
        return _writable(config, given)
    except OSError as error:  # a name that is too long, for instance
        raise pytest.UsageError(f"--tooleval-json={given[:80]}: {error.strerror}") from None


def _writable(config: pytest.Config, given: str) -> Path:
    path = Path(config.invocation_params.dir, given)
    # Said now, and not after every model has been asked.
    if path.is_dir():
        raise pytest.UsageError(f"--tooleval-json={given}: expected the name of a file, got a folder")
    above = next(folder for folder in path.parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise pytest.UsageError(f"--tooleval-json={given}: nothing can be written into {above}")
    return path


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
    if mode in ("none", "once") and cassette is None:
        # Or a strict replay would silently become a run that asks and pays.
        raise pytest.UsageError(
            f"--tooleval-record={mode}: there is no cassette to replay; name its folder with "
            "--tooleval-cassette=FOLDER (ini: tooleval_cassette)"
        )
    return cast("RecordMode", mode)
