"""One model's gateway: fallback, giving up, limits, cassette."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from builders import call

from pytest_tooleval.engine.asking.context import Context, sampling_for
from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.cassettes.questions import key_of, question_of
from pytest_tooleval.engine.exchange.chat import ChatRequest
from pytest_tooleval.engine.exchange.errors import ParameterRefused
from pytest_tooleval.engine.limits.retry import RetryPolicy
from pytest_tooleval.engine.limits.slots import Slots
from pytest_tooleval.engine.models.spec import Builtin, HttpModel
from pytest_tooleval.errors import ErrorKind, ModelError
from pytest_tooleval.files.locks import ByteLocks
from pytest_tooleval.record.transcript import Reply

from ..fakes import WEATHER, FakeClient, Gateway, case_of, gateway_to, says, use_clients

GOOD = says(call("get_weather", '{"city": "Paris"}'))


def request(n: int = 0, **fields: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": f"Q{n}"}], [WEATHER], "required", **fields)


async def ask_all(gateway: Gateway, count: int) -> list[Reply | BaseException]:
    replies = (gateway.reply(request(n), Context(n)) for n in range(count))
    return await asyncio.wait_for(asyncio.gather(*replies, return_exceptions=True), 60)


def refusing(chat: ChatRequest) -> dict[str, Any] | ModelError:
    """A model that takes neither `required` nor a temperature."""
    if chat.tool_choice == "required":
        return ParameterRefused("tool_choice is not supported", "tool_choice", "required")
    if "temperature" in chat.sampling:
        return ParameterRefused("temperature is deprecated", "temperature", 0.0)
    return GOOD


COLD = {"temperature": 0.0}


async def test_refused_defaults_are_left_out_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(refusing)
    use_clients(monkeypatch, {"m": client})
    gateway = gateway_to()
    for n in range(3):
        reply = await gateway.reply(request(n, sampling=COLD))
        assert reply.tool_choice == "auto"
        assert reply.fallbacks == {"tool_choice": "auto", "temperature": None}
    sent = [(chat.tool_choice, dict(chat.sampling)) for chat in client.requests]
    assert sent == [("required", COLD), ("auto", COLD), ("auto", {}), ("auto", {}), ("auto", {})]


async def test_what_was_learned_holds_for_questions_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(refusing)
    use_clients(monkeypatch, {"m": client})
    replies = await ask_all(gateway_to(HttpModel("m", "", max_concurrency=2)), 20)
    assert all(isinstance(reply, Reply) for reply in replies)
    # Only those two are refused that were on their way at the first refusal.
    assert len(client.requests) == 20 + 2


async def test_max_tokens_goes_under_its_new_name_also_if_the_user_set_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(chat: ChatRequest) -> dict[str, Any] | ModelError:
        if "max_tokens" in chat.sampling:
            return ParameterRefused("use max_completion_tokens", "max_tokens", 9)
        return GOOD

    client = FakeClient(answer)
    use_clients(monkeypatch, {"m": client})
    chat = request(sampling={"max_tokens": 9})
    reply = await gateway_to().reply(chat, Context(set_by={"max_tokens": "the suite"}))
    assert client.requests[-1].sampling == {"max_completion_tokens": 9}
    assert reply.fallbacks == {"max_tokens": "max_completion_tokens"}


async def test_what_the_user_set_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(refusing)
    use_clients(monkeypatch, {"m": client})
    spec = HttpModel("m", "", source="[models.m] in tooleval.toml")
    for name, place, way in [
        ("temperature", "the case", 'there, or set omit = ["temperature"] in [models.m] in'),
        ("temperature", spec.place, "tooleval.toml: remove it there)"),
        ("temperature", "--tooleval-temperature", "leave it out, or set omit"),
    ]:
        with pytest.raises(ModelError) as raised:
            await gateway_to(spec).reply(request(sampling=COLD), Context(set_by={name: place}))
        assert f"{name} is set by {place}: " in raised.value.message
        assert way in raised.value.message
        assert raised.value.kind == "bad_request"


async def test_a_refusal_that_had_another_reason_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def answer(chat: ChatRequest) -> dict[str, Any] | ModelError:
        if "Q0" not in str(chat.messages):
            return GOOD
        if chat.tool_choice == "required":
            return ParameterRefused("body.tool_choice ...", "tool_choice", "required")
        return ModelError("body.messages ...", kind="bad_request")

    use_clients(monkeypatch, {"m": FakeClient(answer)})
    gateway = gateway_to()
    with pytest.raises(ModelError, match=r"body\.messages"):
        await gateway.reply(request(0))
    assert (await gateway.reply(request(1))).tool_choice == "required"


@pytest.mark.parametrize("kind", ["credentials", "rate_limit", "timeout", "server", "bad_request"])
async def test_nothing_else_falls_back(monkeypatch: pytest.MonkeyPatch, kind: ErrorKind) -> None:
    client = FakeClient(lambda _: ModelError("tool_choice", kind=kind))
    use_clients(monkeypatch, {"m": client})
    with pytest.raises(ModelError) as raised:
        await gateway_to().reply(request())
    assert raised.value.kind == kind
    assert [chat.tool_choice for chat in client.requests] == ["required"]


async def test_without_tools_there_is_no_tool_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    use_clients(monkeypatch, {"m": FakeClient(lambda _: says(content="Hello"))})
    reply = await gateway_to().reply(ChatRequest([], (), "required"))
    assert reply.tool_choice is None


async def test_a_dead_endpoint_is_given_up_after_the_first_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(lambda _: ModelError("no connection to X", kind="unreachable", retryable=True))
    use_clients(monkeypatch, {"m": client})
    # Without any wait, so that no time decides who comes first.
    outcomes = await ask_all(gateway_to(slots=Slots(4), policy=RetryPolicy(base=0)), 200)
    assert all(isinstance(o, ModelError) and o.kind == "unreachable" for o in outcomes)
    assert len(client.requests) < 100
    assert "after 3 attempts" in str(outcomes[0])
    assert "gave up on 'm'" in str(outcomes[-1])


async def test_an_endpoint_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(lambda _: ModelError("no answer", kind="timeout", retryable=True), 0.01)
    use_clients(monkeypatch, {"m": client})
    outcomes = await ask_all(gateway_to(slots=Slots(4)), 200)
    assert all(isinstance(o, ModelError) and o.kind == "timeout" for o in outcomes)
    assert len(client.requests) <= 4 + 4


async def test_an_endpoint_that_has_answered_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(chat: ChatRequest) -> dict[str, Any] | ModelError:
        return (
            GOOD if "Q0" in str(chat.messages) else ModelError("x", kind="unreachable", retryable=True)
        )

    client = FakeClient(answer)
    use_clients(monkeypatch, {"m": client})
    gateway = gateway_to()
    await gateway.reply(request(0))
    outcomes = await ask_all(gateway, 10)
    assert isinstance(outcomes[0], Reply)
    assert len(client.requests) == 1 + 1 + 9 * 6  # every one of the others was tried in full


@pytest.mark.parametrize("kind", ["credentials", "quota"])
async def test_a_fatal_error_ends_the_model_at_once(
    monkeypatch: pytest.MonkeyPatch, kind: ErrorKind
) -> None:
    client = FakeClient(lambda _: ModelError("the key was refused", kind=kind, fatal=True))
    use_clients(monkeypatch, {"m": client})
    outcomes = await ask_all(gateway_to(slots=Slots(2)), 100)
    assert {str(o) for o in outcomes} == {"the key was refused"}
    assert all(isinstance(o, ModelError) and o.kind == kind for o in outcomes)
    assert len(client.requests) <= 3
    assert (
        len({id(o) for o in outcomes}) == 100
    )  # each has its own, as a traceback grows with each raise


async def test_a_fatal_error_wakes_those_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace of one request a minute, and a Retry-After, do not delay the end."""

    def answer(chat: ChatRequest) -> dict[str, Any] | ModelError:
        if "Q0" in str(chat.messages):
            return ModelError("slow down", kind="rate_limit", retryable=True, retry_after=100.0)
        return ModelError("the key was refused", kind="credentials", fatal=True)

    client = FakeClient(answer)
    use_clients(monkeypatch, {"m": client})
    begin = time.monotonic()
    outcomes = await ask_all(gateway_to(), 2)
    assert {str(o) for o in outcomes} == {"the key was refused"}

    client = FakeClient(lambda _: ModelError("no", kind="credentials", fatal=True), latency=0.05)
    use_clients(monkeypatch, {"m": client})
    outcomes = await ask_all(gateway_to(HttpModel("m", "", requests_per_minute=1)), 50)
    assert {str(o) for o in outcomes} == {"no"}
    assert time.monotonic() - begin < 60.0
    assert len(client.requests) == 1


