from __future__ import annotations

import logging

import pytest

from pytest_tooleval.plugin.redaction import keep_keys_out_of_logs
from pytest_tooleval.secrets import keep_secret

KEY = "planted 0123456789"


def test_the_handlers_of_pytest_show_no_key_of_a_model_and_obey_nothing(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOOLEVAL_SOME_LOGIN", KEY)
    keep_secret("TOOLEVAL_SOME_LOGIN")
    before = list(caplog.handler.filters)
    plugin = pytestconfig.pluginmanager.getplugin("logging-plugin")
    handlers = [plugin.caplog_handler, plugin.report_handler, plugin.log_cli_handler]
    handlers.append(plugin.log_file_handler)
    filters = [list(handler.filters) for handler in handlers]
    try:
        keep_keys_out_of_logs(plugin)
        logging.getLogger("httpx").warning("sent %s\x1b[2J\n::error::owned", KEY)
        # Of the user's own, who may like colours, only the key goes.
        logging.getLogger("my_agent").warning("\x1b[32msent\x1b[0m %s", KEY)
    finally:
        for handler, former in zip(handlers, filters, strict=True):
            handler.filters[:] = former
    assert caplog.handler.filters == before
    assert caplog.messages == [
        "sent [secret]\\x1b[2J\n\\x3a:error::owned",
        "\x1b[32msent\x1b[0m [secret]",
    ]
