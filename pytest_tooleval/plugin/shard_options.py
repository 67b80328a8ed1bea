"""`--tooleval-shard`: which part of a run this is, and what is left to `tooleval merge`."""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

import pytest

from ..verdicts.options import JUDGING

_OPTION = "--tooleval-shard"


class Part(NamedTuple):
    """Part `number` (from 1) of `of` parts of a run."""

    number: int
    of: int


def read_part(config: pytest.Config) -> Part | None:
    """The part that --tooleval-shard=K/N names; None without it."""
    given: str | None = config.getoption("tooleval_shard")
    if given is None:
        return None
    number, slash, of = (part.strip() for part in given.partition("/"))
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise pytest.UsageError(f"{_OPTION}={given}: expected K/N, the K-th of N shards, such as 2/4")
    for option in JUDGING:
        if config.getoption(f"tooleval_{option.key}") not in (None, False):
            raise pytest.UsageError(
                f"--tooleval-{option.name}: a shard is not judged by itself; pass --{option.name} "
                "to `tooleval merge` instead, which judges all shards together"
            )
    if str(config.getoption("tooleval_trials")).startswith("auto"):
        raise pytest.UsageError(
            f"--tooleval-trials=auto: with {_OPTION} no process sees all answers; give a number"
        )
    shows = config.option.collectonly or config.getoption("tooleval_estimate")
    if not shows and not any(map(_is_json, config.getoption("tooleval_report") or ())):
        raise pytest.UsageError(
            f"{_OPTION}={given}: a shard is not judged by itself; add --tooleval-report=FILE.json, "
            "which `tooleval merge` reads"
        )
    return Part(int(number), int(of))


def _is_json(report: str) -> bool:
    return report.startswith("json:") or report.lower().endswith(".json")


def take_judging(config: pytest.Config) -> dict[str, Any]:
    """The gates and the history of the ini file, by option, which are left to `tooleval merge`."""
    found: dict[str, Any] = {} if config.getini("tooleval_history") else {"no-history": True}
    for option in JUDGING:
        if option.ini and config.getini(f"tooleval_{option.key}"):
            found[option.name] = config.getini(f"tooleval_{option.key}")
        setattr(config.option, f"tooleval_{option.key}", None)  # a preset may have set it
    return found