async def test_a_day_long_wait_is_learned_from_the_first_case(monkeypatch: pytest.MonkeyPatch) -> None:
    client = FakeClient(
        lambda _: ModelError("limit", kind="rate_limit", retryable=True, retry_after=4000.0)
    )
    use_clients(monkeypatch, {"m": client})
    outcomes = await ask_all(gateway_to(slots=Slots(1)), 50)
    assert all("asks to wait 4000 s" in str(o) for o in outcomes)
    assert len(client.requests) == 1


async def test_a_throttled_model_does_not_hold_back_another(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = FakeClient(
        lambda _: ModelError("429", kind="rate_limit", retryable=True, retry_after=1000.0)
    )
    free = FakeClient(lambda _: GOOD)
    use_clients(monkeypatch, {"slow": throttled, "free": free})
    slots = Slots(2)
    slow, other = gateway_to(HttpModel("slow", ""), slots), gateway_to(HttpModel("free", ""), slots)
    waiting = [asyncio.create_task(slow.reply(request(n))) for n in range(20)]
    await asyncio.sleep(0.01)
    replies = await asyncio.wait_for(
        asyncio.gather(*(other.reply(request(n), Context(99)) for n in range(20))), 60
    )
    assert len(replies) == 20
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_models_own_concurrency_is_kept_and_frees_the_shared_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    narrow, wide = FakeClient(lambda _: GOOD, 0.01), FakeClient(lambda _: GOOD, 0.01)
    use_clients(monkeypatch, {"narrow": narrow, "wide": wide})
    slots = Slots(6)
    gateways = [
        gateway_to(HttpModel("narrow", "", max_concurrency=2), slots),
        gateway_to(HttpModel("wide", ""), slots),
    ]
    await asyncio.gather(*(ask_all(gateway, 20) for gateway in gateways))
    assert narrow.max_in_flight == 2
    assert wide.max_in_flight >= 4


async def test_a_key_in_what_a_provider_says_of_its_failure_is_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_KEY", "sk-planted-0123456789")
    ended = ModelError("the provider ended the answer with error: sk-planted-0123456789", kind="server")
    use_clients(monkeypatch, {"m": FakeClient(lambda _: ended)})
    with pytest.raises(ModelError) as raised:
        await gateway_to(HttpModel("m", "", api_key_env="PLANTED_KEY")).reply(request())
    message = "the provider ended the answer with error: [secret]"
    assert (raised.value.message, str(raised.value)) == (message, message)
    assert "planted" not in f"{raised.value!r} {raised.value.args}"


async def test_an_echoed_key_is_taken_out_before_anyone_sees_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-planted-1234")
    leaking = says(
        call("get_weather", '{"city": "sk-planted-1234"}'), content="your key: sk-planted-1234"
    )
    use_clients(monkeypatch, {"m": FakeClient(lambda _: leaking)})
    gateway = gateway_to(HttpModel("m", "", api_key_env="MY_KEY"))
    cassette = Cassette(tmp_path / "c.jsonl")
    reply = await gateway.reply(request(), Context(cassette=cassette))
    replayed = await gateway.reply(request(), Context(cassette=cassette))
    assert "sk-planted" not in str(reply) + cassette.path.read_text()
    assert replayed.calls == reply.calls
    assert replayed.message == reply.message


async def test_a_key_is_taken_out_of_names_reasons_and_other_spellings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = "sk-live/0123456789"
    monkeypatch.setenv("MY_KEY", key)
    escaped = json.dumps({"city": key}).replace("/", "\\/").replace("k", "\\u006b")
    leaking = says(call("get_weather", escaped), call("get_weather", {key: "x"}))
    use_clients(monkeypatch, {"m": FakeClient(lambda _: leaking, finish_reason=f"stop {key}")})
    gateway = gateway_to(HttpModel("m", "", api_key_env="MY_KEY"))
    cassette = Cassette(tmp_path / "c.jsonl")
    reply = await gateway.reply(request(), Context(cassette=cassette))
    stand_in = "sk-" + "x" * 15
    assert [made.arguments for made in reply.calls] == [{"city": stand_in}, {stand_in: "x"}]
    assert reply.finish_reason == f"stop {stand_in}"
    assert "live" not in str(reply) + cassette.path.read_text()


async def test_values_of_headers_are_not_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_clients(monkeypatch, {"m": FakeClient(lambda _: GOOD)})
    cassette = Cassette(tmp_path / "c.jsonl")
    keys = []
    for value in ("planted-1", "planted-1", "planted-2"):
        spec = HttpModel("m", model="openai/m", extra={"extra_headers": {"X-Gate": value}})
        chat = request(sampling=sampling_for(spec, case_of()))
        await gateway_to(spec).reply(chat, Context(cassette=cassette))
        keys.append(key_of(question_of(spec, chat)))
    assert "X-Gate" in cassette.path.read_text()
    assert "planted" not in cassette.path.read_text()
    # Other headers are another question.
    assert keys[0] == keys[1] != keys[2]


async def test_an_answer_nested_beyond_reading_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep}
    use_clients(monkeypatch, {"m": FakeClient(lambda _: {"content": None, "extra": deep})})
    with pytest.raises(ModelError, match="nested more than") as raised:
        await gateway_to().reply(request())
    assert raised.value.kind == "bad_response"
    while deep:  # freed level by level, as a recursive destructor is not everywhere safe
        deep = deep.pop("x")


