"""When a run started: the same in all its processes."""

from __future__ import annotations

from datetime import datetime
from datetime import timezone

import pytest

_STARTED: pytest.StashKey[datetime] = pytest.StashKey()


def run_started(config: pytest.Config) -> datetime:
    """When it was first asked for in the run's first process, which tells its workers."""
    if hasattr(config, "workerinput"):
        return datetime.fromisoformat(config.workerinput["tooleval_started"])
    return config.stash.setdefault(_STARTED, datetime.now(timezone.utc))
