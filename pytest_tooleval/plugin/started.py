"""When a run started, and whether it runs anything."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

_STARTED: pytest.StashKey[datetime] = pytest.StashKey()


def run_started(config: pytest.Config) -> datetime:
    """The time of the first call in the run's first process, which passes it on to its workers."""
    if hasattr(config, "workerinput"):
        return datetime.fromisoformat(config.workerinput["tooleval_started"])
    return config.stash.setdefault(_STARTED, datetime.now(timezone.utc))


def evaluates(config: pytest.Config) -> bool:
    """False with --collect-only and --setup-only, which evaluate and save nothing."""
    return not config.option.collectonly and not config.getoption("setuponly", False)


def will_run(session: pytest.Session) -> bool:
    """True if pytest will run the session's tests: with collection errors, it usually does not."""
    failed = session.testsfailed and not session.config.option.continue_on_collection_errors
    return evaluates(session.config) and not failed
