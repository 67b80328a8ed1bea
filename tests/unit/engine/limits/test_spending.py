"""What a run spends."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.limits.reserves import request_size
from pytest_tooleval.engine.limits.spending import Spending
from pytest_tooleval.engine.models.prices import table_usd
from pytest_tooleval.engine.models.spec import CallableModel, HttpModel, ModelSpec
from pytest_tooleval.errors import ErrorKind, ModelError
from pytest_tooleval.record.run import Payments


def test_without_a_limit_nothing_is_refused() -> None:
    spending = Spending()
    spending.add("m", 1e9)
    spending.check()


def test_it_refuses_once_the_limit_is_reached() -> None:
    spending = Spending(1.0)
    spending.add("one", 0.6)
    spending.check()
    spending.add("one", None)
    spending.add("other", 0.4)
    with pytest.raises(
        ModelError, match=r"spent \$1\.00 of the \$1 allowed by --tooleval-max-cost"
    ) as raised:
        spending.check()
    assert raised.value.kind == "max_cost"
    assert not raised.value.retryable
    assert spending.by_model == {"one": Payments(2, 1, 0.6), "other": Payments(1, 1, 0.4)}


def test_processes_share_a_ledger(tmp_path: Path) -> None:
    one, other = Spending(1.0, tmp_path / "spent"), Spending(1.0, tmp_path / "spent")
    one.add("m", 0.5)
    assert other.by_model == {"m": Payments(1, 1, 0.5)}
    other.add("m", 0.5)
    assert one.by_model == other.by_model == {"m": Payments(2, 2, 1.0)}
    other.add("m", 0.25, at_least=True)
    assert one.by_model == {"m": Payments(3, 2, 1.25)}
    with pytest.raises(ModelError):
        one.check()


def test_a_line_that_is_still_being_written_counts_later(tmp_path: Path) -> None:
    ledger = tmp_path / "spent"
    spending = Spending(1.0, ledger)
    ledger.write_bytes(b'["m", 0.5]\n["m", 0.2')
    assert spending.by_model["m"].usd == 0.5
    ledger.write_bytes(b'["m", 0.5]\n["m", 0.25]\n')
    assert spending.by_model["m"].usd == 0.75


def test_what_the_ledger_has_no_room_for_is_counted_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    spending = Spending(1.0, tmp_path / "file" / "spent")
    spending.add("m", 0.5)
    assert spending.by_model == spending.apart == {"m": Payments(1, 1, 0.5)}


def test_prices_are_per_million_tokens() -> None:
    spec = HttpModel("m", "", input_price=3.0, output_price=15.0)
    assert table_usd(spec, 1_000_000, 500_000) == 10.5
    assert table_usd(spec, None, 1) is None
    assert table_usd(HttpModel("m", "", output_price=15.0), 1, 1) is None


PRICED = HttpModel("m", model="openai/m", input_price=1000.0, output_price=2000.0)


def request(text: str = "Hi", **sampling: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], sampling=sampling)


class Provider:
    """Bills by bytes and by chance, up to `max_tokens` of output, and counts what is in flight."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.density = self.chance.uniform(0.1, 0.35)
        self.longest = self.chance.choice([1, 10, 100])
        self.billed = 0.0
        self.requests = self.in_flight = self.most_in_flight = 0

    async def ask(self, spending: Spending, spec: ModelSpec, sent: ChatRequest) -> float:
        """What the answer cost above its reserve. Raises ModelError if it is not asked."""
        async with spending.reserve(spec, sent, asyncio.sleep) as reserved:
            self.requests += 1
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            await asyncio.sleep(self.chance.choice([0, 0.001]))
            self.in_flight -= 1
            if self.chance.random() < 0.1:
                raise ModelError("busy", kind="rate_limit")
            prompt = round(request_size(sent) * self.density * self.chance.uniform(0.9, 1.0))
            output = self.chance.randrange(self.longest + 1)
            cost = table_usd(spec, prompt, output)
            self.billed += cost or 0.0
            spending.add(spec.label, cost)
            reserved.answer = ChatAnswer(
                {}, prompt_tokens=prompt, completion_tokens=output, cost_usd=cost
            )
        return cost or 0.0


