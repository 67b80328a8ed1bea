"""Gives the loader the tools of a suite's `tools_from`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engine.tools.live import ALL_READ_ONLY, LiveServer
from ..errors import ConfigError, McpError
from ..suite.model import Suite
from ..suite.servers import ToolsFrom

if TYPE_CHECKING:
    from ..engine.cassettes.cassette import Cassette
    from .live import LiveMcp


class SuiteTools:
    """Pass `fetch` to the loader. After that, `live` is the suite's server, None if it has none.

    `allowed` are the tools that the command line allows. `warnings` say that the tools are not the
    pinned ones, and that the suite cannot have some of them.
    """

    def __init__(self, cassette: Cassette | None, allowed: Sequence[str]) -> None:
        self._cassette = cassette
        self._allowed = allowed
        self.live: LiveServer | None = None
        self.warnings: list[str] = []

    def fetch(self, source: ToolsFrom) -> Sequence[Mapping[str, Any]]:
        """The tools as OpenAI functions. Raises McpError if the server or its tools cannot be used."""
        # Lazy import of the SDK.
        from .live import read_tools

        try:
            only = source.pin if source.on_drift == "error" else None
            server = read_tools(source.mcp, self._cassette, only)
        except ConfigError as error:
            raise McpError(str(error)) from None
        if source.pin not in (None, server.fingerprint):
            drift = _drift(server, source, self._cassette)
            if source.on_drift == "error":
                raise McpError(drift)
            self.warnings.append(drift)
        if server.left_out:
            left_out = "; ".join(server.left_out)
            self.warnings.append(f"tools of {server.server.label} left out: {left_out}")
        self.live = LiveServer(server, self._cassette)
        return server.tools

    def shared_state(self, suite: Suite) -> str:
        """A warning that the suite's chains see each other's changes on the server, or empty."""
        source = suite.tools_from
        if self.live is None or source is None or source.mcp.stdio is not None:
            return ""
        names = set(suite.live_tools or ())
        for case in suite.test_cases:
            names.update(case.live_tools or ())
        server = self.live.server
        changing = [
            name
            for name in sorted(names - {ALL_READ_ONLY})
            if server.has(name, self._allowed) and not server.has(name, (ALL_READ_ONLY,))
        ]
        if not changing:
            return ""
        return (
            f"live_tools: {', '.join(changing)} may change what the server keeps, and over HTTP all "
            "trials, cases and models share one server: they may see each other's changes; with stdio "
            "each trial starts a server of its own"
        )


def _drift(server: LiveMcp, source: ToolsFrom, cassette: Cassette | None) -> str:
    if cassette is not None and not cassette.may_ask:
        return (
            f"the tools of {server.server.label} recorded on the cassette {cassette.path} are not the "
            f"pinned ones: pinned is {source.pin}, recorded {server.fingerprint}; "
            "--tooleval-record=new asks the server"
        )
    return (
        f"the tools of {server.server.label} have changed: pinned is {source.pin}, found "
        f'{server.fingerprint}; look through the cases, then write "pin": "{server.fingerprint}" into '
        "tools_from"
    )
