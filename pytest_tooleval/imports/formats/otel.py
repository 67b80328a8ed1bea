"""Traces of agents as spans of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...errors import Problem
from ..conversation import Conversation
from ..format import Format, each_file
from ..model_calls import body_call_of
from ..records import Record, UnusableError
from ..span_dialects import ModelCall, ToolRun, call_of, tool_run_of
from ..spans import TraceSpan, holds_spans, spans_of
from ..traces import joined

_NO_CONTENT = (
    "no span has messages; most libraries record them only with "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
)
_SHOWN = 12  # attributes


def _read(records: list[Record]) -> Iterator[Conversation | Problem]:
    """The conversations of a file, in the order in which they began."""
    spans: list[TraceSpan] = []
    problems: list[Problem] = []
    for record in records:
        try:
            spans += spans_of(record)
        except UnusableError as error:
            problems.append(record.problem(str(error)))
    spans.sort(key=lambda span: span.start)
    calls: dict[TraceSpan, ModelCall] = {}
    runs: list[tuple[str, ToolRun]] = []
    for span in spans:
        if (run := tool_run_of(span)) is not None:
            runs.append((span.trace, run))
        try:
            call = call_of(span) or body_call_of(span)
        except UnusableError as error:
            problems.append(replace(span.at, message=str(error)))
        else:
            calls.update({span: call} if call is not None else {})
    found = list(joined(spans, calls, runs))
    if not found and not problems:
        problems.append(records[0].problem(f"{_NO_CONTENT}{_attributes(spans)}"))
    yield from problems
    yield from found


def _attributes(spans: list[TraceSpan]) -> str:
    """The names of the attributes, which say where else the messages may be."""
    names = sorted({name for span in spans for name in span.attributes})
    more = ", ..." if len(names) > _SHOWN else ""
    return f"; attributes: {', '.join(names[:_SHOWN])}{more}" if names else ""


FORMAT = Format(
    title="spans of OpenTelemetry",
    recognised="`resourceSpans`, Tempo's `batches`, exports of Jaeger and MLflow, or single spans of "
    "the console exporter or Phoenix, with messages as OpenTelemetry, OpenInference, OpenLLMetry, the "
    "AI SDK, ADK or MLflow have them",
    calls="of each call of a model",
    example="spans.jsonl",
    holds=holds_spans,
    read=each_file(_read),
)
