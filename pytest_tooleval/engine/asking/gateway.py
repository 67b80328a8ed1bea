"""Queries one model: from the cassette, or else from its client, with retries and limits.

Each part calls the next one: Recording, Retrying, Limited, FallingBack, Received.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import structs

from ...errors import ModelError
from ...record.run import Role
from ...record.transcript import Transcript
from ..cassettes.cassette import key_of, question
from ..clients.base import ChatAnswer, ChatRequest
from ..fallbacks import Fallbacks, ParameterRefused
from ..hosted_tools import with_secrets
from ..limits.adaptive import AdaptiveSlots
from ..limits.retry import RetryPolicy, with_retries
from ..limits.slots import Pace, Slots
from ..limits.spending import Spending
from ..models.spec import LEXICAL, ModelSpec
from ..reply import Read, Replies, read_run
from ..tool_features import fitted
from ..tool_schemas import ToolSchemas
from .breaker import Breaker
from .context import Context, set_by
from .received import Received
from .turn import Turn

_OTHERS_TICK_S = 0.05


@dataclass(frozen=True, slots=True)
class Shared:
    """State that all models of a run share. Times are in seconds."""

    concurrency: int
    slots: Slots
    spending: Spending
    timeout_s: float
    policy: RetryPolicy
    rng: random.Random


class ModelGateway:
    """One model, with recording, retries, limits and fallbacks."""

    def __init__(self, spec: ModelSpec, shared: Shared) -> None:
        timeout_s, breaker = spec.timeout or shared.timeout_s, Breaker(spec.label)
        self._received = Received(spec, shared.spending, timeout_s)
        falling_back = FallingBack(self._received, spec)
        limited = Limited(falling_back, spec, shared, breaker)
        retrying = Retrying(limited, shared, breaker)
        self.ask = Recording(retrying, spec, timeout_s).ask

    @property
    def problem(self) -> str:
        """A warning about the model's own code, which only a callable has."""
        return str(getattr(self._received.client, "problem", ""))

    async def close(self) -> None:
        if self._received.client is not None:
            await self._received.client.close()


class AskedModels:
    """Queries all models of a trial, each through its gateway."""

    def __init__(self, gateway: Callable[[ModelSpec], ModelGateway], context: Context) -> None:
        self._gateway = gateway
        self._context = context

    async def ask(
        self, spec: ModelSpec, request: ChatRequest, role: Role | None = None, read: Read | None = None
    ) -> Replies:
        context = self._context
        if role is not None:
            context = replace(context, set_by=set_by(spec), refusal="", role=role, read=read)
        return await self._gateway(spec).ask(request, context)


class Recording:
    """Reads one model's answers from a cassette, and records the missing ones.

    `timeout_s` is the limit of one request, and of waiting for another process's answer.
    """

    def __init__(self, inner: Retrying, spec: ModelSpec, timeout_s: float) -> None:
        self._inner = inner
        self._spec = spec
        self._timeout_s = timeout_s
        self._asking: dict[str, asyncio.Lock] = {}

    async def ask(self, request: ChatRequest, context: Context) -> Replies:
        """The model's reply; for an agent, possibly all its replies. Raises ModelError."""
        cassette = context.cassette
        # The built-in model is not recorded: it costs nothing, and `none` is about network and money.
        if cassette is None or self._spec.model == LEXICAL:
            unrecorded = replace(context, cassette=None)
            return read_run(await self._complete(request, unrecorded), request, cached=False)
        asked = question(self._spec, request)
        key = key_of(asked)
        # Two cases may send the same question at the same time; only the first one pays.
        async with self._asking.setdefault(key, asyncio.Lock()):
            # A rerun sends a new request, if requests are allowed at all.
            found = None if context.fresh and cassette.may_ask else cassette.find(key)
            if found is not None:
                return read_run(found, request, cached=True)
            if not cassette.may_ask:
                raise cassette.not_recorded(asked, "ask", self._spec.label)
            turn = None if context.fresh else Turn(cassette, key, self._timeout_s)
            try:
                answer = await self._complete(request, replace(context, turn=turn))
                run = read_run(answer, request, cached=cassette.known(key) is answer)
                # What a server could not parse, it may parse tomorrow.
                is_read = Transcript(replies=run.all).unread is None
                # If it is cached, another process has recorded it meanwhile.
                if is_read and not run.last.cached:
                    if context.read is not None:
                        context.read(run.last)
                    cassette.add(key, asked, answer, self._spec.modules)
                return run
            finally:
                cassette.release(key)

    async def _complete(self, request: ChatRequest, context: Context) -> ChatAnswer:
        if context.refusal:
            raise ModelError(context.refusal, kind="tool_server")
        return await self._inner.complete(request, context)


