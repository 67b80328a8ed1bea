"""Live tools: a chain or a conversation may send calls to a server instead of mocks.

A tool runs if the suite names it and the command line allows it. The server's answers are recorded in
the cassette like those of a model, so a replay needs neither server nor permission. Each trial has its
own session, opened for the first call that is not recorded. Because the server may remember earlier
calls, the trial then restarts and also runs those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, Protocol

from ...errors import ModelError
from ...record.calls import ToolCall
from ...record.images import Content
from ...record.transcript import Message
from ...secrets import redact
from ...suite.case import ResolvedCase
from ...suite.resolved import is_expected
from ..cassettes.cassette import Cassette
from ..cassettes.questions import key_of, normalise_ids
from ..exchange.chat import ChatAnswer
from ..exchange.tool_answers import ToolAnswer
from ..models.spec import ModelSpec
from .mocks import mocks_of
from .source import ToolSource, allowing

ALL_READ_ONLY = "*"


class ToolSession(Protocol):
    """An open connection to a server."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Content:
        """The answer to a call. Raises ModelError of the kind `tool_server`."""
        ...


class ToolServer(Protocol):
    """A server that runs tools."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """The server as part of cassette keys, without credentials."""
        ...

    def has(self, tool: str, names: Sequence[str]) -> bool:
        """Whether the names include this server tool, by name, or by `*` if it is read-only."""
        ...

    def session(self) -> AbstractAsyncContextManager[ToolSession]:
        """A new session. Entering it raises ModelError if the server cannot be reached."""
        ...


@dataclass(frozen=True, slots=True)
class LiveServer:
    """The server of a suite's live tools, and the cassette with its answers."""

    server: ToolServer
    cassette: Cassette | None = None


class BeginAnew(Exception):
    """Raised to restart a trial that has replayed calls and reached one that is not recorded.

    The model's answers stay recorded, so it is queried again only if the server answers differently.
    """


class LiveTools(ToolSource):
    """The live tools of one trial of a model; `close` ends its session.

    `refusal` says why only recorded answers of model and server may be used; it is empty if all tools
    of the case are allowed.
    """

    is_live = True

    def __init__(
        self,
        live: LiveServer,
        case: ResolvedCase,
        model: ModelSpec,
        trial: int,
        allowed: Sequence[str] = (),
        *,
        is_fresh: bool = False,
    ) -> None:
        self._live = live
        self._wanted = case.live_tools
        self.key_fields = {"live": {"mcp": dict(live.server.identity), "tools": sorted(self._wanted)}}
        self._public_texts = case.public_texts
        self._allowed = allowed
        self._model = model
        self._trial = trial
        self._is_fresh = is_fresh
        self._replayed = False
        self.refusal = _refusal(live.server, case, allowed)
        self._stack = AsyncExitStack()
        self._session: ToolSession | None = None

    async def answer(
        self, call: ToolCall, offered: Collection[str], messages: Sequence[Message] | None
    ) -> ToolAnswer | None:
        """The server's answer to a call; None if the case does not run this tool.

        Raises BeginAnew once, if earlier calls are in the cassette and this one is not.
        """
        if not self._live.server.has(call.name, self._wanted):
            return None
        content = await (self._run(call) if messages is None else self._recorded(call, messages))
        return ToolAnswer(content)

    async def _recorded(self, call: ToolCall, messages: Sequence[Message]) -> Content:
        question = self._question(call, messages)
        key = key_of(question)
        cassette = self._live.cassette
        answer = None if cassette is None else cassette.find(key)
        recorded: Content | None = None if answer is None else answer.message.get("content", "")
        if recorded is not None and not (self._is_fresh and cassette is not None and cassette.may_ask):
            self._replayed = True
            return recorded
        if cassette is not None and not cassette.may_ask:
            raise cassette.not_recorded(question, "run", call.name)
        self._require_allowed(call)
        if self._replayed and not self._is_fresh:
            self._is_fresh = True
            raise BeginAnew
        self._is_fresh = True
        content = await self._run(call)
        if cassette is not None and content != recorded:
            cassette.add(key, question, ChatAnswer({"role": "tool", "content": content}))
        return content

    async def _run(self, call: ToolCall) -> Content:
        """The server's answer, without the cassette."""
        self._require_allowed(call)
        if self._session is None:
            self._session = await self._stack.enter_async_context(self._live.server.session())
        return redact(await self._session.call(call.name, call.arguments or {}), self._public_texts)

    def _require_allowed(self, call: ToolCall) -> None:
        refusal = self.refusal or _not_allowed(self._live.server, [call.name], self._allowed)
        if refusal:
            raise ModelError(refusal, kind="tool_server")

    def _question(self, call: ToolCall, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        # The answer may depend on earlier calls, so all messages are part of the question.
        return {
            "mcp": dict(self._live.server.identity),
            "tool": call.name,
            "arguments": call.arguments,
            "model": self._model.identity,
            "api_base": self._model.base,
            "messages": normalise_ids(messages),
            "trial": self._trial,
        }

    async def close(self) -> None:
        """End the session, if there is one. Call it in the task that made the calls."""
        await self._stack.aclose()


def _refusal(server: ToolServer, case: ResolvedCase, allowed: Sequence[str]) -> str:
    """The message about the case's live tools that are not allowed; empty if there are none."""
    mocked = mocks_of(case)
    needed = [
        tool.name
        for tool in case.tools
        if server.has(tool.name, case.live_tools)
        and tool.name not in mocked
        # The call that ends a chain is scored, but not run.
        and (case.kind == "conversation" or not is_expected(tool.name, case))
    ]
    return _not_allowed(server, needed, allowed, ALL_READ_ONLY in case.live_tools)


def _not_allowed(
    server: ToolServer, tools: Sequence[str], allowed: Sequence[str], all_read_only: bool = False
) -> str:
    """The message about tools that the command line does not allow; empty if there are none."""
    missing = [tool for tool in tools if not server.has(tool, allowed)]
    if not missing:
        return ""
    only_read = all_read_only and all(server.has(name, (ALL_READ_ONLY,)) for name in missing)
    option = allowing(*((ALL_READ_ONLY,) if only_read else missing))
    return (
        f"live_tools: {', '.join(missing)} may run only with {option}; without it the chain can only be "
        "replayed, and not all of it is recorded"
    )
