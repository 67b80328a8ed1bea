"""The stand-ins speak as the providers do: in the types of their SDKs, in their words."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest

from .contract import CITY
from .server import StandIns
from .talk import KEY

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


@pytest.fixture(scope="module")
def standins() -> Any:
    with StandIns() as running:
        yield running


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
        ({"tool_choice": {"type": "required"}}, "Input tag 'required' found using 'type'"),
        ({"temperature": 0, "top_p": 0.5}, "`temperature` and `top_p` cannot both be specified"),
        ({"model": "claude-sonnet-5", "temperature": 0}, "`temperature` is deprecated for this model."),
        (
            {"thinking": {"type": "adaptive"}, "temperature": 0},
            "`temperature` may only be set to 1 when thinking is enabled",
        ),
        (
            {"thinking": {"type": "adaptive"}, "tool_choice": {"type": "any"}},
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            {"model": "claude-opus-5-5", "tool_choice": {"type": "any"}},
            'tool_choice: type "tool" and "any" are not supported for this model.',
        ),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 4096}},
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        ),
        (
            {"model": "claude-sonnet-5", "thinking": {"type": "enabled", "budget_tokens": 2048}},
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
)
def test_what_anthropic_refuses(claude: anthropic.Anthropic, change: dict[str, Any], text: str) -> None:
    import anthropic

    with pytest.raises(anthropic.BadRequestError) as refused:
        claude.messages.create(**CLAUDE, extra_body=change)
    assert text in refused.value.body["error"]["message"]  # type: ignore[index]


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
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
)
def test_what_openai_refuses(gpt: openai.OpenAI, change: dict[str, Any], text: str) -> None:
    import openai

    with pytest.raises(openai.BadRequestError) as refused:
        gpt.chat.completions.create(**CHAT, extra_body=change)
    assert text in refused.value.message


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"seed": 1}, "Unknown parameter: 'seed'."),
        ({"temperature": 0}, "Unsupported parameter: 'temperature' is not supported with this model."),
        (
            {"model": "gpt-4o", "reasoning": {"effort": "low"}},
            "Unsupported parameter: 'reasoning.effort'",
        ),
    ],
)
def test_what_openai_refuses_over_responses(
    gpt: openai.OpenAI, change: dict[str, Any], text: str
) -> None:
    import openai

    with pytest.raises(openai.BadRequestError) as refused:
        gpt.responses.create(**RESPONSES, extra_body=change)
    assert text in refused.value.message


@pytest.fixture
def gemini(standins: StandIns) -> genai.Client:
    from google import genai
    from google.genai.types import HttpOptions

    options = HttpOptions(base_url=standins.url("generativelanguage.googleapis.com"))
    return genai.Client(api_key=KEY, http_options=options)


def _ask_gemini(gemini: genai.Client, contents: Any, **config: Any) -> Any:
    tools = [
        {"function_declarations": [{"name": "get_weather", "parameters": config.pop("schema", CITY)}]}
    ]
    config = {"tools": tools, "automatic_function_calling": {"disable": True}, **config}
    model = config.pop("model", "gemini-3-flash-preview")
    return gemini.models.generate_content(model=model, contents=contents, config=config)  # type: ignore[arg-type]


def test_a_chain_with_googles_sdk(gemini: genai.Client) -> None:
    from google.genai.errors import ClientError
    from google.genai.types import Content
    from google.genai.types import Part

    user = Content(role="user", parts=[Part(text=PROMPT)])
    first = _ask_gemini(gemini, [user])
    called = first.candidates[0].content
    answer = Part.from_function_response(name="get_weather", response={"sky": "rain"})
    result = Content(role="user", parts=[answer])
    assert _ask_gemini(gemini, [user, called, result]).text
    with pytest.raises(
        ClientError, match="function response parts is equal to the number of function call"
    ):
        _ask_gemini(gemini, [user, called, Content(role="user", parts=[answer, answer])])
    called.parts[0].thought_signature = None
    with pytest.raises(ClientError, match="Function call is missing a thought_signature"):
        _ask_gemini(gemini, [user, called, result])


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"schema": {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "enum": ["1"]}}}}, "only allowed for STRING"),
        ({"schema": {"type": "OBJECT", "properties": {"n": {"type": "ARRAY"}}}}, "items: missing field"),
        ({"schema": {"type": "OBJECT", "additional_properties": False}}, 'Unknown name "additionalProperties"'),
        ({"model": "gemini-2.5-flash", "thinking_config": {"thinking_level": "LOW"}}, "Thinking level is not supported"),
    ],
)  # fmt: skip
def test_what_google_refuses(gemini: genai.Client, config: dict[str, Any], text: str) -> None:
    from google.genai.errors import ClientError

    with pytest.raises(ClientError) as refused:
        _ask_gemini(gemini, PROMPT, **config)
    assert text in str(refused.value)


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
