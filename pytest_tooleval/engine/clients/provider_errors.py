"""Turns the status and text of a provider's error into a `ModelError`.

The rules cover OpenAI, Anthropic, Google, Groq, OpenRouter and local servers, with any client.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

from ...errors import ErrorKind, ModelError
from ...record.calls import ToolCall
from ...record.names import ANY_TOOLS
from ...record.untrusted import as_list, as_mapping, as_text
from ...replies.endings import UNPARSED
from ...replies.recovery import NO_READING, read_calls
from ...secrets import scrub, secret_values, shown_address
from ...text import shorten
from ..exchange.chat import ChatAnswer
from ..exchange.errors import ParameterRefused
from ..models.spec import DeployedAgent, HttpModel
from .refused_parameter import refused_parameter

_MISSING_KEY = re.compile(
    r"missing (\w{1,40} )?(api[ _]?key|credentials)|api_key\b.{0,100}must be set"
    r"|api key not valid|(invalid|incorrect) (x-)?api[ -]key"
    r"|(no|default|unable to (locate|load)( \w{1,40})?) credentials\b"
    r"|credentials (were )?not (found|provided)|CredentialsError\b",
    re.IGNORECASE | re.DOTALL,
)
# As Anthropic, Google, Bedrock, Ollama and others phrase it.
_OVERLOADED = re.compile(
    r"overloaded|unable to process your request|server (is )?(too )?busy|(at|over) capacity|high demand",
    re.IGNORECASE,
)
# The statuses of errors in an answer with 200, by the code or type of Anthropic, OpenAI, Google, Amazon
# and Hugging Face.
_STATUSES = {
    word: status
    for status, words in {
        400: "invalid_request_error invalid_argument validationexception validation",
        401: "authentication_error invalid_api_key unauthenticated",
        402: "billing_error",
        403: "permission_error permission_denied accessdeniedexception",
        404: "not_found_error not_found model_not_found resourcenotfoundexception",
        408: "request_timeout",
        413: "request_too_large",
        429: (
            "rate_limit_error rate_limit_exceeded rate_limit_reached rate_limited insufficient_quota "
            "too_many_requests resource_exhausted throttlingexception tokens requests"
        ),
        500: (
            "api_error server_error internal_error internal_server_error internalservererror internal "
            "internalserverexception modelstreamerrorexception generation incomplete_generation"
        ),
        503: "service_unavailable unavailable serviceunavailableexception modelnotreadyexception",
        504: "timeout_error timeout gateway_timeout deadline_exceeded modeltimeoutexception",
        529: "overloaded_error overloaded engine_overloaded_error provider_overloaded",
    }.items()
    for word in words.split()
}
_STATUS_FIELDS = ("code", "status", "status_code", "type", "error_type")
_MODERATED = re.compile(r"moderation|flagged|content[ _]polic|safety", re.IGNORECASE)
_BLOCKED = re.compile(
    r"\b(prompt|input|content|request|message)s?\b.{0,60}\bflagged\b"
    r"|content_filter|content_policy_violation|content (management|filtering) policy"
    r"|ResponsibleAIPolicy|data_inspection_failed|content exists risk"
    r"|violat\w{1,5} ((our|the) )?(content|usage) (policy|policies|guidelines)",
    re.IGNORECASE,
)
# How llama.cpp and Ollama say that they could not parse a model's call, with the part that they quote:
# of the call itself, or else of a text that may contain one.
_UNPARSED: Sequence[tuple[re.Pattern[str], bool]] = (
    (re.compile(r"error parsing tool call: raw='(?P<text>.*)', err=", re.DOTALL), True),
    (re.compile(r"Failed to parse tool call arguments as JSON"), True),
    (re.compile(r"Failed to parse input at pos \d+(?::\s*(?P<text>.*))?", re.DOTALL), False),
    (re.compile(r"XML syntax error on line \d+: element <\w+> closed by </\w+>"), True),
)
_NO_MONEY = re.compile(
    r"insufficient[ _](quota|balance|credits?|funds)|credit balance|spend(ing)? limit", re.IGNORECASE
)
_DAILY = re.compile(r"per[ _-]?day|daily|\b[rt]pd\b", re.IGNORECASE)
# Google's text for a limit per minute also mentions quota and billing.
_PER_MINUTE = re.compile(r"per[ _-]?(minute|min|second)\b|PerMinute|\b[rt]pm\b", re.IGNORECASE)
_QUOTA = re.compile(r"exceeded your current quota|billing", re.IGNORECASE)
_RETRY_IN = re.compile(r"(?:retryDelay\W{1,10}|retry in |try again in )(\d{1,9}(?:\.\d{1,20})?)(ms|s)\b")
# The longest quotas that providers announce are daily.
_LONGEST_WAIT_S = 24 * 60 * 60.0
# The rules read only this much of a text.
_READ = 8_000
# No error text is longer, and litellm takes seconds per megabyte to search it for secrets.
LONGEST_TEXT = 2**17


def one_line(text: str) -> str:
    """A provider's text on one line without secrets; only its size if it is huge."""
    if len(text) > LONGEST_TEXT:
        return size_text(text)
    return " ".join(scrub(text, secret_values()).split())


