"""An agent of Pydantic AI, as a model to evaluate. Needs `pip install 'pydantic-ai-slim[openai]'`."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from pytest_tooleval.agents import pydantic_ai

model = OpenAIChatModel(
    "qwen2.5-coder-1.5b-instruct",
    provider=OpenAIProvider(base_url="http://127.0.0.1:8092/v1", api_key="none"),
    settings={"max_tokens": 96, "temperature": 0},
)
agent = Agent(model, instructions="You work in a shop. Use the tools, then answer in one sentence.")


@agent.tool_plain
def find_order(number: str) -> dict[str, str]:
    """Look up an order by its number, such as A1."""
    return {"number": number, "status": "shipped", "carrier": "Posten"}


@agent.tool_plain
def open_ticket(order: str, problem: str) -> str:
    """Open a ticket for a colleague, when something is wrong with an order."""
    return f"ticket opened for {order}"


# What the model's table names.
answer = pydantic_ai(agent)
