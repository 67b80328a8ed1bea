"""Google's generateContent, under v1beta, v1alpha and v1."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from google.genai import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from .talk import KEY, Asked, Brain, Document, Exchange, Refused, Said, StandIn, short, signature


@dataclass(frozen=True)
class Model:
    """`levels` or budgets of thinking; `signed`: calls of this turn must come back with signatures."""

    levels: bool = False
    signed: bool = False


MODELS = {
    "gemini-2.5-flash": Model(),
    "gemini-3.1-pro-preview": Model(levels=True, signed=True),
    "gemini-3-flash-preview": Model(levels=True, signed=True),
}
# Documented ways to send calls that no model of Google's has made.
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


class _Request(BaseModel):
    """What generateContent takes; its parts are the SDK's types."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = None
    generation_config: types.GenerationConfig | None = None
    safety_settings: list[types.SafetySetting] | None = None
    cached_content: str | None = None


def _error(message: str, status: int = 400, name: str = "INVALID_ARGUMENT", **more: Any) -> Refused:
    return Refused(status, {"error": {"code": status, "message": message, "status": name, **more}})


class Gemini(StandIn):
    name = "gemini"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        address = urlsplit(exchange.path)
        key = exchange.headers.get("x-goog-api-key") or parse_qs(address.query).get("key", [""])[0]
        if not key:
            raise _error(
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
                403,
                "PERMISSION_DENIED",
            )
        if key != KEY:
            raise _error("API key not valid. Please pass a valid API key.")
        found = re.fullmatch(r"/v1(?:alpha|beta)?/models/([^:/]+):generateContent", address.path)
        if found is None:
            raise _error(f"Not Found: {address.path}", 404, "NOT_FOUND")
        if found[1] not in MODELS:
            raise _error(
                f"models/{found[1]} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
                404,
                "NOT_FOUND",
            )
        return _answer(found[1], exchange.body, brain)


STANDIN = Gemini()


def _answer(name: str, body: Document, brain: Brain) -> Document:
    try:
        request = _Request.model_validate(body)
    except ValidationError as error:
        raise _error("\n".join(_told(one) for one in error.errors())) from None
    model = MODELS[name]
    for number, tool in enumerate(request.tools or ()):
        for index, function in enumerate(tool.function_declarations or ()):
            _check_function(function, f"tools[{number}].function_declarations[{index}]")
    thinking = _thinking(request.generation_config, model)
    _check_order(request.contents)
    _check_signatures(request.contents, model)
    asked = _asked(name, request, thinking)
    said = brain(asked)
    if said.end == "overloaded":
        raise _error("The model is overloaded. Please try again later.", 503, "UNAVAILABLE")
    if said.end == "rate_limited":
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.002s"}
        text = "Resource has been exhausted (e.g. check quota per minute)."
        raise _error(text, 429, "RESOURCE_EXHAUSTED", details=[retry])
    return _response(name, asked, said)


def _told(error: ErrorDetails) -> str:
    """A wrong shape in the words of Google."""
    path = ""
    for part in error["loc"]:
        snake = re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", str(part))
        path += f"[{part}]" if isinstance(part, int) else f".{snake}" if path else snake
    if error["type"] == "extra_forbidden":
        place, _, field = path.rpartition(".")
        at = f" at '{place}'" if place else ""
        return f'Invalid JSON payload received. Unknown name "{field}"{at}: Cannot find field.'
    if error["type"] == "missing":
        return f"* GenerateContentRequest.{path}: {path} is not specified"
    if isinstance(error["input"], list):
        place, _, field = path.rpartition(".")
        return f"Invalid JSON payload received. Unknown name \"{field}\" at '{place}': Proto field is not repeating, cannot start list."
    return f"Invalid value at '{path}' (TYPE_STRING), {error['input']}"


def _check_function(function: types.FunctionDeclaration, at: str) -> None:
    if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", function.name or ""):
        raise _error(
            f"* GenerateContentRequest.{at}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
        )
    if function.parameters is not None:
        _check_schema(function.parameters, f"{at}.parameters")


def _check_schema(schema: types.Schema, at: str) -> None:
    # Vertex AI has these, this API does not.
    for field in ("additional_properties", "defs", "ref"):
        if getattr(schema, field) is not None:
            name = to_camel(field) if field == "additional_properties" else f"${field}"
            raise _error(
                f"Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."
            )
    if schema.type is not None and schema.type not in list(types.Type):
        raise _error(
            f"Invalid value at '{at}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"{schema.type}\""
        )
    if schema.enum and schema.type != types.Type.STRING:
        raise _error(f"* GenerateContentRequest.{at}.enum: only allowed for STRING type")
    if schema.type == types.Type.ARRAY and schema.items is None:
        raise _error(f"* GenerateContentRequest.{at}.items: missing field.")
    properties = schema.properties or {}
    for name in schema.required or ():
        if name not in properties:
            raise _error(f"* GenerateContentRequest.{at}.required[0]: property is not defined: {name}")
    for number, part in enumerate(properties.values()):
        _check_schema(part, f"{at}.properties[{number}].value")
    for number, part in enumerate(schema.any_of or ()):
        _check_schema(part, f"{at}.any_of[{number}]")
    if schema.items is not None:
        _check_schema(schema.items, f"{at}.items")


