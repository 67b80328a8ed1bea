"""Who follows a run with cases, each also a plugin of pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .session import EvalSession
from .signals import OrderlyEnd
from .state import Observer
from .state import RunState
from .state import evaluates
from .terminal import Terminal


def register(config: pytest.Config, session: EvalSession) -> None:
    """Make the plugins of this process, and let the session tell the observers among them."""
    state, manager = session.state, config.pluginmanager
    manager.register(session, "tooleval-session")
    manager.register(OrderlyEnd(config), "tooleval-signals")
    if state.settings.estimate:
        from .estimate_table import EstimateOnly

        manager.register(EstimateOnly(state), "tooleval-estimate")
    session.observers = list(_observers(config, state))
    for observer in session.observers:
        manager.register(observer, f"tooleval-{type(observer).__name__.lower()}")


def _observers(config: pytest.Config, state: RunState) -> Iterator[Observer]:
    """Reports first: one that cannot be written changes the exit code, which the history keeps."""
    settings, keeper = state.settings, None
    yield Terminal(state)
    if hasattr(config, "workerinput"):
        return  # the controller of xdist hears of all cases
    if settings.history and evaluates(config):
        from .history import Keeper

        keeper = Keeper(state)
    if state.is_reported and evaluates(config):
        from .report_files import ReportFiles

        yield ReportFiles(state, keeper)
    if settings.events is not None:
        from .events import EventStream

        yield EventStream(state)
    if keeper is not None:
        yield keeper
