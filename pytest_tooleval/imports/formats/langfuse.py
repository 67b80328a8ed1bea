"""Observations of Langfuse: calls of models (GENERATION) and of tools, joined to conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...record.untrusted import as_mapping, as_text
from ..conversation import Item
from ..format import Format, each_file
from ..model_calls import call_with_spans
from ..records import Record, UnusableError
from ..span_dialects import ModelCall, ToolRun, tool_run_of
from ..spans import TraceSpan, instant
from ..traces import CASE, joined

_TYPES = frozenset(
    "GENERATION SPAN EVENT AGENT TOOL CHAIN RETRIEVER EMBEDDING EVALUATOR GUARDRAIL".split()
)


def _holds(value: Any) -> bool:
    found = as_mapping(value)
    is_typed = as_text(found.get("type")) in _TYPES
    return is_typed and "input" in found and ("startTime" in found or "id" in found)


def _read(records: list[Record]) -> Iterator[Item]:
    spans: list[TraceSpan] = []
    calls: dict[TraceSpan, ModelCall] = {}
    tools: list[tuple[str, ToolRun]] = []
    generations = 0
    for record in sorted(records, key=lambda each: instant(as_mapping(each.value).get("startTime"))):
        found = as_mapping(record.value)
        span = _span(record)
        spans.append(span)
        if (run := tool_run_of(span)) is not None:
            tools.append((span.trace, run))
        try:
            if found.get("type") == "GENERATION":
                generations += 1
                calls.update(call_with_spans(record, span, found.get("input"), found.get("output")))
        except UnusableError as error:
            yield record.problem(str(error))
    if not generations:
        yield records[0].problem("no observation of the type GENERATION, which is a call of a model")
    yield from joined(spans, calls, tools)


def _span(record: Record) -> TraceSpan:
    """An observation as a span, with the attributes that OpenTelemetry has for them."""
    found = as_mapping(record.value)
    kind, about = found.get("type"), as_mapping(found.get("metadata"))
    usage = as_mapping(found.get("usageDetails") or found.get("usage"))
    attributes = {
        CASE: about.get(CASE),
        "session.id": found.get("sessionId") or about.get("session_id"),
        "gen_ai.agent.name": found.get("name") if kind == "AGENT" else None,
        "gen_ai.request.model": found.get("model"),
        "gen_ai.usage.input_tokens": usage.get("input"),
        "gen_ai.usage.output_tokens": usage.get("output"),
        "operation.cost": found.get("calculatedTotalCost") or found.get("totalCost"),
    }
    if kind == "TOOL":
        attributes |= {
            "gen_ai.tool.name": found.get("name"),
            "gen_ai.tool.call.id": about.get("tool_call_id"),
            "gen_ai.tool.call.arguments": found.get("input"),
            "gen_ai.tool.call.result": found.get("output"),
        }
    failed = as_text(found.get("statusMessage")) or "it failed"
    return TraceSpan(
        record.problem(),
        as_text(found.get("traceId") or found.get("trace_id")),
        as_text(found.get("id")),
        as_text(found.get("parentObservationId") or found.get("parent_observation_id")),
        instant(found.get("startTime")),
        instant(found.get("endTime")),
        {name: value for name, value in attributes.items() if value is not None},
        failed if found.get("level") == "ERROR" else None,
    )


FORMAT = Format(
    title="Langfuse observations",
    recognised="`type` such as `GENERATION`, and `input`, alone or as the `observations` of a trace",
    calls="of each generation; those of a trace are one conversation",
    example="trace.json",
    holds=_holds,
    read=each_file(_read),
    over=("openai", "anthropic", "gemini", "vercel", "langchain", "bedrock", "deepeval", "tools"),
)
