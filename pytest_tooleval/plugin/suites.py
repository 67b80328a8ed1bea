"""A suite file on its way into pytest, with the tools of its MCP server if it has one."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from ..engine.live import Live
from ..errors import ConfigError
from ..errors import McpError
from ..suite.load import load_suite
from ..suite.model import Suite
from ..suite.model import ToolsFrom

if TYPE_CHECKING:
    from ..engine.cassette import Cassette
    from ..mcp.live import LiveMcp


def load(path: Path, metrics: Collection[str], cassette: Cassette | None) -> tuple[Suite, Live | None]:
    """The suite, and the server that its chains may run tools on.

    Raises SuiteError when the file cannot be used, McpError when its server cannot.
    """
    read: list[LiveMcp] = []

    def fetch(source: ToolsFrom) -> Sequence[Mapping[str, Any]]:
        # The SDK is loaded only for a suite that needs it.
        from ..mcp.live import read_tools

        try:
            server = read_tools(source.mcp, cassette)
            _check_pin(server, source)
        except ConfigError as error:
            raise McpError(str(error)) from None
        read.append(server)
        return server.tools

    suite = load_suite(path, metrics=metrics, fetch_tools=fetch)
    return suite, Live(read[0], cassette) if read else None


def _check_pin(server: LiveMcp, source: ToolsFrom) -> None:
    """Say that the tools are not those that the cases were written for."""
    if source.pin in (None, server.fingerprint):
        return
    message = (
        f"the tools of {server.server.label} have changed: pinned is {source.pin}, found "
        f'{server.fingerprint}; look through the cases, then write "pin": "{server.fingerprint}" into '
        "tools_from"
    )
    if source.on_drift == "error":
        raise ConfigError(message)
    warnings.warn(pytest.PytestWarning(message), stacklevel=1)
