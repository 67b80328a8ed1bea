"""A suite on its way into a run: with the project's scorers, and the tools of its MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from ..engine.cassette import Cassette
from ..engine.live import Live
from ..errors import ConfigError
from ..errors import McpError
from ..errors import SuiteError
from ..scoring.registry import Scorer
from ..suite.load import parse_document
from ..suite.model import Suite
from ..suite.model import ToolsFrom
from .responses import ApiError
from .responses import field_error
from .scorers import load_scorers

if TYPE_CHECKING:
    from ..mcp.live import LiveMcp


@dataclass(frozen=True)
class Loaded:
    """A suite, what scores it, the server of its live tools, and what the user should know."""

    suite: Suite
    scorers: tuple[Scorer, ...]
    live: Live | None
    note: str | None


def load(root: Path, file: str, content: bytes, cassette: Cassette | None) -> Loaded:
    """ApiError 422 when the suite, its scorers or its server cannot be used."""
    source = _Source(cassette)
    try:
        registry = load_scorers(root, file)
        metrics = registry.metrics
        suite, _ = parse_document(content, file, metrics=metrics, fetch_tools=source.fetch)
    except SuiteError as error:
        first = error.problems[0]
        place = f"{first.field}: " if first.field else ""
        raise ApiError(422, f"{place}{first.message}", error.problems) from None
    except McpError as error:
        raise field_error(422, "tools_from", str(error), file) from None
    except ConfigError as error:
        raise field_error(422, "file", str(error), file) from None
    live = Live(source.server, cassette) if source.server is not None else None
    return Loaded(suite, registry.scorers, live, source.note)


class _Source:
    """The server that a suite's `tools_from` names, once it was asked."""

    def __init__(self, cassette: Cassette | None) -> None:
        self._cassette = cassette
        self.server: LiveMcp | None = None
        self.note: str | None = None

    def fetch(self, source: ToolsFrom) -> Sequence[Mapping[str, Any]]:
        from ..mcp.live import read_tools

        try:
            server = read_tools(source.mcp, self._cassette)
        except ConfigError as error:
            raise McpError(str(error)) from None
        if source.pin not in (None, server.fingerprint):
            self.note = (
                f"the tools of {server.server.label} have changed: pinned is {source.pin}, found "
                f'{server.fingerprint}; look through the cases, then write "pin": '
                f'"{server.fingerprint}" into tools_from'
            )
            if source.on_drift == "error":
                raise McpError(self.note)
        self.server = server
        return server.tools
