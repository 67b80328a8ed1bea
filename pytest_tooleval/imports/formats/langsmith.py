"""Runs of models that LangSmith traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.status import error_or_unknown, status_word
from ...record.transcript import text_of
from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..conversation import Item
from ..format import Format, each_file
from ..model_calls import call_with_spans, usage_of
from ..records import Record, UnusableError
from ..span_dialects import ModelCall, ToolRun, arguments_text
from ..spans import TraceSpan, instant
from ..traces import CASE, joined
from .langchain import fields_of

# Where LangSmith keeps the id of a conversation, in a run's metadata.
_THREADS = ("session_id", "thread_id", "conversation_id")


def _holds(value: Any) -> bool:
    return _is_run(value) or any(map(_is_run, as_list(as_mapping(value).get("post"))))


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and "run_type" in value and isinstance(value.get("inputs"), dict)


def _read(records: list[Record]) -> Iterator[Item]:
    """The runs of models of each trace, joined to conversations."""
    runs = [(record, run) for record in records for run in _runs(as_mapping(record.value))]
    spans: list[TraceSpan] = []
    calls: dict[TraceSpan, ModelCall] = {}
    tools: list[tuple[str, ToolRun]] = []
    for record, run in sorted(runs, key=lambda pair: instant(pair[1].get("start_time"))):
        span = _span(record, run)
        spans.append(span)
        if run.get("run_type") == "tool":
            tools.append((span.trace, _tool_run(span, run)))
        try:
            if run.get("run_type") == "llm":
                extra = as_mapping(run.get("extra"))
                asked = as_mapping(extra.get("invocation_params"))
                given = {**asked, **as_mapping(run.get("inputs"))}
                calls.update(call_with_spans(record, span, given, run.get("outputs")))
        except UnusableError as error:
            yield record.problem(str(error))
    yield from joined(spans, calls, tools)


def _runs(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "post" not in value:
        yield value
        return
    # As it is sent: the end of a run in another part than its beginning.
    ends = {each.get("id"): each for each in objects_in(value.get("patch"))}
    for run in objects_in(value["post"]):
        yield {**run, **ends.get(run.get("id"), {})}


def _span(record: Record, run: Mapping[str, Any]) -> TraceSpan:
    """A run as a span, with the attributes that OpenTelemetry has for them."""
    id = as_text(run.get("id")) or f"{record.line}"
    extra = as_mapping(run.get("extra"))
    about = as_mapping(extra.get("metadata"))
    asked = {**as_mapping(extra.get("invocation_params")), **as_mapping(run.get("inputs"))}
    usage = _usage(run)
    tool = run.get("name") if run.get("run_type") == "tool" else None
    attributes = {
        CASE: about.get(CASE),
        "session.id": next(filter(None, (about.get(name) for name in _THREADS)), None),
        "gen_ai.agent.name": about.get("lc_agent_name"),
        "gen_ai.request.model": next(
            filter(None, (as_text(asked.get(name)) for name in ("model", "model_name"))), None
        ),
        "gen_ai.tool.name": tool,
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        "operation.cost": run.get("total_cost"),
    }
    return TraceSpan(
        record.problem(),
        as_text(run.get("trace_id")) or id,
        id,
        as_text(run.get("parent_run_id")),
        instant(run.get("start_time")),
        instant(run.get("end_time")),
        {name: value for name, value in attributes.items() if value is not None},
        as_text(run.get("error")) or None,
    )


def _usage(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tokens of a run, as in a message's `usage_metadata`."""
    given = {"input_tokens": run.get("prompt_tokens"), "output_tokens": run.get("completion_tokens")}
    known = {name: value for name, value in given.items() if value is not None}
    return {**usage_of(run.get("outputs")), **known}


def _tool_run(span: TraceSpan, run: Mapping[str, Any]) -> ToolRun:
    output = as_mapping(run.get("outputs")).get("output")
    message = fields_of(output)
    content = message.get("content", output)
    status = status_word(message, text_of(message)) if message else None
    if span.error is not None:
        status = error_or_unknown(span.error)
    return ToolRun(
        span.start,
        as_text(message.get("tool_call_id")) or None,
        as_text(run.get("name")),
        arguments_text(as_mapping(run.get("inputs")).get("input")),
        content if isinstance(content, str) else None,
        status,
    )


FORMAT = Format(
    title="LangSmith runs",
    recognised="`run_type` and `inputs`",
    calls="of each call of a model; the runs of a trace are one conversation",
    example="runs.jsonl",
    holds=_holds,
    read=each_file(_read),
    over=("openai", "langchain"),
)