async def test_a_recorded_answer_is_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = FakeClient(refusing)
    use_clients(monkeypatch, {"m": client})
    cassette = Cassette(tmp_path / "c.jsonl")
    first = await gateway_to().reply(request(), Context(cassette=cassette))
    again = await gateway_to().reply(request(), Context(cassette=Cassette(cassette.path, may_ask=False)))
    assert len(client.requests) == 2  # the refusal, and the answer
    assert again.fallbacks == first.fallbacks == {"tool_choice": "auto"}
    assert (first.cached, again.cached) == (False, True)
    assert again.calls == first.calls
    assert again.tool_choice == "auto"
    assert again.latency_s == first.latency_s


class _Elsewhere(ByteLocks):
    """Claims that another process holds until they are `given_back`."""

    def __init__(self) -> None:
        self.looks = 0
        self.given_back = False

    def take(self, place: int) -> bool:
        self.looks += 1
        return self.given_back

    def drop(self, place: int) -> None:
        """Nothing is held here."""


async def test_the_built_in_model_waits_for_nobody(tmp_path: Path) -> None:
    claims = _Elsewhere()
    context = Context(cassette=Cassette(tmp_path / "c.jsonl", claims=claims))
    await gateway_to(Builtin("built-in")).reply(request(), context)
    assert claims.looks == 0


