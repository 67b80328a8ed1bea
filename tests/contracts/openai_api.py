"""OpenAI: chat completions and Responses, and what both refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .shapes import Problem, Tag
from .talk import KEY, Brain, Document, Exchange, Refused, Said, StandIn

REFUSAL = "I'm sorry, but I can't assist with that request."


@dataclass(frozen=True)
class Model:
    """What a model takes. `efforts` are those it can think with, `effort` the one without asking."""

    efforts: tuple[str, ...] = ()
    effort: str | None = None
    temperature_text: str = ""  # how it refuses any but 1, empty if it does not
    parallel: bool = True
    tools_in_chat: str = "always"  # "always", "without effort", "with none"
    in_chat: bool = True

    def thinks(self, effort: str | None) -> bool:
        return (effort or self.effort or "none") != "none"


_ONLY_1 = (
    "Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value "
    "is supported."
)
_NOT_AT_ALL = "Unsupported parameter: 'temperature' is not supported with this model."
_FROM_NONE = ("none", "low", "medium", "high", "xhigh")
MODELS = {
    "gpt-4o": Model(),
    "gpt-5.1": Model(("none", "low", "medium", "high"), "none", _NOT_AT_ALL),
    "gpt-5": Model(("minimal", "low", "medium", "high"), "medium", _ONLY_1),
    "o4-mini": Model(("low", "medium", "high"), "medium", _NOT_AT_ALL, parallel=False),
    "gpt-5-pro": Model(("high",), "high", _NOT_AT_ALL, in_chat=False),
    "gpt-5.4": Model(_FROM_NONE, "none", _NOT_AT_ALL, tools_in_chat="without effort"),
    "gpt-5.6": Model(_FROM_NONE, "medium", _ONLY_1, tools_in_chat="with none"),
}


def refused(
    message: str, param: str | None = None, code: str | None = None, status: int = 400
) -> Refused:
    kind = "invalid_request_error"
    return Refused(status, {"error": {"message": message, "type": kind, "param": param, "code": code}})


class OpenAI(StandIn):
    name = "openai"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        check_bearer(exchange)
        if exchange.path == "/v1/chat/completions":
            from . import openai_chat

            exchange.provider = "openai chat"
            return openai_chat.answer(exchange.body, brain)
        if exchange.path == "/v1/responses":
            from . import openai_responses

            exchange.provider = "openai responses"
            return openai_responses.answer(exchange.body, brain)
        raise refused(f"Invalid URL (POST {exchange.path})", status=404)


STANDIN = OpenAI()


def check_bearer(exchange: Exchange) -> None:
    told = exchange.headers.get("authorization", "")
    if not told:
        raise refused(
            "You didn't provide an API key. You need to provide your API key in an Authorization header using "
            "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank "
            "username) if you're accessing the API from your browser and are prompted for a username and "
            "password. You can obtain an API key from https://platform.openai.com/account/api-keys.",
            status=401,
        )
    if told != f"Bearer {KEY}":
        raise refused(
            "Incorrect API key provided: none. You can find your API key at "
            "https://platform.openai.com/account/api-keys.",
            code="invalid_api_key",
            status=401,
        )


def model_of(body: Mapping[str, Any]) -> Model:
    name = body.get("model")
    if not isinstance(name, str):
        raise refused("you must provide a model parameter")
    if name not in MODELS:
        raise refused(
            f"The model `{name}` does not exist or you do not have access to it.",
            code="model_not_found",
            status=404,
        )
    return MODELS[name]


def told(found: Problem) -> Refused:
    """A wrong shape in the words of OpenAI."""
    path = ""
    for part in found.path:
        if isinstance(part, Tag):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    if found.kind == "unknown":
        return refused(f"Unknown parameter: '{path}'.", path, "unknown_parameter")
    if found.kind == "missing":
        return refused(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    if found.kind == "value":
        return refused(
            f"Invalid value: '{found.got}'. Supported values are: {found.expected.replace(' or ', ', ')}.",
            path,
            "invalid_value",
        )
    article = "an" if found.expected[0] in "aeiou" else "a"
    return refused(
        f"Invalid type for '{path}': expected {article} {found.expected}, but got {_kind(found.got)} instead.",
        path,
        "invalid_type",
    )


def _kind(value: object) -> str:
    kinds = {
        dict: "an object",
        list: "an array",
        str: "a string",
        int: "an integer",
        float: "a decimal number",
    }
    return "null" if value is None else kinds.get(type(value), "a boolean")


def check_functions(functions: list[tuple[str, Document]]) -> None:
    """Names and schemas; `functions` are the places in the body and what stands there."""
    for at, function in functions:
        name = function["name"]
        if len(name) > 64:
            raise refused(
                f"Invalid '{at}.name': string too long. Expected a string with maximum length 64, but got a "
                f"string with length {len(name)} instead.",
                f"{at}.name",
                "string_above_max_length",
            )
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", name):
            raise refused(
                f"Invalid '{at}.name': string does not match pattern. Expected a string that matches the "
                "pattern '^[a-zA-Z0-9_-]+$'.",
                f"{at}.name",
                "invalid_value",
            )
        wrong = _schema_problem(
            function.get("parameters") or {"type": "object"}, bool(function.get("strict"))
        )
        if wrong:
            raise refused(
                f"Invalid schema for function '{name}': {wrong}",
                f"{at}.parameters",
                "invalid_function_parameters",
            )


def _schema_problem(schema: Document, strict: bool) -> str | None:
    if schema.get("type") != "object":
        kind = schema.get("type")
        return f"""schema must be a JSON Schema of 'type: "object"', got 'type: "{kind}"'."""
    if {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema):
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    return _part_problem(schema, (), strict)


def _part_problem(schema: Any, at: tuple[str, ...], strict: bool) -> str | None:
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "array" and "items" not in schema:
        return f"In context={at}, array schema missing items."
    if strict and schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return f"In context={at}, 'additionalProperties' is required to be supplied and to be false."
    properties = schema.get("properties") or {}
    if strict and set(properties) - set(schema.get("required", ())):
        missing = next(name for name in properties if name not in schema.get("required", ()))
        return (
            f"In context={at}, 'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{missing}'."
        )
    parts = [("properties", name) for name in properties]
    found = (_part_problem(properties[name], (*at, key, name), strict) for key, name in parts)
    wrong = next((one for one in found if one), None)
    return wrong or _part_problem(schema.get("items"), (*at, "items"), strict)


def check_effort(model: Model, effort: str | None, param: str) -> None:
    if effort is None:
        return
    if not model.efforts and param == "reasoning_effort":
        raise refused(f"Unrecognized request argument supplied: {param}")
    if not model.efforts:
        raise unsupported(param)
    if effort not in model.efforts:
        known = [f"'{one}'" for one in model.efforts]
        listed = ", ".join(known[:-1]) + f", and {known[-1]}" if known[1:] else known[0]
        raise refused(
            f"Unsupported value: '{effort}' is not supported with the '{param}' parameter with this model. "
            f"Supported values are: {listed}.",
            param,
            "unsupported_value",
        )


def check_temperature(model: Model, body: Document, effort: str | None) -> None:
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and not 0 <= value <= (2 if name == "temperature" else 1):
            raise refused(f"Invalid '{name}': decimal out of range, got {value}.", name)
        if value in (None, 1) or not (model.thinks(effort) and model.temperature_text):
            continue
        text = model.temperature_text.format(value=f"{float(value):.1f}").replace("temperature", name)
        code = "unsupported_value" if "value:" in text else "unsupported_parameter"
        raise refused(text, name, code)


def unsupported(param: str, instead: str | None = None) -> Refused:
    more = f" Use '{instead}' instead." if instead else ""
    return refused(
        f"Unsupported parameter: '{param}' is not supported with this model.{more}",
        param,
        "unsupported_parameter",
    )


def check_end(said: Said) -> None:
    """The ends that are no answers."""
    if said.end == "overloaded":
        raise Refused(
            503,
            {
                "error": {
                    "message": "The server is currently overloaded with other requests. Sorry about that! You "
                    "can retry your request, or contact us through our help center if the error persists.",
                    "type": "server_error",
                    "param": None,
                    "code": "server_overloaded",
                }
            },
        )
    if said.end == "rate_limited":
        raise Refused(
            429,
            {
                "error": {
                    "message": "Rate limit reached for requests per min. Please try again in 20ms.",
                    "type": "requests",
                    "param": None,
                    "code": "rate_limit_exceeded",
                }
            },
        )
    if said.end == "prompt_blocked":
        raise refused(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try "
            "again with a different prompt: https://platform.openai.com/docs/guides/reasoning"
            "#advice-on-prompting",
            code="invalid_prompt",
        )