def _thinking(config: types.GenerationConfig | None, model: Model) -> bool:
    """Whether the model thinks, which all of these do unless they are told not to."""
    thinking = config.thinking_config if config else None
    if thinking is None:
        return True
    if thinking.thinking_level is not None and not model.levels:
        raise _error("Thinking level is not supported for this model.")
    if thinking.thinking_level is not None and thinking.thinking_budget is not None:
        raise _error("You can only set only one of thinking budget and thinking level.")
    return thinking.thinking_budget != 0


def _calls(content: types.Content) -> list[types.Part]:
    return [part for part in content.parts or () if part.function_call is not None]


def _results(content: types.Content) -> list[types.Part]:
    return [part for part in content.parts or () if part.function_response is not None]


def _check_order(contents: Sequence[types.Content]) -> None:
    if not contents:
        raise _error("* GenerateContentRequest.contents: contents is not specified")
    before: types.Content | None = None
    for number, content in enumerate(contents):
        if content.role not in ("user", "model", None):
            raise _error("Please use a valid role: user, model.")
        if not content.parts:
            raise _error(
                f"* GenerateContentRequest.contents[{number}].parts: contents.parts must not be empty."
            )
        if _calls(content) and (before is None or before.role == "model"):
            raise _error(
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            )
        expected = len(_calls(before)) if before is not None else 0
        got = len(_results(content))
        if got and not expected:
            raise _error(
                "Please ensure that function response turn comes immediately after a function call turn."
            )
        if got != expected:
            raise _error(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
            )
        before = content
    if before is not None and _calls(before):
        raise _error(
            "Please ensure that single turn requests end with a user role or the role field is empty."
        )


def _check_signatures(contents: Sequence[types.Content], model: Model) -> None:
    """Of each step since the last prompt the first call needs its signature; none may be a wrong one."""
    prompts = [n for n, one in enumerate(contents) if one.role != "model" and not _results(one)]
    for number, content in enumerate(contents):
        for index, part in enumerate(_calls(content)):
            call = part.function_call
            assert call is not None
            signed = _signed(part)
            if signed is None and index == 0 and model.signed and prompts and number > prompts[-1]:
                raise _error(
                    f"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{call.name}` , position {number + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
                )
            if (
                signed is not None
                and signed not in _DUMMIES
                and signed != _signature(call.name, call.args)
            ):
                raise _error("Corrupted thought signature.")


def _signed(part: types.Part) -> str | None:
    """The signature as it came; the SDK has read it as base64."""
    if part.thought_signature is None:
        return None
    try:
        text = part.thought_signature.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text in _DUMMIES else base64.b64encode(part.thought_signature).decode()


def _signature(name: str | None, arguments: object) -> str:
    return signature("gemini", name, arguments or {})


def _asked(name: str, request: _Request, thinking: bool) -> Asked:
    prompt, turn = "", 0
    for content in request.contents:
        texts = [part.text for part in content.parts or () if part.text]
        if content.role != "model" and texts:
            prompt, turn = texts[-1], 0
        turn += content.role == "model"
    tools = [
        function.name or ""
        for tool in request.tools or ()
        for function in tool.function_declarations or ()
    ]
    limits = request.generation_config or types.GenerationConfig()
    config = request.tool_config.function_calling_config if request.tool_config else None
    mode = config.mode.value if config and config.mode else "AUTO"
    allowed = (config.allowed_function_names if config else None) or []
    choice = {"ANY": "required", "NONE": "none"}.get(mode, "auto")
    named = allowed[0] if len(allowed) == 1 else choice
    most = limits.max_output_tokens
    return Asked(name, prompt, tools, named, turn, thinking, limits.temperature, most)


def _response(name: str, asked: Asked, said: Said) -> Document:
    thought = 64 if asked.thinking else 0
    answer: Document = {
        "usageMetadata": {
            "promptTokenCount": 50,
            "candidatesTokenCount": 10,
            "totalTokenCount": 60 + thought,
            **({"thoughtsTokenCount": thought} if thought else {}),
        },
        "modelVersion": name,
        "responseId": short(asked.prompt, asked.turn),
    }
    if said.end == "prompt_blocked":
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **answer}
    return {"candidates": [_candidate(asked, said)], **answer}


def _candidate(asked: Asked, said: Said) -> Document:
    reasons = {
        "cut_off": "MAX_TOKENS",
        "filtered": "SAFETY",
        "refused": "PROHIBITED_CONTENT",
        "malformed_call": "MALFORMED_FUNCTION_CALL",
        "unexpected_call": "UNEXPECTED_TOOL_CALL",
    }
    candidate: Document = {"finishReason": reasons.get(said.end, "STOP"), "index": 0}
    if said.end == "malformed_call":
        candidate["finishMessage"] = "Malformed function call: print(default_api.get_weather(city="
    if said.end == "unexpected_call":
        candidate["finishMessage"] = "Unexpected tool call: get_weather"
    parts: list[Document] = [{"text": said.text}] if said.text else []
    for number, call in enumerate(said.calls):
        part: Document = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
        if number == 0 and asked.thinking:
            part["thoughtSignature"] = _signature(call.name, dict(call.arguments))
        parts.append(part)
    return {"content": {"role": "model", "parts": parts} if parts else {}, **candidate}
