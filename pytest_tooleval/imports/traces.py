"""Traces of agents: the calls of models in them, joined to conversations.

Each call of a model has the messages given to it, so a conversation is a chain of calls in which each is
given all previous messages. Calls inside a tool are those of an agent that is the tool. Calls inside
another call of a model belong to that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..record.calls import is_number
from ..record.status import StatusWord
from ..record.transcript import AGENT, INNER, SYSTEM_ROLES, Message, Usage
from ..replies.messages import gist_of
from ..replies.outside_transcript import NO_NAME, OutsideTranscript
from .span_dialects import (
    ModelCall,
    ToolRun,
    arguments_text,
    is_tool,
    tool_name_of,
    tool_run_of,
)
from .spans import TraceSpan, first_of

CASE = "tooleval.case"


@dataclass(eq=False)
class _Chain:
    """A conversation so far. `case` is the span that names its case, `replies` are those of `spans`.

    `around` are the spans around the last call, up to `case`.
    """

    first: TraceSpan
    case: TraceSpan | None
    messages: list[Message] = field(default_factory=list)
    spans: list[TraceSpan] = field(default_factory=list)
    replies: list[list[Message]] = field(default_factory=list)
    around: list[TraceSpan] = field(default_factory=list)
    tools: Sequence[Any] | None = None
    choice: Any = None
    key: int = 0
    agents: list[str] = field(default_factory=list)
    # The agents that were tools in it, by the index of the call of a model before them.
    inner: list[tuple[int, _Chain]] = field(default_factory=list)


def conversations_of(
    spans: Iterable[TraceSpan], calls: Mapping[TraceSpan, ModelCall], runs: Iterable[tuple[str, ToolRun]]
) -> Iterator[OutsideTranscript]:
    """The conversations of spans, in the order in which they began.

    All are given in the order in which they began: the calls of models in some of the spans, and what
    tools did, with their traces.
    """
    by_id = {(span.trace, span.id): span for span in spans}
    tools = _ToolRuns(runs)
    chains = _Chains()
    inner: dict[TraceSpan, _Chains] = {}
    for span, call in calls.items():
        above = list(_above(span, by_id))
        if any(each in calls for each in above):
            continue
        around = [span, *above]
        case = next((each for each in around if CASE in each.attributes), None)
        around = around[: around.index(case) + 1] if case else around
        tool = next((each for each in reversed(around) if is_tool(each)), None)
        chain = (chains if tool is None else inner.setdefault(tool, _Chains())).add(span, call, case)
        chain.around = around
        chain.agents.append(_agent_of(around, tool))
    for tool, of_tool in inner.items():
        _put_inside(tool, of_tool, chains.all)
    for chain in chains.all:
        yield _run(chain, tools)


_AGENTS = ("gen_ai.agent.name", "agent.name")


def _agent_of(around: Sequence[TraceSpan], tool: TraceSpan | None) -> str:
    """The name of the agent in the nearest of these spans, or else of the tool that it is."""
    inside = around if tool is None else around[: around.index(tool)]
    agent = next((name for each in inside if (name := first_of(each.attributes, *_AGENTS))), None)
    if agent is None and tool is not None:
        agent = tool_name_of(tool)
    return str(agent or "")


def _put_inside(tool: TraceSpan, of_tool: _Chains, chains: Sequence[_Chain]) -> None:
    """Put conversations of an agent that is a tool behind the call of a model that asked for it."""
    tool_run = tool_run_of(tool)
    before = [
        (_makes(chain, index, tool_run), span.start, chain, index)
        for chain in chains
        for index, span in enumerate(chain.spans)
        if span.trace == tool.trace and span.start <= tool.start
    ]
    if before:
        *_, chain, index = max(before, key=lambda each: each[:2])
        chain.inner += [(index, each) for each in of_tool.all]


def _makes(chain: _Chain, index: int, tool_run: ToolRun | None) -> bool:
    """Whether this call of a model asked for a tool's run."""
    calls = (call for reply in chain.replies[index] for call in reply.get("tool_calls") or ())
    return tool_run is not None and any(
        call["id"] == tool_run.call if tool_run.call else call["function"]["name"] == tool_run.name
        for call in calls
    )


_Tool = tuple[str, str, str]  # the trace, the name, and the arguments, empty if unknown


