"""Chooses the client of a model, and imports no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..exchange.chat import ChatAnswer, ChatRequest
from ..models.spec import Builtin, CallableModel, DeployedAgent, HttpModel, ModelSpec

if TYPE_CHECKING:
    from ...worlds.world import WorldSpec


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
    match spec:
        case CallableModel():
            from .callable_client import CallableClient

            return CallableClient(spec)
        case DeployedAgent():
            from .deployed_agent import DeployedClient

            return DeployedClient(spec)
        case Builtin():
            from .lexical import LexicalClient

            return LexicalClient()
        case HttpModel(protocol="openai"):
            from .openai_chat import OpenAIClient

            return OpenAIClient(spec)
        case HttpModel(protocol="anthropic"):
            from .anthropic_messages import AnthropicClient

            return AnthropicClient(spec)
        case HttpModel(protocol="gemini"):
            from .gemini import GeminiClient

            return GeminiClient(spec)
        case HttpModel():
            from .litellm_client import LitellmClient

            return LitellmClient(spec)


def load_client(spec: ModelSpec, world: WorldSpec | None) -> None:
    """Import a model's client, and read what an agent and its world import.

    On the thread that runs the tests: otherwise the engine's thread would do it while they run, and the
    first request would wait for both.
    """
    make_client(spec)
    spec.modules(world)  # kept
    if isinstance(spec, HttpModel) and spec.protocol is None:
        from .litellm_client import load_before_asking

        load_before_asking()
