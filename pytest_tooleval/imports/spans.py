"""Spans in OTLP's JSON, as file exporters and Tempo write it, or one by one, as others do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import Location
from ..explain import describe
from ..record.untrusted import as_mapping, as_text, objects_in
from .records import Record, UnusableError, objects_of

_SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_DEEPEST = 12
_PREFIX = "attributes."
# The names of each field, whoever wrote the span.
_TRACES = ("traceId", "trace_id", "traceID", "context.trace_id")
_IDS = ("spanId", "span_id", "spanID", "context.span_id")
_PARENTS = ("parentSpanId", "parent_span_id", "parent_id")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
_SAID = ("status_message", "message", "description")


@dataclass(frozen=True, eq=False, slots=True)
class TraceSpan:
    """A span with its attributes as plain values. `error` is the message if it failed, else None.

    Times are in nanoseconds; `at` is its place, a problem without a message.
    """

    at: Location
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    error: str | None


def first_of(fields: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there."""
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def holds_spans(value: Any) -> bool:
    """Whether a record is a batch of spans, logs or metrics, or a span."""
    batch = as_mapping(_batch(value))
    return bool(_in_export(value)) or _is_span(batch) or any(key in batch for key in _SIGNALS)


def _batch(value: Any) -> Any:
    """The batch in what Tempo wraps around it."""
    fields = as_mapping(value)
    if isinstance(fields.get("batches"), list):
        return {"resourceSpans": fields["batches"]}
    data = as_mapping(fields.get("trace"))
    return data if any(key in data for key in (*_SIGNALS, "batches")) else value


def _in_export(value: Any) -> list[dict[str, Any]]:
    """The spans in a trace that Jaeger or MLflow exports."""
    fields = as_mapping(value)
    data = as_mapping(fields.get("data")) if "info" in fields else fields if "traceID" in fields else {}
    return objects_in(data.get("spans"))


def _is_span(span: Mapping[str, Any]) -> bool:
    """Whether it is a span as the console exporter writes it, the SDK for JavaScript, or Phoenix."""
    is_named = "context.span_id" in span or first_of(_context(span), *_IDS) is not None
    has = isinstance(span.get("attributes"), dict) or any(key.startswith(_PREFIX) for key in span)
    return is_named and has


def _context(span: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(span.get("context") or span.get("spanContext"))


def trace_spans(record: Record) -> Iterator[TraceSpan]:
    """The spans of a batch, or the one that it is. UnusableError if it is none."""
    value, at = _batch(record.value), record.location
    if exported := _in_export(record.value):
        yield from (span_of(each, at, _exported(each)) for each in exported)
        return
    if not isinstance(value, dict):
        raise UnusableError(f"OTLP: expected an object, got {describe(value)}")
    if _is_span(value):
        yield span_of(value, at, _nested(value))
        return
    for resource in objects_of(value.get("resourceSpans"), "resourceSpans"):
        for scope in objects_of(resource.get("scopeSpans"), "scopeSpans"):
            for span in objects_of(scope.get("spans"), "spans"):
                yield span_of(span, at, _attributes(span.get("attributes")))


def span_of(span: Mapping[str, Any], at: Location, attributes: dict[str, Any]) -> TraceSpan:
    """A span by the fields that any of the exporters writes."""
    about = {**span, **_context(span)}
    outer = as_mapping(span.get("parentSpanContext"))
    outer = outer or next(iter(objects_in(span.get("references"))), {})
    start, end = instant(first_of(span, *_STARTS)), instant(first_of(span, *_ENDS))
    if "spanID" in span:  # Jaeger's times are in microseconds
        start *= 1000
        end = start + instant(span.get("duration")) * 1000
    status = {**span, **as_mapping(span.get("status"))}
    code = first_of(status, "status_code", "code") or attributes.get("otel.status_code")
    said = as_text(first_of(status, *_SAID) or attributes.get("otel.status_description"))
    failed = code == 2 or as_text(code).endswith("ERROR") or attributes.get("error") in (True, "true")
    return TraceSpan(
        at,
        str(first_of(about, *_TRACES) or ""),
        str(first_of(about, *_IDS) or ""),
        str(first_of(span, *_PARENTS) or first_of(outer, *_IDS) or ""),
        start,
        end,
        {name: value for name, value in attributes.items() if value is not None},
        (said or "it failed") if failed else None,
    )


def instant(time: Any) -> int:
    """Nanoseconds of a time: a number, even as text, seconds and nanoseconds, or a date; 0 if none."""
    try:
        if isinstance(time, list):
            seconds, rest = time
            return int(seconds) * 10**9 + int(rest)
        if isinstance(time, int) or as_text(time).isdecimal():
            return _number(time)
        return int(datetime.fromisoformat(as_text(time).replace("Z", "+00:00")).timestamp() * 1e9)
    except (ValueError, TypeError, OverflowError):
        return 0


def _number(value: Any) -> int:
    """A 64-bit number, which OTLP writes as text; 0 if it is none."""
    if isinstance(value, str):
        value = int(value) if len(value) < 20 and value.isdecimal() else 0
    return value if isinstance(value, int) and -(2**63) <= value < 2**64 else 0


def _exported(span: Mapping[str, Any]) -> dict[str, Any]:
    """Jaeger's tags, or MLflow's attributes with what OpenTelemetry has for its tools."""
    if tags := objects_in(span.get("tags")):
        return {as_text(each.get("key")): each.get("value") for each in tags}
    attributes = {key: _unquoted(each) for key, each in as_mapping(span.get("attributes")).items()}
    if attributes.get("mlflow.spanType") == "TOOL":
        attributes["gen_ai.tool.name"] = span.get("name")
        attributes["gen_ai.tool.call.arguments"] = attributes.get("mlflow.spanInputs")
    return attributes


def _unquoted(value: Any) -> Any:
    """The text in a JSON text, as which MLflow has all attributes."""
    is_quoted = isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"'
    try:
        return json.loads(value) if is_quoted else value
    except ValueError:
        return value


def _nested(span: Mapping[str, Any]) -> dict[str, Any]:
    flat = {key.removeprefix(_PREFIX): each for key, each in span.items() if key.startswith(_PREFIX)}
    return dict(_flattened({**as_mapping(span.get("attributes")), **flat}))


def _flattened(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Attributes by the names that OTLP has for them, such as `llm.input_messages.0.message.role`."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        inner = enumerate(value)
    if depth > _DEEPEST or (not inner and name):
        yield name, value
        return
    for key, member in inner:
        yield from _flattened(member, f"{name}.{key}" if name else str(key), depth + 1)


def _attributes(pairs: Any) -> dict[str, Any]:
    """The values in pairs of OTLP, such as `{"stringValue": ...}`."""
    objects = objects_of(pairs, "attributes")
    if not all(isinstance(pair.get("key"), str) for pair in objects):
        raise UnusableError("attributes: expected objects with a key")
    return {pair["key"]: _plain(as_mapping(pair.get("value"))) for pair in objects}


def _plain(value: Mapping[str, Any]) -> Any:
    kind, content = next(iter(value.items()), ("", None))
    values = content.get("values") if isinstance(content, Mapping) else content
    if kind == "arrayValue":
        return [_plain(each) for each in objects_of(values, kind)]
    if kind == "kvlistValue":
        return _attributes(values)
    return _number(content) if kind == "intValue" else content
