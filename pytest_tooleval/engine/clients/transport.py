"""Code that all clients share: keys, parts of the request, connection errors."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from ...errors import ModelError
from ...record.untrusted import as_list
from ...replies.call_like import UNREAD, may_be_call
from ...replies.endings import ending_of
from ...text import shorten
from ..exchange.chat import BLOCKS, CONTAINER, ITEMS, PARTS, ChatAnswer, ChatRequest
from ..models.prices import ran_unpriced
from ..models.spec import ModelSpec
from ..protocols.builder import EXTENSIONS
from .message_parts import without_nulls

# The longest answer that is read, uncompressed.
BODY_BYTES = 32 * 1024 * 1024
_OF_CHOICE = ("message", "logprobs")
_NATIVE = (ITEMS, BLOCKS, PARTS, CONTAINER, *EXTENSIONS)

# Class names of aiohttp, httpx and the openai library, to avoid importing them.
_TIMEOUTS = {"Timeout", "TimeoutError", "TimeoutException"}
_NO_CONNECTION = {"ConnectError", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}
_BROKEN_CONNECTION = {"TransportError", "ClientError", "OSError"}


def headers_of(spec: ModelSpec, request: ChatRequest) -> dict[str, str]:
    """The headers of a model's table, if the request has them."""
    headers = spec.extra.get("extra_headers")
    if not isinstance(headers, Mapping) or "extra_headers" not in request.sampling:
        return {}
    return {str(name): str(value) for name, value in headers.items()}


def tool_arguments(request: ChatRequest) -> dict[str, Any]:
    """The request's `tools` and `tool_choice`, if they must be sent."""
    if not request.tools:
        return {}
    arguments: dict[str, Any] = {"tools": [dict(tool) for tool in request.tools]}
    if request.tool_choice != "auto":
        arguments["tool_choice"] = request.tool_choice
    return arguments


def for_chat(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages for the chat API, with the model's reasoning and without other protocols' fields.

    litellm moves `reasoning_details` (OpenRouter) to a field that would not be sent back.
    """
    sent = []
    for message in messages:
        copy = {name: value for name, value in message.items() if name not in _NATIVE}
        fields = copy.get("provider_specific_fields")
        if isinstance(fields, Mapping) and fields.get("reasoning_details"):
            copy.setdefault("reasoning_details", fields["reasoning_details"])
        sent.append(copy)
    return sent


def connection_error(
    error: BaseException,
    where: str,
    clean: Callable[[str], str],
    timeout_s: float,
    *,
    refused: bool = False,
) -> ModelError | None:
    """The error for a failed connection to `where`; None if something else failed.

    The classes of the error and its causes are recognised by name. `clean` makes one line without
    secrets. `refused` means that there was a 4xx status, which is then the reason.
    """
    causes = chain(error)
    classes = {base.__name__ for cause in causes for base in type(cause).__mro__}
    # litellm also raises Timeout for a 408 or 504, but then the server has answered.
    if classes & _TIMEOUTS and "HTTPStatusError" not in classes:
        return timed_out(timeout_s)
    if refused:
        return None
    if any(getattr(cause, "errno", None) in (errno.EMFILE, errno.ENFILE) for cause in causes):
        return ModelError(
            "no connection: this process has too many open files; raise the limit with ulimit "
            "-n, or lower --tooleval-concurrency",
            kind="handles",
            retryable=True,
        )
    if "JSONDecodeError" in classes:
        return not_json(clean(str(error)))
    reason = clean(_innermost(causes))
    if classes & _NO_CONNECTION:
        return ModelError(f"no connection to {where}: {reason}", kind="unreachable", retryable=True)
    if classes & _BROKEN_CONNECTION:
        return ModelError(f"the connection broke: {reason}", kind="server", retryable=True)
    return None


def extend(body: bytearray, part: bytes) -> None:
    """Add a part of an answer. Raises ModelError if it gets too long."""
    if len(body) + len(part) > BODY_BYTES:
        text = f"the answer is longer than {BODY_BYTES // 2**20} MiB"
        raise ModelError(text, kind="bad_response", answered=True)
    body += part


def no_message(reason: str) -> ModelError:
    return _unreadable(f"the answer has no message ({reason})")


def timed_out(timeout_s: float) -> ModelError:
    return ModelError(
        f"no answer within {timeout_s:g} s (--tooleval-timeout)", kind="timeout", retryable=True
    )


def broke_off() -> ModelError:
    return _unreadable("the answer is a stream that breaks off")


def not_json(text: str) -> ModelError:
    return _unreadable(f"the answer is not JSON: {shorten(text, 500)}")


def _unreadable(text: str) -> ModelError:
    return ModelError(text, kind="bad_response", retryable=True, answered=True)


def chain(error: BaseException) -> list[BaseException]:
    """The error and its causes, outermost first."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes


def _innermost(causes: list[BaseException]) -> str:
    """The text of the innermost cause that has one."""
    # aiohttp calls a broken answer a 400.
    texts = [re.sub(r"^400, message:\s*", "", str(cause)) for cause in causes]
    messages = [text for text in texts if text and not text.startswith("<")]
    return messages[-1] if messages else type(causes[-1]).__name__


def read_chat(
    chat: Mapping[str, Any],
    document: Mapping[str, Any],
    price: Mapping[str, Any] | None,
    latency_s: float,
) -> ChatAnswer:
    """The answer in a chat document; `document` is the provider's original.

    `price` is the model's entry. Raises ModelError if there is no message.
    """
    ending = ending_of(chat) if chat is document else ending_of(chat, document)
    try:
        choice = chat["choices"][0]
        message = _sound(choice["message"])
        around = ({name: value} for name, value in choice.items() if name not in _OF_CHOICE)
        if unread := list(filter(may_be_call, around)):
            message[UNREAD] = [*as_list(message.get(UNREAD)), *unread]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise no_message(type(error).__name__) from None
    reason = _finish_reason(choice.get("finish_reason"), message)
    answer = ChatAnswer.from_chat(message, ending, reason, chat, latency_s, price)
    return structs.replace(answer, is_cost_partial=ran_unpriced(document))


def _sound(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message as strict servers take it back in later requests."""
    kept = without_nulls(message)
    kept.setdefault("content", None)
    kept.setdefault("role", "assistant")
    calls = kept.get("tool_calls")
    if calls == []:
        del kept["tool_calls"]
    elif isinstance(calls, list):
        kept["tool_calls"] = [without_nulls(call) if isinstance(call, dict) else call for call in calls]
    return kept


def _finish_reason(reason: object, message: Mapping[str, Any]) -> str:
    """The reason, but `tool_calls` if a server says `stop` after calls."""
    if reason in (None, "stop", ""):
        return "tool_calls" if message.get("tool_calls") else "stop"
    return str(reason)
