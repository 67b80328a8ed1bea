"""Queries one model: from the cassette, or else from its client, with retries and limits."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial

from msgspec import structs

from ...errors import ModelError
from ...keys import PublicTexts
from ...record.calls import JSON_DEPTH, is_nested_deeper
from ...record.run import HelperRole, payer
from ...record.transcript import Transcript
from ...secrets import redact, scrub, secret_values
from ..cassettes.questions import key_of, question_of
from ..clients.make_client import ChatClient, make_client
from ..exchange.chat import ChatAnswer, ChatRequest
from ..exchange.errors import ParameterRefused
from ..exchange.reply import OnReply, Replies, read_replies
from ..limits.retry import RetryPolicy, with_retries
from ..limits.slots import AdaptiveSlots, Pace, Slots
from ..limits.spending import Spending
from ..models.prices import table_usd
from ..models.spec import Builtin, ModelSpec
from ..tools.features import fit_request
from ..tools.hosted import with_secrets
from ..tools.schemas import ToolSchemas
from .breaker import Breaker
from .context import Context, require_form, set_by
from .fallbacks import Fallbacks

_OTHERS_TICK_S = 0.05
_TEXTS = (
    "message tool_answers finish_reason finish_message served_model upstream system_fingerprint".split()
)


@dataclass(frozen=True, slots=True)
class SharedState:
    """State that all models of a run share. Times are in seconds."""

    concurrency: int
    slots: Slots
    spending: Spending
    timeout_s: float
    policy: RetryPolicy
    rng: random.Random
    ended: threading.Event = field(default_factory=threading.Event)  # nothing more is sent


class ModelGateway:
    """One model, with recording, retries, limits and fallbacks.

    Each of these methods calls the next one: ask, _retried, _with_model_slot, _reporting_outcome,
    _paced_and_paid, _falling_back, _received.
    """

    def __init__(self, spec: ModelSpec, shared: SharedState) -> None:
        most = shared.concurrency
        self._spec = spec
        self._shared = shared
        # The limit of one request, and of waiting for another process's answer.
        self._timeout_s = spec.timeout or shared.timeout_s
        self._question_locks: dict[str, asyncio.Lock] = {}
        self._patience: dict[str, float] = {}
        self._breaker = Breaker(spec.label)
        self._model_slots = AdaptiveSlots(min(spec.max_concurrency or most, most))
        self._pace = Pace(spec.requests_per_minute, spec.tokens_per_minute)
        self._fallbacks = Fallbacks(spec)
        self._schemas = ToolSchemas(spec)
        self._client: ChatClient | None = None  # created when first needed

    @property
    def problem(self) -> str:
        """A warning about the model's own code, which only a callable has."""
        return str(getattr(self._client, "problem", ""))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def ask(self, request: ChatRequest, context: Context) -> Replies:
        """The model's reply; for an agent, possibly all its replies. Raises ModelError.

        Reads recorded answers from the cassette, and records the missing ones.
        """
        cassette = context.cassette
        # The built-in model is not recorded: it costs nothing, and `none` is about network and money.
        if cassette is None or isinstance(self._spec, Builtin):
            unrecorded = replace(context, cassette=None)
            return read_replies(await self._retried(request, unrecorded), request, cached=False)
        question = question_of(self._spec, request)
        key, folder = key_of(question), self._spec.folder
        # Two cases may send the same question at the same time; only the first one pays.
        async with self._question_locks.setdefault(key, asyncio.Lock()):
            # A rerun sends a new request, if requests are allowed at all.
            recorded = None if context.is_fresh and cassette.may_ask else cassette.find(key, folder)
            if recorded is not None:
                return read_replies(recorded, request, cached=True)
            if not cassette.may_ask:
                raise cassette.not_recorded(question, "ask", self._spec.label)
            try:
                claimed = replace(context, claim="" if context.is_fresh else key)
                answer = await self._retried(request, claimed)
                replies = read_replies(answer, request, cached=cassette.peek(key, folder) is answer)
                # What a server could not parse, it may parse tomorrow.
                is_read = Transcript(replies=replies.all).unread is None
                # If it is cached, another process has recorded it meanwhile.
                if is_read and not replies.last.cached:
                    if context.accept is not None:
                        context.accept(replies.last)
                    world = request.toolbox.case.world if request.toolbox is not None else None
                    cassette.add(key, question, answer, self._spec.modules(world))
                return replies
            finally:
                cassette.release(key)
                self._patience.pop(key, None)

    async def _retried(self, request: ChatRequest, context: Context) -> ChatAnswer:
        """Send a request until it is answered, or the model is given up."""
        if context.refusal:
            raise ModelError(context.refusal, kind="tool_server")
        breaker, shared = self._breaker, self._shared

        once = partial(self._with_model_slot, request, context)
        try:
            answer = await with_retries(
                once, shared.policy, shared.rng, breaker.ends_retries, breaker.pause
            )
        except ModelError as error:
            breaker.gave_up(error)
            raise
        breaker.note_answer()
        return answer

    async def _with_model_slot(self, request: ChatRequest, context: Context) -> ChatAnswer:
        """Wait for a slot, and for another process that sends the same request."""
        cassette, key = context.cassette, context.claim
        while True:
            # The model's own limits come first, so that a throttled model takes no slot from the others.
            async with self._model_slots.hold(context.priority):
                if cassette is None or not key:
                    return await self._reporting_outcome(request, context)
                if cassette.claim(key) or self._takes_too_long(key):
                    # Only now, because the other process may have recorded it meanwhile.
                    found = cassette.find(key, self._spec.folder)
                    return found or await self._reporting_outcome(request, context)
            # Without the slot, which the other process may be waiting for in the end: it may need an
            # answer from this one first.
            await self._breaker.pause(_OTHERS_TICK_S)

    def _takes_too_long(self, key: str) -> bool:
        """Whether another process has had its time for this question. It may have been stopped."""
        now = time.monotonic()
        return now >= self._patience.setdefault(key, now + self._timeout_s)

    async def _reporting_outcome(self, request: ChatRequest, context: Context) -> ChatAnswer:
        try:
            answer = await self._paced_and_paid(request, context)
        except ModelError as error:
            self._model_slots.count_failure(error)
            raise
        self._model_slots.count_answer()
        for reply in answer.replies:
            self._pace.count_used((reply.prompt_tokens or 0) + (reply.completion_tokens or 0))
        return answer

    async def _paced_and_paid(self, request: ChatRequest, context: Context) -> ChatAnswer:
        self._breaker.check()
        await self._pace.wait(self._breaker.pause)
        if self._shared.ended.is_set():
            raise asyncio.CancelledError
        spending, slots = self._shared.spending, self._shared.slots
        reserve = spending.reserve(self._spec, request, self._breaker.pause)
        async with reserve as reserved, slots.hold(context.priority):
            self._breaker.check()
            spending.check()
            if context.cassette is not None:
                context.cassette.require_writing()
            reserved.answer = answer = await self._falling_back(request, context)
            return answer

    async def _falling_back(self, request: ChatRequest, context: Context) -> ChatAnswer:
        """Send a request, and if a parameter is refused, immediately send it again without that one.

        The slots are kept, because another request in them would also be refused.
        """
        require_form(request, self._spec, context.set_by)
        plain, hidden = fit_request(request, self._spec)
        plain = structs.replace(plain, tools=with_secrets(plain.tools))
        hidden = {**hidden, **self._schemas.changes(plain.tools)}
        tried: set[str] = set()
        while True:
            # Only now, because other requests may have been refused while this one waited.
            sent, instead = self._fallbacks.apply(plain, context.set_by, tried)
            try:
                answer = await self._received(sent, context)
            except ParameterRefused as refused:
                self._fallbacks.learn(refused, context.set_by, tried)
            except ModelError as error:
                self._fallbacks.learn_images(sent, error, tried)
            else:
                self._fallbacks.confirm(tried)
                return structs.replace(answer, fallbacks={**instead, **answer.fallbacks, **hidden})

    async def _received(self, request: ChatRequest, context: Context) -> ChatAnswer:
        """Send a request. Adds its cost, and checks the answer and removes keys from it."""
        self._client = self._client or make_client(self._spec)
        payer_of_it = payer(self._spec.label, context.role)
        try:
            answer = await self._client.complete(request, self._timeout_s)
        except asyncio.CancelledError:
            if not isinstance(self._spec, Builtin):
                self._shared.spending.count_cancelled(payer_of_it)
            raise
        except ModelError as error:
            # The provider's error message may echo a key.
            error.message = scrub(error.message, secret_values())
            raise
        replies = [_priced(each, self._spec) for each in answer.replies]
        costs = [each.cost_usd for each in replies]
        cost = None if None in costs else sum(each or 0 for each in costs)
        # The answer is paid for, even if it is refused below.
        at_least = any(each.is_cost_partial for each in replies)
        self._shared.spending.add(payer_of_it, cost, at_least)
        *earlier, last = (_checked(each, context.public_texts) for each in replies)
        return last if answer.earlier is None else structs.replace(last, earlier=tuple(earlier))