class _ToolRuns:
    """What tools did in all traces, in the order in which they began."""

    def __init__(self, runs: Iterable[tuple[str, ToolRun]]) -> None:
        self._by_call: dict[tuple[str, str], ToolRun] = {}
        self._others: dict[_Tool, list[ToolRun]] = {}
        self._seen: dict[tuple[TraceSpan, _Tool], set[StatusWord | None]] = {}
        for trace, run in runs:
            if run.call is not None:
                self._by_call[trace, run.call] = run
            else:
                self._others.setdefault((trace, run.name, run.arguments), []).append(run)

    def of(self, trace: str, call: Message) -> ToolRun | None:
        """The last run of a call that its span names."""
        return self._by_call.get((trace, str(call["id"])))

    def statuses(self, chain: _Chain) -> dict[str, StatusWord]:
        """What became of the calls of a conversation, by their ids, where its tools say it."""
        words: dict[str, StatusWord] = {}
        following = [*chain.spans[1:], None]
        for span, replies, then in zip(chain.spans, chain.replies, following, strict=True):
            for call in (each for reply in replies for each in reply.get("tool_calls") or ()):
                tool_run = self.of(span.trace, call)
                status = tool_run.status if tool_run else self._between(span, then, call["function"])
                if status is not None:
                    words[str(call["id"])] = status
        return words

    def _between(
        self, span: TraceSpan, then: TraceSpan | None, function: Mapping[str, Any]
    ) -> StatusWord | None:
        """What became of a call, by the runs between this call of the model and the next."""
        name, arguments = str(function["name"]), arguments_text(function["arguments"])
        keys = {(span.trace, name, arguments), (span.trace, name, "")}
        for key in keys:
            if (span, key) not in self._seen:
                runs = self._others.get(key, [])
                first = bisect_left(runs, span.start, key=_start)
                after = bisect_left(runs, then.start, key=_start) if then else len(runs)
                self._seen[span, key] = {run.status for run in runs[first:after]}
        same = set.union(*(self._seen[span, key] for key in keys))
        if len(same) > 1:
            return "unknown"
        return next(iter(same), None)


def _start(tool_run: ToolRun) -> int:
    return tool_run.start


def _above(span: TraceSpan, by_id: Mapping[tuple[str, str], TraceSpan]) -> Iterator[TraceSpan]:
    """The spans around a span, the nearest first. Hostile spans may form a circle."""
    seen = {span.id}
    while (above := by_id.get((span.trace, span.parent))) is not None and above.id not in seen:
        seen.add(above.id)
        yield above
        span = above


class _Chains:
    """All conversations so far, which calls are matched to by their messages."""

    def __init__(self) -> None:
        self.all: list[_Chain] = []
        self._by_key: dict[int, list[_Chain]] = {}
        self._by_call: dict[tuple[str, object], _Chain] = {}

    def add(self, span: TraceSpan, call: ModelCall, case: TraceSpan | None) -> _Chain:
        """Continue the conversation given to the model, or begin a new one."""
        prompt = call.prompt
        chain = self._older(span, prompt, case)
        if chain is None:
            ids = (each.get("tool_call_id") for each in prompt if each["role"] == "tool")
            chain = next((c for id in ids if (c := self._by_call.get((span.trace, id)))), None)
            if chain is not None:  # earlier messages are stored by the provider, or were cut off
                last = max(
                    (n for n, each in enumerate(prompt) if each["role"] == "assistant"), default=-1
                )
                new = (each for each in prompt[last + 1 :] if each["role"] not in SYSTEM_ROLES)
                prompt = [*chain.messages, *new]
        if chain is None:
            chain = _Chain(span, case)
            self.all.append(chain)
        else:
            self._by_key[chain.key].remove(chain)
        chain.messages = [*prompt, *call.said]
        chain.spans.append(span)
        chain.replies.append(call.said)
        if call.tools is not None:
            chain.tools, chain.choice = call.tools, call.choice
        *_, chain.key = [0, *_keys(chain.messages)]
        self._by_key.setdefault(chain.key, []).append(chain)
        for tool_call in chain.messages[-1].get("tool_calls") or ():
            self._by_call[span.trace, tool_call["id"]] = chain
        return chain

    def _older(self, span: TraceSpan, messages: list[Message], case: TraceSpan | None) -> _Chain | None:
        for key in reversed(list(_keys(messages))):
            same = [chain for chain in self._by_key.get(key, ()) if _may_go_on(chain, span, case)]
            if same:
                return max(same, key=lambda c: (c.case is case, c.spans[-1].trace == span.trace))
        return None


