"""Graphs of LangGraph (`langgraph`), such as those made by `langchain.agents.create_agent`."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any

from ..errors import AgentGaveUp
from ..record.status import StatusWord
from ..record.transcript import Message
from . import messages as chat
from .messages import AgentToolbox, Endings, Model


def langgraph(graph: Any, *, tools_node: str | None = None, run_tools: bool = False) -> Model:
    """Make a model from a graph that keeps `messages`. With `run_tools`, its own tools run.

    Calls are answered in each `ToolNode`, including those of subgraphs, or in place of `tools_node`. The
    suite must offer exactly the tools that are built into the graph.
    """
    _check_nodes(graph, tools_node, run_tools)

    async def run(messages: list[Message], toolbox: AgentToolbox) -> list[Message]:
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.types import Command

        own = {tool.name for tool in _tools(graph)}
        if toolbox.tools is not None and own:
            _check_tools(own, {tool.name for tool in toolbox.tools})
        # Each run has its own memory, so that only the messages carry over.
        asking = _Asking(toolbox)
        fresh = asking.graph(graph, tools_node).copy(update={"checkpointer": InMemorySaver()})
        config = {"configurable": {"thread_id": "trial"}}
        names = chat.names_of_calls(messages)
        asked = [_wire(message, names, f"prompt-{n}") for n, message in enumerate(messages)]
        seen = _NewMessages(message["id"] for message in asked)
        inputs: Any = {"messages": asked}
        endings = _endings()
        try:
            while inputs is not None:
                stream = fresh.astream(inputs, config, stream_mode="values", subgraphs=True)
                if (cut := await _watch(stream, seen, toolbox)) is not None:
                    return toolbox.with_marks(cut)
                now = await fresh.aget_state(config)
                if now.next and not now.interrupts:
                    raise RuntimeError(f"the graph stops before {now.next[0]!r} and waits for input")
                answers = {each.id: asking.resume_with(each) for each in now.interrupts}
                inputs = Command(resume=answers) if answers else None
        except tuple(endings) as error:
            return toolbox.stop(
                f"LangGraph: {error}", _transcript(seen.messages), chat.stop_of(error, endings)
            )
        transcript = toolbox.with_marks(_transcript(seen.messages))
        if _FORM not in seen.last:
            return transcript
        form = seen.last[_FORM]
        if form is None:
            raise AgentGaveUp("LangGraph: the structured response was never filled", transcript)
        return chat.with_output(chat.without_calls(transcript, [type(form).__name__]), form)

    return chat.as_model(run, run_tools)


async def _watch(stream: Any, seen: _NewMessages, toolbox: AgentToolbox) -> list[Message] | None:
    """Add a run's states to `seen`; return what the toolbox makes of them if it cuts the run."""
    async with aclosing(stream):
        async for place, state in stream:
            seen.add(place, state)
            if (cut := toolbox.cut(_transcript(seen.messages))) is not None:
                return cut
    return None


# In the state of an agent with a `response_format`. Each call of the model sets it, perhaps to None.
_FORM = "structured_response"


class _NewMessages:
    """The new messages of a run, including those that a middleware removed from the state later."""

    def __init__(self, asked: Iterable[str]) -> None:
        self.last: Message = {}
        self._asked = set(asked)
        self._new: dict[object, Any] = {}
        self._agents: dict[object, str | None] = {}

    def add(self, place: Sequence[str], state: Message) -> None:
        """Add a state of the graph, or of a subgraph, which has a place."""
        if not place:
            self.last = state
        for index, message in enumerate(state.get("messages") or ()):
            # A graph that only appends may leave out the ids.
            key = message.id or (*place, index)
            if message.type in ("ai", "tool") and key not in self._asked:
                self._new[key] = message
                # The innermost graph comes first.
                self._agents.setdefault(key, place[-1].partition(":")[0] if place else None)

    @property
    def messages(self) -> list[tuple[Any, str | None]]:
        """The new messages in the order in which they were made, with the agents that made them."""
        return [(message, self._agents[key]) for key, message in self._new.items()]


