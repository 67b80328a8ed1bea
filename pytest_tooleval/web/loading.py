"""A suite on its way into a run: with the project's scorers, and the tools of its MCP server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..engine.cassettes.cassette import Cassette
from ..engine.executors.live import Live
from ..errors import ConfigError
from ..errors import McpError
from ..errors import SuiteError
from ..mcp.suite_tools import SuiteTools
from ..scoring.registry import Scorer
from ..suite.load import parse_document
from ..suite.model import Suite
from .responses import ApiError
from .responses import field_error
from .scorers import load_scorers


@dataclass(frozen=True)
class Loaded:
    """A suite, what scores it, the server of its live tools, and what the user should know."""

    suite: Suite
    scorers: tuple[Scorer, ...]
    live: Live | None
    note: str | None


def load(root: Path, file: str, content: bytes, cassette: Cassette | None) -> Loaded:
    """ApiError 422 when the suite, its scorers or its server cannot be used."""
    tools = SuiteTools(cassette)
    try:
        registry = load_scorers(root, file)
        metrics = registry.metrics
        suite, _ = parse_document(content, file, metrics=metrics, fetch_tools=tools.fetch)
    except SuiteError as error:
        first = error.problems[0]
        place = f"{first.field}: " if first.field else ""
        raise ApiError(422, f"{place}{first.message}", error.problems) from None
    except McpError as error:
        raise field_error(422, "tools_from", str(error), file) from None
    except ConfigError as error:
        raise field_error(422, "file", str(error), file) from None
    return Loaded(suite, registry.scorers, tools.live, tools.drift or None)
