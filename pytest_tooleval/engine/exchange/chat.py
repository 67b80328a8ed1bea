"""A request to a model, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from ...record.status import CallStatus
from ...record.transcript import Message, Usage
from ...record.untrusted import as_text
from ...replies.endings import Ending
from ..models.prices import cost_usd, reasoning_tokens, reported_cost, token_count, usage_of
from .tool_answers import CallAnswerer

# Fields of an assistant's message with parts of the provider's original answer.
ITEMS, BLOCKS, PARTS = "responses_output", "anthropic_content", "gemini_parts"
# The parameter with the form of the answer.
RESPONSE_FORMAT = "response_format"
# The id of the container in which the model's programs run.
CONTAINER = "container"
# What an agent may only know of its whole run.
USAGE_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd")


class ReadingOptions(NamedTuple):
    """How to read the calls of an answer.

    `exact_names`: a decorated name is another tool's. `text_calls`: calls may be written as text.
    `prefix` stands before each tool's name in requests and answers, but not in cases.
    """

    exact_names: bool = False
    text_calls: bool = True
    prefix: str = ""


class ChatRequest(Struct, frozen=True):
    """One question to a model, without credentials.

    `tools` are chat API objects, possibly with a `namespace`, or a provider's own tools. `tool_choice`
    is a word or an object, and is sent only with tools. `sampling` contains temperature, max_tokens and
    other parameters of the model's table; no other parameter is sent. The values of `extra_headers` are
    replaced by hashes, because questions are recorded. `trial` distinguishes repeated questions and is
    not sent. `toolbox` is for agents with their own loop. `reading` says how to read the answer, and is
    not sent either.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | Mapping[str, Any] = "auto"
    sampling: Mapping[str, Any] = {}
    trial: int = 0
    toolbox: CallAnswerer | None = None
    reading: ReadingOptions = ReadingOptions()


def sent_parameters(request: ChatRequest) -> dict[str, object]:
    """The parameters that a provider may refuse, without messages, tools, and extra headers and body."""
    sent: dict[str, object] = {
        name: value
        for name, value in request.sampling.items()
        if name not in ("extra_headers", "extra_body")
    }
    # `auto` is the default with tools, and some models refuse the parameter.
    if request.tools and request.tool_choice != "auto":
        sent["tool_choice"] = request.tool_choice
    return sent


class _StoredUsage(Usage, frozen=True, kw_only=True, gc=False):
    is_cost_partial: bool = field(default=False, name="cost_at_least")


class ChatAnswer(_StoredUsage, frozen=True, gc=True, weakref=True):
    """The assistant's message as the provider sent it, with time, tokens and cost.

    If the answer did not end normally, `finish_reason` is the provider's own term, and `finish_message`
    its explanation.

    An agent with its own loop answers with a whole run. `earlier` are the replies before this one; None
    means that it answered like a model. `tool_answers` are the answers to its calls, `statuses`
    are how each call ended, and `ran_by_suite` whether the suite ran it. `unanswered_before` counts the
    replies before it that had no answers yet when its call began. `agent` wrote it, as a tool of another
    one if `is_inner`. Cassettes keep the first names.
    """

    message: dict[str, Any]
    finish_reason: str | None = None
    finish_message: str | None = None
    tool_answers: tuple[Message, ...] = field(default=(), name="answers")
    statuses: tuple[CallStatus | None, ...] = field(default=(), name="status")
    ran_by_suite: tuple[bool, ...] = field(default=(), name="by_suite")
    unanswered_before: int = field(default=0, name="unanswered")
    agent: str | None = None
    is_inner: bool = field(default=False, name="inner")
    earlier: tuple[ChatAnswer, ...] | None = None

    @classmethod
    def from_chat(
        cls,
        message: dict[str, Any],
        ending: Ending | None,
        reason: str | None,
        chat: Mapping[str, Any],
        latency_s: float,
        price: Mapping[str, Any] | None = None,
    ) -> ChatAnswer:
        """The answer with this message, which ended normally with `reason`, or else with `ending`.

        `chat` is the chat API's document, for usage and model. `price` is the model's entry.
        """
        usage = usage_of(chat)
        return cls(
            message=message,
            finish_reason=ending.reason if ending else reason,
            finish_message=ending.message if ending else None,
            prompt_tokens=token_count(usage.get("prompt_tokens")),
            completion_tokens=token_count(usage.get("completion_tokens")),
            reasoning_tokens=reasoning_tokens(usage),
            cost_usd=reported_cost(usage) or cost_usd(price, usage, chat.get("service_tier")),
            latency_s=latency_s,
            served_model=as_text(chat.get("model")) or None,
            # A field of OpenRouter's.
            upstream=as_text(chat.get("provider")) or None,
            system_fingerprint=as_text(chat.get("system_fingerprint")) or None,
        )

    @property
    def zeros(self) -> dict[str, Any]:
        """Zeros for replies whose tokens and cost this one's include."""
        return {name: 0 for name in USAGE_COUNTS if getattr(self, name) is not None}

    @property
    def replies(self) -> tuple[ChatAnswer, ...]:
        return (*(self.earlier or ()), self)
