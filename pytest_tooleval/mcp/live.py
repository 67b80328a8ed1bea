"""The MCP server of a suite's `tools_from`: its tools read at run time, and run for live chains."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import asynccontextmanager
from typing import Any

from ..engine.cassette import Cassette
from ..engine.cassette import key_of
from ..engine.client import ChatAnswer
from ..engine.live import VERSION
from ..engine.live import ToolSession
from ..errors import ConfigError
from ..errors import McpError
from ..errors import ModelError
from ..suite.content import content_of_bytes
from ..suite.model import McpSource
from .connect import Session
from .connect import connect
from .discover import discover_tools
from .server import McpServer
from .tools import as_functions
from .watch import Limits

ALL_HARMLESS = "*"
# One answer; a whole trial may well take more than the listing of tools.
_LIMITS = Limits(message=1024 * 1024, total=None)


class LiveMcp:
    """A server with the tools that it listed. Sessions for chains are opened from it.

    `tools` are OpenAI functions, under names that providers accept.
    """

    def __init__(self, server: McpServer, entries: Sequence[Mapping[str, Any]]) -> None:
        functions = as_functions(entries)
        self.server = server
        self.tools = functions.tools
        self.left_out = functions.left_out
        listed = {entry["name"]: entry for entry in entries}
        names = [tool["function"]["name"] for tool in functions.tools]
        self._entries = {n.casefold(): listed[functions.originals.get(n, n)] for n in names}

    @property
    def identity(self) -> Mapping[str, Any]:
        """How the server is reached, with names of variables in the place of secrets."""
        return identity_of(self.server)

    @property
    def fingerprint(self) -> str:
        """16 hex digits for the tools with their schemas and descriptions."""
        return content_of_bytes(json.dumps(self.tools, sort_keys=True).encode())

    def may_run(self, tool: str, allowed: Sequence[str]) -> bool:
        """Whether a tool may really run: its name is in `allowed`, or `*` is and it only reads.

        That a tool changes nothing must be said by the server (`readOnlyHint`): MCP takes a tool
        without annotations for a destructive one.
        """
        entry = self._entries.get(tool.casefold())
        if entry is None:
            return False
        if tool.casefold() in {name.casefold() for name in allowed}:
            return True
        hints = entry.get("annotations") or {}
        harmless = hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True
        return ALL_HARMLESS in allowed and harmless

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ToolSession]:
        """A session of its own for one trial; a server that is a command is started for it."""
        try:
            async with connect(self.server, _LIMITS) as session:
                yield _Calls(self, session)
        except (McpError, ConfigError) as error:
            raise ModelError(str(error), kind="tool_server") from None

    def original(self, tool: str) -> str:
        """The server's own name of a tool."""
        return str(self._entries[tool.casefold()]["name"])


class _Calls:
    def __init__(self, server: LiveMcp, session: Session) -> None:
        self._server = server
        self._session = session

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        try:
            answer = await self._session.call(self._server.original(tool), arguments)
        except McpError as error:
            raise ModelError(f"{tool}: {error}", kind="tool_server") from None
        # Some servers echo what they were called with, headers and variables among it.
        return self._server.server.scrubbed(answer)


def identity_of(server: McpServer) -> Mapping[str, Any]:
    """What a cassette knows a server by; the time-out changes no answer."""
    return {name: value for name, value in server.to_dict().items() if name != "timeout"}


def read_tools(source: McpSource, cassette: Cassette | None = None, only: str | None = None) -> LiveMcp:
    """The server of a suite with its tools: from the cassette, else from the server itself.

    With `only`, a fingerprint, other tools are not recorded, and recorded ones make room for those of
    the server if it may be asked. Raises McpError when the server cannot be used, ConfigError when the
    source is wrong or the cassette holds no tools and none may be asked for.
    """
    server = dataclasses.replace(
        McpServer.from_dict(source.model_dump(exclude_unset=True, exclude_none=True)),
        time_limit='"timeout" in tools_from.mcp',
    )
    asked = {"version": VERSION, "mcp": dict(identity_of(server)), "list": "tools"}
    key = key_of(asked)
    found = None if cassette is None else cassette.find(key)
    if found is not None:
        recorded = LiveMcp(server, json.loads(found[0].message["content"]))
        if only in (None, recorded.fingerprint) or cassette is None or not cassette.may_ask:
            return recorded
    elif cassette is not None and not cassette.may_ask:
        raise ConfigError(
            f"the tools of {server.label} are not on the cassette {cassette.path}, and "
            f"--tooleval-record={cassette.mode} forbids to ask for them; --tooleval-record=new does"
        )
    entries = discover_tools(server).tools
    live = LiveMcp(server, entries)
    if cassette is not None and only in (None, live.fingerprint):
        content = json.dumps(list(entries))
        cassette.add(key, asked, ChatAnswer({"role": "tool", "content": content}), None)
    return live
