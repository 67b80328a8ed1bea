"""The MCP server of a suite's `tools_from`: lists its tools, and runs them for live chains."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ..engine.cassettes.cassette import Cassette
from ..engine.cassettes.questions import key_of
from ..engine.exchange.chat import ChatAnswer
from ..engine.tools.live import ALL_READ_ONLY, ToolSession
from ..errors import ConfigError, McpError, ModelError
from ..record.images import Content
from ..record.names import meaning
from ..suite.fingerprints import fingerprint_of_bytes
from ..suite.servers import McpSource
from .connect import Session, connect
from .discover import discover_tools, tools_of_session
from .explain import about
from .server import McpServer
from .tools import as_functions
from .watch import ByteLimits

# A trial may receive more than a listing of tools, so only each answer is limited.
_LIMITS = ByteLimits(message=8 * 1024 * 1024, total=None)
_OUTDATED = "is not run, because the server"
_ANEW = "--tooleval-record=all asks it for its tools again"


class LiveMcp:
    """A server and the tools that it listed.

    `tools` are OpenAI functions, under names that providers accept; `left_out` has a line for each tool
    that a suite cannot have. `only` is the fingerprint of the tools that a session may run; None allows
    any.
    """

    def __init__(
        self,
        server: McpServer,
        entries: Sequence[Mapping[str, Any]],
        only: str | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        functions = as_functions(entries)
        self.left_out = (*left_out, *functions.left_out)
        self.server = server
        self.tools = functions.tools
        self._listed = tuple(entries)
        self._only = only
        # The first of two tools with the same name counts, as in the functions.
        first = {entry["name"]: entry for entry in reversed(entries)}
        names = [tool["function"]["name"] for tool in functions.tools]
        self._entries = {n: first[functions.originals.get(n, n)] for n in names}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.server.identity

    @property
    def fingerprint(self) -> str:
        """16 hex digits for everything that a suite relies on.

        That includes the tools as models see them, and the server's own names and annotations, which
        decide whether tools run.
        """
        hints = [(e["name"], e.get("annotations") or {}) for e in self._entries.values()]
        return fingerprint_of_bytes(json.dumps([self.tools, hints], sort_keys=True).encode())

    def has(self, tool: str, names: Sequence[str]) -> bool:
        """Whether the names include this server tool, by name, or by `*` if it is read-only.

        The server must mark a tool as read-only (`readOnlyHint`), because in MCP, a tool without
        annotations is destructive.
        """
        listed = meaning(tool, self._entries)
        if listed is None:
            return False
        if any(meaning(name, self._entries) == listed for name in names):
            return True
        return ALL_READ_ONLY in names and _only_reads(self._entries[listed])

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ToolSession]:
        """A session for one trial, with its own process if the server is a command.

        The known tools may be outdated, or from an edited cassette, so a tool runs only if the server
        still lists it in a compatible way.
        """
        try:
            async with connect(self.server, _LIMITS) as session:
                yield _LiveCalls(self, await self._now(session), session)
        except (McpError, ConfigError) as error:
            raise ModelError(str(error), kind="tool_server") from None

    async def _now(self, session: Session) -> LiveMcp:
        """The server with the tools of this session. Raises McpError if other tools are pinned."""
        import anyio

        with anyio.move_on_after(self.server.timeout_s):
            tools = (await tools_of_session(session, self.server)).tools
            now = self if tools == self._listed else LiveMcp(self.server, tools)
            if self._only not in (None, now.fingerprint):
                raise McpError(
                    f"the tools of {self.server.label} have changed, so none is run: pinned is "
                    f"{self._only}, found {now.fingerprint}; {_ANEW}"
                )
            return now
        raise about(
            self.server,
            f"no list of its tools within {self.server.timeout_s:g} s ({self.server.time_limit})",
        )

    def original(self, tool: str, of_suite: LiveMcp) -> str:
        """The server's own name of a tool that may run according to `of_suite`.

        Raises McpError if the tool is gone or no longer read-only.
        """
        old, new = (side._entries.get(meaning(tool, side._entries) or "") for side in (of_suite, self))
        if old is None or new is None:
            raise McpError(f"{_OUTDATED} no longer has this tool; {_ANEW}")
        if _only_reads(old) and not _only_reads(new):
            raise McpError(f"{_OUTDATED} does not mark it as read-only; {_ANEW}")
        return str(new["name"])


def _only_reads(entry: Mapping[str, Any]) -> bool:
    hints = entry.get("annotations") or {}
    return hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True


class _LiveCalls:
    """Runs a trial's calls of tools in the suite (`of_suite`) that the server still lists (`now`)."""

    def __init__(self, of_suite: LiveMcp, now: LiveMcp, session: Session) -> None:
        self._of_suite = of_suite
        self._now = now
        self._session = session

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Content:
        try:
            answer = await self._answer(self._now.original(tool, self._of_suite), arguments)
        except McpError as error:
            raise ModelError(f"{tool}: {error}", kind="tool_server") from None
        # Some servers echo headers and variables.
        scrubbed: Content = self._now.server.scrubbed_data(answer)
        return scrubbed

    async def _answer(self, tool: str, arguments: Mapping[str, Any]) -> Content:
        """The tool's answer; of an expired session, whose call did not run, in a new one."""
        try:
            return await self._session.call(tool, arguments)
        except McpError:
            if not self._session.has_expired:
                raise
            async with connect(self._now.server, _LIMITS) as session:
                return await session.call(tool, arguments)


def read_tools(source: McpSource, cassette: Cassette | None = None, only: str | None = None) -> LiveMcp:
    """A suite's server with its tools, from the cassette or else from the server itself.

    `only` is the expected fingerprint. Tools with another one are not recorded; if they already were,
    the server is queried again, provided that the mode allows it. Raises McpError if the server cannot
    be used, and ConfigError if the source is invalid, or if the tools are not recorded and the mode does
    not allow a query.
    """
    server = dataclasses.replace(
        McpServer.of(**source.model_dump()), time_limit='"timeout" in tools_from.mcp'
    )
    question = {"mcp": server.identity, "list": "tools"}
    key = key_of(question)
    reply = None if cassette is None else cassette.find(key)
    if reply is not None:
        recorded = LiveMcp(server, json.loads(reply.message["content"]), only)
        if only in (None, recorded.fingerprint) or cassette is None or not cassette.may_ask:
            return recorded
    elif cassette is not None and not cassette.may_ask:
        raise ConfigError(
            f"the tools of {server.label} are not recorded in {cassette.path}, and "
            f"--tooleval-record=none does not ask for them; --tooleval-record=new does"
        )
    found_now = discover_tools(server)
    entries = found_now.tools
    live = LiveMcp(server, entries, only, found_now.left_out)
    if cassette is not None and only in (None, live.fingerprint):
        content = json.dumps(list(entries))
        cassette.add(key, question, ChatAnswer({"role": "tool", "content": content}))
    return live
