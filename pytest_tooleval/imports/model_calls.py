"""Reads traces: the calls of models in their spans, in any dialect, joined to conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..record.untrusted import as_list, as_mapping, as_text, objects_in
from ..secrets import redact
from .chats import OTHER_SYSTEM, conversations
from .format import EachFile, ReadSources
from .formats.gemini import convert
from .formats.langchain import as_chat, message_fields
from .formats.vercel import chat_messages_of, is_sdk_message
from .items import Item
from .records import Record, UnusableError, decode_text
from .span_dialects import ModelCall, in_chat, model_call, tool_run_of
from .spans import TraceSpan
from .traces import conversations_of

# The attributes with a request and its answer: those of spans made of another tracer's records, which
# are there for each call of a model, ADK's and MLflow's.
REQUEST, ANSWER = "tooleval.request", "tooleval.answer"
_BODIES = (
    (REQUEST, ANSWER),
    ("gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"),
    ("mlflow.spanInputs", "mlflow.spanOutputs"),
)
_OF_OTEL = ("tool_call", "tool_call_response")
_SYSTEM = (*OTHER_SYSTEM, "instructions")
_SHOWN = 12  # attributes


def trace_reader(spans_of: Callable[[Record], Iterable[TraceSpan]], nothing: str) -> ReadSources:
    """A format's `read` for records with spans. `nothing` says that no call of a model is among them."""

    def read(file: Record) -> Iterator[Item]:
        records: list[Record] = file.value
        spans: list[TraceSpan] = []
        calls: dict[TraceSpan, ModelCall] = {}
        is_read = True
        for record in records:
            try:
                spans += list(spans_of(record))
            except UnusableError as error:
                is_read = False
                yield record.problem(str(error))
        spans.sort(key=lambda span: span.start)
        for span in spans:
            try:
                calls.update(_calls_of(span))
            except UnusableError as error:
                is_read = False
                yield span.at.problem(redact(str(error)))
        runs = ((span.trace, run) for span in spans if (run := tool_run_of(span)) is not None)
        items = list(conversations_of(spans, calls, runs))
        if is_read and not items:
            yield records[0].problem(f"{nothing}{_attributes(spans)}")
        yield from items

    return EachFile(read)


def _attributes(spans: Iterable[TraceSpan]) -> str:
    """The names of the attributes, which say where else the messages may be."""
    names = sorted({name for span in spans for name in span.attributes})
    more = ", ..." if len(names) > _SHOWN else ""
    return f"; attributes: {', '.join(names[:_SHOWN])}{more}" if names else ""


def _calls_of(span: TraceSpan) -> Iterator[tuple[TraceSpan, ModelCall]]:
    """The call of a model in a span, if it has one; with several answers, each of these."""
    if (call := model_call(span)) is not None:
        yield span, call
        return
    for question, answer in _BODIES:
        request = decode_text(span.attributes.get(question))
        kind = as_text(span.attributes.get("mlflow.spanType", "LLM"))
        if REQUEST == question in span.attributes or (request and kind in ("LLM", "CHAT_MODEL")):
            at = Record(Path(span.at.path), span.at.line, None, span.at.field)
            for number, read in enumerate(calls_in_answer(at, request, span.attributes.get(answer))):
                yield replace(span) if number else span, read
            return


def calls_in_answer(record: Record, request: Any, answer: Any) -> Iterator[ModelCall]:
    """A call of a model for each answer. UnusableError if it cannot be read."""
    body, reply = _request(request), _answer(answer)
    if reply is not None:
        body = {**body, "response": reply}
    for read in conversations(record, body, _SYSTEM):
        first = len(read.messages) if reply is None else read.answers_from
        yield ModelCall([*read.messages[:first]], [*read.messages[first:]], read.tools, read.choice)


def _request(value: Any) -> dict[str, Any]:
    request = decode_text(value)
    if isinstance(request, str):
        request = [{"role": "user", "content": request}]
    if isinstance(request, list):
        request = {"messages": request}
    request = dict(as_mapping(request))
    if isinstance(request.get("contents"), list):
        return dict(convert(request))
    messages = as_list(decode_text(request.get("messages")))
    if len(messages) == 1 and isinstance(messages[0], list):  # of a batch of one
        messages = messages[0]
    return {**request, **({"messages": _messages(messages)} if messages else {})}


def _messages(values: Sequence[Any]) -> list[Any]:
    """Messages of the AI SDK, LangChain and OpenTelemetry as in the chat API; others as they are."""
    if any(is_sdk_message(each) and not _has_parts(each) for each in objects_in(values)):
        return [*chat_messages_of([*values])]
    messages = [as_chat(each) for each in values]
    return [message for each in messages for message in (in_chat(each) if _has_parts(each) else [each])]


def _has_parts(message: Any) -> bool:
    """Whether a message has parts of OpenTelemetry."""
    parts = objects_in(as_mapping(message).get("parts"))
    return any("content" in part or as_text(part.get("type")) in _OF_OTEL for part in parts)


def _answer(value: Any) -> Any:
    answer = decode_text(value)
    if isinstance(answer, Mapping):
        first = _generation(answer)
        if first:  # LangChain's
            ended = as_mapping(first.get("generation_info")).get("finish_reason")
            return {"choices": [{"message": as_chat(first.get("message")), "finish_reason": ended}]}
        if isinstance(answer.get("messages"), list) and "choices" not in answer:
            return _messages(answer["messages"])
        is_one = _has_parts(answer) or message_fields(answer) or answer.get("role") == "assistant"
        return _messages([dict(answer)]) if is_one else answer or None
    calls = objects_in(answer)
    if calls and all("toolCallId" in each for each in calls):  # the AI SDK's
        parts = [
            {"type": "tool-call", **each, "input": decode_text(each.get("input"))} for each in calls
        ]
        return [*chat_messages_of([{"role": "assistant", "content": parts}])]
    return _messages(answer) if isinstance(answer, list) else answer or None


def _generation(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first answer in LangChain's form; empty if it has another."""
    generations = as_list(answer.get("generations"))
    first = generations[0] if generations else None
    return as_mapping(first[0] if isinstance(first, list) and first else first)
