"""Everything that belongs to one model during a run: its client, its limits, what is known of it."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Set
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from msgspec import structs

from ..errors import ModelError
from ..keys import PublicTexts
from ..record.calls import MAX_DEPTH
from ..record.calls import is_nested_deeper
from ..record.run import Role
from ..record.run import payer
from ..record.transcript import Reply
from ..secrets import keep_secret
from ..secrets import redacted
from ..secrets import scrub
from ..secrets import secret_values
from ..suite.model import ResolvedCase
from .cassettes.cassette import Cassette
from .cassettes.cassette import key_of
from .cassettes.cassette import question
from .clients.base import ChatAnswer
from .clients.base import ChatClient
from .clients.base import ChatRequest
from .fallbacks import REASONING_OPTION
from .fallbacks import Fallbacks
from .fallbacks import ParameterRefused
from .limits.adaptive import AdaptiveSlots
from .limits.retry import RetryPolicy
from .limits.retry import with_retries
from .limits.slots import Pace
from .limits.slots import Slots
from .limits.spending import Spending
from .limits.spending import price
from .models.spec import LEXICAL
from .models.spec import SAMPLING
from .models.spec import ModelSpec
from .reply import read_run
from .tool_schemas import ToolSchemas

# An endpoint that never answered is taken to be down once this many questions were tried in vain:
# as often as this where there is no connection, and once where there is one but no answer in time.
_SILENT_AFTER = 3
_UNREACHABLE_ATTEMPTS = 3
_OTHERS_TICK_S = 0.05


def make_client(spec: ModelSpec) -> ChatClient:
    """The client for a model."""
    keep_secret(spec.api_key_env)
    return client_for(spec)(spec)


def client_for(spec: ModelSpec) -> Callable[[ModelSpec], ChatClient]:
    """What makes the client for a model. Only the one that is needed is imported."""
    if spec.callable:
        from .clients.callable_client import CallableClient

        return CallableClient
    if spec.model == LEXICAL:
        from .clients.lexical import LexicalClient

        return lambda _: LexicalClient()
    if spec.protocol == "openai":
        from .clients.openai_chat import OpenAIClient

        return OpenAIClient
    if spec.protocol == "anthropic":
        from .clients.anthropic_messages import AnthropicClient

        return AnthropicClient
    if spec.protocol == "gemini":
        from .clients.gemini import GeminiClient

        return GeminiClient
    from .clients.litellm_client import LitellmClient

    return LitellmClient


def load_client(spec: ModelSpec) -> None:
    """Import what asks a model, on the thread that runs the tests.

    Otherwise the engine's thread would import it beside what the tests do meanwhile, and the first
    question would wait for both.
    """
    client_for(spec)
    _ = spec.modules  # read from the sources of an agent
    if not (spec.callable or spec.model == LEXICAL or spec.protocol):
        from .clients.litellm_client import load_before_asking

        load_before_asking()


def sampling_for(spec: ModelSpec, case: ResolvedCase | None = None) -> dict[str, Any]:
    """What to send beside messages and tools; without a case to a judge or a simulated user.

    The case (with suite and command line) wins over the model's table, the table over the default
    temperature of 0; parameters under `omit` are never sent. Of headers there are only stand-ins:
    this is recorded, and the clients take them from the table.
    """
    names = ("temperature", "max_tokens", "reasoning_effort")
    chosen = {} if case is None else {name: getattr(case, name) for name in names}
    table = dict(spec.sampling)
    if chosen.get("reasoning_effort") is not None:
        table.pop("thinking", None)  # the other way to say how much
    sampling = {
        "temperature": 0.0,
        **{name: table[name] for name in SAMPLING if name in table},
        **{name: value for name, value in chosen.items() if value is not None},
        **spec.extra,
    }
    if isinstance(sampling.get("extra_headers"), Mapping):
        sampling["extra_headers"] = _stand_ins(sampling["extra_headers"])
    return {name: value for name, value in sampling.items() if name not in spec.omit}


def _stand_ins(headers: Mapping[str, Any]) -> dict[str, str]:
    """The headers with hashes for values: other headers are another question."""
    hashes = {name: hashlib.sha256(str(value).encode()).hexdigest() for name, value in headers.items()}
    return {name: f"sha256:{found[:16]}" for name, found in hashes.items()}


def set_by(spec: ModelSpec, case: ResolvedCase | None = None) -> dict[str, str]:
    """The parameters that the user has set, and where; all others are defaults."""
    placed = dict.fromkeys([*spec.sampling, *spec.extra], spec.place)
    if case is None:
        return placed
    effort = {} if case.reasoning_effort is None else {"reasoning_effort": REASONING_OPTION}
    return {**placed, **case.set_by, **effort}


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Where a question comes from: its place in the queue and where its answer is kept.

    `fresh` asks even if the answer is recorded, for a rerun; `set_by` is that of the case; `refusal`
    says why only recorded answers may be used, and is empty where the model may be asked. `role` is that
    of a model that is not judged itself, whose answers are checked by `read` before they are kept.
    `public` is what the case's suite says, in which nothing is a secret.
    """

    priority: int
    cassette: Cassette | None = None
    fresh: bool = False
    set_by: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""
    role: Role | None = None
    read: Callable[[Reply], object] | None = None
    public: PublicTexts | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """What all models of a run share; times in seconds."""

    concurrency: int
    slots: Slots
    spending: Spending
    timeout_s: float
    policy: RetryPolicy
    rng: random.Random


