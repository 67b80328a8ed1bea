"""Observations of Langfuse: calls of models (GENERATION) and of tools, joined to conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record.untrusted import as_mapping, as_text
from ..format import Format
from ..model_calls import ANSWER, REQUEST, trace_reader
from ..records import Record
from ..spans import TraceSpan, span_of
from ..traces import CASE

_TYPES = frozenset(
    "GENERATION SPAN EVENT AGENT TOOL CHAIN RETRIEVER EMBEDDING EVALUATOR GUARDRAIL".split()
)


def _holds(value: Any) -> bool:
    fields = as_mapping(value)
    is_typed = as_text(fields.get("type")) in _TYPES
    return is_typed and "input" in fields and ("startTime" in fields or "id" in fields)


def _spans(record: Record) -> Iterator[TraceSpan]:
    """An observation as a span, with the attributes that OpenTelemetry has for them."""
    fields = as_mapping(record.value)
    kind, about = fields.get("type"), as_mapping(fields.get("metadata"))
    usage = as_mapping(fields.get("usageDetails") or fields.get("usage"))
    attributes = {
        CASE: about.get(CASE),
        "session.id": fields.get("sessionId") or about.get("session_id"),
        "gen_ai.agent.name": fields.get("name") if kind == "AGENT" else None,
        "gen_ai.request.model": fields.get("model"),
        "gen_ai.usage.input_tokens": usage.get("input"),
        "gen_ai.usage.output_tokens": usage.get("output"),
        "operation.cost": fields.get("calculatedTotalCost") or fields.get("totalCost"),
    }
    if kind == "GENERATION":
        attributes |= {REQUEST: fields.get("input") or "", ANSWER: fields.get("output")}
    elif kind == "TOOL":
        attributes |= {
            "gen_ai.tool.name": fields.get("name"),
            "gen_ai.tool.call.id": about.get("tool_call_id"),
            "gen_ai.tool.call.arguments": fields.get("input"),
            "gen_ai.tool.call.result": fields.get("output"),
        }
    parent = fields.get("parentObservationId") or fields.get("parent_observation_id")
    named = {
        "spanId": fields.get("id"),
        "parent_id": parent,
        "status_code": fields.get("level"),
        "status_message": fields.get("statusMessage"),
    }
    yield span_of({**fields, **named}, record.location, attributes)


FORMAT = Format(
    title="Langfuse observations",
    recognised="`type` such as `GENERATION`, and `input`, alone or as the `observations` of a trace",
    calls="of each generation; those of a trace are one conversation",
    example="trace.json",
    holds=_holds,
    read=trace_reader(_spans, "no observation of the type GENERATION, which is a call of a model"),
    over=("openai", "anthropic", "gemini", "vercel", "langchain", "bedrock", "tools"),
)
