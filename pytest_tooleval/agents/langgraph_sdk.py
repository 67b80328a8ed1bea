"""Graphs of LangGraph (`langgraph`), such as `langchain.agents.create_agent` makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .messages import MOST_ROUNDS
from .messages import CallTool
from .messages import Message
from .messages import Model
from .messages import Tool
from .messages import as_model
from .messages import assistant
from .messages import names_of_calls
from .messages import tool_answer
from .messages import usage_of
from .messages import with_output
from .messages import without_calls


def langgraph(graph: Any, *, tools_node: str | None = None, run_tools: bool = False) -> Model:
    """Make a model from a graph that keeps `messages`. With `run_tools`, its own tools run.

    Otherwise the graph stops before each `ToolNode`, or before `tools_node`, and continues with the
    answers. The suite must offer the tools that are built into the graph.
    """
    own = _tools(graph)
    nodes = [tools_node] if tools_node else sorted({node for node, _ in own})
    if not run_tools:
        _check_nodes(graph, nodes)

    async def run(
        messages: list[Message], tools: list[Tool] | None, call_tool: CallTool
    ) -> list[Message]:
        from langgraph.checkpoint.memory import InMemorySaver

        if tools is not None and own:
            _check_tools({tool.name for _, tool in own}, {tool.name for tool in tools})
        # Each run has its own memory, so that only the messages carry over.
        fresh = graph.copy(update={"checkpointer": InMemorySaver()})
        config = {"configurable": {"thread_id": "trial"}, "recursion_limit": 3 * MOST_ROUNDS}
        stops = [] if tools is None else nodes
        asked = [_wire(message, names_of_calls(messages)) for message in messages]
        state = await fresh.ainvoke({"messages": asked}, config, interrupt_before=stops)
        while after := (await fresh.aget_state(config)).next:
            if after[0] not in stops:
                raise RuntimeError(f"the graph stops before {after[0]!r} and waits for input")
            answers = await _answers(state["messages"], call_tool)
            await fresh.aupdate_state(config, {"messages": answers}, as_node=after[0])
            state = await fresh.ainvoke(None, config, interrupt_before=stops)
        form = state.get("structured_response")
        rounds = _rounds(state["messages"], asked)
        if form is None:
            return rounds
        return with_output(without_calls(rounds, [type(form).__name__]), form)

    return as_model(run, run_tools)


async def tools_of(graph: Any) -> list[Message]:
    """The functions that the graph offers to its model from its `ToolNode`s."""
    from langchain_core.utils.function_calling import convert_to_openai_function

    return [convert_to_openai_function(tool) for _, tool in _tools(graph)]


def _tools(graph: Any) -> list[tuple[str, Any]]:
    """The tools in each `ToolNode`, with the name of the node."""
    from langgraph.prebuilt import ToolNode

    nodes = [(name, node.bound) for name, node in graph.nodes.items()]
    return [
        (name, tool)
        for name, node in nodes
        if isinstance(node, ToolNode)
        for tool in node.tools_by_name.values()
    ]


def _check_nodes(graph: Any, nodes: Sequence[str]) -> None:
    within = [name for name, _ in graph.get_subgraphs()]
    if within:
        raise ValueError(f"the graph has subgraphs ({', '.join(within)}), whose tools would really run")
    known = [name for name in graph.nodes if name != "__start__"]
    if not nodes or nodes[0] not in known:
        what = f"no node {nodes[0]!r}" if nodes else "no ToolNode"
        raise ValueError(
            f"the graph has {what}; name the node that runs its tools with tools_node, of: "
            + ", ".join(known)
        )


def _check_tools(own: set[str], suite: set[str]) -> None:
    if own != suite:
        more = [f"only the graph has {', '.join(sorted(own - suite))}"] if own - suite else []
        more += [f"only the case has {', '.join(sorted(suite - own))}"] if suite - own else []
        raise ValueError(f"the case must offer the graph's own tools: {'; '.join(more)}")


async def _answers(messages: Sequence[Any], call_tool: CallTool) -> list[Any]:
    """The answers to those calls of the last reply that have none yet."""
    from langchain_core.messages import ToolMessage

    last = max(index for index, message in enumerate(messages) if message.type == "ai")
    answered = {message.tool_call_id for message in messages[last + 1 :] if message.type == "tool"}
    return [
        ToolMessage(
            await call_tool(call["name"], call["args"]), tool_call_id=call["id"], name=call["name"]
        )
        for call in messages[last].tool_calls
        if call["id"] not in answered
    ]


def _wire(message: Message, names: dict[str, str]) -> Message:
    """A chat message for LangChain, which needs the name of the tool in an answer."""
    if message["role"] == "tool":
        return {**message, "name": names.get(message["tool_call_id"], "")}
    return message


def _rounds(messages: Sequence[Any], asked: Sequence[Message]) -> list[Message]:
    """The new messages."""
    rounds: list[Message] = []
    said_before = sum(message["role"] in ("assistant", "tool") for message in asked)
    own = [message for message in messages if message.type in ("ai", "tool")][said_before:]
    for message in own:
        if message.type == "tool":
            rounds.append(tool_answer(message.tool_call_id, message.content))
            continue
        calls = [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
        calls += [(call["id"], call["name"], call["args"]) for call in message.invalid_tool_calls]
        used: Any = message.usage_metadata or {}
        details = used.get("output_token_details") or {}
        usage = usage_of(used.get("input_tokens"), used.get("output_tokens"), details.get("reasoning"))
        # Each provider's package names the finish reason differently.
        ends = {
            key: message.response_metadata[key]
            for key in ("finish_reason", "stop_reason", "done_reason")
            if message.response_metadata.get(key)
        }
        rounds.append(assistant(message.text, calls, usage=usage) | ends)
    return rounds
