"""How answers end: the providers' finish reasons for unusable answers.

Libraries turn most of these into `stop`, so they are read from the provider's own document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ..errors import ModelError
from ..record.calls import ToolCall
from ..record.no_answer import NoAnswer, NoAnswerCategory
from ..record.unread import Unread
from ..record.untrusted import as_list, as_mapping, as_text
from ..text import shorten


class Ending(NamedTuple):
    """Why there is no usable answer: the provider's finish reason and its message."""

    reason: str
    message: str = ""


# In lower case, as providers differ. `failed` is the provider's own fault.
_WORDS: Mapping[NoAnswerCategory | Literal["failed"], str] = {
    "refused": "refusal",
    "blocked": (
        "content_filter content_filtered content_policy_violation guardrail_intervened sensitive "
        "error_toxic invalid_prompt safety recitation language other blocklist prohibited_content spii "
        "image_safety image_prohibited_content image_recitation image_other escalation model_armor "
        "jailbreak blocked_reason_unspecified"
    ),
    "cut_off": (
        "length max_tokens max_output_tokens model_length model_context_window_exceeded error_limit "
        "repetition incomplete"
    ),
    "malformed_call": (
        "malformed_function_call malformed_response unexpected_tool_call too_many_tool_calls "
        "malformed_tool_use malformed_model_output tool_use_failed"
    ),
    # An agent's own limit or guardrail ended its run.
    "gave_up": "gave_up gave_up_limit gave_up_guardrail",
    "failed": (
        "error failed abort cancelled timeout network_error server_error rate_limit_exceeded "
        "insufficient_system_resource missing_thought_signature queued in_progress"
    ),
}
# The finish reason of an agent's run that it ended itself, perhaps with `_` and the kind of end.
GAVE_UP = "gave_up"
# The reason of an error that a server answers with if it cannot parse the model's call. The text is what
# the server quotes of it.
UNPARSED = "not_parsed_by_server"
# The finish reasons of an answer with calls.
_CALLED = frozenset("tool_calls tool_call tool_use function_call".split())
_MEANING = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}


def no_answer(
    calls: Sequence[ToolCall],
    text: str | None,
    reason: str | None,
    message: str | None,
    unread: Unread | None = None,
) -> NoAnswer | None:
    """Return why a reply with these calls and this text is unusable; None if it is usable.

    An answer needs text or a call; thinking alone is not enough. `text` is None where neither is
    required.

    The calls of an answer that was cut off or malformed are judged if the last of them is complete.
    Providers that parse arguments themselves turn truncated ones into `{}`. A call written as text that
    could not be read is never judged.
    """
    problem = _by_ending(calls, text, reason, message)
    if reason == UNPARSED:
        problem = None
    if problem is None and unread is not None:
        return NoAnswer("malformed_call", shorten(str(unread), 500))
    return problem


def is_cut_off(reason: str | None) -> bool:
    """True if this finish reason means that the answer ended before it was complete."""
    return _meaning(reason) == "cut_off"


def _by_ending(
    calls: Sequence[ToolCall], text: str | None, reason: str | None, message: str | None
) -> NoAnswer | None:
    meaning = _meaning(reason)
    if meaning is None or meaning == "failed":
        if calls or text is None or text.strip():
            return None
        if (reason or "").lower() in _CALLED:
            return NoAnswer("malformed_call", f"{reason}: no call could be read")
        return NoAnswer("empty_answer", "neither a text nor a call")
    last = calls[-1].arguments if calls else None
    if (meaning == "cut_off" and last) or (meaning == "malformed_call" and last is not None):
        return None
    parts = [str(reason), " ".join((message or "").split())]
    shown = parts[1:] if meaning in ("refused", "gave_up") and parts[1] else filter(None, parts)
    return NoAnswer(meaning, shorten(": ".join(shown), 500))


