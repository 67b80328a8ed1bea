"""When a run started. All its processes share one value."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

_STARTED: pytest.StashKey[datetime] = pytest.StashKey()


def run_started(config: pytest.Config) -> datetime:
    """The time of the first call in the run's first process, which passes it on to its workers."""
    if hasattr(config, "workerinput"):
        return datetime.fromisoformat(config.workerinput["tooleval_started"])
    return config.stash.setdefault(_STARTED, datetime.now(timezone.utc))
