"""One question to one model, over a socket."""

from __future__ import annotations

from typing import Any

from mock_server import MockServer

from pytest_tooleval.engine.clients.make_client import make_client
from pytest_tooleval.engine.exchange.chat import ChatAnswer, ChatRequest
from pytest_tooleval.engine.models.spec import HttpModel, ModelSpec

from ..fakes import WEATHER

KEY = "sk-planted-0123456789"
CLAUDE, GEMINI = "anthropic/claude-haiku-4-5", "gemini/gemini-3-flash-preview"
RESPONSES = "openai/responses/gpt-x"
Document = dict[str, Any]
USER: Document = {"role": "user", "content": "What's the weather in Paris?"}
REQUEST = ChatRequest([USER], [WEATHER], "required", {"temperature": 0.0})


async def ask(spec: ModelSpec, request: ChatRequest = REQUEST, timeout_s: float = 60.0) -> ChatAnswer:
    client = make_client(spec)
    try:
        return await client.complete(request, timeout_s)
    finally:
        await client.close()


async def talk(
    model: str, document: object, *messages: Document, tools: Any = (WEATHER,), **sampling: Any
) -> tuple[ChatAnswer, Document]:
    """What our client makes of a document, and what it has sent for it."""
    request = ChatRequest([*messages] or [USER], tools, "auto", sampling)
    with MockServer(respond=lambda path, body: (200, document)) as server:
        answer = await ask(HttpModel("m", model=model, api_base=server.base_url), request)
    return answer, server.bodies[0]


def answered(answer: ChatAnswer) -> list[Document]:
    """A conversation in which the answer's calls were answered."""
    calls = answer.message["tool_calls"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "rain"} for call in calls]
    return [USER, answer.message, *results]
