"""OpenAI's Responses."""

from __future__ import annotations

import json

from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

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
from .talk import Asked, Brain, Document, Said, short, signature


def answer(body: Document, brain: Brain) -> Document:
    """Check a request, and say what the brain says."""
    model = model_of(body)
    found = problem({**body, **_as_typed(body)}, ResponseCreateParamsNonStreaming)
    if found is not None:
        raise told(found)
    if "input" not in body:
        raise refused("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    _check_model(body, model)
    check_functions([(f"tools[{n}]", tool) for n, tool in enumerate(body.get("tools") or ())])
    if "tool_choice" in body and not body.get("tools") and body["tool_choice"] not in ("auto", "none"):
        raise refused("Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice")
    items = (
        body["input"]
        if isinstance(body["input"], list)
        else [{"role": "user", "content": body["input"]}]
    )
    _check_order(items, store=body.get("store") is not False)
    thinking = model.thinks((body.get("reasoning") or {}).get("effort"))
    asked = _asked(body, items, thinking)
    said = brain(asked)
    check_end(said)
    return _response(body, asked, said)


def _as_typed(body: Document) -> Document:
    """What the types demand and the API does not. A schema without `strict` is taken as a strict one."""
    typed = {"tools": [{"strict": None, **tool} for tool in body["tools"]]} if body.get("tools") else {}
    if isinstance(body.get("input"), list):
        typed["input"] = [_item_as_typed(item) for item in body["input"]]
    return typed


def _item_as_typed(item: Document) -> Document:
    if item.get("role") != "assistant" or not isinstance(item.get("content"), list):
        return item
    content = [
        {"annotations": [], **part} if part.get("type") == "output_text" else part
        for part in item["content"]
    ]
    return {"type": "message", "id": "msg_1", "status": "completed", **item, "content": content}


def _check_model(body: Document, model: Model) -> None:
    effort = (body.get("reasoning") or {}).get("effort")
    check_effort(model, effort, "reasoning.effort")
    if body.get("reasoning") and not model.efforts:
        raise unsupported("reasoning.summary")
    # Here all models that think have the same words.
    if model.thinks(effort):
        for name in ("temperature", "top_p"):
            if body.get(name) not in (None, 1):
                raise unsupported(name)
    check_temperature(model, body, effort)
    if "reasoning.encrypted_content" in (body.get("include") or ()) and not model.efforts:
        raise refused("Encrypted content is not supported with this model.", "include")
    most = body.get("max_output_tokens")
    if most is not None and most < 16:
        raise refused(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
            f"{most} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )


def _check_order(items: list[Document], *, store: bool) -> None:
    calls: dict[str, bool] = {}
    for number, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "reasoning":
            _check_reasoning(items, number, store)
        elif kind == "function_call":
            _check_call(items, number)
            calls[item["call_id"]] = False
        elif kind == "function_call_output":
            if item["call_id"] not in calls:
                raise refused(
                    f"No tool call found for function call output with call_id {item['call_id']}.",
                    "input",
                )
            calls[item["call_id"]] = True
    unanswered = [id for id, answered in calls.items() if not answered]
    if unanswered:
        raise refused(f"No tool output found for function call {unanswered[0]}.", "input")


def _check_reasoning(items: list[Document], number: int, store: bool) -> None:
    item = items[number]
    following = items[number + 1].get("type", "message") if number + 1 < len(items) else None
    if following not in ("function_call", "message", "reasoning") or (
        following == "message" and items[number + 1].get("role") != "assistant"
    ):
        raise refused(
            f"Item '{item['id']}' of type 'reasoning' was provided without its required following item.",
            "input",
        )
    encrypted = item.get("encrypted_content")
    if encrypted is None and not store:
        raise refused(
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. Try "
            "again with `store` set to true, or remove this item from your input.",
            "input",
            status=404,
        )
    if encrypted is not None and encrypted != signature("reasoning", item["id"]):
        raise refused(
            f"The encrypted content for item {item['id']} could not be verified. Reason: Encrypted content could "
            "not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )


def _check_call(items: list[Document], number: int) -> None:
    """An item that comes back under its own id wants the thoughts that it came with."""
    id = items[number].get("id")
    if id is None:
        return
    if not id.startswith("fc"):
        raise refused(
            f"Invalid 'input[{number}].id': '{id}'. Expected an ID that begins with 'fc'.",
            f"input[{number}].id",
            "invalid_value",
        )
    thought = f"rs_{id.removeprefix('fc_')[:24]}"
    before = [item.get("id") for item in items[:number] if item.get("type") == "reasoning"]
    if id.endswith("r") and thought not in before:
        raise refused(
            f"Item '{id}' of type 'function_call' was provided without its required 'reasoning' item: "
            f"'{thought}'.",
            "input",
        )


def _asked(body: Document, items: list[Document], thinking: bool) -> Asked:
    prompt, turn, own = "", 0, False
    for item in items:
        if item.get("role") == "user":
            content = item["content"]
            parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
            prompt, turn, own = " ".join(parts).strip(), 0, False
            continue
        is_own = item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call")
        turn += is_own and not own
        own = is_own
    choice = body.get("tool_choice") or "auto"
    named = choice["name"] if isinstance(choice, dict) else choice
    tools = [tool["name"] for tool in body.get("tools") or ()]
    temperature, most = body.get("temperature"), body.get("max_output_tokens")
    return Asked(body["model"], prompt, tools, named, turn, thinking, temperature, most)


def _response(body: Document, asked: Asked, said: Said) -> Document:
    id = short(asked.prompt, asked.turn)
    output: list[Document] = []
    if asked.thinking:
        thought = {"id": f"rs_{id}", "type": "reasoning", "summary": []}
        output.append({**thought, "encrypted_content": signature("reasoning", f"rs_{id}")})
    incomplete = {"cut_off": "max_output_tokens", "filtered": "content_filter"}.get(said.end)
    if said.text or said.end == "refused":
        part: Document = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        if said.end == "refused":
            part = {"type": "refusal", "refusal": REFUSAL}
        status = "incomplete" if incomplete else "completed"
        message = {"id": f"msg_{id}", "type": "message", "role": "assistant", "status": status}
        output.append({**message, "content": [part]})
    for number, call in enumerate(said.calls):
        output.append(
            {
                "id": f"fc_{id}{number}{'r' if asked.thinking else ''}",
                "type": "function_call",
                "status": "completed",
                "call_id": f"call_{short(asked.prompt, asked.turn, number)}",
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments)),
            }
        )
    tokens = 64 if asked.thinking else 0
    return {
        "id": f"resp_{id}",
        "object": "response",
        "created_at": 1700000000,
        "status": "incomplete" if incomplete else "completed",
        "error": None,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": {},
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": (body.get("reasoning") or {}).get("effort"), "summary": None},
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": [{"strict": True, **tool} for tool in body.get("tools") or ()],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10 + tokens,
            "output_tokens_details": {"reasoning_tokens": tokens},
            "total_tokens": 60 + tokens,
        },
        "user": None,
    }
