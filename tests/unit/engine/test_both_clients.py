"""One contract, two both: what litellm and our own client make of the same answers and faults.

Known differences are those of litellm's reading, and none of them changes a score: it turns
arguments that came as an object into text, invents ids that are missing, copies fields that it does
not know into `provider_specific_fields`, and calls every unknown finish reason `stop`.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mock_server import MockServer
from mock_server import call_message
from msgspec import structs

from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.clients.base import ChatAnswer
from pytest_tooleval.engine.clients.base import ChatClient
from pytest_tooleval.engine.clients.base import ChatRequest
from pytest_tooleval.engine.clients.callable_client import CallableClient
from pytest_tooleval.engine.clients.callable_client import load_callable
from pytest_tooleval.engine.clients.litellm_client import LitellmClient
from pytest_tooleval.engine.clients.litellm_client import load_litellm
from pytest_tooleval.engine.clients.openai_chat import OpenAIClient
from pytest_tooleval.engine.models.prices import cost_usd
from pytest_tooleval.engine.models.prices import openai_price
from pytest_tooleval.engine.models.prices import price_list
from pytest_tooleval.engine.models.spec import ModelSpec
from pytest_tooleval.engine.reply import read_reply
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.runner import Trial
from pytest_tooleval.errors import ModelError

from .fakes import WEATHER
from .fakes import case_of

KEY = "sk-planted-0123456789"
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
}
Told = ChatAnswer | tuple[object, ...]


def completion(message: object, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-4o",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60},
        **more,
    }


def says(content: object, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return completion({"role": "assistant", "content": content, **more}, finish)


def refusal(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


ANSWERS: dict[str, dict[str, Any]] = {
    "a text": says("hello"),
    "a call": says(None, "tool_calls", tool_calls=[CALL]),
    "two calls": says(None, "tool_calls", tool_calls=[CALL, {**CALL, "id": "call_2"}]),
    "a call and stop": says("", "stop", tool_calls=[CALL]),
    "a call without a reason": says(None, None, tool_calls=[CALL]),
    "broken arguments": completion(call_message("get_weather", "{broken"), "tool_calls"),
    "no calls": says("hello", tool_calls=[]),
    "nulls": says(None, refusal=None, audio=None, function_call=None, tool_calls=None),
    "what OpenAI sends": says("hello", refusal=None, annotations=[]),
    "thoughts in a field": says("hello", reasoning_content="let me see"),
    "thoughts in the text": says("<think>let me see</think>hello"),
    "thoughts in two lines": says("<think>\nlet me\nsee\n</think>\n\nhello"),
    "thoughts without an end": says("<think>let me see"),
    "an old call": says(None, "function_call", function_call={"name": "f", "arguments": "{}"}),
    "too long": says("hel", "length"),
    "filtered": says("", "content_filter"),
    "cut off in a call": completion(call_message("get_weather", '{"city": "Pa'), "length"),
    "no role": completion({"content": "hello"}),
    "an empty error": {**says("hello"), "error": {}},
    "no usage": {k: v for k, v in says("hello").items() if k != "usage"},
    "usage of nothing": completion(
        {"role": "assistant", "content": "hello"}, usage={"prompt_tokens": 0}
    ),
    "cached tokens": completion(
        {"role": "assistant", "content": "hello"},
        usage={
            "prompt_tokens": 2000,
            "completion_tokens": 10,
            "total_tokens": 2010,
            "prompt_tokens_details": {"cached_tokens": 1024},
        },
    ),
}

REFUSALS: dict[str, tuple[int, object]] = {
    "400": (400, refusal("max_tokens is too large")),
    "400 temperature": (400, refusal("temperature is not supported with this model")),
    "400 tool_choice": (400, refusal("tool_choice 'required' is not supported")),
    "400 thinking": (400, refusal("Thinking mode does not support this tool choice")),
    "400 context": (
        400,
        refusal("maximum context length is 4096 tokens", code="context_length_exceeded"),
    ),
    "400 policy": (400, refusal("rejected by our safety system", code="content_policy_violation")),
    "400 no money": (400, refusal("Your credit balance is too low")),
    "400 not obeyed": (
        400,
        refusal("Failed to call", code="tool_use_failed", failed_generation="<f>{}"),
    ),
    "401": (401, refusal("Incorrect API key provided: sk-xxx")),
    "402": (402, refusal("Insufficient credits")),
    "403": (403, refusal("Country not supported")),
    "403 moderation": (403, refusal("The input was flagged by moderation")),
    "404": (404, refusal("The model `x` does not exist", code="model_not_found")),
    "413": (413, refusal("Request too large")),
    "422": (422, refusal("cannot process")),
    "429": (429, refusal("Rate limit reached. Please try again in 20s.")),
    "429 minute": (429, refusal("Rate limit reached for requests per min. Please try again in 250ms.")),
    "429 day": (429, refusal("Rate limit reached for requests per day (RPD)")),
    "429 quota": (429, refusal("You exceeded your current quota", code="insufficient_quota")),
    "500": (500, refusal("The server had an error")),
    "501 tool_choice": (501, refusal("tool_choice is not implemented")),
    "503": (503, refusal("Loading model")),
    "529": (529, refusal("Overloaded")),
    "200 and a 502 in it": (200, refusal("The provider is overloaded", code=502)),
    "200 and a 429 in it": (200, refusal("Rate limited upstream", code=429)),
    "200 and an error in it": (200, refusal("Something is wrong", code="odd")),
    "200 and an error as its end": (200, says("", "error")),
}

# Read alike, but litellm writes texts of its own around what the server said.
ODDITIES: dict[str, tuple[int, object]] = {
    "408": (408, refusal("Request timeout")),
    "422 tool_choice": (422, {"detail": [{"loc": ["body", "tool_choice"], "msg": "bad"}]}),
    "409": (409, refusal("Conflict")),
    "504": (504, refusal("Gateway timeout")),
    "502 html": (502, "<html>Bad gateway</html>"),
    "405 detail": (405, {"detail": "Method Not Allowed"}),
    "400 text": (400, {"error": "no"}),
    "no choices": (200, {"id": "x", "choices": []}),
    "choices missing": (200, {"id": "x"}),
    "message missing": (200, completion(None)),
    "a list": (200, [1]),
    "a text": (200, "hello"),
    "null": (200, None),
}

DEEP = '{"a":' * 5000 + "1" + "}" * 5000
USAGE: dict[str, Any] = {"prompt_tokens": 50, "completion_tokens": 10, "total_tokens": 60}
# What the model wrote is odd, and judged; of figures only those count that are some.
ODD_CALLS: dict[str, dict[str, Any]] = {
    **{
        f"arguments {name}": completion(call_message("get_weather", arguments), "tool_calls")
        for name, arguments in {
            "beyond all numbers": '{"n": 1e999}',
            "that are no number": '{"n": NaN}',
            "of 5000 digits": '{"n": %s}' % ("9" * 5000),
            "of 400 digits": '{"n": %s}' % ("9" * 400),
            "nested 5000 deep": DEEP,
            "nested 250 deep": DEEP[: 250 * 5] + "1" + "}" * 250,
        }.items()
    },
    **{
        name: says(None, "tool_calls", tool_calls=calls)
        for name, calls in {
            "a null call": [None],
            "a null call beside another": [None, CALL],
            "a call of null": [{"id": "a", "type": "function", "function": None}],
            "no name": [{**CALL, "function": {"name": None, "arguments": "{}"}}],
            "a number for a name": [{**CALL, "function": {"name": 5, "arguments": "{}"}}],
            "an object": [{**CALL, "function": {"name": "get_weather", "arguments": {"n": 1}}}],
            "an object beyond all numbers": [
                {**CALL, "function": {"name": "get_weather", "arguments": {"n": float("inf")}}}
            ],
            "a list": [{**CALL, "function": {"name": "get_weather", "arguments": [1]}}],
            "a number": [{**CALL, "function": {"name": "get_weather", "arguments": 5}}],
        }.items()
    },
    **{
        f"usage {usage}": completion(call_message("get_weather", "{}"), "tool_calls", usage=usage)
        for usage in (
            {**USAGE, "prompt_tokens": float("nan")},
            {**USAGE, "prompt_tokens": float("inf")},
            {**USAGE, "prompt_tokens": "many"},
            {**USAGE, "prompt_tokens": 10**40},
            {**USAGE, "completion_tokens_details": {"reasoning_tokens": float("nan")}},
        )
    },
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)


REQUEST = ChatRequest(
    [{"role": "user", "content": "What's the weather in Paris?"}],
    [WEATHER],
    "required",
    {"temperature": 0.0},
)


class Both:
    """The same question through both clients."""

    def __init__(self) -> None:
        self._clients: list[ChatClient] = []

    async def ask(
        self, base_url: str, *, timeout_s: float = 60.0, texts: bool = True, **fields: Any
    ) -> tuple[Told, Told]:
        """What litellm and our client told: an answer, or the properties of an error."""
        spec = ModelSpec(
            "m", api_base=base_url, **{"model": "openai/gpt-4o", "api_key_env": "MY_API_KEY", **fields}
        )
        clients: list[ChatClient] = [LitellmClient(spec), OpenAIClient(spec)]
        self._clients += clients
        over_litellm, lean = [await _told(c, REQUEST, timeout_s, texts) for c in clients]
        return over_litellm, lean

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


async def _told(client: ChatClient, request: ChatRequest, timeout_s: float, texts: bool) -> Told:
    try:
        answer = await client.complete(request, timeout_s)
    except ModelError as error:
        failed = error
    else:
        assert answer.latency_s is not None
        return structs.replace(answer, latency_s=None)
    assert KEY not in failed.message
    told = (type(failed), failed.kind, failed.retryable, failed.fatal, failed.retry_after)
    return (*told, failed.message) if texts else told


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    both = Both()
    yield both
    await both.close()


@pytest.mark.parametrize("name", ANSWERS)
async def test_the_same_answers(both: Both, name: str) -> None:
    with MockServer(respond=lambda path, request: (200, ANSWERS[name])) as server:
        over_litellm, lean = await both.ask(server.base_url)
        assert isinstance(lean, ChatAnswer)
        assert lean == over_litellm
        first, second = server.bodies
        assert first == second


@pytest.mark.parametrize("name", REFUSALS)
async def test_the_same_refusals_in_the_same_words(both: Both, name: str) -> None:
    with MockServer(respond=lambda path, request: REFUSALS[name], retry_after=None) as server:
        over_litellm, lean = await both.ask(server.base_url)
    assert lean == over_litellm


@pytest.mark.parametrize("name", ODDITIES)
async def test_the_same_kinds_of_error(both: Both, name: str) -> None:
    with MockServer(respond=lambda path, request: ODDITIES[name]) as server:
        over_litellm, lean = await both.ask(server.base_url, texts=False)
    assert isinstance(lean, tuple)
    assert lean == over_litellm


@pytest.mark.parametrize("retry_after", ["7", "0.5", "Fri, 31 Dec 1999 23:59:59 GMT", "soon", None])
async def test_the_same_wait(both: Both, retry_after: str | None) -> None:
    with MockServer(faults={"429": 1}, retry_after=retry_after) as server:
        over_litellm, lean = await both.ask(server.base_url)
    assert lean == over_litellm


@pytest.mark.parametrize("fault", ["reset", "half", "garbage", "hang", "echo-key", "refuse-required"])
async def test_the_same_faults(both: Both, fault: str) -> None:
    # The first call of litellm imports for seconds, which must not count against the time-out.
    timeout_s = 1.0 if fault == "hang" else 60.0
    with MockServer() as server:
        await both.ask(server.base_url)
    with MockServer(faults={fault: 1}) as server:
        over_litellm, lean = await both.ask(server.base_url, timeout_s=timeout_s, texts=False)
    assert isinstance(lean, tuple)
    assert lean == over_litellm


async def test_the_same_without_a_server_or_a_key(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    with MockServer() as server:
        gone = server.base_url
    over_litellm, lean = await both.ask(gone, texts=False)
    assert lean == over_litellm
    over_litellm, lean = await both.ask(gone, api_key_env="NO_SUCH_KEY")
    assert lean == over_litellm


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("name", ODD_CALLS)
async def test_odd_calls_and_figures_are_read_alike(both: Both, name: str, tmp_path: Path) -> None:
    (tmp_path / f"odd_{tmp_path.name}.py").write_text("def answer(messages, tools): return DOCUMENT\n")
    spec = ModelSpec("m", callable=f"odd_{tmp_path.name}:answer", folder=tmp_path)
    agent = CallableClient(spec)
    load_callable(spec).__globals__["DOCUMENT"] = ODD_CALLS[name]
    with MockServer(respond=lambda path, request: (200, ODD_CALLS[name])) as server:
        told = await both.ask(server.base_url)
        other = await both.ask(server.base_url, model="hosted_vllm/gpt-4o")
    answers = [*told, other[0], await agent.complete(REQUEST, 60.0)]
    await agent.close()
    readings = []
    for answer in answers:
        assert isinstance(answer, ChatAnswer), answer
        calls = read_reply(answer, REQUEST, cached=False).calls
        tokens = answer.prompt_tokens, answer.completion_tokens, answer.reasoning_tokens
        readings.append(([(call.name, call.arguments) for call in calls], tokens))
    assert readings == readings[:1] * 4


@pytest.mark.parametrize(("recording", "replaying"), [("openai", "litellm"), ("litellm", "openai")])
def test_a_cassette_of_one_lane_replays_for_the_other(
    tmp_path: Path, recording: str, replaying: str
) -> None:
    path, case = tmp_path / "weather.jsonl", case_of()
    with MockServer() as server:
        spec = ModelSpec("m", model="openai/gpt-4o", api=recording, api_base=server.base_url)
        runner = Runner(4, 30.0)
        recorded = runner.submit(Trial(case, spec, cassette=Cassette(path, "new"))).result(60)
        other = dataclasses.replace(spec, api=replaying)
        replayed = runner.submit(Trial(case, other, cassette=Cassette(path, "none"))).result(60)
        runner.close()
        assert server.requests == 1
    assert replayed.replies[0].cached
    assert replayed.calls == recorded.calls


def test_prices_are_those_that_litellm_works_out() -> None:
    litellm = load_litellm()
    names = [
        name.removeprefix("openai/")
        for name, entry in price_list().items()
        if entry.get("litellm_provider") == "openai" and entry.get("mode") == "chat"
    ]
    numbers = random.Random(5)
    assert len(names) > 50
    for name in names:
        prompt, completion_tokens = numbers.choice([900, 250_000, 300_000]), numbers.randrange(500)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": numbers.choice([0, 800])},
        }
        response = litellm.ModelResponse(model=name, usage=litellm.Usage(**usage))
        theirs = litellm.completion_cost(response, model=name, custom_llm_provider="openai")
        ours = cost_usd(openai_price(name), usage)
        assert (ours or 0.0) == pytest.approx(theirs, rel=1e-9), name


async def test_both_say_which_model_answered(both: Both) -> None:
    document = {**says("hello"), "model": "m-2026-11-01", "system_fingerprint": "fp_1"}
    with MockServer(respond=lambda path, request: (200, document)) as server:
        for answer in await both.ask(server.base_url):
            assert isinstance(answer, ChatAnswer)
            assert (answer.served_model, answer.system_fingerprint) == ("m-2026-11-01", "fp_1")
