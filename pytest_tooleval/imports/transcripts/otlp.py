"""Spans in OTLP's JSON: one document, or a line for each batch, as file exporters write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

from ..openai_tools import typed

_SIGNALS = ("resourceSpans", "resourceLogs", "resourceMetrics")
_FAILED = (2, "STATUS_CODE_ERROR")


class _Value(Struct, rename="camel"):
    string_value: str | None = None
    bool_value: bool | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    array_value: _Values | None = None
    kvlist_value: _Pairs | None = None


class _Values(Struct):
    values: list[_Value] = field(default_factory=list)


class _Pair(Struct):
    key: str
    value: _Value | None = None


class _Pairs(Struct):
    values: list[_Pair] = field(default_factory=list)


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
class Span:
    """A span with its attributes as plain values. `error` is the message if it failed, else None.

    Times are in nanoseconds; `line` is the line of the file.
    """

    line: int
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict[str, Any]
    error: str | None


def holds_spans(value: Any) -> bool:
    """Whether a record is a batch of spans, logs or metrics."""
    return isinstance(value, dict) and any(key in value for key in _SIGNALS)


def spans_of(value: Any, line: int) -> Iterator[Span]:
    """The spans of a batch. UnusableError if it is none."""
    for resource in typed(value, _Traces, "OTLP").resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    line,
                    span.trace_id,
                    span.span_id,
                    span.parent_span_id,
                    _number(span.start_time_unix_nano),
                    _number(span.end_time_unix_nano),
                    _attributes(span.attributes),
                    (span.status.message or "it failed") if span.status.code in _FAILED else None,
                )


def _number(value: int | str) -> int:
    """A 64-bit number, which OTLP writes as text; 0 if it is none."""
    if isinstance(value, str):
        value = int(value) if len(value) < 20 and value.isdecimal() else 0
    return value if -(2**63) <= value < 2**64 else 0


def _attributes(pairs: list[_Pair]) -> dict[str, Any]:
    return {pair.key: _plain(pair.value) for pair in pairs}


def _plain(value: _Value | None) -> Any:
    if value is None:
        return None
    if value.array_value is not None:
        return [_plain(each) for each in value.array_value.values]
    if value.kvlist_value is not None:
        return _attributes(value.kvlist_value.values)
    if value.int_value is not None:
        return _number(value.int_value)
    found: str | bool | float | None
    for found in (value.string_value, value.bool_value, value.double_value):
        if found is not None:
            return found
    return None
