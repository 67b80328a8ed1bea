"""What a model's provider makes of the tools in a question."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from builders import tool
from mock_server import MockServer

from pytest_tooleval.engine.models.spec import CallableModel, HttpModel, ModelSpec
from pytest_tooleval.engine.runner import Runner
from pytest_tooleval.engine.tools.schemas import ToolSchemas
from pytest_tooleval.engine.trial import Job, TrialRequest
from pytest_tooleval.errors import ModelError

from ..fakes import case_of, only


def days(schema: dict[str, Any], name: str = "get_weather") -> dict[str, Any]:
    made = tool(name)
    made["function"]["parameters"] = {"type": "object", "properties": {"days": schema}}
    return made


LIST = days({"type": "array"})
SPACE = tool("get_weather")
SPACE["function"]["parameters"] = {"type": "object", "properties": {"my key": {"type": "string"}}}


@pytest.mark.parametrize(
    ("model", "given", "refusal"),
    [
        ("gpt-4o", LIST, 'OpenAI refuses an array without "items"'),
        ("gpt-4o", tool("get.weather"), 'OpenAI refuses the name "get.weather"'),
        ("anthropic/claude-sonnet-5", SPACE, 'Anthropic refuses the parameter "my key"'),
        ("bedrock/us.anthropic.claude-sonnet-5", SPACE, 'Anthropic refuses the parameter "my key"'),
        ("vertex_ai/gemini-2.5-pro", days(True), "Vertex AI refuses true"),  # type: ignore[arg-type]
    ],
)
def test_what_must_fail_is_not_asked(model: str, given: dict[str, Any], refusal: str) -> None:
    runner = Runner(1, 5.0)
    try:
        with pytest.raises(ModelError, match="so it was not asked") as raised:
            only(runner.submit(TrialRequest(Job(case_of(given), HttpModel("m", model=model)))))
    finally:
        runner.close()
    assert raised.value.message.startswith(refusal)
    assert raised.value.kind == "bad_request"


@pytest.mark.parametrize(
    "spec",
    [
        HttpModel("m", model="openai/qwen3", api_base="http://127.0.0.1:8080/v1"),
        HttpModel("m", model="ollama_chat/qwen3"),
        CallableModel("m", callable="agent:ask"),
        HttpModel("m", model="anthropic/claude-sonnet-5"),
    ],
)
def test_others_may_take_it(spec: ModelSpec) -> None:
    assert ToolSchemas(spec).changes([LIST, tool("get.weather")]) == {}


def test_another_host_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1")
    assert ToolSchemas(HttpModel("m", model="openai/qwen3")).changes([LIST]) == {}


def test_what_a_model_is_not_shown_is_recorded() -> None:
    choice = copy.deepcopy(tool("get_weather"))
    choice["function"]["parameters"]["anyOf"] = [{"required": ["city"]}]

    def respond(path: str, request: dict[str, Any]) -> tuple[int, object]:
        call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
        return 200, {"content": [call], "stop_reason": "tool_use"}

    with MockServer(respond=respond) as server:
        spec = HttpModel("m", model="anthropic/claude-haiku-4-5", api_base=server.base_url)
        runner = Runner(1, 60.0)
        transcript = only(runner.submit(TrialRequest(Job(case_of(choice), spec))))
        runner.close()
    fallbacks = {"tools.get_weather": "a schema without anyOf"}
    assert transcript.replies[0].fallbacks == fallbacks
    assert "anyOf" not in server.bodies[0]["tools"][0]["input_schema"]
