# mypy: ignore-errors
"""Record a conversation of two turns by the libraries that write spans: `python record.py LIBRARY FILE`.

A scripted OpenAI server answers, and OpenTelemetry's own exporter writes OTLP JSON. The files beside
this one were made so, openllmetry_flat.jsonl by opentelemetry-instrumentation-openai 0.40.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from mock_server import MockServer

SYSTEM = "Tell the weather."
TURNS = ("What is the weather in Paris?", "And in Rome?")
SKIES = {"Paris": "Rain, 12 degrees", "Rome": "Sun, 25 degrees"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Call the tool for each turn, then say what it answered."""
    last = request["messages"][-1]
    turn = sum(message["role"] == "user" for message in request["messages"]) - 1
    if last["role"] == "tool":
        return {"role": "assistant", "content": f"{last['content']}."}
    function = {"name": "get_weather", "arguments": json.dumps({"city": ("Paris", "Rome")[turn]})}
    calls = [{"id": f"call_{turn}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def openai_loop(url: str) -> None:
    """An agent as people write it on OpenAI's client."""
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none")
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    for said in TURNS:
        messages.append({"role": "user", "content": said})
        while True:
            completion = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[TOOL])
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                content = SKIES[json.loads(call.function.arguments)["city"]]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def pydantic_ai_agent(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, system_prompt=SYSTEM)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return SKIES[city]

    first = agent.run_sync(TURNS[0])
    agent.run_sync(TURNS[1], message_history=first.all_messages())


def langgraph_agent(url: str) -> None:
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return SKIES[city]

    model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="none")
    agent = create_agent(model, [get_weather], system_prompt=SYSTEM)
    messages: list[Any] = []
    for said in TURNS:
        messages.append({"role": "user", "content": said})
        messages = agent.invoke({"messages": messages})["messages"]


def agents_sdk(url: str) -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
    from openai import AsyncOpenAI

    @function_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return SKIES[city]

    model = OpenAIChatCompletionsModel("gpt-4o", AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="weather", instructions=SYSTEM, tools=[get_weather], model=model)
    items: list[Any] = []
    for said in TURNS:
        items.append({"role": "user", "content": said})
        items = Runner.run_sync(agent, items).to_input_list()


def openinference_langgraph(url: str) -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument()
    langgraph_agent(url)


def openinference_agents(url: str) -> None:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument()
    agents_sdk(url)


def pydantic_ai(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    Agent.instrument_all(InstrumentationSettings())
    pydantic_ai_agent(url)


def openinference(url: str) -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    openai_loop(url)


def openllmetry(url: str) -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    openai_loop(url)


def opentelemetry(url: str) -> None:
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    openai_loop(url)


LIBRARIES: dict[str, Callable[[str], None]] = {
    "pydantic_ai": pydantic_ai,
    "openinference": openinference,
    "openinference_agents": openinference_agents,
    "openinference_langgraph": openinference_langgraph,
    "openllmetry": openllmetry,
    "opentelemetry": opentelemetry,
}


def record(library: str, path: Path) -> None:
    """One library per process: instrumentations cannot be taken off again."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(str(path))))
    trace.set_tracer_provider(provider)
    with MockServer(script=answer) as server:
        tracer = trace.get_tracer("the user's own")
        with tracer.start_as_current_span("case", attributes={"tooleval.case": "weather"}):
            LIBRARIES[library](server.base_url)
    provider.shutdown()


if __name__ == "__main__":
    record(sys.argv[1], Path(sys.argv[2]))
