"""Keys are kept out of the logs that pytest captures, shows and writes."""

from __future__ import annotations

import logging

import pytest

from ..engine.secrets import scrub
from ..engine.secrets import secret_values


class ScrubFilter(logging.Filter):
    """Takes keys out of every record. Libraries log whole requests and answers at DEBUG level."""

    def filter(self, record: logging.LogRecord) -> bool:
        values = secret_values()
        try:
            message = record.getMessage()
        except Exception:  # a record that cannot be formatted is logging's to report
            return True
        clean = scrub(message, values)
        if clean != message:
            record.msg, record.args = clean, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = scrub(record.exc_text, values)
        return True


def keep_keys_out_of_logs(config: pytest.Config) -> None:
    """Put the filter before every handler of pytest's logging plugin."""
    plugin = config.pluginmanager.getplugin("logging-plugin")
    for name in ("caplog_handler", "report_handler", "log_cli_handler", "log_file_handler"):
        handler = getattr(plugin, name, None)
        if isinstance(handler, logging.Handler):
            handler.addFilter(ScrubFilter())
