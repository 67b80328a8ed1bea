"""Bedrock's Converse: the shape is botocore's, what the models behind it refuse is their own."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from . import anthropic_messages
from .talk import KEY, Brain, Document, Exchange, Refused, StandIn


@dataclass(frozen=True)
class Model:
    """`claude`: which of Anthropic's models this is; the others are much like an old one of them."""

    claude: str = "claude-sonnet-4-6"
    any: bool = True
    thinks: bool = True


MODELS = {
    "anthropic.claude-haiku-4-5-20251001-v1:0": Model("claude-haiku-4-5"),
    "anthropic.claude-sonnet-5": Model("claude-sonnet-5"),
    "anthropic.claude-opus-4-7": Model("claude-opus-4-7"),
    "amazon.nova-pro-v1:0": Model(thinks=False),
    "meta.llama3-3-70b-instruct-v1:0": Model(any=False, thinks=False),
}
_REGIONS = ("us.", "eu.", "global.")


def _error(message: str, status: int = 400, type: str = "ValidationException") -> Refused:
    return Refused(status, {"message": message}, {"x-amzn-ErrorType": type})


class BedrockConverse(StandIn):
    name = "bedrock"

    def answer(self, exchange: Exchange, brain: Brain) -> object:
        told = exchange.headers.get("authorization", "")
        if not told:
            raise _error("Missing Authentication Token", 403, "MissingAuthenticationTokenException")
        if told != f"Bearer {KEY}" and not told.startswith("AWS4-HMAC-SHA256 "):
            text = "Authentication failed: Please make sure your API Key is valid."
            raise _error(text, 403, "AccessDeniedException")
        found = re.fullmatch(r"/model/([^/]+)/converse", exchange.path)
        if found is None:
            raise _error("UnknownOperationException", 404, "UnknownOperationException")
        name = unquote(found[1])
        for region in _REGIONS:
            name = name.removeprefix(region)
        if name not in MODELS:
            raise _error("The provided model identifier is invalid.")
        return _answer(MODELS[name], name, exchange.body, brain)


STANDIN = BedrockConverse()


@functools.cache
def _operation() -> Any:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.operation_model("Converse")


def _answer(model: Model, name: str, body: Document, brain: Brain) -> Document:
    report = ParamValidator().validate({"modelId": name, **body}, _operation().input_shape)
    if report.has_errors():
        raise _error(_told(report.generate_report()))
    _check_order(body)
    for tool in body.get("toolConfig", {}).get("tools", ()):
        name = tool.get("toolSpec", {}).get("name", "")
        if len(name) > 64:
            raise _error(
                f"1 validation error detected: Value '{name}' at 'toolConfig.tools.1.member.toolSpec.name' "
                "failed to satisfy constraint: Member must have length less than or equal to 64"
            )
    if not model.any and "any" in body.get("toolConfig", {}).get("toolChoice", {}):
        raise _error(
            "This model doesn't support the toolConfig.toolChoice.any field. Remove toolConfig.toolChoice.any and try again."
        )
    asked = _as_messages(body, model.claude)
    if not model.thinks and "thinking" in asked:
        raise _error(
            "Malformed input request: #: extraneous key [thinking] is not permitted, please reformat your input and try again."
        )
    try:
        said = anthropic_messages.answer(asked, brain)
    except Refused as refused:
        if refused.status == 529:
            raise _error(
                "Bedrock is unable to process your request.", 503, "ServiceUnavailableException"
            ) from None
        if refused.status == 429:
            raise _error(
                "Too many requests, please wait before trying again.", 429, "ThrottlingException"
            ) from None
        message = refused.body["error"]["message"]
        raise _error(f"The model returned the following errors: {message}") from None
    return _as_converse(said)


def _told(report: str) -> str:
    """What botocore finds, as the service says it."""
    unknown = re.search(r'Unknown parameter in (\S*): "(\w+)"', report)
    if unknown:
        where = unknown[1].removeprefix("input").removeprefix(".").replace(".", "/") or "#"
        return f"Malformed input request: {where}: extraneous key [{unknown[2]}] is not permitted, please reformat your input and try again."
    return f"1 validation error detected: {report.splitlines()[0]}"