class _Asking:
    """Makes a graph whose calls the suite answers, or allows before they run.

    It replaces the nodes, not the tools, so that middleware and `wrap_tool_call` stay active.
    """

    def __init__(self, toolbox: AgentToolbox) -> None:
        self._toolbox = toolbox
        self._paused: dict[str, tuple[str, object]] = {}  # waiting calls by the ids of their interrupts

    def graph(self, graph: Any, tools_node: str | None = None, agent: str | None = None) -> Any:
        """The graph, which is the node `agent` of another one unless that is None."""
        from langgraph.prebuilt import ToolNode
        from langgraph.pregel import Pregel

        nodes = dict(graph.nodes)
        stops = graph.interrupt_before_nodes
        stops = [name for name in nodes if name != "__start__"] if stops == "*" else list(stops)
        for name, node in graph.nodes.items():
            if isinstance(node.bound, Pregel):
                bound = self.graph(node.bound, agent=name)
                nodes[name] = node.copy({"bound": bound, "subgraphs": [bound]})
            elif name == tools_node or isinstance(node.bound, ToolNode):
                own = node.bound if isinstance(node.bound, ToolNode) else ToolNode([])
                bound = self._node(own, agent, approves=name in stops)
                nodes[name] = node.copy({"bound": bound})
                stops = [stop for stop in stops if stop != name]
        return graph.copy(update={"nodes": nodes, "interrupt_before_nodes": stops})

    def _node(self, own: Any, agent: str | None, *, approves: bool) -> Any:
        """A copy of the node that asks the suite inside the node's own wrappers."""
        node = copy.copy(own)
        node.func, node.afunc = node._func, node._afunc  # those of the copy
        wrap, wrap_sync = own._awrap_tool_call, own._wrap_tool_call

        async def wrapped(request: Any, execute: Any) -> Any:
            allowed: list[object] = []  # a wrapper may try a call again, which is one call all the same

            async def ask(request: Any) -> Any:
                return await self._ask(request, execute, agent, approves, allowed)

            if wrap is not None:
                return await wrap(request, ask)
            if wrap_sync is None:
                return await ask(request)
            loop = asyncio.get_running_loop()

            def ask_from_thread(request: Any) -> Any:
                return asyncio.run_coroutine_threadsafe(ask(request), loop).result()

            return await asyncio.to_thread(wrap_sync, request, ask_from_thread)

        node._awrap_tool_call = wrapped
        return node

    async def _ask(
        self, request: Any, execute: Any, agent: str | None, approves: bool, allowed: list[object]
    ) -> Any:
        from langchain_core.messages import ToolMessage
        from langgraph.errors import GraphBubbleUp, GraphInterrupt

        toolbox, call = self._toolbox, request.tool_call
        id, name, arguments = call["id"], call["name"], call["args"]
        refusal = None
        if call in allowed:
            pass
        elif approves and not toolbox.approves(name, arguments):
            refusal = f"The call of {name} was rejected."
        elif toolbox.tools is not None:
            answer = await toolbox.answer(id, name, arguments, agent)
            return ToolMessage(answer, tool_call_id=id, name=name)
        else:
            refusal = await toolbox.refusal(id, name, arguments, agent)
        if refusal is not None:
            return ToolMessage(refusal, tool_call_id=id, name=name, status="error")
        allowed.append(call)
        try:
            with toolbox.watching(id, GraphBubbleUp):
                answer = await execute(request)
        except GraphInterrupt as pause:
            toolbox.pause(id, name, arguments)
            self._paused |= {interrupt.id: (name, arguments) for interrupt in pause.args[0]}
            raise
        if getattr(answer, "status", None) == "error":
            toolbox.note_failure(id, answer.content)
        return answer

    def resume_with(self, interrupt: Any) -> object:
        """The answer to an interrupt."""

        def decided(request: Message) -> Message:
            if self._toolbox.approves(request["name"], request["args"]):
                return {"type": "approve"}
            return {"type": "reject"}

        value = interrupt.value
        if interrupt.id in self._paused:
            return self._toolbox.approves(*self._paused[interrupt.id])
        if isinstance(value, dict) and "action_requests" in value:
            return {"decisions": [decided(request) for request in value["action_requests"]]}
        if isinstance(value, dict) and value.get("type") == "tool_approval":
            return decided(value)
        raise RuntimeError(f"the graph waits for an answer to {value!r}, which is no call of a tool")


