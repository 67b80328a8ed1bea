# ruff: noqa: E501
"""Shapes in which exporters, agents and servers record things, with and without a call of `pay`.

Each is fields of a reply, fields of its record, or a message.
"""

from __future__ import annotations

import json
from typing import Any

ARGS = {"order": "A1"}
TEXT = json.dumps(ARGS)
PAY = {"name": "pay", "arguments": ARGS}
CHAT = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": TEXT}}
SDK = {"toolCallId": "1", "toolName": "pay", "args": ARGS}
USE = {"type": "tool_use", "id": "1", "name": "pay", "input": ARGS}
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
DEFINED = {"name": "pay", "description": "Pay an order.", "parameters": SCHEMA}

REPLY: dict[str, dict[str, Any]] = {
    "AI SDK 4": {"toolInvocations": [{"state": "result", **SDK, "result": "ok"}]},
    "AI SDK 5 parts": {"parts": [{"type": "tool-pay", "toolCallId": "1", "input": ARGS, "state": "done"}]},
    "AI SDK dynamic": {"parts": [{"type": "dynamic-tool", "toolName": "pay", "input": ARGS}]},
    "AI SDK calls": {"toolCalls": [SDK]},
    "AI SDK content": {"content": [{"type": "text", "text": "ok"}, {"type": "tool-call", **SDK}]},
    "AI SDK steps": {"steps": [{"stepType": "initial", "toolCalls": [SDK], "text": ""}]},
    "Anthropic blocks elsewhere": {"blocks": [USE]},
    "uses as text": {"tool_uses": json.dumps([PAY])},
    "a call as text": {"raw": json.dumps({"function_call": {"name": "pay", "arguments": TEXT}})},
    "a body as text": {"raw_response": json.dumps({"choices": [{"message": {"tool_calls": [CHAT]}}]})},
    "allowed calls": {"allowed_tool_calls": [PAY]},
    "usage that is none": {"tool_usage": [PAY]},
    "a count of calls that is none": {"tool_call_count": [CHAT]},
    "available that is none": {"available_tools": [{**DEFINED, "arguments": ARGS}]},
    "an action": {"content": [{"type": "action", "name": "pay", "input": ARGS}]},
    "provider fields": {"provider_specific_fields": {"tool_calls": [CHAT]}},
    "provider fields of a server tool": {"provider_specific_fields": {"server_tools": [USE]}},
    "reasoning details": {"reasoning_details": [{"type": "reasoning.tool", **PAY}]},
    "items of Responses": {"responses_output": [{"type": "function_call", "call_id": "1", "name": "pay", "arguments": TEXT}]},
    "blocks kept": {"anthropic_content": [USE]},
    "parts kept": {"gemini_parts": [{"functionCall": {"name": "pay", "args": ARGS}}]},
    "LangChain extra": {"additional_kwargs": {"tool_calls": [CHAT]}},
    "LangChain old extra": {"additional_kwargs": {"function_call": {"name": "pay", "arguments": TEXT}}},
    "LangChain invalid": {"invalid_tool_calls": [{"name": "pay", "args": "{", "error": "no JSON"}]},
    "LangChain agent": {"intermediate_steps": [[{"tool": "pay", "tool_input": ARGS, "log": ""}, "ok"]]},
    "LangChain agent, text": {"intermediate_steps": [[{"tool": "pay", "tool_input": "A1"}, "ok"]]},
    "ReAct": {"action": {"action": "pay", "action_input": ARGS}},
    "ReAct as text": {"output": "ok", "step": json.dumps({"action": "pay", "action_input": "A1"})},
    "LlamaIndex": {"sources": [{"tool_name": "pay", "raw_input": {"kwargs": ARGS}, "tool_kwargs": ARGS, "args": ARGS}]},
    "pydantic-ai": {"parts": [{"part_kind": "tool-call", "tool_name": "pay", "args": TEXT}]},
    "pydantic-ai, nothing given": {"history": [{"part_kind": "tool-call", "tool_name": "pay", "args": None}]},
    "smolagents": {"model_output_message": {"tool_calls": [{"id": "1", "function": PAY}]}},
    "AutoGen": {"inner_messages": [{"type": "ToolCallRequestEvent", "content": [{"id": "1", "name": "pay", "arguments": TEXT}]}]},
    "CrewAI": {"tools_results": [{"tool_name": "pay", "tool_args": ARGS, "result": "ok"}]},
    "DSPy": {"trajectory": {"tool_name_0": "pay", "calls": [{"name": "pay", "args": ARGS}]}},
    "Semantic Kernel": {"items": [{"content_type": "function_call", "name": "pay", "arguments": TEXT}]},
    "Haystack": {"_content": [{"tool_call": {"tool_name": "pay", "arguments": ARGS}}]},
    "Bedrock": {"bedrock": {"content": [{"toolUse": {"toolUseId": "1", "name": "pay", "input": ARGS}}]}},
    "Cohere": {"tool_results": [{"call": {"name": "pay", "parameters": ARGS}, "outputs": [{"x": 1}]}]},
    "Gemini elsewhere": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "pay", "args": ARGS}}]}}]},
    "multi_tool_use": {"tool_uses": [{"recipient_name": "functions.pay", "parameters": ARGS}]},
    "Llama": {"llama": {"type": "function", "name": "pay", "parameters": ARGS}},
    "Ollama": {"ollama": {"tool_calls": [{"function": {"name": "pay", "arguments": ARGS}}]}},
    "MCP request": {"mcp": {"jsonrpc": "2.0", "method": "tools/call", "params": PAY}},
    "names only": {"tools_used": ["look", "pay"]},
    "bare objects": {"function_calls": [{"id": "1", "name": "pay"}]},
    "bare functions": {"toolCalls": [{"id": "1", "function": {"name": "pay"}}]},
    "a map of calls": {"actions": {"first": {"name": "pay", "args": TEXT}}},
    "on the message": {"name": "pay", "arguments": TEXT},
    "deep": {"a": {"b": [{"c": {"d": {"e": {"f": {"g": [PAY]}}}}}]}},
    "camel case": {"rawCalls": [{"functionName": "pay", "functionArgs": TEXT}]},
    "input as JSON": {"items": [{"tool": "pay", "input_json": TEXT}]},
}  # fmt: skip

