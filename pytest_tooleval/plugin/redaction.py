"""Removes keys and escape sequences from agents' output and logs, so that they are safe to show.

Agents run on their own threads, even between tests, when pytest captures nothing; this module
captures their output then. The main thread's output, such as that of tests, stays unchanged, as
does all output with `-s`.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from ..secrets import ScrubFilter, harmless


def capture_agents(config: pytest.Config) -> None:
    """Redirect other threads' output to pytest's capture until the end of the run.

    pytest has no public way to capture between tests, so this reads its capture internals, and does
    nothing if they have changed.
    """
    capture = getattr(config.pluginmanager.getplugin("capturemanager"), "_global_capturing", None)
    for name in ("out", "err"):
        of_capture: Any = getattr(capture, name, None)
        of_python = getattr(of_capture, "syscapture", of_capture)
        if not hasattr(of_python, "_old"):
            continue
        _replace(config, of_python, "_old", of_capture.tmpfile)
        _replace(config, sys, f"std{name}", of_capture.tmpfile)
        if of_python is not of_capture:  # with --capture=sys, pytest needs its own object there
            _replace(config, of_python, "tmpfile", of_capture.tmpfile)


def _replace(config: pytest.Config, holder: Any, name: str, captured: Any) -> None:
    stream = getattr(holder, name)
    setattr(holder, name, _ByThread(stream, captured))
    config.add_cleanup(partial(setattr, holder, name, stream))


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


class _ByThread:
    """A stream for the main thread. Output from other threads is captured."""

    def __init__(self, own: Any, captured: Any) -> None:
        self._own = own
        self._captured = captured

    def write(self, text: str) -> object:
        return self._own.write(text) if _is_main() else self._captured.write(harmless(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def fileno(self) -> int:
        """For processes that agents start, such as MCP servers."""
        if not _is_main():
            with contextlib.suppress(OSError):  # --capture=sys has no file
                return int(self._captured.fileno())
        return int(self._own.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def keep_keys_out_of_logs(logs: object) -> None:
    """Add the filter to every handler of `logs`, pytest's logging plugin."""
    for name in ("caplog_handler", "report_handler", "log_cli_handler", "log_file_handler"):
        handler = getattr(logs, name, None)
        if isinstance(handler, logging.Handler):
            handler.addFilter(ScrubFilter())


def clean_sections(report: pytest.TestReport) -> None:
    """Clean a case's captured output, none of which comes from a test."""
    report.sections = [(title, harmless(text)) for title, text in report.sections]


def clean_warning(warning: warnings.WarningMessage) -> None:
    """Clean a warning's text before pytest shows it. Its category is stored apart and stays."""
    text = str(warning.message)
    clean = harmless(text)
    if clean != text:
        warning.message = UserWarning(clean)