class Retrying:
    """Sends a request until it is answered, or the model is given up."""

    def __init__(self, inner: Limited, shared: Shared, breaker: Breaker) -> None:
        self._inner = inner
        self._shared = shared
        self._breaker = breaker

    async def complete(self, request: ChatRequest, context: Context) -> ChatAnswer:
        breaker, policy, rng = self._breaker, self._shared.policy, self._shared.rng

        async def once() -> ChatAnswer:
            return await self._inner.complete(request, context)

        try:
            answer = await with_retries(once, policy, rng, breaker.ends_retries, breaker.pause)
        except ModelError as error:
            breaker.gave_up(error)
            raise
        breaker.answered()
        return answer


class Limited:
    """Makes requests wait for their turn."""

    def __init__(self, inner: FallingBack, spec: ModelSpec, shared: Shared, breaker: Breaker) -> None:
        most = shared.concurrency
        self._inner = inner
        self._spec = spec
        self._own = AdaptiveSlots(min(spec.max_concurrency or most, most))
        self._pace = Pace(spec.requests_per_minute, spec.tokens_per_minute)
        self._shared = shared
        self._breaker = breaker

    async def complete(self, request: ChatRequest, context: Context) -> ChatAnswer:
        turn = context.turn
        while True:
            # The model's own limits come first, so that a throttled model takes no slot from the others.
            async with self._own.hold(context.priority):
                # Only now, because others may have spent money while this one waited.
                if turn is None or turn.comes():
                    found = None if turn is None else turn.answer()
                    return found or await self._counted(request, context)
            # Without the slot, which the other process may be waiting for in the end: it may need an
            # answer from this one first.
            await self._breaker.pause(_OTHERS_TICK_S)

    async def _counted(self, request: ChatRequest, context: Context) -> ChatAnswer:
        try:
            answer = await self._in_turn(request, context)
        except ModelError as error:
            self._own.failed(error)
            raise
        self._own.answered()
        for each in answer.replies:
            self._pace.spent((each.prompt_tokens or 0) + (each.completion_tokens or 0))
        return answer

    async def _in_turn(self, request: ChatRequest, context: Context) -> ChatAnswer:
        self._breaker.check()
        await self._pace.wait(self._breaker.pause)
        spending, slots = self._shared.spending, self._shared.slots
        reserve = spending.reserved(self._spec, request, self._breaker.pause)
        async with reserve as reserved, slots.hold(context.priority):
            self._breaker.check()
            spending.check()
            if context.cassette is not None:
                context.cassette.require_writing()
            reserved.answer = await self._inner.complete(request, context)
            return reserved.answer


class FallingBack:
    """Sends a request, and if a parameter is refused, immediately sends it again without that parameter.

    The slots are kept, because another request in them would be refused, too.
    """

    def __init__(self, inner: Received, spec: ModelSpec) -> None:
        self._inner = inner
        self._spec = spec
        self._fallbacks = Fallbacks(spec)
        self._schemas = ToolSchemas(spec)

    async def complete(self, request: ChatRequest, context: Context) -> ChatAnswer:
        plain, hidden = fitted(request, self._spec)
        plain = structs.replace(plain, tools=with_secrets(plain.tools))
        hidden = {**hidden, **self._schemas.changes(plain.tools)}
        tried: set[str] = set()
        while True:
            # Only now, because other requests may have been refused while this one waited.
            sent, instead = self._fallbacks.apply(plain, context.set_by, tried)
            try:
                answer = await self._inner.complete(sent, context)
            except ParameterRefused as refused:
                self._fallbacks.learn(refused, context.set_by, tried)
            else:
                self._fallbacks.confirm(tried)
                return structs.replace(answer, fallbacks={**instead, **answer.fallbacks, **hidden})