RECORD: dict[str, dict[str, Any]] = {
    "calls": {"tool_calls": [PAY]},
    "steps": {"steps": [{"tool": "pay", "tool_input": ARGS}]},
    "a trajectory": {"trajectory": [{"role": "assistant", "tool_calls": [CHAT]}]},
    "spans": {"observations": [{"type": "TOOL", "name": "pay", "input": ARGS, "output": "ok"}]},
    "an event log": {"events": [{"kind": "tool_call", "payload": {"name": "pay", "input": ARGS}}]},
    "text": {"log": json.dumps([{"tool": "pay", "args": ARGS}])},
    "promptfoo": {"metadata": {"toolCalls": [{"name": "pay", "input": ARGS, "is_error": False}]}},
    "MCP of litellm": {"mcp_tool_call_metadata": {"name": "pay", "arguments": ARGS}},
}

MESSAGES: dict[str, dict[str, Any]] = {
    "calls of a user": {"role": "user", "content": "x", "tool_calls": [CHAT]},
    "an old call of a user": {"role": "user", "content": "x", "function_call": CHAT["function"]},
    "a use of a user": {"role": "user", "content": [USE]},
    "calls of a tool": {"role": "tool", "tool_call_id": "0", "content": "x", "tool_calls": [CHAT]},
    "an echo of a tool": {
        "role": "tool",
        "tool_call_id": "0",
        "content": "x",
        "name": "pay",
        "args": ARGS,
    },
    "an answer without its call": {"role": "tool", "tool_call_id": "9", "content": "paid"},
    "calls of a system prompt": {"role": "system", "content": "x", "tool_calls": [CHAT]},
}