def size_text(text: str | bytes) -> str:
    return f"a text of {len(text) // 1024} KiB"


def redirect_error(url: str, location: str) -> ModelError:
    """The error for a redirect, which must not be followed with keys and prompts."""
    try:
        target = urljoin(url, location)
    except ValueError:
        target = location
    shown = " ".join(scrub(shown_address(target), secret_values()).split())
    return ModelError(
        f"{shown_address(url)} redirects to {shorten(shown, 200)}, which is not followed; set "
        "api_base to the final address",
        kind="bad_request",
        fatal=True,
    )


def status_of_error(error: object) -> int:
    """The status that a provider's error would have, had it not come in an answer with 200."""
    fields = as_mapping(error)
    for value in map(fields.get, _STATUS_FIELDS):
        text = str(value).lower() if isinstance(value, (str, int)) else ""
        status = int(text) if re.fullmatch(r"[45]\d\d", text, re.ASCII) else _STATUSES.get(text)
        if status is not None:
            return status
    message = as_text(error) or as_text(fields.get("message"))
    return 529 if _OVERLOADED.search(message[:_READ]) else 422


def lacks_credentials(text: str) -> bool:
    return bool(_MISSING_KEY.search(text[:_READ]))


def provider_error(
    spec: HttpModel | DeployedAgent,
    status: int | None,
    text: str,
    *,
    sent: Mapping[str, object] = {},
    retry_after: float | None = None,
) -> ModelError:
    """The error for a response with `status`, which is None if the request was not sent.

    `text` is the provider's text, on one line and without secrets; `sent` are the parameters.
    """
    # Parsed from JSON, the text may contain secrets that were escaped before.
    sentence = spoken_text(text)
    detail = shorten(one_line(sentence), 500)
    text = text[:_READ]

    def failed(kind: ErrorKind, message: str, *, retry: bool = False, fatal: bool = False) -> ModelError:
        wait = retry_after if retry_after is not None else _wait_in(text)
        return ModelError(message, kind=kind, retryable=retry, retry_after=wait, fatal=fatal)

    refused = refused_parameter(status, sentence[:_READ], sent)
    if refused is not None:
        return ParameterRefused(detail, refused, sent[refused])
    if status == 402 or (status in (400, 403, 429) and _is_quota(status, text)):
        return failed("quota", f"the account's quota is used up: {detail}", fatal=True)
    if status == 429:
        return failed("rate_limit", f"rate limited (429): {detail}", retry=True)
    if status == 529 or (status is not None and status >= 500 and _OVERLOADED.search(text)):
        return failed("rate_limit", f"the provider is overloaded ({status}): {detail}", retry=True)
    if status == 401 or lacks_credentials(text):
        return failed("credentials", f"{_credentials_help(spec)}: {detail}", fatal=True)
    if status == 403 and not _MODERATED.search(text):
        return failed(
            "credentials", f"access refused (403), {_credentials_help(spec)}: {detail}", fatal=True
        )
    if status is not None and quoted_call(sentence) is not None:
        message = f"the server could not parse a call in the messages ({status}): {detail}"
        return failed("bad_response", message)
    if status is not None and (status in (408, 409) or status >= 500):
        return failed("server", f"the server failed ({status}): {detail}", retry=True)
    if status == 404:
        message = f"the provider has no such model or address (404): {detail}"
        return failed("bad_request", message, fatal=True)
    if status is None:
        return failed("bad_request", f"no answer: {detail}")
    return failed("bad_request", f"the provider refused the request: {detail}")


