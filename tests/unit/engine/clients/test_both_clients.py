"""litellm and our own client for OpenAI's protocol: what they make of the same answers and faults.

Known differences are those of litellm's reading, and none of them changes a score: it turns
arguments that came as an object into text, invents ids that are missing, copies fields that it does
not know into `provider_specific_fields`, and calls every unknown finish reason `stop`.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from builders import call
from mock_server import MockServer, call_message, http
from msgspec import structs

from pytest_tooleval.engine.asking.context import sampling_for
from pytest_tooleval.engine.cassettes.cassette import Cassette
from pytest_tooleval.engine.clients.callable_client import load_callable
from pytest_tooleval.engine.clients.litellm_client import load_litellm
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.exchange.reply import read_reply
from pytest_tooleval.engine.models.known import known_entry, known_models
from pytest_tooleval.engine.models.prices import cost_usd
from pytest_tooleval.engine.models.spec import CallableModel, HttpModel, ModelSpec
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ErrorKind, ModelError

from ..fakes import WEATHER, case_of, only
from .asking import KEY, REQUEST, USER, ask

pytestmark = pytest.mark.slow

ODD_KEY = "sk-planted/AbC+d=0123456789"
CALL = call("get_weather", '{"city": "Paris"}')
Outcome = ChatAnswer | tuple[object, ...]


@pytest.fixture(params=["openai", "litellm"])
def api(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def spec_of(base: MockServer | str, api: str, **fields: Any) -> HttpModel:
    url = base if isinstance(base, str) else base.base_url
    return HttpModel(
        "m", api=api, api_base=url, **{"model": "openai/mock", "api_key_env": "MY_API_KEY", **fields}
    )


async def failing(spec: ModelSpec, timeout_s: float = 60.0) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(spec, timeout_s=timeout_s)
    assert "\n" not in raised.value.message
    assert "litellm." not in raised.value.message
    assert KEY not in raised.value.message
    return raised.value


async def both(server: MockServer, *, texts: bool = True, **fields: Any) -> tuple[Outcome, Outcome]:
    """What litellm and our client told: an answer, or the properties of an error."""
    fields = {"model": "openai/gpt-4o", **fields}
    specs = [spec_of(server, api, **fields) for api in ("litellm", "openai")]
    over_litellm, lean = [await _outcome(spec, texts) for spec in specs]
    return over_litellm, lean


async def _outcome(spec: ModelSpec, texts: bool) -> Outcome:
    try:
        answer = await ask(spec)
    except ModelError as error:
        failed = error
    else:
        assert answer.latency_s is not None
        return structs.replace(answer, latency_s=None)
    assert KEY not in failed.message
    outcome = (type(failed), failed.kind, failed.retryable, failed.fatal, failed.retry_after)
    return (*outcome, failed.message) if texts else outcome


# What is sent.


async def test_a_question_and_its_answer(api: str) -> None:
    message = call_message("get_weather", {"city": "Paris"})
    document = completion(message, "tool_calls", model="m-2026-11-01", system_fingerprint="fp_1")
    extra = {"seed": 7, "extra_body": {"top_k": 5}, "extra_headers": {"X-Team": "tools"}}
    with MockServer(respond=lambda path, request: (200, document)) as server:
        spec = spec_of(server, api, extra=extra)
        answer = await ask(spec, ChatRequest([USER], [WEATHER], "required", sampling_for(spec)))
        left_out = dataclasses.replace(spec, omit=("extra_headers",))
        await ask(left_out, ChatRequest([USER], sampling=sampling_for(left_out)))
    assert structs.replace(answer, latency_s=None) == ChatAnswer(
        message,
        "tool_calls",
        prompt_tokens=50,
        completion_tokens=10,
        reasoning_tokens=answer.reasoning_tokens,
        served_model="m-2026-11-01",
        system_fingerprint="fp_1",
    )
    assert server.bodies[0] == {
        "model": "mock",
        "messages": [USER],
        "tools": [WEATHER],
        "tool_choice": "required",
        "temperature": 0,
        "seed": 7,
        "top_k": 5,
    }
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert [headers.get("x-team") for headers in server.headers] == ["tools", None]


async def test_only_what_is_needed_is_sent(api: str) -> None:
    with MockServer() as server:
        spec = spec_of(server, api)
        await ask(spec, ChatRequest([USER]))
        await ask(spec, ChatRequest([USER], [WEATHER], "auto"))
        await ask(spec, ChatRequest([USER], [WEATHER], "none"))
    assert [sorted(body) for body in server.bodies] == [
        ["messages", "model"],
        ["messages", "model", "tools"],
        ["messages", "model", "tool_choice", "tools"],
    ]


async def test_a_conversation_goes_back_as_it_came(api: str) -> None:
    made = call("search", '{"q":"\\ud800 é"}', "a")
    earlier = {
        "role": "assistant",
        "content": "Hm. \ud800",
        "reasoning_content": "hm",
        "tool_calls": [made],
    }
    result = {"role": "tool", "tool_call_id": "a", "content": "é"}
    with MockServer() as server:
        await ask(spec_of(server, api), ChatRequest([USER, earlier, result], [WEATHER]))
    assert server.bodies[0]["messages"] == [USER, {**earlier, "content": "Hm. ?"}, result]


# What is answered.


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
    "a call and stop": says("", "stop", tool_calls=[CALL]),
    "a call without a reason": says(None, None, tool_calls=[CALL]),
    "broken arguments": completion(call_message("get_weather", "{broken"), "tool_calls"),
    "no calls": says("hello", tool_calls=[]),
    "nulls": says(None, refusal=None, audio=None, function_call=None, tool_calls=None),
    "thoughts in a field": says("hello", reasoning_content="let me see"),
    "thoughts in the text": says("<think>let me see</think>hello"),
    "thoughts in two lines": says("<think>\nlet me\nsee\n</think>\n\nhello"),
    "thoughts without an end": says("<think>let me see"),
    "an old call": says(None, "function_call", function_call={"name": "f", "arguments": "{}"}),
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


@pytest.mark.parametrize("name", ANSWERS)
async def test_the_same_answers(name: str) -> None:
    with MockServer(respond=lambda path, request: (200, ANSWERS[name])) as server:
        over_litellm, lean = await both(server)
    assert isinstance(lean, ChatAnswer)
    assert lean == over_litellm


@pytest.mark.parametrize("name", REFUSALS)
async def test_the_same_refusals_in_the_same_words(name: str) -> None:
    with MockServer(respond=lambda path, request: REFUSALS[name], retry_after=None) as server:
        over_litellm, lean = await both(server)
    assert server.requests == 2  # no library retried behind our back
    assert lean == over_litellm


@pytest.mark.parametrize("name", ODDITIES)
async def test_the_same_kinds_of_error(name: str) -> None:
    with MockServer(respond=lambda path, request: ODDITIES[name]) as server:
        over_litellm, lean = await both(server, texts=False)
    assert isinstance(lean, tuple)
    assert lean == over_litellm


@pytest.mark.parametrize(
    "document",
    [
        *([], [1], 5, "x", None, {}, {"choices": []}, {"choices": None}, {"choices": [{}]}),
        completion(None),
    ],
    ids=str,
)
async def test_what_is_no_answer(api: str, document: object) -> None:
    with MockServer(respond=lambda path, request: (200, document)) as server:
        error = await failing(spec_of(server, api))
    assert (error.kind, error.retryable) == ("bad_response", True)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("name", ODD_CALLS)
async def test_odd_calls_and_figures_are_read_alike(name: str, tmp_path: Path) -> None:
    (tmp_path / f"odd_{tmp_path.name}.py").write_text("def answer(messages, tools): return DOCUMENT\n")
    agent = CallableModel("m", callable=f"odd_{tmp_path.name}:answer", folder=tmp_path)
    load_callable(agent).__globals__["DOCUMENT"] = ODD_CALLS[name]
    with MockServer(respond=lambda path, request: (200, ODD_CALLS[name])) as server:
        answers = await both(server)
        other = await both(server, model="hosted_vllm/gpt-4o")
    readings = []
    for answer in [*answers, other[0], await ask(agent)]:
        assert isinstance(answer, ChatAnswer), answer
        calls = read_reply(answer, REQUEST, cached=False).calls
        tokens = answer.prompt_tokens, answer.completion_tokens, answer.reasoning_tokens
        readings.append(([(call.name, call.arguments) for call in calls], tokens))
    assert readings == readings[:1] * 4


@pytest.mark.parametrize("arguments", ["", "{not json", "[1]", '{"x": 1e999}', '"\\ud800"'])
async def test_arguments_come_as_they_were_sent(api: str, arguments: str) -> None:
    with MockServer(script=lambda request: call_message("get_weather", arguments)) as server:
        answer = await ask(spec_of(server, api))
    assert read_reply(answer, REQUEST, cached=False).calls[0].raw_arguments == arguments


HOSTILE: list[dict[str, Any]] = [
    *({"content": None, "tool_calls": calls} for calls in ("x", [5], [{"id": 5, "function": None}])),
    {"role": "robot", "content": {"x": 1}},
    {"role": "assistant", "content": 5},
    {"content": "\ud800 \x1b[31m"},
    {},
]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # raised inside litellm
@pytest.mark.parametrize("message", HOSTILE, ids=json.dumps)
async def test_a_hostile_message_is_an_answer_or_an_error(api: str, message: dict[str, Any]) -> None:
    with (
        MockServer(script=lambda request: message) as server,
        contextlib.suppress(ModelError),  # and nothing else
    ):
        answer = await ask(spec_of(server, api))
        read_reply(answer, REQUEST, cached=False)
        json.dumps(answer.message)


# What goes wrong on the way.

FAULTS: list[tuple[str, ErrorKind, bool, str]] = [
    ("reset", "server", True, "the connection broke"),
    ("half", "server", True, "the connection broke"),
    ("garbage", "bad_response", True, "the answer is not JSON"),
    ("hang", "timeout", True, "no answer within 0.5 s"),
    ("echo-key", "credentials", False, "the key in MY_API_KEY was refused"),
]


@pytest.mark.parametrize(("fault", "kind", "retryable", "message"), FAULTS)
async def test_every_fault(api: str, fault: str, kind: ErrorKind, retryable: bool, message: str) -> None:
    with MockServer(faults={fault: 1}) as server:
        error = await failing(spec_of(server, api), 0.5 if fault == "hang" else 60.0)
        assert server.requests <= 1  # on a busy machine none in so short a time
    assert (error.kind, error.retryable, error.fatal) == (kind, retryable, not retryable)
    assert error.answered == (fault == "garbage")
    assert message in error.message


async def test_a_dead_endpoint_and_a_host_that_does_not_exist(api: str) -> None:
    with MockServer() as server:
        dead = server.base_url
    for base in (dead, "http://no-such-host.invalid/v1"):
        error = await failing(spec_of(base, api))
        assert (error.kind, error.retryable) == ("unreachable", True)
        assert base in error.message


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0), ("soon", None), (None, None)],
)
async def test_retry_after(api: str, header: str | None, seconds: float | None) -> None:
    with MockServer(faults={"429": 1}, retry_after=header) as server:
        assert (await failing(spec_of(server, api))).retry_after == seconds


async def test_a_missing_key_names_the_variable(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMPTY_KEY", " ")
    for name in ("EMPTY_KEY", "NO_SUCH_KEY"):
        error = await failing(spec_of("http://localhost:1/v1", api, api_key_env=name))
        assert f"the environment variable {name} is not set" in error.message
        assert error.fatal


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(api: str, status: int) -> None:
    with MockServer() as other:
        location = f"Location: http://user:pass@localhost:{other.port}/v2?x=y"
        with MockServer(raw=http(b"", status, location)) as server:
            error = await failing(spec_of(server, api))
        assert other.requests == 0
    assert error.message == (
        f"{server.base_url}/chat/completions redirects to http://[secret]@localhost:{other.port}/v2, "
        "which is not followed; set api_base to the final address"
    )
    assert (error.kind, error.retryable, error.fatal) == ("bad_request", False, True)


@pytest.mark.parametrize("status", [200, 400])
async def test_of_an_error_of_a_megabyte_only_the_size_is_told(api: str, status: int) -> None:
    with MockServer(raw=http(b"api_key " * 130_000, status)) as server:
        error = await failing(spec_of(server, api))
    assert error.kind == ("bad_response" if status == 200 else "bad_request")
    assert "api_key" not in error.message
    assert status == 200 or "a text of 1015 KiB" in error.message


ECHOES = {
    "escaped": json.dumps({"error": {"message": f"wrong key {ODD_KEY}"}}).replace("/", "\\/"),
    "Base64": json.dumps({"error": base64.b64encode(f"user:{ODD_KEY}".encode()).decode()}),
    "an address": json.dumps({"detail": f"no /?key={quote(ODD_KEY, safe='')}"}),
    "cut": "<html>" + " " * (1995 - len(ODD_KEY)) + ODD_KEY,
}


@pytest.mark.parametrize("name", ECHOES)
@pytest.mark.parametrize("status", [200, 401])
async def test_a_key_that_comes_back_in_another_spelling(
    api: str, monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    monkeypatch.setenv("MY_API_KEY", ODD_KEY)
    with MockServer(raw=http(ECHOES[name].encode(), status)) as server:
        error = await failing(spec_of(server, api))
    pieces = [ODD_KEY, "planted", base64.b64encode(f"user:{ODD_KEY}".encode()).decode()[8:24]]
    assert not [piece for piece in pieces if piece in error.message]


# What else is the same.


@pytest.mark.parametrize(("recording", "replaying"), [("openai", "litellm"), ("litellm", "openai")])
def test_a_cassette_of_one_lane_replays_for_the_other(
    tmp_path: Path, recording: str, replaying: str
) -> None:
    path, case = tmp_path / "weather.jsonl", case_of()
    with MockServer() as server:
        spec = HttpModel("m", model="openai/gpt-4o", api=recording, api_base=server.base_url)
        runner = Runner(4, 30.0)
        recorded = only(runner.submit(TrialRequest(Job(case, spec, cassette=Cassette(path)))))
        other = dataclasses.replace(spec, api=replaying)
        replayed = only(
            runner.submit(TrialRequest(Job(case, other, cassette=Cassette(path, may_ask=False))))
        )
        runner.close()
        assert server.requests == 1
    assert replayed.replies[0].cached
    assert replayed.calls == recorded.calls


def test_prices_are_those_that_litellm_works_out() -> None:
    litellm = load_litellm()
    names = [
        name.removeprefix("openai/")
        for name, entry in known_models().items()
        if entry.get("litellm_provider") == "openai" and entry.get("mode") != "responses"
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
        ours = cost_usd(known_entry(f"openai/{name}"), usage)
        assert (ours or 0.0) == pytest.approx(theirs, rel=1e-9), name
