"""Shared by all tests: nothing of the developer's environment reaches them."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from nightly import ALL

# A shell that starts a job in the background lets it ignore Ctrl-C, and all that it starts; the tests
# of Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same with `nohup`. Programs that are started take back a handler, but not that a signal is ignored.
if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

# The tests start hundreds of processes, and each would compile the project anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The same few examples in every run, and more at night, so that a change is judged by what it changes.
# `pytest -m hypothesis --hypothesis-profile=search` looks for new ones. A machine may be slow, so no
# times count.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", _PATIENT, derandomize=True, max_examples=60 if ALL else 25)
settings.register_profile("search", _PATIENT, derandomize=False, max_examples=500)
settings.load_profile("repeatable")

# Why CI may skip a test. Any other reason fails its run, as what is never run rots.
MAY_SKIP = (
    "could not import 'xdist'",
    "no such path on this system",
    "older ones run Python files twice, too",
    "root may write every",
    "set TOOLEVAL_BFCL_DATA",
    "this user may read everything",
)

# Suites under examples/ and docs/ are run by tests in their own process, with their own config.
collect_ignore_glob = ["examples/*", "docs/*"]
# What the extra `dev` leaves out, and the tests of it. In CI each of these must be there.
_OF_DEV_FULL = {
    "litellm": [
        "unit/engine/clients/test_litellm_client.py",
        "unit/engine/clients/test_both_clients.py",
    ],
    "anthropic": ["unit/engine/clients/test_tools_of_today.py", "unit/engine/protocols/test_reading.py"],
    "trustme": ["contracts", "unit/engine/clients/test_own_protocols.py"],
}
for _library, _files in _OF_DEV_FULL.items():
    if "CI" not in os.environ and importlib.util.find_spec(_library) is None:
        collect_ignore_glob += [f"tests/{file}" for file in _files]


def pytest_configure(config: pytest.Config) -> None:
    """Leave slow tests out where nobody asks for any, and in CI those that run at night."""
    option, in_ci = config.option, "CI" in os.environ
    if ALL or option.markexpr:
        return
    if in_ci:
        option.markexpr = "not nightly"
    elif not option.keyword and config.args_source is not pytest.Config.ArgsSource.ARGS:
        option.markexpr = "not slow and not nightly"


@pytest.fixture(scope="session", autouse=True)
def _no_other_plugins() -> Iterator[None]:
    """A pytest that a test starts loads our plugin alone: others take longer to start than most runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("PYTEST_ADDOPTS", "-p tooleval")
        yield


@pytest.fixture(scope="session")
def _preloaded() -> None:
    """Before the first `pytester`: at its end, it forgets all modules that were imported since."""
    import preloaded  # noqa: F401


@pytest.fixture
def pytester(
    _preloaded: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """With the option back that `pytester` takes away."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p tooleval")
    return pytester


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


def _starts_workers(param: object) -> bool:
    """Whether it is, or has, the option -n of xdist."""
    words = param if isinstance(param, (tuple, list)) else [param]
    return any(isinstance(word, str) and re.search(r"(^|\s)-n ?\d*$", word) for word in words)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A row that repeats a test with workers runs at night, unless the row itself is marked as slow."""
    for item in items:
        row = item.callspec if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
        if "under_xdist" in item.name:
            item.add_marker("slow")
        elif row is not None and any(map(_starts_workers, row.params.values())):
            item.add_marker("slow" if any(mark.name == "slow" for mark in row.marks) else "nightly")


def pytest_sessionfinish(session: pytest.Session) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or "CI" not in os.environ or sys.platform != "linux":
        return
    for report in terminal.stats.get("skipped", ()):
        path, line, reason = report.longrepr
        if not any(each in reason for each in MAY_SKIP):
            terminal.write_line(f"{path}:{line}: CI must not skip this: {reason}", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