def _check_order(body: Document) -> None:
    if not body.get("messages") or body["messages"][0]["role"] != "user":
        raise _error(
            "A conversation must start with a user message. Try again with a conversation that starts with a user message."
        )
    open_ids: list[str] = []
    before = None
    for number, message in enumerate(body["messages"]):
        if message["role"] == before:
            raise _error(
                "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again."
            )
        before = message["role"]
        results = [
            block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block
        ]
        uses = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        missing = [id for id in open_ids if id not in results]
        if missing:
            raise _error(
                f"Expected toolResult blocks at messages.{number}.content for the following Ids: {', '.join(missing)}"
            )
        if len(results) > len(open_ids):
            raise _error(
                f"The number of toolResult blocks at messages.{number}.content exceeds the number of toolUse blocks of previous turn."
            )
        if (results or uses) and not body.get("toolConfig"):
            raise _error(
                "The toolConfig field must be defined when using toolUse and toolResult content blocks."
            )
        for place, block in enumerate(message["content"]):
            if "text" in block and not block["text"].strip():
                raise _error(
                    f"The text field in the ContentBlock object at messages.{number}.content.{place} is blank. Add text to the text field, and try again."
                )
        open_ids = uses


def _as_messages(body: Document, claude: str) -> Document:
    """The same request to Anthropic, whose rules then hold."""
    config, choice = body.get("inferenceConfig", {}), body.get("toolConfig", {}).get("toolChoice", {})
    names = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p"}
    tools = [
        tool["toolSpec"] for tool in body.get("toolConfig", {}).get("tools", ()) if "toolSpec" in tool
    ]
    kinds = {"auto": {"type": "auto"}, "any": {"type": "any"}}
    kind = next((kinds.get(name) or {"type": "tool", **value} for name, value in choice.items()), None)
    asked: Document = {
        "model": claude,
        "max_tokens": 64000,
        **{name: config[key] for key, name in names.items() if key in config},
        "messages": [
            {"role": one["role"], "content": [_as_block(block) for block in one["content"]]}
            for one in body["messages"]
        ],
        **body.get("additionalModelRequestFields", {}),
    }
    if tools:
        asked["tools"] = [
            {"name": tool["name"], "input_schema": tool["inputSchema"]["json"]} for tool in tools
        ]
    return {**asked, "tool_choice": kind} if kind else asked


def _as_block(block: Document) -> Document:
    if "toolUse" in block:
        use = block["toolUse"]
        return {"type": "tool_use", "id": use["toolUseId"], "name": use["name"], "input": use["input"]}
    if "toolResult" in block:
        result = block["toolResult"]
        parts = [part.get("text") or str(part.get("json")) for part in result["content"]]
        return {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": " ".join(parts)}
    if "reasoningContent" in block:
        thought = block["reasoningContent"]["reasoningText"]
        return {"type": "thinking", "thinking": thought["text"], "signature": thought["signature"]}
    if "image" in block:
        kind, data = block["image"]["format"], block["image"]["source"]["bytes"]
        source = {"type": "base64", "media_type": f"image/{kind}", "data": data}
        return {"type": "image", "source": source}
    return {"type": "text", "text": block["text"]}


def _as_converse(said: Document) -> Document:
    content: list[Document] = []
    for block in said["content"]:
        if block["type"] == "thinking":
            text = {"text": block["thinking"], "signature": block["signature"]}
            content.append({"reasoningContent": {"reasoningText": text}})
        elif block["type"] == "tool_use":
            use = {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}
            content.append({"toolUse": use})
        else:
            content.append({"text": block["text"]})
    reasons = {"refusal": "content_filtered"}
    tokens = said["usage"]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reasons.get(said["stop_reason"], said["stop_reason"]),
        "usage": {
            "inputTokens": tokens["input_tokens"],
            "outputTokens": tokens["output_tokens"],
            "totalTokens": tokens["input_tokens"] + tokens["output_tokens"],
        },
        "metrics": {"latencyMs": 1},
    }