def _may_go_on(chain: _Chain, span: TraceSpan, case: TraceSpan | None) -> bool:
    """Whether a call may continue a conversation; another trial may have the same messages."""
    if chain.case and case and chain.case.attributes[CASE] != case.attributes[CASE]:
        return False
    last = chain.spans[-1]
    if last.trace == span.trace:
        return True
    ids = {str(first_of(each.attributes, *_IDS)) for each in (last, span)}
    return len(ids) == 1 and _model(last) == _model(span) and last.error is None


def _keys(messages: list[Message]) -> Iterator[int]:
    """A key for each prefix of a conversation, ignoring system prompts."""
    key = 0
    for message in messages:
        if message["role"] not in SYSTEM_ROLES:
            key = hash((key, repr(gist_of(message))))
        yield key


_IDS = ("gen_ai.conversation.id", "session.id")
_MODELS = ("gen_ai.request.model", "llm.model_name", "gen_ai.response.model")
_INPUT = ("gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens")
_OUTPUT = ("gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens")
_COST = ("operation.cost", "llm.cost.total")


def _model(span: TraceSpan) -> str:
    return str(first_of(span.attributes, *_MODELS) or NO_NAME)


def _messages(chain: _Chain, runs: _ToolRuns) -> list[Message]:
    """The messages of a conversation, with those of agents that were tools in it."""
    last = chain.spans[-1]
    messages = list(chain.messages)
    for call in messages[-1].get("tool_calls") or ():
        tool_run = runs.of(last.trace, call)
        if tool_run is not None and tool_run.answer is not None:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": tool_run.answer})
    statuses = runs.statuses(chain)
    messages = [_with_status(each, statuses) for each in messages]
    # The last replies are those of the spans.
    said = [index for index, each in enumerate(messages) if each["role"] == "assistant"]
    spans = [index for index, replies in enumerate(chain.replies) if replies]
    for index, span in zip(reversed(said), reversed(spans), strict=False):
        name = chain.agents[span]
        messages[index] = {**messages[index], **({AGENT: name} if name else {})}
        inside = [each for at, inner in chain.inner if at == span for each in _inner(inner, runs)]
        messages[index + 1 : index + 1] = inside
    return messages


def _inner(chain: _Chain, runs: _ToolRuns) -> Iterator[Message]:
    """The replies of an agent that was a tool, and the answers to its calls."""
    messages = _messages(chain, runs)
    said = [index for index, each in enumerate(messages) if each["role"] == "assistant"]
    count = sum(map(bool, chain.replies))
    for message in messages[said[-count] :] if count else ():
        if message["role"] in ("assistant", "tool"):
            yield {**message, INNER: True}


def _run(chain: _Chain, runs: _ToolRuns) -> OutsideTranscript:
    last = chain.spans[-1]
    messages = _messages(chain, runs)
    served = first_of(last.attributes, "gen_ai.response.model")
    return OutsideTranscript(
        chain.first.at,
        messages,
        case=str(chain.case.attributes[CASE]) if chain.case else "",
        id=str(first_of(chain.first.attributes, *_IDS) or ""),
        model=_model(chain.first),
        usage=Usage(
            prompt_tokens=None if (tokens := _sum(chain, _INPUT)) is None else int(tokens),
            completion_tokens=None if (tokens := _sum(chain, _OUTPUT)) is None else int(tokens),
            cost_usd=_sum(chain, _COST),
            latency_s=sum(max(span.end - span.start, 0) for span in chain.spans) / 1e9,
            served_model=served if isinstance(served, str) else None,
        ),
        tools=chain.tools,
        choice=chain.choice,
        error=_broke_off(chain),
        group=f"{chain.case.trace}/{chain.case.id}" if chain.case else "",
    )


def _with_status(message: Message, statuses: Mapping[str, StatusWord]) -> Message:
    status = statuses.get(str(message.get("tool_call_id"))) if message["role"] == "tool" else None
    return message if status is None else {**message, "status": status}


def _broke_off(chain: _Chain) -> str:
    last, *around = chain.around
    reason = last.error
    if reason is None and chain.messages[-1]["role"] != "assistant":
        reason = "no answer is recorded"
    if reason is not None:
        return f"the last call of the model failed: {reason}"
    # The failed call may have no messages, and so belong to no chain.
    failed = next((each.error for each in around if each.error is not None), None)
    return f"a span around the run failed: {failed}" if failed is not None else ""


def _sum(chain: _Chain, names: tuple[str, ...]) -> float | None:
    """The sum over all calls; None if one is unknown or negative."""
    values = [first_of(span.attributes, *names) for span in chain.spans]
    numbers = [each for each in values if is_number(each) and each >= 0]
    return sum(numbers) if len(numbers) == len(values) else None