class _Recorded(Exception):
    """Another process has recorded the answer meanwhile."""

    def __init__(self, answer: ChatAnswer) -> None:
        self.answer = answer


Asked = Mapping[str, Any]
Answered = Reply | tuple[Reply, ...]


def last_of(answered: Answered) -> Reply:
    """The reply, or the last one of a whole run."""
    return answered if isinstance(answered, Reply) else answered[-1]


class Asker:
    """One model's way from a question to a reply: cassette, limits, retries, fallbacks."""

    def __init__(self, spec: ModelSpec, shared: Shared) -> None:
        self.spec = spec
        self._shared = shared
        self._own_slots = AdaptiveSlots(
            min(spec.max_concurrency or shared.concurrency, shared.concurrency)
        )
        self._pace = Pace(spec.requests_per_minute, spec.tokens_per_minute)
        self._timeout_s = spec.timeout or shared.timeout_s
        self._client: ChatClient | None = None
        self._over = asyncio.Event()
        self._over_because: ModelError | None = None
        self._answered = False
        self._silent = 0
        self._fallbacks = Fallbacks(spec)
        self._schemas = ToolSchemas(spec)
        self._asking: dict[str, asyncio.Lock] = {}

    async def ask(self, request: ChatRequest, options: AskOptions) -> Answered:
        """The model's reply, from the cassette if it is there; of an agent maybe all its replies."""
        # The baseline is not kept: asking it costs nothing, and `none` is about networks and money.
        cassette = None if self.spec.model == LEXICAL else options.cassette
        if cassette is None:
            return read_run(await self._ask_model(request, options), request, cached=False)
        asked = question(self.spec, request)
        key = key_of(asked)
        # Two cases may ask the same at the same time: only the first of them pays for it.
        async with self._asking.setdefault(key, asyncio.Lock()):
            return await self._ask_recorded(request, options, cassette, asked, key)

    async def _ask_recorded(
        self, request: ChatRequest, options: AskOptions, cassette: Cassette, asked: Asked, key: str
    ) -> Answered:
        # A rerun asks anew, if asking is allowed at all.
        found = None if options.fresh and cassette.may_ask else cassette.find(key)
        if found is not None:
            return read_run(found, request, cached=True)
        if not cassette.may_ask:
            raise cassette.not_recorded(asked, "ask", self.spec.label)
        try:
            answer = await self._ask_model(request, options, None if options.fresh else key)
            run = read_run(answer, request, cached=False)
            if options.read is not None:
                options.read(last_of(run))
            cassette.add(key, asked, answer, self.spec.modules)
        except _Recorded as meanwhile:
            return read_run(meanwhile.answer, request, cached=True)
        finally:
            cassette.release(key)
        return run

    async def _await_others(self, cassette: Cassette, key: str) -> None:
        """Wait while another process asks the same. Raises what it has recorded meanwhile.

        But not for longer than for an answer: it may have been stopped.
        """
        waited = 0.0
        while not cassette.claim(key) and waited < self._timeout_s:
            await self._pause(_OTHERS_TICK_S)
            waited += _OTHERS_TICK_S
        found = cassette.find(key)
        if found is not None:
            raise _Recorded(found)

    async def _ask_model(
        self, request: ChatRequest, options: AskOptions, key: str | None = None
    ) -> ChatAnswer:
        """Ask until there is an answer; with a `key`, if no other process does."""
        if options.refusal:
            raise ModelError(options.refusal, kind="tool_server")
        schemas = self._schemas.changes(request.tools)
        tried: set[str] = set()
        try:
            answer = await with_retries(
                lambda: self._attempt(request, options, tried, key),
                self._shared.policy,
                self._shared.rng,
                self._gives_up,
                self._pause,
            )
        except ModelError as error:
            self._learn(error)
            raise
        return structs.replace(answer, fallbacks={**answer.fallbacks, **schemas})

    async def _attempt(
        self, request: ChatRequest, options: AskOptions, tried: set[str], key: str | None
    ) -> ChatAnswer:
        """Ask, and where something is refused at once again without it, each time for one thing more."""
        # The model's own limits come first, so that a throttled model holds no slot of the others.
        async with self._own_slots.hold(options.priority):
            # Only now, as others may have asked while this one was waiting for its turn.
            if options.cassette is not None and key is not None:
                await self._await_others(options.cassette, key)
            while True:
                try:
                    answer = await self._attempt_once(request, options, tried)
                except ParameterRefused as refused:
                    # The slot is kept, as whoever took it next would be refused, too.
                    self._fallbacks.learn(refused, options.set_by, tried)
                except ModelError as error:
                    # What the provider said of its failure may hold an echoed key.
                    error.message = scrub(error.message, secret_values([self.spec.api_key_env]))
                    self._own_slots.failed(error)
                    raise
                else:
                    break
        self._fallbacks.confirm(tried)
        self._own_slots.answered()
        return answer

    async def _attempt_once(
        self, request: ChatRequest, options: AskOptions, tried: Set[str]
    ) -> ChatAnswer:
        self._check_not_over()
        await self._pace.wait(self._pause)
        async with self._shared.slots.hold(options.priority):
            self._check_not_over()
            self._shared.spending.check()
            if options.cassette is not None:
                options.cassette.require_writing()
            # Only now, as much may have been learned while this one was waiting for its turn.
            sent, fallbacks = self._fallbacks.apply(request, options.set_by, tried)
            if self._client is None:
                self._client = make_client(self.spec)
            answer = await self._client.complete(sent, self._timeout_s)
        self._answered = True
        answer = structs.replace(answer, fallbacks={**fallbacks, **answer.fallbacks})
        replies = [self._priced(each) for each in answer.replies]
        costs = [each.cost_usd for each in replies]
        cost = None if None in costs else sum(each or 0 for each in costs)
        # Paid for, also if it is refused below.
        self._shared.spending.add(payer(self.spec.label, options.role), cost)
        *earlier, last = (self._received(each, options.public) for each in replies)
        return last if answer.earlier is None else structs.replace(last, earlier=tuple(earlier))

    def _received(self, answer: ChatAnswer, public: PublicTexts | None) -> ChatAnswer:
        """an answer, or a reply of an agent's, checked and without keys."""
        self._pace.spent((answer.prompt_tokens or 0) + (answer.completion_tokens or 0))
        if is_nested_deeper([answer.message, *answer.answers], MAX_DEPTH):
            raise ModelError(
                f"the answer is nested more than {MAX_DEPTH} levels deep", kind="bad_response"
            )
        return _without_keys(answer, public)

    def _priced(self, answer: ChatAnswer) -> ChatAnswer:
        """The answer with its cost by the prices in the model's table, if there are any."""
        spec = self.spec
        cost = price(answer.prompt_tokens, answer.completion_tokens, spec.input_price, spec.output_price)
        return answer if cost is None else structs.replace(answer, cost_usd=cost)

    def _check_not_over(self) -> None:
        if self._over_because is not None:
            end = self._over_because
            raise ModelError(end.message, kind=end.kind, fatal=True)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not beyond the moment from which no question of this model can succeed."""
        try:
            await asyncio.wait_for(self._over.wait(), seconds)
        except asyncio.TimeoutError:
            return
        self._check_not_over()

    def _learn(self, error: ModelError) -> None:
        """Look at a question that was given up: does it tell that all others will be, too?"""
        if error.kind == "unreachable":
            self._count_silence(error)
        elif error.fatal and self._over_because is None:
            self._end(error)

    def _gives_up(self, error: ModelError, attempt: int) -> bool:
        if error.kind == "timeout":
            self._count_silence(error)
        silent = error.kind == "unreachable" and not self._answered
        return self._over_because is not None or (silent and attempt >= _UNREACHABLE_ATTEMPTS)

    def _count_silence(self, error: ModelError) -> None:
        if self._answered or self._over_because is not None:
            return
        self._silent += 1
        if self._silent >= _SILENT_AFTER:
            given_up = f"gave up on {self.spec.label!r} for this run; is the server running?"
            self._end(ModelError(f"{error.message} ({given_up})", kind=error.kind))

    def _end(self, because: ModelError) -> None:
        self._over_because = because
        self._over.set()

    @property
    def problem(self) -> str:
        """What to say of the model's own code, which only a callable has."""
        return str(getattr(self._client, "problem", ""))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()


def _without_keys(answer: ChatAnswer, public: PublicTexts | None) -> ChatAnswer:
    """The answer with stand-ins for keys, before anybody sees, records or scores it."""
    names = (
        "message",
        "finish_reason",
        "finish_message",
        "served_model",
        "system_fingerprint",
        "answers",
    )
    clean = redacted({name: getattr(answer, name) for name in names}, public)
    return structs.replace(answer, **clean)
