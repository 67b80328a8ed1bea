"""Anthropic's Messages API."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

from .shapes import Problem, problem
from .talk import KEY, Asked, Brain, Document, Exchange, Refused, Said, StandIn, short, signature

_THOUGHTS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


@dataclass(frozen=True)
class Model:
    """`thinks` by default; `budgets` and `adaptive`: which ways of thinking may be asked for."""

    sampling: bool = True
    both: bool = False  # temperature and top_p at a time
    thinks: bool = False
    budgets: bool = True
    adaptive: bool = True
    forced: bool = True
    shows_thoughts: bool = True
    prefill: bool = False


_NEW = Model(sampling=False, budgets=False, shows_thoughts=False)
MODELS = {
    "claude-haiku-4-5": Model(adaptive=False, prefill=True),
    "claude-sonnet-4-6": Model(),
    "claude-opus-4-7": _NEW,
    "claude-sonnet-5": Model(sampling=False, budgets=False, shows_thoughts=False, thinks=True),
    "claude-haiku-5-5": Model(sampling=False, budgets=False, shows_thoughts=False, thinks=True),
    "claude-opus-5-5": Model(
        sampling=False, budgets=False, shows_thoughts=False, thinks=True, forced=False
    ),
}


def _error(message: str, status: int = 400, type: str = "invalid_request_error") -> Refused:
    error = {"type": type, "message": message}
    return Refused(status, {"type": "error", "error": error, "request_id": "req_011CStandIn"})


class AnthropicMessages(StandIn):
    name = "anthropic"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        if exchange.path != "/v1/messages":
            raise _error(f"Not Found: {exchange.path}", 404, "not_found_error")
        self._check_headers(exchange)
        return answer(exchange.body, brain)

    def _check_headers(self, exchange: Exchange) -> None:
        # Older clients, litellm among them, have a header of their own.
        bearer = exchange.headers.get("authorization", "").removeprefix("Bearer ") or None
        key = exchange.headers.get("x-api-key", bearer)
        if key is None:
            raise _error("x-api-key header is required", 401, "authentication_error")
        if key != KEY:
            raise _error("invalid x-api-key", 401, "authentication_error")
        if "anthropic-version" not in exchange.headers:
            raise _error("anthropic-version: header is required")


STANDIN = AnthropicMessages()


def answer(body: Document, brain: Brain) -> Document:
    """Check a request, and say what the brain says."""
    _check_shape(body)
    model = MODELS.get(body["model"])
    if model is None:
        raise _error(f"model: {body['model']}", 404, "not_found_error")
    _check_sampling(body, model)
    thinking = _thinking(body, model)
    _check_tools(body)
    _check_choice(body, model)
    _check_form(body)
    messages = _turns(body["messages"])
    _check_order(body, messages, model)
    asked = _asked(body, messages, thinking)
    said = brain(asked)
    if said.end == "overloaded":
        raise _error("Overloaded", 529, "overloaded_error")
    if said.end == "rate_limited":
        raise Refused(
            429, _error("This request would exceed your rate limit", 429, "rate_limit_error").body
        )
    return _message(body, asked, said, model)


def _check_shape(body: Document) -> None:
    # The types have no sampling parameters any more, which older models still take.
    known = {
        name: value for name, value in body.items() if name not in ("temperature", "top_p", "top_k")
    }
    found = problem(known, MessageCreateParamsNonStreaming)
    if found is not None:
        raise _error(_told(found))
    for name, most in (("temperature", 1), ("top_p", 1)):
        value = body.get(name, 0)
        if not isinstance(value, (int, float)):
            raise _error(f"{name}: Input should be a valid number")
        if value > most:
            raise _error(f"{name}: range: 0..{most}")


def _told(found: Problem) -> str:
    path = ".".join(map(str, found.path))
    if found.kind == "unknown":
        return f"{path}: Extra inputs are not permitted"
    if found.kind == "missing":
        return f"{path}: Field required"
    if found.path[-1:] == ("role",):
        return f'messages: Unexpected role "{found.got}". Allowed roles are "user" or "assistant".'
    if found.path[-1:] == ("type",) and found.kind == "value":
        tags = found.expected.replace(" or ", ", ")
        where = ".".join(map(str, found.path[:-1]))
        return f"{where}: Input tag '{found.got}' found using 'type' does not match any of the expected tags: {tags}"
    if found.kind == "value":
        return f"{path}: Input should be {found.expected}"
    expected = {"object": "dictionary", "array": "list"}.get(found.expected, found.expected)
    return f"{path}: Input should be a valid {expected}"


def _check_sampling(body: Document, model: Model) -> None:
    if not model.sampling:
        for name in ("temperature", "top_p", "top_k"):
            if name in body and body[name] != 1:
                raise _error(f"`{name}` is deprecated for this model.")
    elif not model.both and "temperature" in body and "top_p" in body:
        raise _error(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        )


def _thinking(body: Document, model: Model) -> bool:
    """Whether the model thinks; what cannot be asked for together is refused."""
    config = body.get("thinking") or {}
    kind = config.get("type")
    if "effort" in body.get("output_config", {}) and not model.adaptive:
        raise _error("This model does not support the effort parameter.")
    if kind == "enabled" and not model.budgets:
        raise _error(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    if kind == "adaptive" and not model.adaptive:
        raise _error("adaptive thinking is not supported on this model")
    if kind == "disabled" and not model.forced:
        raise _error('"thinking.type.disabled" is not supported for this model.')
    if kind == "enabled":
        budget = config["budget_tokens"]
        if budget < 1024:
            raise _error("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= body["max_tokens"]:
            raise _error(
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
                f"documentation at {_THOUGHTS}#max-tokens-and-context-window-size"
            )
    if kind in ("enabled", "adaptive"):
        _check_beside_thinking(body)
    return kind in ("enabled", "adaptive") or (kind is None and model.thinks)


def _check_beside_thinking(body: Document) -> None:
    if body.get("temperature", 1) != 1:
        raise _error(
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please "
            f"consult our documentation at {_THOUGHTS}"
            "#important-considerations-when-using-extended-thinking"
        )
    if body.get("top_p", 1) < 0.95:
        raise _error(
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled or in "
            "adaptive mode."
        )
    if body.get("tool_choice", {}).get("type") in ("any", "tool"):
        raise _error("Thinking may not be enabled when tool_choice forces tool use.")


def _check_tools(body: Document) -> None:
    names = set()
    for number, tool in enumerate(body.get("tools", ())):
        where = f"tools.{number}.custom"
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]):
            raise _error(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        if tool["name"] in names:
            raise _error("tools: Tool names must be unique.")
        names.add(tool["name"])
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            raise _error(f"{where}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise _error(
                f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            )
        for name in schema.get("properties") or ():
            if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
                raise _error(
                    f"{where}.input_schema.properties: Property keys should match pattern "
                    "'^[a-zA-Z0-9_.-]{1,64}$'"
                )


def _check_choice(body: Document, model: Model) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not body.get("tools"):
        raise _error("tool_choice: may only be specified while providing `tools`.")
    if choice["type"] in ("any", "tool") and not model.forced:
        raise _error('tool_choice: type "tool" and "any" are not supported for this model.')
    if choice["type"] == "tool" and choice["name"] not in [tool["name"] for tool in body["tools"]]:
        raise _error(f"tool_choice.name: Tool '{choice['name']}' not found in provided tools")


def _check_form(body: Document) -> None:
    form = body.get("output_config", {}).get("format")
    if form and form["schema"].get("additionalProperties") is not False:
        raise _error(
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly "
            "set to false"
        )


@dataclass
class _Turn:
    """Messages of one role that follow each other, as one; `at` is where the first of them stands."""

    role: str
    at: int
    blocks: list[Document]


def _turns(messages: list[Document]) -> list[_Turn]:
    turns: list[_Turn] = []
    for at, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not turns or turns[-1].role != message["role"]:
            turns.append(_Turn(message["role"], at, []))
        turns[-1].blocks += blocks
    return turns


def _check_order(body: Document, turns: list[_Turn], model: Model) -> None:
    if not turns:
        raise _error("messages: at least one message is required")
    if turns[0].role != "user":
        raise _error('messages: first message must use the "user" role')
    if turns[-1].role == "assistant" and not model.prefill:
        raise _error(
            "This model does not support assistant message prefill. The conversation must end with a "
            "user message."
        )
    for turn in turns:
        _check_blocks(turn)
    for before, turn in itertools.zip_longest([None, *turns], turns):
        if turn is not None:
            _check_results(before, turn)
        elif before is not None:
            _check_answered(before, None)
    if not body.get("tools") and any(block["type"].startswith("tool_") for block in _blocks(turns)):
        raise _error(
            "Requests which define `tool_use` or `tool_result` blocks in messages must define `tools`"
        )
    if (body.get("thinking") or {}).get("type") == "enabled":
        _check_thoughts_are_there(turns)


def _blocks(turns: list[_Turn]) -> Iterator[Document]:
    return itertools.chain.from_iterable(turn.blocks for turn in turns)


def _check_blocks(turn: _Turn) -> None:
    if not turn.blocks:
        raise _error(
            f"messages.{turn.at}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    for number, block in enumerate(turn.blocks):
        where = f"messages.{turn.at}.content.{number}"
        if block["type"] == "text" and not block["text"]:
            raise _error("messages: text content blocks must be non-empty")
        if block["type"] == "text" and not block["text"].strip():
            raise _error("messages: text content blocks must contain non-whitespace text")
        if block["type"] == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
            raise _error(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if block["type"] in ("tool_use", "thinking") and turn.role != "assistant":
            raise _error(
                f"messages.{turn.at}: `{block['type']}` blocks can only be in `assistant` messages"
            )
        if block["type"] == "tool_result" and turn.role != "user":
            raise _error(f"messages.{turn.at}: `tool_result` blocks can only be in `user` messages")
        if block["type"] == "thinking" and not _is_ours(block):
            raise _error(f"{where}: Invalid `signature` in `thinking` block")


def _is_ours(block: Document) -> bool:
    """A signature begins with what it signs; a text that was not shown is not signed."""
    told: str = block["signature"]
    return told.startswith(signature("thought", block["thinking"])) or (
        not block["thinking"] and told.startswith(signature("hidden"))
    )


def _check_results(before: _Turn | None, turn: _Turn) -> None:
    used = [block["id"] for block in before.blocks if block["type"] == "tool_use"] if before else []
    for number, block in enumerate(turn.blocks):
        if block["type"] == "tool_result" and block["tool_use_id"] not in used:
            raise _error(
                f"messages.{turn.at}.content.{number}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {block['tool_use_id']}. Each `tool_result` block must have a corresponding "
                "`tool_use` block in the previous message."
            )
    if before is not None:
        _check_answered(before, turn)


def _check_answered(before: _Turn, turn: _Turn | None) -> None:
    used = [block["id"] for block in before.blocks if block["type"] == "tool_use"]
    if len(set(used)) < len(used):
        raise _error("messages: `tool_use` ids must be unique")
    # What comes after another block is not "immediately after".
    first = itertools.takewhile(
        lambda block: block["type"] == "tool_result", turn.blocks if turn else ()
    )
    results = [block["tool_use_id"] for block in first]
    missing = [id for id in used if id not in results]
    if missing:
        raise _error(
            f"messages.{before.at}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
            "block in the next message."
        )
    if len(set(results)) < len(results):
        raise _error(
            f"messages.{before.at + 1}: each tool_use must have a single result. Found multiple "
            f"`tool_result` blocks with id: {results[0]}"
        )


def _check_thoughts_are_there(turns: list[_Turn]) -> None:
    """With a budget, the turn that calls tools must begin with what was thought."""
    last = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    if last is None or not any(block["type"] == "tool_use" for block in last.blocks):
        return
    first = last.blocks[0]["type"]
    if first not in ("thinking", "redacted_thinking"):
        raise _error(
            f"messages.{last.at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{first}`. When `thinking` is enabled, a final `assistant` message must start with a thinking "
            "block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you "
            "include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. "
            f"Please consult our documentation at {_THOUGHTS}"
        )


def _asked(body: Document, turns: list[_Turn], thinking: bool) -> Asked:
    prompt, turn = "", 0
    for one in turns:
        texts = [block["text"] for block in one.blocks if block["type"] == "text"]
        if one.role == "user" and texts:
            prompt, turn = texts[-1], 0
        turn += one.role == "assistant"
    choice = body.get("tool_choice", {"type": "auto"})
    kinds = {"any": "required", "tool": choice.get("name", "")}
    tools = [tool["name"] for tool in body.get("tools", ())]
    return Asked(
        body["model"],
        prompt,
        tools,
        kinds.get(choice["type"], choice["type"]),
        turn,
        thinking,
        body.get("temperature"),
        body["max_tokens"],
    )


def _message(body: Document, asked: Asked, said: Said, model: Model) -> Document:
    forced = asked.choice not in ("auto", "none")
    content: list[Document] = []
    if asked.thinking and not forced:
        content.append(thinking_block(asked, shown=_shown(body, model)))
    content += [{"type": "text", "text": said.text, "citations": None}] if said.text else []
    content += [
        {
            "type": "tool_use",
            "id": f"toolu_{short(asked.prompt, asked.turn, number)}",
            "name": call.name,
            "input": dict(call.arguments),
            "caller": {"type": "direct"},
        }
        for number, call in enumerate(said.calls)
    ]
    ends = {
        "cut_off": "max_tokens",
        "refused": "refusal",
        "filtered": "refusal",
        "prompt_blocked": "refusal",
    }
    reason = ends.get(said.end, "tool_use" if said.calls else "end_turn")
    details = {"type": "refusal", "category": "cyber", "explanation": "This request was declined."}
    thought = 64 if asked.thinking and not forced else 0
    return {
        "id": f"msg_{short(asked.prompt, asked.turn)}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content if reason != "refusal" else [],
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": details if reason == "refusal" else None,
        "usage": {
            "input_tokens": 50,
            "output_tokens": 10 + thought,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens_details": {"thinking_tokens": thought},
            "service_tier": "standard",
        },
    }


def _shown(body: Document, model: Model) -> bool:
    display = (body.get("thinking") or {}).get("display")
    return bool(display == "summarized") if display else model.shows_thoughts


def thinking_block(asked: Asked, *, shown: bool) -> Document:
    """What the model thinks at this turn, and its signature."""
    text = f"Let me think about turn {asked.turn + 1}." if shown else ""
    of: tuple[Any, ...] = ("thought", text) if shown else ("hidden",)
    signed = signature(*of) + signature(asked.prompt, asked.turn)
    return {"type": "thinking", "thinking": text, "signature": signed}
