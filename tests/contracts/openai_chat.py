"""OpenAI's chat completions."""

from __future__ import annotations

import json

from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

from .openai_api import (
    REFUSAL,
    Model,
    check_effort,
    check_end,
    check_functions,
    check_temperature,
    model_of,
    refused,
    told,
    unsupported,
)
from .shapes import problem
from .talk import Asked, Brain, Document, Said, short


def answer(body: Document, brain: Brain) -> Document:
    """Check a request, and say what the brain says."""
    model = model_of(body)
    found = problem({**body, **_as_typed(body)}, CompletionCreateParamsNonStreaming)
    if found is not None:
        if found.kind == "unknown" and len(found.path) == 1:
            raise refused(f"Unrecognized request argument supplied: {found.path[0]}")
        raise told(found)
    _check_model(body, model)
    check_tools(body)
    check_order(body["messages"])
    thinking = model.thinks(body.get("reasoning_effort"))
    asked = asked_of(body, thinking)
    said = brain(asked)
    check_end(said)
    return completion(body, asked, said)


def _as_typed(body: Document) -> Document:
    """The messages without what the API says itself and takes back, though the types do not have it."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return {}
    own = ("annotations", "audio", "refusal", "function_call", "tool_calls")
    return {
        "messages": [
            {k: v for k, v in message.items() if k != "annotations" and not (v is None and k in own)}
            if isinstance(message, dict) and message.get("role") == "assistant"
            else message
            for message in messages
        ]
    }


def _check_model(body: Document, model: Model) -> None:
    if not model.in_chat:
        raise refused(
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            "model",
            status=404,
        )
    effort = body.get("reasoning_effort")
    check_effort(model, effort, "reasoning_effort")
    if model.efforts and "max_tokens" in body:
        raise unsupported("max_tokens", "max_completion_tokens")
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise refused(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
            "invalid_parameter_combination",
        )
    check_temperature(model, body, effort)
    if not model.parallel and "parallel_tool_calls" in body:
        raise unsupported("parallel_tool_calls")
    asks_too_much = (model.tools_in_chat == "without effort" and effort not in (None, "none")) or (
        model.tools_in_chat == "with none" and effort != "none"
    )
    if body.get("tools") and asks_too_much:
        raise refused(
            f"Function tools with reasoning_effort are not supported for {body['model']} in "
            "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
            "reasoning_effort",
        )


def check_tools(body: Document) -> None:
    tools = body.get("tools")
    if tools == []:
        raise refused("Invalid 'tools': empty array. Expected an array with minimum length 1.", "tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in body:
                raise refused(
                    f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
                    name,
                )
        return
    check_functions([(f"tools[{n}].function", tool["function"]) for n, tool in enumerate(tools)])
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["function"]["name"] not in names_of(body):
        raise refused(
            f"Tool choice '{choice['function']['name']}' not found in 'tools' parameter.", "tool_choice"
        )


def check_order(messages: list[Document]) -> None:
    """Every call is answered by the messages right after it, and nothing else is."""
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        at = f"messages.[{number}].role"
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                raise refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'.",
                    at,
                )
            open_ids.remove(message["tool_call_id"])
            continue
        _check_none_open(open_ids, at)
        if message["role"] == "assistant":
            _check_assistant(message, number)
            open_ids = [call["id"] for call in message.get("tool_calls") or ()]
    _check_none_open(open_ids, f"messages.[{len(messages) - 1}].role")


def _check_none_open(open_ids: list[str], at: str) -> None:
    if open_ids:
        raise refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(open_ids),
            at,
        )


def _check_assistant(message: Document, number: int) -> None:
    if message.get("tool_calls") == []:
        raise refused(
            f"Invalid 'messages[{number}].tool_calls': empty array. Expected an array with minimum length 1, "
            "but got an empty array instead.",
            f"messages[{number}].tool_calls",
            "empty_array",
        )
    if message.get("content") is None and not message.get("tool_calls") and not message.get("refusal"):
        raise refused(
            "Invalid value for 'content': expected a string, got null.", f"messages.[{number}].content"
        )


def names_of(body: Document) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools") or ()]


def asked_of(body: Document, thinking: bool) -> Asked:
    prompt, turn = "", 0
    for message in body["messages"]:
        if message["role"] == "user":
            content = message["content"]
            parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
            prompt, turn = " ".join(parts).strip(), 0
        turn += message["role"] == "assistant"
    choice = body.get("tool_choice") or "auto"
    named = choice["function"]["name"] if isinstance(choice, dict) else choice
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    temperature = body.get("temperature")
    return Asked(body["model"], prompt, names_of(body), named, turn, thinking, temperature, most)


def message_of(asked: Asked, said: Said) -> Document:
    calls = [
        {
            "id": f"call_{short(asked.prompt, asked.turn, number)}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for number, call in enumerate(said.calls)
    ]
    empty = said.end in ("refused", "filtered", "cut_off") and not said.text
    message: Document = {
        "role": "assistant",
        "content": said.text or (None if calls or said.end == "refused" else ""),
        "refusal": REFUSAL if said.end == "refused" else None,
        "annotations": [],
    }
    return {**message, "tool_calls": calls} if calls and not empty else message


def completion(body: Document, asked: Asked, said: Said) -> Document:
    reasons = {"cut_off": "length", "filtered": "content_filter"}
    thought = 64 if asked.thinking else 0
    return {
        "id": f"chatcmpl-{short(asked.prompt, asked.turn)}",
        "object": "chat.completion",
        "created": 1700000000,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": message_of(asked, said),
                "logprobs": None,
                "finish_reason": reasons.get(said.end, "tool_calls" if said.calls else "stop"),
            }
        ],
        "usage": {
            "prompt_tokens": 50,
            "completion_tokens": 10 + thought,
            "total_tokens": 60 + thought,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": thought,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }
