"""Spans in OTLP's JSON, as file exporters and Tempo write it, or one by one, as others do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from ..errors import Problem
from ..record.untrusted import as_mapping, as_text, objects_in
from .openai_tools import typed
from .records import Record

_SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_DEEPEST = 12
_PREFIX = "attributes."
_FAILED = (2, "STATUS_CODE_ERROR")


class _Pair(Struct):
    key: str
    value: dict[str, Any] | None = None


class _Pairs(Struct):
    values: list[_Pair] = field(default_factory=list)


class _Values(Struct):
    values: list[dict[str, Any]] = field(default_factory=list)


class _Status(Struct):
    code: int | str = 0
    message: str = ""


class _Span(Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    attributes: list[_Pair] = field(default_factory=list)
    status: _Status = field(default_factory=_Status)


class _Scope(Struct, rename="camel"):
    spans: list[_Span] = field(default_factory=list)


class _Resource(Struct, rename="camel"):
    scope_spans: list[_Scope] = field(default_factory=list)


class _Traces(Struct, rename="camel"):
    resource_spans: list[_Resource] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class TraceSpan:
    """A span with its attributes as plain values. `error` is the message if it failed, else None.

    Times are in nanoseconds; `at` is its place, a problem without a message.
    """

    at: Problem
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    error: str | None


def holds_spans(value: Any) -> bool:
    """Whether a record is a batch of spans, logs or metrics, or a span."""
    batch = _batch(value)
    return (
        bool(_in_export(value))
        or _is_span(batch)
        or (isinstance(batch, dict) and any(key in batch for key in _SIGNALS))
    )


def _batch(value: Any) -> Any:
    """The batch in what Tempo wraps around it."""
    found = as_mapping(value)
    if isinstance(found.get("batches"), list):
        return {"resourceSpans": found["batches"]}
    return found["trace"] if holds_batch(found.get("trace")) else value


def holds_batch(value: Any) -> bool:
    return any(key in as_mapping(value) for key in (*_SIGNALS, "batches"))


def _in_export(value: Any) -> list[dict[str, Any]]:
    """The spans in a trace that Jaeger or MLflow exports."""
    found = as_mapping(value)
    held = as_mapping(found.get("data")) if "info" in found else found if "traceID" in found else {}
    return objects_in(held.get("spans"))


def _exported(span: Mapping[str, Any], at: Problem) -> TraceSpan:
    tags = {as_text(each.get("key")): each.get("value") for each in objects_in(span.get("tags"))}
    inner, status = _context(span), as_mapping(span.get("status"))
    attributes = tags or {
        key: _unquoted(each) for key, each in as_mapping(span.get("attributes")).items()
    }
    code = as_text(span.get("status_code") or status.get("code") or tags.get("otel.status_code"))
    said = as_text(status.get("message") or tags.get("otel.status_description"))
    above = next((each.get("spanID") for each in objects_in(span.get("references"))), None)
    if "spanID" in span:
        start = _number(span.get("startTime")) * 1000
        end = start + _number(span.get("duration")) * 1000
    else:
        times = ((f"{name}_time_unix_nano", f"{name}_time") for name in ("start", "end"))
        start, end = (_number(span.get(new) or span.get(old)) for new, old in times)
    if attributes.get("mlflow.spanType") == "TOOL":
        attributes["gen_ai.tool.name"] = span.get("name")
        attributes["gen_ai.tool.call.arguments"] = attributes.get("mlflow.spanInputs")
    return TraceSpan(
        at,
        as_text(span.get("traceID") or span.get("trace_id") or inner.get("trace_id")),
        as_text(span.get("spanID") or span.get("span_id") or inner.get("span_id")),
        as_text(above or span.get("parent_span_id") or span.get("parent_id")),
        start,
        end,
        attributes,
        (said or "it failed") if code.endswith("ERROR") or tags.get("error") in (True, "true") else None,
    )


def _unquoted(value: Any) -> Any:
    """The text in a JSON text, as which MLflow has all attributes."""
    is_quoted = isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"'
    try:
        return json.loads(value) if is_quoted else value
    except ValueError:
        return value


def _is_span(value: Any) -> bool:
    """Whether it is a span as the console exporter writes it, the SDK for JavaScript, or Phoenix."""
    found = as_mapping(value)
    context = _context(found)
    is_named = "span_id" in context or "spanId" in context or "context.span_id" in found
    has = isinstance(found.get("attributes"), dict) or any(key.startswith(_PREFIX) for key in found)
    return is_named and has


def _context(span: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(span.get("context") or span.get("spanContext"))


def spans_of(record: Record) -> Iterator[TraceSpan]:
    """The spans of a batch, or the one that it is. UnusableError if it is none."""
    value, at = _batch(record.value), record.problem()
    if exported := _in_export(record.value):
        yield from (_exported(each, at) for each in exported)
        return
    if _is_span(value):
        yield _single(value, at)
        return
    for resource in typed(value, _Traces, "OTLP").resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield TraceSpan(
                    at,
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    _number(span.start_time_unix_nano),
                    _number(span.end_time_unix_nano),
                    _attributes(span.attributes),
                    (span.status.message or "it failed") if span.status.code in _FAILED else None,
                )


def _single(span: Mapping[str, Any], at: Problem) -> TraceSpan:
    context, status = _context(span), as_mapping(span.get("status"))
    flat = {key.removeprefix(_PREFIX): each for key, each in span.items() if key.startswith(_PREFIX)}
    code = as_text(span.get("status_code") or status.get("status_code"))
    said = as_text(span.get("status_message") or status.get("description") or status.get("message"))
    above = as_mapping(span.get("parentSpanContext")).get("spanId") or span.get("parentSpanId")
    return TraceSpan(
        at,
        as_text(context.get("trace_id") or context.get("traceId") or span.get("context.trace_id")),
        as_text(context.get("span_id") or context.get("spanId") or span.get("context.span_id")),
        as_text(span.get("parent_id") or above),
        instant(span.get("start_time") or span.get("startTime")),
        instant(span.get("end_time") or span.get("endTime")),
        dict(_flattened({**as_mapping(span.get("attributes")), **flat})),
        (said or "it failed") if code.endswith("ERROR") or status.get("code") in _FAILED else None,
    )


def instant(time: Any) -> int:
    """Nanoseconds of a time as text, or as seconds and nanoseconds; 0 if it is none."""
    try:
        if isinstance(time, list):
            seconds, rest = time
            return int(seconds) * 10**9 + int(rest)
        return int(datetime.fromisoformat(as_text(time).replace("Z", "+00:00")).timestamp() * 1e9)
    except (ValueError, TypeError, OverflowError):
        return 0


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
    for key, each in inner:
        yield from _flattened(each, f"{name}.{key}" if name else str(key), depth + 1)


def _number(value: Any) -> int:
    """A 64-bit number, which OTLP writes as text; 0 if it is none."""
    if isinstance(value, str):
        value = int(value) if len(value) < 20 and value.isdecimal() else 0
    return value if isinstance(value, int) and -(2**63) <= value < 2**64 else 0


def _attributes(pairs: list[_Pair]) -> dict[str, Any]:
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: Mapping[str, Any] | None) -> Any:
    """The value in `{"stringValue": ...}`, or in one of the other kinds."""
    kind, given = next(iter((value or {}).items()), ("", None))
    if kind == "arrayValue":
        return [_plain(each) for each in typed(given, _Values, "OTLP").values]
    if kind == "kvlistValue":
        return _attributes(typed(given, _Pairs, "OTLP").values)
    return _number(given) if kind == "intValue" else given
