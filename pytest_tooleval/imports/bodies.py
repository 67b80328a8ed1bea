"""Where records have requests and answers, whoever wrote them, and streams joined to an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..engine.clients.event_streams import events, is_stream
from ..engine.clients.joined_streams import (
    joined_candidates,
    joined_chat,
    joined_messages,
    joined_responses,
)
from ..record.calls import is_number
from ..record.untrusted import as_mapping, as_text, objects_in
from .records import UnusableError, decode_text

# The places of requests and answers in records of litellm, langfuse, VCR, OpenAI's batches and evals.
REQUEST_KEYS = (
    "request", "request_body", "requestBody", "proxy_server_request", "body", "parsed_body", "json",
    "input", "inputs", "kwargs", "params", "model_parameters", "modelParameters", "optional_params",
    "invocation_params",
)  # fmt: skip
ANSWER_KEYS = ("response", "response_body", "responseBody", "completion", "output", "outputs")
# `string` is the body of an answer in a cassette of VCR.
WRAPPERS = ("body", "parsed_body", "json", "response", "output", "message", "string")
MAX_WRAPPERS = 4
_FAILED = 400  # the lowest status of HTTP that is an error
# Gemini's finish reasons of answers that are complete, and the chat API's for others.
_WHOLE = ("STOP", "FINISH_REASON_UNSPECIFIED", "", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
_CUT_OFF = {"MAX_TOKENS": "length"}
_CHUNKS = ("chat.completion.chunk", "text_completion.chunk")
_OF_MESSAGES = ("message_start", "content_block_start", "content_block_delta", "message_delta")


def request_parts(
    record: Any, keys: Sequence[str] = REQUEST_KEYS, depth: int = 0
) -> Iterator[Mapping[str, Any]]:
    """The record and the objects in it that may have fields of the request, the outermost first."""
    body = body_of(record) if depth else decode_text(record)
    if isinstance(body, Mapping):
        yield body
        for key in keys if depth < MAX_WRAPPERS else ():
            if body.get(key) is not None:
                yield from request_parts(body[key], keys, depth + 1)


def answer_parts(record: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a record that may be its answer, the outermost first."""
    fields = as_mapping(record)
    for key in (*ANSWER_KEYS, *WRAPPERS):
        if fields.get(key) is not None:
            yield from request_parts(fields[key], (*ANSWER_KEYS, *WRAPPERS), 1)


def has_failed(answer: Mapping[str, Any]) -> bool:
    """Whether an answer, or a record of one, has an HTTP status that is an error."""
    status = next(
        (answer[key] for key in ("status_code", "statusCode", "status") if key in answer), None
    )
    code = status.get("code") if isinstance(status, Mapping) else status
    return is_number(code) and code >= _FAILED


def choices_in(answer: Mapping[str, Any]) -> Any:
    """The choices of the chat API, or Gemini's candidates as such; None if there are neither.

    A candidate may stand alone, as may its content.
    """
    if isinstance(answer.get("choices"), list):
        return answer["choices"]
    if isinstance(answer.get("candidates"), list):
        return [_choice(each) for each in objects_in(answer["candidates"])]
    if isinstance(as_mapping(answer.get("content")).get("parts"), list):
        return [_choice(answer)]
    if isinstance(answer.get("parts"), list) and answer.get("role", "model") == "model":
        return [_choice({"content": answer})]
    return None


def _choice(candidate: Mapping[str, Any]) -> dict[str, Any]:
    reason = as_text(candidate.get("finishReason") or candidate.get("finish_reason"))
    ended = None if reason in _WHOLE else _CUT_OFF.get(reason, "content_filter")
    return {"message": {"role": "model", **as_mapping(candidate.get("content"))}, "finish_reason": ended}


def body_of(value: Any) -> Any:
    """The value of a field, with JSON decoded and a stream joined. UnusableError if that breaks off."""
    if isinstance(value, str) and is_stream(value):
        try:
            return _joined(list(events(value)))
        except (ValueError, RecursionError):
            raise UnusableError("the answer is a stream with data that is no JSON") from None
    body = decode_text(value)
    chunks = body if isinstance(body, list) else [body]
    if any(map(is_chunk, chunks)) or (
        chunks is body and any("candidates" in c for c in objects_in(body))
    ):
        return _joined(chunks)
    return body


def is_chunk(value: Any) -> bool:
    """Whether it is a part of an answer that OpenAI or Anthropic streamed."""
    fields = as_mapping(value)
    kind = as_text(fields.get("type"))
    is_delta = any("delta" in choice for choice in objects_in(fields.get("choices")))
    is_event = kind.startswith("response.") or kind in _OF_MESSAGES
    return is_delta or is_event or fields.get("object") in _CHUNKS


def _joined(chunks: list[Any]) -> Mapping[str, Any]:
    objects = objects_in(chunks)
    kinds = {as_text(each.get("type")) for each in objects}
    choices = [choice for each in objects for choice in objects_in(each.get("choices"))]
    candidates = [one for each in objects for one in objects_in(each.get("candidates"))]
    if any(each.get("index") for each in (*choices, *candidates)):
        raise UnusableError("the answer is a stream of several answers, which cannot be told apart")
    if any(kind.startswith("response.") for kind in kinds):
        join = joined_responses
    elif "message_start" in kinds:
        join = joined_messages
    elif candidates:
        join = joined_candidates
    elif choices:
        join = joined_chat
    else:
        raise UnusableError("the answer is a stream of a kind that is not known here")
    whole, is_whole = join(objects)
    if whole.get("error"):
        raise UnusableError("the answer is an error from the provider")
    if not is_whole:
        raise UnusableError("the answer is a stream that breaks off")
    return whole
