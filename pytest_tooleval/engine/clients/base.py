"""What the engine asks of a model's client, whichever library stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Protocol

from ...record.calls import ToolCall
from ...record.transcript import Message
from ...record.transcript import Taken
from ..models.spec import ModelSpec

# No chat answer is longer, unpacked.
MOST_BYTES = 32 * 1024 * 1024


class Executor(Protocol):
    """What answers the calls of an agent that makes them itself."""

    most_calls: int
    """How many calls one run may make."""

    async def answer(self, call: ToolCall) -> str: ...

    async def ends(self, call: ToolCall) -> bool:
        """Whether a run ends with a call, which is not answered."""
        ...

    @property
    def known_by(self) -> Mapping[str, Any]:
        """What may change its answers, for the cassette."""
        ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model, without credentials.

    `tools` are chat API objects; with none of them no `tool_choice` is sent either. `sampling`
    holds temperature, max_tokens and whatever else the model's table sets; only what is in it is
    sent. Values of `extra_headers` are only stand-ins for those in the model's table, since questions
    are recorded. `trial` tells repeated questions apart and is not sent. `executor` is for agents that
    run their own loop.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str = "auto"
    sampling: Mapping[str, Any] = field(default_factory=dict)
    trial: int = 0
    executor: Executor | None = None


def sent_parameters(request: ChatRequest) -> dict[str, object]:
    """What is sent beside messages and tools, and may be refused; headers are no parameters."""
    sent: dict[str, object] = {
        name: value
        for name, value in request.sampling.items()
        if name not in ("extra_headers", "extra_body")
    }
    # `auto` is the default where there are tools; some models refuse the parameter itself.
    if request.tools and request.tool_choice != "auto":
        sent["tool_choice"] = request.tool_choice
    return sent


def headers_of(spec: ModelSpec, request: ChatRequest) -> dict[str, str]:
    """The headers of a model's table, if the request has them."""
    headers = spec.extra.get("extra_headers")
    if not isinstance(headers, Mapping) or "extra_headers" not in request.sampling:
        return {}
    return {str(name): str(value) for name, value in headers.items()}


class ChatAnswer(Taken, frozen=True):
    """What came back: the assistant's message as the provider sent it, and what it took.

    Where an answer ended otherwise than it should, `finish_reason` is the provider's own word for it,
    and `finish_message` what else it said.

    An agent that runs its own loop answers with a whole run: `earlier` are its rounds before this one
    (None: it answered like a model), `answers` what the calls of a round were answered.
    """

    message: dict[str, Any]
    finish_reason: str | None = None
    finish_message: str | None = None
    answers: tuple[Message, ...] = ()
    earlier: tuple[ChatAnswer, ...] | None = None

    @property
    def rounds(self) -> tuple[ChatAnswer, ...]:
        return (*(self.earlier or ()), self)


def text_in(document: Mapping[str, Any], field: str) -> str | None:
    """A field of a provider's document if it is a text."""
    value = document.get(field)
    return value if isinstance(value, str) else None


class ChatClient(Protocol):
    """A model that can be asked. One instance serves one model, on one event loop."""

    async def complete(self, request: ChatRequest, timeout_s: float) -> ChatAnswer:
        """Ask once, without retrying.

        Raises `ModelError` when no answer could be had, `ParameterRefused` when the provider refuses
        one of `sent_parameters(request)`.
        """
        ...

    async def close(self) -> None: ...