def _endings() -> Endings:
    from langgraph.errors import GraphRecursionError

    try:
        from langchain.agents.middleware import PIIDetectionError
        from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
        from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
        from langchain.agents.structured_output import StructuredOutputError
    except ImportError:
        return {GraphRecursionError: "limit"}
    return {
        GraphRecursionError: "limit",
        ModelCallLimitExceededError: "limit",
        ToolCallLimitExceededError: "limit",
        PIIDetectionError: "guardrail",
        StructuredOutputError: None,
    }


async def tools_of(graph: Any) -> list[Message]:
    """The functions that the graph offers to its model from its `ToolNode`s."""
    from langchain_core.utils.function_calling import convert_to_openai_function

    tools = {tool.name: tool for tool in _tools(graph)}
    return [convert_to_openai_function(tool) for tool in tools.values()]


def _tools(graph: Any) -> list[Any]:
    """The tools of each `ToolNode`, including those in subgraphs."""
    from langgraph.prebuilt import ToolNode
    from langgraph.pregel import Pregel

    tools: list[Any] = []
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            tools += node.bound.tools_by_name.values()
        elif isinstance(node.bound, Pregel):
            tools += _tools(node.bound)
    return tools


def _check_nodes(graph: Any, tools_node: str | None, run_tools: bool) -> None:
    """Raise ValueError if calls would be answered without asking the suite."""
    from langgraph.prebuilt import ToolNode
    from langgraph.pregel import Pregel

    known = {name: node for name, node in graph.nodes.items() if name != "__start__"}
    for name, node in known.items():
        if isinstance(node.bound, Pregel):
            if _tools(node.bound):
                _check_nodes(node.bound, None, run_tools)
        elif node.subgraphs:
            raise ValueError(
                f"the node {name!r} calls a subgraph, whose tools cannot be stopped; "
                "add the subgraph itself as the node"
            )
    if tools_node is None and not _tools(graph):
        what = "no ToolNode"
    elif tools_node is not None and tools_node not in known:
        what = f"no node {tools_node!r}"
    elif run_tools and tools_node is not None and not isinstance(known[tools_node].bound, ToolNode):
        raise ValueError(
            f"run_tools: the node {tools_node!r} runs its tools itself, so that they cannot be stopped; "
            "make it a ToolNode, or leave run_tools out, so that the suite answers"
        )
    else:
        return
    raise ValueError(
        f"the graph has {what}; name the node that runs its tools with tools_node, of: "
        + ", ".join(known)
    )


def _check_tools(own: set[str], offered: set[str]) -> None:
    if own != offered:
        more = [f"only the graph has {', '.join(sorted(own - offered))}"] if own - offered else []
        more += [f"only the case has {', '.join(sorted(offered - own))}"] if offered - own else []
        raise ValueError(f"the case must offer the graph's own tools: {'; '.join(more)}")


def _wire(message: Message, names: dict[str, str], id: str) -> Message:
    """A chat message for LangChain, which needs the tool's name in an answer."""
    name = {"name": names.get(message["tool_call_id"], "")} if message["role"] == "tool" else {}
    return {**message, **name, "id": id}


def _transcript(messages: Iterable[tuple[Any, str | None]]) -> list[Message]:
    transcript: list[Message] = []
    for message, agent in messages:
        if message.type == "tool":
            status: StatusWord | None = "error" if message.status == "error" else None
            transcript.append(chat.tool_answer(message.tool_call_id, message.content, status))
            continue
        for block in message.content_blocks:
            if block["type"] == "server_tool_call":
                raise ValueError(
                    f"the provider ran its tool {block['name']}, which cannot be stopped; take it out"
                )
        calls = [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
        calls += [(call["id"], call["name"], call["args"]) for call in message.invalid_tool_calls]
        used: Any = message.usage_metadata or {}
        details = used.get("output_token_details") or {}
        usage = chat.token_usage(
            used.get("input_tokens"), used.get("output_tokens"), details.get("reasoning")
        )
        # Each provider's package names the finish reason differently.
        ends = {
            key: message.response_metadata[key]
            for key in ("finish_reason", "stop_reason", "done_reason")
            if message.response_metadata.get(key)
        }
        reply = chat.assistant(message.text, calls, usage=usage) | ends
        transcript.append(chat.said_by(reply, agent))
    return transcript