@pytest.mark.parametrize("seed", range(20))
async def test_with_max_tokens_the_limit_is_never_passed(seed: int, tmp_path: Path) -> None:
    """Whatever two processes send at the same time, and little of it is left."""
    provider = Provider(seed)
    most = provider.chance.choice([0.5, 2.0, 10.0])
    processes = [Spending(most, tmp_path / "spent") for _ in range(2)]

    async def one(number: int) -> float:
        text = "What is the weather like? " * provider.chance.randrange(1, 6)
        return await provider.ask(
            processes[number % 2], PRICED, request(text, max_tokens=provider.longest)
        )

    costs = await asyncio.gather(*map(one, range(120)), return_exceptions=True)
    refused = [each for each in costs if isinstance(each, ModelError) and each.kind == "max_cost"]
    assert provider.billed <= most
    assert processes[0].by_model == processes[1].by_model
    if refused:
        dearest = max(request_cost(provider), *(each for each in costs if isinstance(each, float)))
        assert provider.billed > most - 2 * dearest


def request_cost(provider: Provider) -> float:
    """The most that the longest request may cost."""
    prompt = round(request_size(request("What is the weather like? " * 5)) * 0.4)
    return table_usd(PRICED, prompt, provider.longest) or 0.0


@pytest.mark.parametrize("seed", range(10))
async def test_without_max_tokens_it_is_passed_by_no_more_than_the_last_answers(seed: int) -> None:
    provider = Provider(seed)
    spending = Spending(5.0)
    sent = request("What is the weather like?")
    requests = (provider.ask(spending, PRICED, sent) for _ in range(200))
    costs = [
        each for each in await asyncio.gather(*requests, return_exceptions=True) if type(each) is float
    ]
    assert provider.billed <= 5.0 + provider.most_in_flight * max(costs)


async def test_the_first_request_of_a_model_goes_alone() -> None:
    provider, spending = Provider(1), Spending(1000.0)
    first = asyncio.gather(*(provider.ask(spending, PRICED, request()) for _ in range(1)))
    others = asyncio.gather(
        *(provider.ask(spending, PRICED, request()) for _ in range(9)), return_exceptions=True
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert provider.in_flight == 1
    await asyncio.gather(first, others)
    assert provider.most_in_flight > 1


@pytest.mark.parametrize(
    "spec", [HttpModel("m", model="openai/unheard-of"), CallableModel("m", callable="a:b")]
)
async def test_requests_without_a_price_do_not_wait(spec: ModelSpec) -> None:
    provider, spending = Provider(1), Spending(0.5)
    started = asyncio.gather(
        *(provider.ask(spending, spec, request()) for _ in range(9)), return_exceptions=True
    )
    await asyncio.sleep(0)
    assert provider.in_flight == 9
    await started


async def test_an_agent_reserves_what_its_dearest_run_has_cost() -> None:
    agent = CallableModel("m", "a:b", input_price=1000.0, output_price=2000.0)
    spending = Spending(1.0)

    async def run(cost: float) -> None:
        async with spending.reserve(agent, request(), asyncio.sleep) as reserved:
            spending.add("m", cost)
            reserved.answer = ChatAnswer({}, cost_usd=cost)

    await run(0.4)
    await run(0.3)
    with pytest.raises(
        ModelError, match=r"has spent \$0\.7000 of the \$1 .*this request may cost \$0\.4"
    ):
        await run(0.1)


@pytest.mark.parametrize(
    ("kind", "sent"), [("timeout", 3), ("server", 3), ("rate_limit", 50), ("bad_response", 50)]
)
async def test_what_a_lost_answer_may_have_cost_is_not_given_back(kind: ErrorKind, sent: int) -> None:
    spending, errors = Spending(1.0), []
    for _ in range(50):
        with pytest.raises(ModelError) as raised:
            async with spending.reserve(PRICED, request(max_tokens=150), asyncio.sleep):
                raise ModelError("lost", kind=kind, answered=kind == "server")
        errors.append(raised.value)
    assert sum(error.kind == kind for error in errors) == sent
    refused = [error.message for error in errors if error.kind == "max_cost"]
    assert all("more may be billed for lost answers" in message for message in refused)
    assert spending.by_model == {}


async def test_the_reserves_of_a_process_that_was_killed_are_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "spent").write_text('{"reserve": "a", "by": [999999999, "m", 0.7]}\n')
    spending = Spending(1.0, tmp_path / "spent")
    async with spending.reserve(PRICED, request(max_tokens=100), asyncio.sleep):
        pass
    with pytest.raises(ModelError, match=r"\(\$0\.7000 more may be billed for lost answers\)"):
        async with spending.reserve(PRICED, request(max_tokens=200), asyncio.sleep):
            pass
