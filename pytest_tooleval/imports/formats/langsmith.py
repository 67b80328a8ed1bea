"""Runs of models that LangSmith traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...record.untrusted import as_list, as_mapping, as_text, objects_in
from ..format import Format
from ..model_calls import ANSWER, REQUEST, trace_reader, usage_of
from ..records import Record
from ..spans import TraceSpan, span_of
from ..traces import CASE
from .langchain import fields_of

# Where LangSmith keeps the id of a conversation, in a run's metadata.
_THREADS = ("session_id", "thread_id", "conversation_id")


def _holds(value: Any) -> bool:
    return _is_run(value) or any(map(_is_run, as_list(as_mapping(value).get("post"))))


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and "run_type" in value and isinstance(value.get("inputs"), dict)


def _spans(record: Record) -> Iterator[TraceSpan]:
    return (_span(record, run) for run in _runs(as_mapping(record.value)))


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
    extra, inputs = as_mapping(run.get("extra")), as_mapping(run.get("inputs"))
    about = as_mapping(extra.get("metadata"))
    asked = {**as_mapping(extra.get("invocation_params")), **inputs}
    usage = _usage(run)
    models = (as_text(asked.get(name)) for name in ("model", "model_name"))
    attributes = {
        CASE: about.get(CASE),
        "session.id": next(filter(None, (about.get(name) for name in _THREADS)), None),
        "gen_ai.agent.name": about.get("lc_agent_name"),
        "gen_ai.request.model": next(filter(None, models), None),
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        "operation.cost": run.get("total_cost"),
    }
    if run.get("run_type") == "llm":
        attributes |= {REQUEST: asked, ANSWER: run.get("outputs")}
    elif run.get("run_type") == "tool":
        output = as_mapping(run.get("outputs")).get("output")
        message = fields_of(output)
        attributes |= {
            "gen_ai.tool.name": as_text(run.get("name")),
            "gen_ai.tool.call.arguments": inputs.get("input"),
            "gen_ai.tool.call.result": as_text(message.get("content", output)) or None,
            "output.value": {"data": message},
        }
    named = {
        "spanId": id,
        "trace_id": as_text(run.get("trace_id")) or id,
        "parent_id": run.get("parent_run_id"),
        "status_code": "ERROR" if run.get("error") else None,
        "status_message": run.get("error"),
    }
    return span_of({**run, **named}, record.problem(), attributes)


def _usage(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tokens of a run, as in a message's `usage_metadata`."""
    given = {"input_tokens": run.get("prompt_tokens"), "output_tokens": run.get("completion_tokens")}
    known = {name: value for name, value in given.items() if value is not None}
    return {**usage_of(run.get("outputs")), **known}


FORMAT = Format(
    title="LangSmith runs",
    recognised="`run_type` and `inputs`",
    calls="of each call of a model; the runs of a trace are one conversation",
    example="runs.jsonl",
    holds=_holds,
    read=trace_reader(_spans, "no run of the type llm, which is a call of a model"),
    over=("openai", "langchain"),
)