@pytest.mark.parametrize("recorded", [True, False])
async def test_another_process_may_send_the_same_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recorded: bool
) -> None:
    """Its answer is used if it records one. Waiting for it takes no slot, which it may need itself."""
    client = FakeClient(lambda _: GOOD)
    use_clients(monkeypatch, {"m": client})
    spec, claims = HttpModel("m", "", max_concurrency=1), _Elsewhere()
    waits, goes = (Cassette(tmp_path / "c.jsonl", claims=each) for each in (claims, None))
    gateway = gateway_to(spec)
    waiting = asyncio.create_task(gateway.reply(request(0), Context(0, waits)))
    while not claims.looks:
        await asyncio.sleep(0)
    await asyncio.wait_for(gateway.reply(request(1), Context(1, goes)), 60)
    assert not waiting.done()
    if recorded:
        await gateway_to(spec).reply(request(0), Context(0, goes))
    claims.given_back = True
    assert (await asyncio.wait_for(waiting, 60)).cached == recorded
    assert len(client.requests) == 2


async def test_a_process_that_was_stopped_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_clients(monkeypatch, {"m": FakeClient(lambda _: GOOD)})
    cassette = Cassette(tmp_path / "c.jsonl", claims=_Elsewhere())
    reply = gateway_to(HttpModel("m", "", timeout=0.1)).reply(request(), Context(cassette=cassette))
    assert not (await asyncio.wait_for(reply, 60)).cached


async def test_a_rerun_asks_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    client = FakeClient(lambda _: GOOD)
    use_clients(monkeypatch, {"m": client})
    gateway, cassette = gateway_to(), Cassette(tmp_path / "c.jsonl")
    await gateway.reply(request(), Context(cassette=cassette))
    assert not (await gateway.reply(request(), Context(cassette=cassette, is_fresh=True))).cached
    assert len(client.requests) == 2


async def test_what_is_not_recorded_is_an_error_in_replay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_clients(monkeypatch, {})
    with pytest.raises(ModelError, match="--tooleval-record=none") as raised:
        await gateway_to().reply(
            request(), Context(cassette=Cassette(tmp_path / "c.jsonl", may_ask=False))
        )
    assert raised.value.kind == "replay"


async def test_time_outs_come_from_the_table_or_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    class Timed(FakeClient):
        async def complete(self, request: ChatRequest, timeout_s: float) -> Any:
            seen.append(timeout_s)
            return await super().complete(request, timeout_s)

    use_clients(monkeypatch, {"m": Timed(lambda _: GOOD)})
    await gateway_to(HttpModel("m", "")).reply(request())
    await gateway_to(HttpModel("m", "", timeout=7.0), policy=RetryPolicy()).reply(request())
    assert seen == [60.0, 7.0]


@pytest.mark.parametrize(
    ("spec", "case", "sent"),
    [
        ({}, {}, {"temperature": 0.0}),
        ({"sampling": {"temperature": 1, "seed": 5}}, {}, {"temperature": 1, "seed": 5}),
        (
            {"sampling": {"temperature": 1}},
            {"temperature": 0.5, "max_tokens": 9},
            {"temperature": 0.5, "max_tokens": 9},
        ),
        ({"omit": ("temperature",)}, {"temperature": 0.5}, {}),
        ({"extra": {"top_k": 5}}, {}, {"temperature": 0.0, "top_k": 5}),
    ],
)
def test_sampling(spec: dict[str, Any], case: dict[str, Any], sent: dict[str, Any]) -> None:
    assert sampling_for(HttpModel("m", "", **spec), case_of(**case)) == sent
