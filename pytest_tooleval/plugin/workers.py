"""What a worker of pytest-xdist needs to know: its queue, and its part of the limits of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence

import pytest

from ..engine.models import ModelSpec
from .options import Settings


def lookahead(concurrency: int) -> int:
    """How many cases a process asks ahead: enough to keep all its requests busy, and no more.

    What a worker has not asked yet can still be given to another one without paying twice.
    """
    return max(16, 2 * concurrency)


def queued(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """What this worker has been told to run after the current item, in order.

    xdist has no public way to ask, hence the look into its queue; where that has changed, nothing.
    """
    for plugin in config.pluginmanager.get_plugins():
        torun = getattr(plugin, "torun", None)
        if torun is not None and hasattr(torun, "lock"):
            with torun.lock() as queue:
                indices = [index for index in queue if isinstance(index, int)]
            yield from (items[index] for index in indices)


def worker_count(config: pytest.Config) -> int:
    """How many workers this run has."""
    return max(1, int(config.workerinput["workercount"]))  # type: ignore[attr-defined]


def worker_settings(config: pytest.Config, settings: Settings) -> Settings:
    """This worker's part of the limits of the whole run."""
    count = worker_count(config)
    digits = "".join(c for c in config.workerinput["workerid"] if c.isdigit())  # type: ignore[attr-defined]
    # A worker that stands in for a crashed one has a number beyond the count.
    number = int(digits or 0) % count

    def model(spec: ModelSpec) -> ModelSpec:
        def part(limit: int | None) -> int | None:
            return None if limit is None else share(limit, count, number)

        return dataclasses.replace(
            spec,
            max_concurrency=part(spec.max_concurrency),
            requests_per_minute=part(spec.requests_per_minute),
            tokens_per_minute=part(spec.tokens_per_minute),
        )

    return dataclasses.replace(
        settings,
        models=tuple(map(model, settings.models)),
        concurrency=share(settings.concurrency, count, number),
    )


def share(total: int, count: int, number: int) -> int:
    """Part `number` (from 0) of `total` cut into `count` parts that differ by at most 1; at least 1."""
    return max(1, total // count + (number < total % count))