def spoken_text(text: str) -> str:
    """The message in a provider's error body, or else the whole text."""
    body = _object_in(text)
    error = body.get("error")
    behind = as_mapping(as_mapping(error).get("metadata"))
    if (raw := as_text(behind.get("raw"))).strip():
        # OpenRouter's own message only says that the provider behind it failed.
        return f"{behind.get('provider_name', 'the provider')}: {spoken_text(raw)}"
    texts = (as_mapping(error).get("message"), error, body.get("message"), body.get("detail"))
    return next((each for each in map(as_text, texts) if each.strip()), text)


def refused_answer(
    status: object, text: str, detail: str, latency_s: float, messages: Sequence[Mapping[str, Any]]
) -> ChatAnswer | None:
    """The model's answer in a response with an error status; None if it is really an error.

    Groq refuses invalid calls, local servers fail to parse calls, and filters block prompts and answers.
    All count as the model's answers. `detail` is the text on one line, without secrets. If the messages
    `asked` have calls that cannot be parsed, the error is about those.
    """
    detail = spoken_text(detail)
    error = as_mapping(_object_in(text).get("error"))
    codes = f"{as_text(error.get('code'))} {as_text(error.get('type'))}"
    content: str | None
    if error.get("code") == "tool_use_failed":
        content, reason = as_text(error.get("failed_generation")), "tool_use_failed"
    elif status in (400, 403, 422) and _BLOCKED.search(f"{detail} {codes}"[:_READ]):
        content, reason = None, "content_filter"
    elif (quoted := quoted_call(detail)) is not None and not _holds_broken_calls(messages):
        content, reason = quoted, UNPARSED
    else:
        return None
    message = {"role": "assistant", "content": content}
    return ChatAnswer(message, reason, latency_s=latency_s, finish_message=detail)


def quoted_call(error: str) -> str | None:
    """What a server's error quotes of a call that it could not parse; None for any other error.

    Empty if nothing is quoted, or no call.
    """
    for pattern, is_call in _UNPARSED:
        if match := pattern.search(error[:_READ]):
            quoted = match.groupdict().get("text") or ""
            return quoted if is_call or read_calls({}, quoted, ANY_TOOLS) != NO_READING else ""
    return None


def _holds_broken_calls(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a call in these messages has arguments that no server can parse."""
    calls = (call for each in messages for call in as_list(each.get("tool_calls")))
    parsed = (ToolCall.coerce(call) for call in calls if isinstance(call, Mapping))
    return any(call.arguments is None for call in parsed)


def _object_in(text: str) -> dict[str, Any]:
    """The first JSON object in a text; empty if there is none."""
    start = text.find("{")
    if start < 0:
        return {}
    try:
        body, _ = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _is_quota(status: int, text: str) -> bool:
    """Whether a daily limit or the money is used up, so that waiting for seconds cannot help."""
    if _NO_MONEY.search(text):
        return True
    if status != 429 or _PER_MINUTE.search(text):
        return False
    return bool(_DAILY.search(text) or _QUOTA.search(text))


def _credentials_help(spec: HttpModel | DeployedAgent) -> str:
    variable = spec.key_variable
    if variable:
        return f"the key in {variable} was refused"
    if spec.api_base:
        return (
            f"the API key for {spec.api_base} is missing or wrong; a key is sent there only if "
            f"the model's table names its variable with api_key_env ({spec.place})"
        )
    return f"missing or wrong credentials for {spec.model if isinstance(spec, HttpModel) else spec.url}"


def _wait_in(text: str) -> float | None:
    """The wait in seconds that a text of Google or OpenAI asks for ("retry in 34.1s")."""
    match = _RETRY_IN.search(text)
    if match is None:
        return None
    return _believable(float(match[1]) * (0.001 if match[2] == "ms" else 1.0))


def retry_after_s(headers: Mapping[str, str] | None, now: float | None = None) -> float | None:
    """The seconds in a `Retry-After` header, which has seconds or an HTTP date (RFC 9110, 10.2.3).

    None if there is no plausible wait.
    """
    value = headers.get("retry-after") if headers is not None else None
    if value is None:
        return None
    try:
        return _believable(float(value))
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    # A date that has just passed means now.
    return _believable(max(0.0, date - (time.time() if now is None else now)))


def _believable(seconds: float) -> float | None:
    """A wait of up to a day; None for junk, which must not end a model's run like a quota does."""
    return seconds if 0.0 <= seconds <= _LONGEST_WAIT_S else None
