"""What a pytest-xdist worker needs to know: its queue, and its share of the run's limits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from ..settings.parts import Asking


def lookahead(concurrency: int) -> int:
    """How many cases a process sends ahead: enough to use all its concurrency, and no more.

    A case that a worker has not sent yet can still move to another worker without paying twice.
    """
    return max(16, 2 * concurrency)


def queued(config: pytest.Config, items: Sequence[pytest.Item], most: int) -> list[pytest.Item]:
    """The first `most` items that this worker will run after the current one, in order.

    xdist has no public API for this, so this reads its internal queue; empty if that has changed.
    """
    for plugin in config.pluginmanager.get_plugins():
        torun = getattr(plugin, "torun", None)
        if torun is not None and hasattr(torun, "lock"):
            with torun.lock() as queue:
                indexes = list(itertools.islice(queue, most))
            return [items[index] for index in indexes if isinstance(index, int)]
    return []


def worker_count(config: pytest.Config) -> int:
    """The number of workers in this run."""
    return max(1, int(config.workerinput["workercount"]))  # type: ignore[attr-defined]


def active_workers(asking: Asking, count: int) -> int:
    """How many of `count` workers can get cases within the limits: each sends at least one request."""
    limits = [asking.concurrency]
    for spec in (*asking.models, *filter(None, (asking.judge, asking.user))):
        limits += [spec.max_concurrency or count, spec.requests_per_minute or count]
    return max(1, min(count, *limits))


def worker_share(config: pytest.Config, asking: Asking) -> tuple[int, int]:
    """The number of shares into which the run's limits are split, and this worker's share, from 0."""
    count = active_workers(asking, worker_count(config))
    # A worker that replaces a crashed one has a number beyond the count.
    return count, worker_number(config.workerinput["workerid"]) % count  # type: ignore[attr-defined]


def worker_number(id: str) -> int:
    """3 for `gw3`."""
    return int("".join(c for c in id if c.isdigit()) or 0)
