"""Cases and models for the tests of the engine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from builders import tool

from pytest_tooleval.engine import runner
from pytest_tooleval.engine.asking import gateway
from pytest_tooleval.engine.asking.context import Context
from pytest_tooleval.engine.asking.gateway import ModelGateway, SharedState
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import OnReply, Replies
from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.limits.slots import Slots
from pytest_tooleval.engine.limits.spending import Spending
from pytest_tooleval.engine.models.spec import HttpModel, ModelSpec
from pytest_tooleval.engine.trial import Job, TrialRequest, run_trial
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.run import HelperRole
from pytest_tooleval.record.transcript import Reply, Transcript
from pytest_tooleval.suite.case import ResolvedCase
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.suite.resolved import resolve

QUICK = RetryPolicy(base=0.001, longest=0.002)


WEATHER = tool("get_weather")


def case_of(*tools: dict[str, Any], **fields: Any) -> ResolvedCase:
    """A resolved case; without tools it has `get_weather`."""
    case = {
        "id": "one",
        "prompt": "What's the weather in Paris?",
        "expected_tool": "get_weather",
        **fields,
    }
    data = {"name": "suite", "tools": list(tools or (WEATHER,)), "test_cases": [case]}
    suite = Suite.model_validate(data)
    return resolve(suite, suite.test_cases[0])


def says(*calls: object, content: object = None, **more: Any) -> dict[str, Any]:
    """An assistant's message."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


Answer = Callable[[ChatRequest], "dict[str, Any] | ModelError"]


class FakeClient:
    """Answers by a function; counts what is asked and how much of it at a time."""

    def __init__(self, answer: Answer, latency: float = 0.0, finish_reason: str = "stop") -> None:
        self.answer = answer
        self.finish_reason = finish_reason
        self.latency = latency
        self.together = 0  # before so many are in flight at one time, nobody is answered
        self.requests: list[ChatRequest] = []
        self.in_flight = self.max_in_flight = 0
        self.closed = False

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        self.requests.append(request)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            while self.max_in_flight < self.together:
                await asyncio.sleep(0.001)
            await asyncio.sleep(self.latency)
        finally:
            self.in_flight -= 1
        answer = self.answer(request)
        if isinstance(answer, ModelError):
            raise answer
        return ChatAnswer(
            answer, self.finish_reason, prompt_tokens=50, completion_tokens=10, latency_s=0.01
        )

    async def close(self) -> None:
        self.closed = True


def use_clients(monkeypatch: Any, clients: Mapping[str, FakeClient]) -> None:
    """Make gateways talk to these clients, by the model's label, and load none of their own."""
    monkeypatch.setattr(runner, "load_client", lambda spec, world: None)
    monkeypatch.setattr(gateway, "make_client", lambda spec: clients[spec.label])


class FakeModels:
    """Models of a trial that answer by a function of who asks ("" for the judged one)."""

    def __init__(self, answer: Callable[[str, ChatRequest], Awaitable[Reply | Replies]]) -> None:
        self.answer = answer

    async def ask(
        self,
        spec: ModelSpec,
        request: ChatRequest,
        role: HelperRole | None = None,
        accept: OnReply | None = None,
    ) -> Replies:
        found = await self.answer(role or "", request)
        return found if isinstance(found, Replies) else Replies((found,))


def only(future: concurrent.futures.Future[list[Transcript | ModelError]]) -> Transcript:
    """The transcript of the only trial. Raises its ModelError."""
    (answer,) = future.result(60)
    if isinstance(answer, ModelError):
        raise answer
    return answer


async def held(
    case: ResolvedCase,
    answer: Callable[[str, ChatRequest], Awaitable[Reply | Replies]],
    user: ModelSpec | None = None,
    trial: int = 0,
) -> Transcript:
    """The transcript of a trial in which this function answers."""
    return await run_trial(
        TrialRequest(Job(case, HttpModel("m", ""), user=user), trial), FakeModels(answer), None
    )


class Gateway(ModelGateway):
    """A gateway to models that answer with one reply."""

    async def reply(self, request: ChatRequest, context: Context | None = None) -> Reply:
        return (await self.ask(request, context or Context())).last


def gateway_to(
    spec: ModelSpec | None = None, slots: Slots | None = None, policy: RetryPolicy = QUICK
) -> Gateway:
    run = SharedState(
        concurrency=32,
        slots=slots or Slots(8),
        spending=Spending(None),
        timeout_s=60.0,
        policy=policy,
        rng=random.Random(1),
    )
    return Gateway(spec or HttpModel("m", ""), run)
