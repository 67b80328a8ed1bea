"""The stand-ins speak as the providers do: in the types of their SDKs, in their words."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from .contract import CITY
from .server import StandIns
from .talk import KEY

pytestmark = pytest.mark.slow

# The SDKs take seconds to load.
if TYPE_CHECKING:
    import anthropic
    import openai
    from google import genai

PROMPT = "What is the weather in Paris?"
USER: dict[str, Any] = {"role": "user", "content": PROMPT}
FUNCTION: dict[str, Any] = {"name": "get_weather", "parameters": CITY}
CLAUDE: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 4096,
    "messages": [USER],
    "tools": [{"name": "get_weather", "input_schema": CITY}],
}
CHAT: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [USER],
    "tools": [{"type": "function", "function": FUNCTION}],
}
RESPONSES: dict[str, Any] = {
    "model": "gpt-5.6",
    "input": [USER],
    "tools": [{"type": "function", "strict": False, **FUNCTION}],
}


def gemini_tools(schema: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [{"name": "get_weather", "parameters": schema}]}]}


def gemini_schema(property: dict[str, Any]) -> dict[str, Any]:
    return gemini_tools({"type": "OBJECT", "properties": {"n": property}})


GEMINI = {
    "model": "gemini-3-flash-preview",
    "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
    **gemini_tools(CITY),
}
BEARER = {"Authorization": f"Bearer {KEY}"}
# A request that is answered: its address, headers and body.
REQUESTS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "anthropic": (
        "api.anthropic.com/v1/messages",
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        CLAUDE,
    ),
    "chat": ("api.openai.com/v1/chat/completions", BEARER, CHAT),
    "responses": ("api.openai.com/v1/responses", BEARER, RESPONSES),
    "google": (
        "generativelanguage.googleapis.com/v1beta/models/{model}:generateContent",
        {"x-goog-api-key": KEY},
        GEMINI,
    ),
}
THINKS = {"thinking": {"type": "adaptive"}}
BUDGET = {"type": "enabled", "budget_tokens": 4096}
# By the provider: changes of its request, and what it then says in its error.
REFUSALS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "anthropic": [
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
        ({"tool_choice": {"type": "required"}}, "Input tag 'required' found using 'type'"),
        ({"temperature": 0, "top_p": 0.5}, "`temperature` and `top_p` cannot both be specified"),
        ({"model": "claude-sonnet-5", "temperature": 0}, "`temperature` is deprecated for this model."),
        ({**THINKS, "temperature": 0}, "`temperature` may only be set to 1 when thinking is enabled"),
        (
            {**THINKS, "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            {"model": "claude-opus-5-5", "tool_choice": {"type": "any"}},
            'tool_choice: type "tool" and "any" are not supported for this model.',
        ),
        ({"thinking": BUDGET}, "`max_tokens` must be greater than `thinking.budget_tokens`"),
        (
            {"model": "claude-sonnet-5", "thinking": BUDGET},
            '"thinking.type.enabled" is not supported for this model.',
        ),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "object", "anyOf": []}}]},
            "input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a b": {}}}}]},
            "Property keys should match pattern",
        ),
    ],
    "chat": [
        ({"top_k": 1}, "Unrecognized request argument supplied: top_k"),
        ({"messages": [{**USER, "x": 1}]}, "Unknown parameter: 'messages[0].x'."),
        ({"model": "gpt-5", "temperature": 0}, "'temperature' does not support 0.0 with this model."),
        ({"model": "gpt-5", "max_tokens": 9}, "Use 'max_completion_tokens' instead."),
        ({"model": "o4-mini", "parallel_tool_calls": True}, "'parallel_tool_calls' is not supported"),
        ({"model": "gpt-5.6"}, "use /v1/responses or set reasoning_effort to 'none'."),
        (
            {"model": "gpt-5.4", "reasoning_effort": "low"},
            "not supported for gpt-5.4 in /v1/chat/completions",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "a.b"}}]},
            "Invalid 'tools[0].function.name': string does not match pattern.",
        ),
    ],
    "responses": [
        ({"seed": 1}, "Unknown parameter: 'seed'."),
        ({"temperature": 0}, "Unsupported parameter: 'temperature' is not supported with this model."),
        (
            {"model": "gpt-4o", "reasoning": {"effort": "low"}},
            "Unsupported parameter: 'reasoning.effort'",
        ),
    ],
    "google": [
        (gemini_schema({"type": "INTEGER", "enum": ["1"]}), "only allowed for STRING"),
        (gemini_schema({"type": "ARRAY"}), "items: missing field"),
        (
            gemini_tools({"type": "OBJECT", "additionalProperties": False}),
            'Unknown name "additionalProperties"',
        ),
        (
            {
                "model": "gemini-2.5-flash",
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
            },
            "Thinking level is not supported",
        ),
    ],
}


@pytest.fixture(scope="module")
def standins() -> Any:
    with StandIns() as running:
        yield running


def post(standins: StandIns, provider: str, **change: Any) -> str:
    """What an error says; empty for an answer."""
    place, headers, body = REQUESTS[provider]
    document = {**body, **change}
    host, _, path = place.format(**document).partition("/")
    if provider == "google":
        del document["model"]
    connection = HTTPConnection(urlsplit(standins.address).netloc)
    connection.request("POST", f"/{host}/{path}", json.dumps(document), headers)
    answer = json.loads(connection.getresponse().read())
    return str(answer["error"]["message"]) if answer.get("error") else ""


@pytest.mark.parametrize("provider", REFUSALS)
def test_what_a_provider_refuses(standins: StandIns, provider: str) -> None:
    assert post(standins, provider) == ""
    for change, text in REFUSALS[provider]:
        assert text in post(standins, provider, **change)


@pytest.fixture
def claude(standins: StandIns) -> anthropic.Anthropic:
    import anthropic

    return anthropic.Anthropic(base_url=standins.url("api.anthropic.com"), api_key=KEY, max_retries=0)


@pytest.fixture
def gpt(standins: StandIns) -> openai.OpenAI:
    import openai

    return openai.OpenAI(base_url=standins.url("api.openai.com", "/v1"), api_key=KEY, max_retries=0)


def test_a_chain_with_anthropics_sdk(claude: anthropic.Anthropic) -> None:
    import anthropic

    body = {**CLAUDE, "thinking": {"type": "adaptive"}}
    first = claude.messages.create(**body)
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    content = first.model_dump(exclude_none=True)["content"]
    result = {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "rain"}
    body["messages"] = [USER, {"role": "assistant", "content": content}]
    with pytest.raises(anthropic.BadRequestError, match="does not support assistant message prefill"):
        claude.messages.create(**body)
    body["messages"].append({"role": "user", "content": [result]})
    second = claude.messages.create(**body)
    assert second.stop_reason == "end_turn"
    content[0]["signature"] = "x"
    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        claude.messages.create(**body)


def test_a_chain_with_openais_sdk(gpt: openai.OpenAI) -> None:
    import openai

    first = gpt.chat.completions.create(**CHAT).choices[0].message
    assert first.tool_calls is not None
    answer = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}
    with pytest.raises(openai.BadRequestError, match="must be followed by tool messages"):
        gpt.chat.completions.create(**{**CHAT, "messages": [USER, first]})
    second = gpt.chat.completions.create(**{**CHAT, "messages": [USER, first, answer]})
    assert second.choices[0].finish_reason == "stop"


def test_a_chain_with_openais_sdk_over_responses(gpt: openai.OpenAI) -> None:
    import openai

    first = gpt.responses.create(**RESPONSES)
    thought, call = first.model_dump(exclude_none=True)["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        gpt.responses.create(**{**RESPONSES, "input": [USER, call, result]})
    second = gpt.responses.create(**{**RESPONSES, "input": [USER, thought, call, result]})
    assert second.output_text


@pytest.fixture
def gemini(standins: StandIns) -> genai.Client:
    from google import genai
    from google.genai.types import HttpOptions

    options = HttpOptions(base_url=standins.url("generativelanguage.googleapis.com"))
    return genai.Client(api_key=KEY, http_options=options)


def test_a_chain_with_googles_sdk(gemini: genai.Client) -> None:
    from google.genai.errors import ClientError
    from google.genai.types import Content, Part

    def ask(*contents: Any) -> Any:
        functions: Any = [{"name": "get_weather", "parameters": CITY}]
        config: Any = {
            "tools": [{"function_declarations": functions}],
            "automatic_function_calling": {"disable": True},
        }
        model = "gemini-3-flash-preview"
        return gemini.models.generate_content(model=model, contents=[*contents], config=config)

    user = Content(role="user", parts=[Part(text=PROMPT)])
    first = ask(user)
    called = first.candidates[0].content
    answer = Part.from_function_response(name="get_weather", response={"sky": "rain"})
    result = Content(role="user", parts=[answer])
    assert ask(user, called, result).text
    with pytest.raises(
        ClientError, match="function response parts is equal to the number of function call"
    ):
        ask(user, called, Content(role="user", parts=[answer, answer]))
    called.parts[0].thought_signature = None
    with pytest.raises(ClientError, match="Function call is missing a thought_signature"):
        ask(user, called, result)


def test_a_chain_with_botocore(standins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.exceptions
    import botocore.session

    for name, value in standins.environment().items():
        monkeypatch.setenv(name, value)
    bedrock: Any = botocore.session.Session().create_client(
        "bedrock-runtime", region_name="us-east-1", verify=standins.environment()["SSL_CERT_FILE"]
    )
    tool = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": CITY}}}
    user = {"role": "user", "content": [{"text": PROMPT}]}
    body = {
        "modelId": "us.anthropic.claude-sonnet-5",
        "toolConfig": {"tools": [tool]},
        "messages": [user],
    }
    called = bedrock.converse(**body)["output"]["message"]
    thought, call = called["content"]
    assert thought["reasoningContent"]["reasoningText"]["signature"]
    result = {"toolUseId": call["toolUse"]["toolUseId"], "content": [{"text": "rain"}]}
    body["messages"] = [user, called, {"role": "user", "content": [{"toolResult": result}]}]
    assert bedrock.converse(**body)["stopReason"] == "end_turn"
    with pytest.raises(botocore.exceptions.ClientError, match="Expected toolResult blocks at messages"):
        bedrock.converse(**{**body, "messages": [user, called, user]})
    with pytest.raises(
        botocore.exceptions.ClientError, match="`temperature` is deprecated for this model"
    ):
        bedrock.converse(**body, inferenceConfig={"temperature": 0.0})


def test_a_chain_with_ollamas_sdk(standins: StandIns) -> None:
    import ollama

    client = ollama.Client(host=standins.url("localhost:11434"))
    tools = [{"type": "function", "function": FUNCTION}]
    called = client.chat("qwen3", [USER], tools=tools).message
    assert called.tool_calls
    answered = client.chat("qwen3", [USER, called, {"role": "tool", "content": "rain"}], tools=tools)
    assert answered.message.content
    with pytest.raises(ollama.ResponseError, match="does not support tools"):
        client.chat("gemma3", [USER], tools=tools)
    with pytest.raises(ollama.ResponseError, match=r'"llama3\.1" does not support thinking'):
        client.chat("llama3.1", [USER], think=True)


def test_openrouter_wants_back_what_gemini_thought(standins: StandIns) -> None:
    import openai

    router = openai.OpenAI(base_url=standins.url("openrouter.ai", "/api/v1"), api_key=KEY, max_retries=0)
    body = {**CHAT, "model": "google/gemini-3.1-pro-preview"}
    message = router.chat.completions.create(**body).choices[0].message.model_dump(exclude_none=True)
    answer = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"}
    router.chat.completions.create(**{**body, "messages": [USER, message, answer]})
    del message["reasoning_details"]
    with pytest.raises(openai.BadRequestError) as refused:
        router.chat.completions.create(**{**body, "messages": [USER, message, answer]})
    assert "missing a thought_signature" in str(refused.value.body)
