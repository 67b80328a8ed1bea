"""Keeps keys out of the logs that pytest captures, shows and writes."""

from __future__ import annotations

import logging

import pytest

from ..secrets import ScrubFilter


def keep_keys_out_of_logs(config: pytest.Config) -> None:
    """Add the filter to every handler of pytest's logging plugin."""
    plugin = config.pluginmanager.getplugin("logging-plugin")
    for name in ("caplog_handler", "report_handler", "log_cli_handler", "log_file_handler"):
        handler = getattr(plugin, name, None)
        if isinstance(handler, logging.Handler):
            handler.addFilter(ScrubFilter())