def ending_of(*documents: object) -> Ending | None:
    """Return how an answer ended, according to the documents in order.

    None if it ended normally. Raises ModelError if the provider itself failed.
    """
    endings = [ending for document in documents for ending in _endings(document)]
    endings = [ending for ending in endings if _meaning(ending.reason)]
    first = next((ending for ending in endings if _meaning(ending.reason) != "failed"), None)
    if first is None and endings:
        detail = f": {shorten(' '.join(endings[0].message.split()), 500)}" if endings[0].message else ""
        raise ModelError(
            f"the provider ended the answer with {endings[0].reason}{detail}",
            kind="server",
            retryable=True,
        )
    return first


def usual_reason(*documents: object) -> str | None:
    """Return the finish reason of an answer that ended normally, if its documents have one."""
    endings = (ending for document in documents for ending in _endings(document))
    return next((ending.reason for ending in endings if ending.reason), None)


def _meaning(reason: str | None) -> NoAnswerCategory | Literal["failed"] | None:
    return _MEANING.get((reason or "").lower())


def _endings(document: object) -> Iterator[Ending]:
    """Yield every ending in any provider's document, the most specific first."""
    body = as_mapping(document)
    yield from _of_gemini(body)
    details = as_mapping(body.get("stop_details"))  # Anthropic's
    for key in ("stop_reason", "stopReason", "finish_reason", "done_reason"):
        yield Ending(as_text(body.get(key)), as_text(details.get("explanation")))
    yield from _of_chat(_first(body.get("choices")))
    yield from _of_responses(body)


def _of_gemini(body: Mapping[str, object]) -> Iterator[Ending]:
    feedback = as_mapping(body.get("promptFeedback"))
    if block := as_text(feedback.get("blockReason")):
        is_blocked = _meaning(block) == "blocked"
        message = as_text(feedback.get("blockReasonMessage"))
        parts = ("the prompt was blocked", "" if is_blocked else block, message)
        yield Ending(block if is_blocked else "content_filter", ": ".join(filter(None, parts)))
    candidate = _first(body.get("candidates"))
    yield Ending(as_text(candidate.get("finishReason")), as_text(candidate.get("finishMessage")))


def _of_chat(choice: Mapping[str, object]) -> Iterator[Ending]:
    message = as_mapping(choice.get("message"))
    fields = as_mapping(message.get("provider_specific_fields"))  # litellm's
    refusal = as_text(message.get("refusal")) or as_text(fields.get("refusal"))
    if refusal:
        yield Ending("refusal", refusal)
    yield from _refusals(message)
    fields = as_mapping(choice.get("provider_specific_fields"))
    error = as_mapping(choice.get("error") or fields.get("error"))  # OpenRouter's
    detail = as_text(error.get("message")) or _filters(choice.get("content_filter_results"))
    native = choice.get("native_finish_reason"), fields.get("native_finish_reason")
    for reason in (*native, choice.get("finish_reason")):
        yield Ending(as_text(reason), detail)


def _of_responses(body: Mapping[str, object]) -> Iterator[Ending]:
    """Read OpenAI's Responses API: items instead of a message, a status instead of a reason."""
    output = body.get("output")
    if not isinstance(output, list):
        return
    for item in output:
        yield from _refusals(as_mapping(item))
    status = as_text(body.get("status"))
    if status != "completed":
        reason = as_text(as_mapping(body.get("incomplete_details")).get("reason"))
        yield Ending(
            reason if _meaning(reason) else status, as_text(as_mapping(body.get("error")).get("message"))
        )


def _refusals(message: Mapping[str, object]) -> Iterator[Ending]:
    """Yield the refusals in a message's content."""
    for part in map(as_mapping, as_list(message.get("content"))):
        if part.get("type") == "refusal":
            yield Ending("refusal", as_text(part.get("refusal")))


def _filters(results: object) -> str:
    """Return the categories for which Azure filtered an answer."""
    filters = {name: as_mapping(result) for name, result in as_mapping(results).items()}
    return ", ".join(
        f"{name} {as_text(result.get('severity'))}".strip()
        for name, result in filters.items()
        if result.get("filtered") is True
    )


def _first(value: object) -> Mapping[str, Any]:
    return as_mapping(next(iter(as_list(value)), None))
