"""What a worker of pytest-xdist needs to know: its queue, and its part of the limits of the run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from ..engine.models.spec import ModelSpec
from .settings import LEDGER
from .settings import Settings


def lookahead(concurrency: int) -> int:
    """How many cases a process asks ahead: enough to keep all its requests busy, and no more.

    What a worker has not asked yet can still be given to another one without paying twice.
    """
    return max(16, 2 * concurrency)


def queued(config: pytest.Config, items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """The first `most` items that this worker has been told to run after the current one, in order.

    xdist has no public way to ask, hence the look into its queue; where that has changed, nothing.
    """
    for plugin in config.pluginmanager.get_plugins():
        torun = getattr(plugin, "torun", None)
        if torun is not None and hasattr(torun, "lock"):
            with torun.lock() as queue:
                indexes = list(itertools.islice(queue, most))
            return [items[index] for index in indexes if isinstance(index, int)]
    return []


def ledger_of(config: pytest.Config) -> Path | None:
    """The file in which the processes of a run note what they spend; None without xdist."""
    if hasattr(config, "workerinput"):
        return Path(config.workerinput["tooleval_ledger"])
    return config.stash.get(LEDGER, None)


def worker_count(config: pytest.Config) -> int:
    """How many workers this run has."""
    return max(1, int(config.workerinput["workercount"]))  # type: ignore[attr-defined]


def active_workers(settings: Settings, count: int) -> int:
    """How many of so many workers can get cases without breaking a limit: each asks one at least."""
    limits = [settings.concurrency]
    for spec in (*settings.models, *filter(None, (settings.judge, settings.user))):
        limits += [spec.max_concurrency or count, spec.requests_per_minute or count]
    return max(1, min(count, *limits))


def worker_settings(config: pytest.Config, settings: Settings) -> Settings:
    """This worker's part of the limits of the whole run."""
    return settings.part(*_part(config, settings))


def worker_model(config: pytest.Config, settings: Settings, spec: ModelSpec) -> ModelSpec:
    """The model with this worker's part of its limits; as it is in a run without xdist."""
    if not hasattr(config, "workerinput"):
        return spec
    return spec.part(*_part(config, settings))


def _part(config: pytest.Config, settings: Settings) -> tuple[int, int]:
    """Into how many parts the limits are cut, and which of them this worker has."""
    count = active_workers(settings, worker_count(config))
    # A worker that stands in for a crashed one has a number beyond the count.
    return count, worker_number(config.workerinput["workerid"]) % count  # type: ignore[attr-defined]


def worker_number(id: str) -> int:
    """3 for `gw3`."""
    return int("".join(c for c in id if c.isdigit()) or 0)
