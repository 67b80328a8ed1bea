"""Traces of agents as spans of OpenTelemetry."""

from __future__ import annotations

from ..format import Format
from ..model_calls import trace_reader
from ..spans import holds_spans, trace_spans

_NO_CONTENT = (
    "no span has messages; most libraries record them only with "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
)

FORMAT = Format(
    title="spans of OpenTelemetry",
    recognised="`resourceSpans`, Tempo's `batches`, exports of Jaeger and MLflow, or single spans of "
    "the console exporter or Phoenix, with messages as OpenTelemetry, OpenInference, OpenLLMetry, the "
    "AI SDK, ADK or MLflow have them",
    calls="of each call of a model",
    example="spans.jsonl",
    holds=holds_spans,
    read=trace_reader(trace_spans, _NO_CONTENT),
)
