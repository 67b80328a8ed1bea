"""Chooses the client of a model, and imports no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ...secrets import keep_secret
from ..exchange.chat import ChatAnswer, ChatRequest
from ..models.spec import LEXICAL, ModelSpec


class ChatClient(Protocol):
    """The client of one model, on one event loop."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        """Send a request once, without retrying.

        Raises `ModelError` if there is no answer, and `ParameterRefused` if the provider refuses one of
        `sent_parameters(request)`.
        """

    async def close(self) -> None: ...


def make_client(spec: ModelSpec) -> ChatClient:
    """Create the client for a model."""
    for variable in (spec.api_key_env, *spec.headers.values()):
        keep_secret(variable)
    return client_for(spec)(spec)


def client_for(spec: ModelSpec) -> Callable[[ModelSpec], ChatClient]:
    """The function that creates the client for a model."""
    if spec.callable:
        from .callable_client import CallableClient

        return CallableClient
    if spec.url:
        from .deployed_agent import DeployedClient

        return DeployedClient
    if spec.model == LEXICAL:
        from .lexical import LexicalClient

        return lambda _: LexicalClient()
    if spec.protocol == "openai":
        from .openai_chat import OpenAIClient

        return OpenAIClient
    if spec.protocol == "anthropic":
        from .anthropic_messages import AnthropicClient

        return AnthropicClient
    if spec.protocol == "gemini":
        from .gemini import GeminiClient

        return GeminiClient
    from .litellm_client import LitellmClient

    return LitellmClient


def load_client(spec: ModelSpec) -> None:
    """Import a model's client, on the thread that runs the tests.

    Otherwise the engine's thread would import it while the tests run, and the first request would wait
    for both.
    """
    client_for(spec)
    _ = spec.modules  # cached; reads an agent's source files
    if spec.needs_litellm:
        from .litellm_client import load_before_asking

        load_before_asking()