NOTHING: dict[str, dict[str, Any]] = {
    "stats": {"tool_stats": {"pay": {"offered": 1}}},
    "latency": {"function_latency": {"total_ms": 12}},
    "usage": {"tool_usage": {"pay": 1}},
    "usage of calls": {"usage": {"tool_calls": {"count": 1}, "server_tool_use": {"web_search_requests": 0}}},
    "a count": {"toolCallCount": 3},
    "a flag": {"tool_calls_made": False, "function_called": True},
    "nothing called": {"toolInvocations": [], "toolCalls": None, "steps": []},
    "a latency per tool": {"tool_timings": [{"tool": "pay", "ms": 5}]},
    "definitions": {"tools": [DEFINED]},
    "definitions of the chat API": {"available_tools": [{"type": "function", "function": DEFINED}]},
    "definitions without a schema": {"available_tools": [{"type": "function", "function": {"name": "pay", "parameters": {}}}]},
    "definitions of Anthropic": {"tool_list": [{"name": "pay", "input_schema": SCHEMA}]},
    "definitions of MCP": {"mcp_list_tools": {"tools": [{"name": "pay", "inputSchema": SCHEMA}]}},
    "definitions of Bedrock": {"toolConfig": {"tools": [{"toolSpec": {"name": "pay", "inputSchema": {"json": SCHEMA}}}]}},
    "definitions of Gemini": {"config": {"functionDeclarations": [{"name": "pay", "parameters": {"type": "OBJECT"}}]}},
    "definitions of LangChain": {"tools_rendered": [{"name": "pay", "description": "x", "args": SCHEMA["properties"]}]},
    "definitions as text": {"tools_json": json.dumps([DEFINED])},
    "prompts of MCP": {"prompts": [{"name": "greet", "description": "x", "arguments": [{"name": "who", "required": True}]}]},
    "names of tools": {"enabled_tools": ["pay"], "longRunningToolIds": ["1"]},
    "a choice": {"tool_choice": {"type": "function", "function": {"name": "pay"}}},
    "resources": {"tool_resources": {"file_search": {"ids": ["1"]}}},
    "a format": {"response_format": {"type": "json_schema", "json_schema": {"name": "pay", "schema": SCHEMA}}},
    "a run": {"metadata": {"name": "run 5", "input": "a text"}},
    "an experiment": {"experiment": {"name": "five", "input": {"a": 1}}},
    "a prompt": {"prompt": {"name": "greet", "params": {"who": "Ann"}}},
    "a prompt of langfuse": {"promptName": "greet", "promptVersion": 3},
    "a span of a model": {"span": {"name": "chat gpt-4o", "input": {"messages": [{"role": "user", "content": "q"}]}, "type": "GENERATION"}},
    "a chain": {"run": {"name": "RunnableSequence", "inputs": {"question": "q"}, "outputs": {"x": 1}}},
    "a model": {"llm": {"name": "gpt-4o", "parameters": {"temperature": 0}}},
    "a model's settings": {"model_info": {"type": "chat", "params": {"top_p": 1}}},
    "a scorer": {"scores": [{"name": "relevance", "value": 0.9, "comment": "x"}]},
    "a feedback": {"feedback": {"key": "helpful", "score": 1, "feedback_source": {"type": "api"}}},
    "a guardrail": {"guardrails": [{"name": "pii", "input": {"text": "x"}, "verdict": "allowed"}]},
    "a process": {"server": {"command": "npx", "args": ["-y", "x"], "name": "files"}},
    "a task": {"celery": {"task": "evals.run", "args": [1], "kwargs": {"a": 1}}},
    "a frame": {"frame": {"function": "main", "lineno": 3, "module": "app"}},
    "tokens": {"logprobs": {"content": [{"token": "{", "logprob": -0.1, "top_logprobs": []}]}},
    "ratings": {"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}},
    "citations": {"annotations": [{"type": "url_citation", "url": "https://x.example", "title": "T"}]},
    "thoughts": {"reasoning_content": json.dumps(PAY), "reasoning": json.dumps(PAY)},
    "thoughts in blocks": {"thinking_blocks": [{"type": "thinking", "thinking": json.dumps(PAY), "signature": "x"}]},
    "thoughts in details": {"reasoning_details": [{"type": "reasoning.text", "text": json.dumps(PAY), "index": 0}]},
    "encrypted thoughts": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "ey{", "id": "r"}]},
    "items without calls": {"responses_output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}]},
    "a text part": {"content": [{"type": "text", "text": "ok", "cache_control": {"type": "ephemeral"}}]},
    "an image": {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,x"}}]},
    "audio": {"audio": {"id": "a", "data": "x", "transcript": "ok", "expires_at": 1}},
    "a plan": {"plan": {"name": "pay later", "input": "A1"}},
    "texts about it": {"notes": "call pay with {\"order\": \"A1\"}", "trace_name": "pay"},
    "broken JSON": {"raw": "{\"name\": \"pay\", \"arguments\": {"},
    "a cost": {"hidden_params": {"response_cost": 0.1, "model_id": "x", "additional_headers": {"x": "1"}}},
    "tags": {"request_tags": ["pay"], "labels": {"tool": "pay"}},
    "cancelled": {"refused_tools": {"pay": "not allowed"}},
    "a permission": {"permissions": [{"tool": "pay", "allowed": True}]},
    "a cache": {"caching_groups": None, "cache": {"hit": False, "key": "pay"}},
    "an agent": {"agent": {"name": "billing", "instructions": "x", "tools": ["pay"]}},
    "handoffs": {"handoffs": [{"name": "refunds", "description": "x"}]},
    "a riddle": {"unread": [{"type": "riddle", "text": "?"}]},
    "a state": {"state": {"orders": {"A1": {"name": "Lamp", "price": 3}}}},
    "versions": {"sdk": {"name": "langsmith", "version": "0.1"}, "ls_params": {"ls_provider": "openai"}},
    "a dataset": {"dataset": {"name": "pay", "rows": 5}},
    "an unknown item": {"content": [{"type": "text", "text": "ok"}, {"type": "card", "title": "x", "data": {"a": 1}}]},
}  # fmt: skip

# Beside a record's messages, what a person expected, and what its calls were once more.
NOTHING_IN_RECORD: dict[str, dict[str, Any]] = {
    "expectations": {"expected_tool_calls": [PAY], "reference_trajectory": [CHAT]},
    "rejected": {"rejected": [{"role": "assistant", "tool_calls": [CHAT]}]},
    "stats": {"tool_stats": {"pay": {"count": 2}}, "toolCallCount": 2},
    "scores": {"scores": {"pay": 1.0}, "metadata": {"tool": "pay"}},
}
