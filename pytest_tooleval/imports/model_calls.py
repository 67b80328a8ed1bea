"""Calls of models of which a trace has the request and the answer, in any dialect of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from .chats import OTHER_SYSTEM, conversations
from .formats.gemini import converted
from .formats.langchain import chat_message, fields_of
from .formats.vercel import chat_messages_of, is_message
from .records import Record, decoded
from .span_dialects import ModelCall, first_of, in_chat
from .spans import TraceSpan

# The attributes with a request and its answer as JSON: ADK's and MLflow's.
_BODIES = (
    ("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
)
_OF_OTEL = ("tool_call", "tool_call_response")
_SYSTEM = (*OTHER_SYSTEM, "instructions")


def body_call_of(span: TraceSpan) -> ModelCall | None:
    """The call of a model in the attributes of a span that have whole bodies."""
    kind = as_text(span.attributes.get("mlflow.spanType", "LLM"))
    for given, answer in _BODIES:
        request = decoded(span.attributes.get(given))
        if request and kind in ("LLM", "CHAT_MODEL"):
            at = Record(Path(span.at.path), span.at.line, None, span.at.field)
            return next(calls_in(at, request, span.attributes.get(answer)), None)
    return None


def call_with_spans(
    record: Record, span: TraceSpan, request: Any, answer: Any
) -> Iterator[tuple[TraceSpan, ModelCall]]:
    """The call of a model in a span; with several answers, each of these."""
    for number, call in enumerate(calls_in(record, request, answer)):
        yield replace(span) if number else span, call


def calls_in(record: Record, request: Any, answer: Any) -> Iterator[ModelCall]:
    """A call of a model for each answer. UnusableError if it cannot be read."""
    made, reply = _request(request), _answer(answer)
    if reply is not None:
        made = {**made, "response": reply}
    for read in conversations(record, made, _SYSTEM):
        first = len(read.messages) if reply is None else read.answers_from
        yield ModelCall([*read.messages[:first]], [*read.messages[first:]], read.tools, read.choice)


def _request(value: Any) -> dict[str, Any]:
    found = decoded(value)
    if isinstance(found, str):
        found = [{"role": "user", "content": found}]
    if isinstance(found, list):
        found = {"messages": found}
    made = dict(as_mapping(found))
    if isinstance(made.get("contents"), list):
        return dict(converted(made))
    messages = as_list(decoded(made.get("messages")))
    if len(messages) == 1 and isinstance(messages[0], list):  # of a batch of one
        messages = messages[0]
    return {**made, **({"messages": _messages(messages)} if messages else {})}


def _messages(values: Sequence[Any]) -> list[Any]:
    """Messages of the AI SDK, LangChain and OpenTelemetry as in the chat API; others as they are."""
    if any(is_message(each) and not _has_parts(each) for each in objects_in(values)):
        return [*chat_messages_of([*values])]
    found = [chat_message(each) for each in values]
    return [made for each in found for made in (in_chat(each) if _has_parts(each) else [each])]


def _has_parts(message: Any) -> bool:
    """Whether a message has parts of OpenTelemetry."""
    parts = objects_in(as_mapping(message).get("parts"))
    return any("content" in part or as_text(part.get("type")) in _OF_OTEL for part in parts)


def _answer(value: Any) -> Any:
    found = decoded(value)
    if isinstance(found, Mapping):
        first = _generation(found)
        if first:  # LangChain's
            ended = as_mapping(first.get("generation_info")).get("finish_reason")
            return {"choices": [{"message": chat_message(first.get("message")), "finish_reason": ended}]}
        if isinstance(found.get("messages"), list) and "choices" not in found:
            return _messages(found["messages"])
        is_one = _has_parts(found) or fields_of(found) or found.get("role") == "assistant"
        return _messages([dict(found)]) if is_one else found or None
    calls = objects_in(found)
    if calls and all("toolCallId" in each for each in calls):  # the AI SDK's
        parts = [{"type": "tool-call", **each, "input": decoded(each.get("input"))} for each in calls]
        return [*chat_messages_of([{"role": "assistant", "content": parts}])]
    return _messages(found) if isinstance(found, list) else found or None


def _generation(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first answer in LangChain's form; empty if it has another."""
    generations = as_list(answer.get("generations"))
    first = generations[0] if generations else None
    return as_mapping(first[0] if isinstance(first, list) and first else first)


def usage_of(answer: Any) -> Mapping[str, Any]:
    """The usage in LangChain's message; empty without one."""
    message = fields_of(_generation(as_mapping(answer)).get("message"))
    return as_mapping(first_of(message, "usage_metadata"))
