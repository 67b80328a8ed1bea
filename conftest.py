"""Shared by all tests: nothing of the developer's environment reaches them."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings

ROOT = Path(__file__).parent

# A shell that starts a job in the background lets it ignore Ctrl-C, and all that it starts; the tests
# of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same with `nohup`. Programs that are started take back a handler, but not that a signal is ignored.
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# The same few examples in every run, so that a change is judged by what it changes. New ones are looked
# for with `pytest -m hypothesis --hypothesis-profile=search`. A machine may be slow, so no times count.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True, max_examples=60)
settings.register_profile("search", _PATIENT, derandomize=False, max_examples=500)
settings.load_profile("repeatable")

# What takes long for its worth while you work on something else. A plain `pytest` leaves it out.
# These start browsers, servers, workers of xdist or whole virtual environments, import litellm, or fuzz.
SLOW = (
    "tests/doors/page",
    "tests/examples",
    "tests/contracts",
    "tests/doors/pytest/test_events.py",
    "tests/doors/pytest/test_live_tools.py",
    "tests/doors/pytest/test_main_job.py",
    "tests/doors/pytest/test_merge.py",
    "tests/doors/pytest/test_over_a_socket.py",
    "tests/doors/pytest/test_resume.py",
    "tests/doors/pytest/test_secrets.py",
    "tests/doors/pytest/test_signals.py",
    "tests/doors/pytest/test_spending.py",
    "tests/doors/pytest/test_ssh.py",
    "tests/doors/pytest/test_surroundings.py",
    "tests/doors/pytest/test_xdist.py",
    "tests/doors/cli/test_import_mcp.py",
    "tests/unit/engine/clients/test_both_clients.py",
    "tests/unit/engine/clients/test_litellm_client.py",
    "tests/unit/history/test_processes.py",
    "tests/unit/mcp",
    "tests/unit/suite/test_fuzz.py",
    "tests/doors/api",
)

# Why CI may skip a test. Any other reason fails its run, as what is never run rots.
MAY_SKIP = (
    "could not import 'xdist'",
    "no such path on this system",
    "older ones run Python files twice, too",
    "root may write every",
    "set TOOLEVAL_BFCL_DATA",
    "the page of the seed is not on this machine",
    "this user may read everything",
)

# Suites under examples/ and docs/ are run by tests in their own process, with their own config.
collect_ignore_glob = ["examples/*", "docs/*"]


def pytest_configure(config: pytest.Config) -> None:
    """Leave slow tests out where nobody asks for any."""
    is_plain = config.args_source is not pytest.Config.ArgsSource.ARGS
    if is_plain and "CI" not in os.environ and not config.option.markexpr and not config.option.keyword:
        config.option.markexpr = "not slow"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take API keys out of the environment, so that no test can ever spend money."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE")):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _same_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back the folders of agents and worlds, which a process looks for modules in to its end."""
    monkeypatch.setattr(sys, "path", sys.path[:])


def _params_of(item: pytest.Item) -> list[object]:
    return list(item.callspec.params.values()) if hasattr(item, "callspec") else []


def _starts_workers(param: object) -> bool:
    """Whether it is, or has, the option -n of xdist."""
    words = param if isinstance(param, (tuple, list)) else [param]
    return any(isinstance(word, str) and re.search(r"(^| )-n ?\d*$", word) for word in words)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        starts_workers = "under_xdist" in item.name or any(map(_starts_workers, _params_of(item)))
        if starts_workers or item.path.relative_to(ROOT).as_posix().startswith(SLOW):
            item.add_marker("slow")


def pytest_sessionfinish(session: pytest.Session) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or "CI" not in os.environ or sys.platform != "linux":
        return
    for report in terminal.stats.get("skipped", ()):
        path, line, reason = report.longrepr
        if not any(each in reason for each in MAY_SKIP):
            terminal.write_line(f"{path}:{line}: CI must not skip this: {reason}", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