def _priced(answer: ChatAnswer, spec: ModelSpec) -> ChatAnswer:
    """The answer with its cost, if the model's table has prices."""
    cost = table_usd(spec, answer.prompt_tokens, answer.completion_tokens)
    return answer if cost is None else structs.replace(answer, cost_usd=cost)


def _checked(answer: ChatAnswer, public_texts: PublicTexts | None) -> ChatAnswer:
    """An answer, or an agent's reply, with its time, and with stand-ins for keys."""
    if is_nested_deeper([answer.message, *answer.tool_answers], JSON_DEPTH):
        raise ModelError(f"the answer is nested more than {JSON_DEPTH} levels deep", kind="bad_response")
    texts = redact({name: getattr(answer, name) for name in _TEXTS}, public_texts)
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    return structs.replace(answer, answered_at=now, **texts)


class TrialModels:
    """Queries all models of a trial, each through its gateway."""

    def __init__(self, gateway: Callable[[ModelSpec], ModelGateway], context: Context) -> None:
        self._gateway = gateway
        self._context = context

    async def ask(
        self,
        spec: ModelSpec,
        request: ChatRequest,
        role: HelperRole | None = None,
        accept: OnReply | None = None,
    ) -> Replies:
        context = self._context
        if role is not None:
            context = replace(context, set_by=set_by(spec), refusal="", role=role, accept=accept)
        return await self._gateway(spec).ask(request, context)
