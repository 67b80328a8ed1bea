"""Finds the parameter that a provider refuses, in the text of its error."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from ..exchange.chat import RESPONSE_FORMAT

MAX_COMPLETION_TOKENS = "max_completion_tokens"

# A thinking mode excludes forced calls (DeepSeek, Claude). Google and Amazon phrase it differently.
_NAMES_TOOL_CHOICE = re.compile(
    r"tool[ _-]?choice|thinking[ _-]?mode|forced? (tool|function)|function[ _]?calling[ _]?config",
    re.IGNORECASE,
)
# The names of the form of an answer: OpenAI's two, Anthropic's, Google's and Ollama's.
_NAMES_FORM = re.compile(
    r"response[_ ]?(format|schema|json[_ ]?schema|mime[_ ]?type)|text\.format|output_(config\.)?format"
    r"|json[_ ](schema|object|mode)|structured[_ ]outputs?",
    re.IGNORECASE,
)
# Groq's error when the model did not obey, which is the model's failure, not a refusal.
_NOT_OBEYED = re.compile(r"tool_use_failed|did not call a tool", re.IGNORECASE)
_REFUSED = re.compile(
    r"n[o']t (be )?(support|allow|permit|accept|recogni|available|specified|set|both)"
    r"|unsupported|deprecated|unknown|unrecogni[sz]ed|unexpected|no longer|removed"
    r"|may only|only \S+ is|only the default|must be|invalid|extra inputs|strictly",
    re.IGNORECASE,
)
# Tools also have parameters, and one may be called temperature.
_ABOUT_TOOLS = re.compile(r"schema|propert|tools?[.\[]|function_declarations", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"n[o']t supported|unsupported|deprecated|unknown|unrecogni|unexpected", re.IGNORECASE
)
_STATUSES = (None, 400, 404, 422, 501)


def refused_parameter(status: int | None, text: str, sent: Mapping[str, object]) -> str | None:
    """The parameter that a request was refused for; None if there was another reason."""
    if status not in _STATUSES:
        return None
    choice = sent.get("tool_choice")
    forced = choice in ("required", "none") or isinstance(choice, Mapping)
    if forced and _NAMES_TOOL_CHOICE.search(text) and not _NOT_OBEYED.search(text):
        return "tool_choice"
    if RESPONSE_FORMAT in sent and _NAMES_FORM.search(text):
        return RESPONSE_FORMAT
    if "max_tokens" in sent and MAX_COMPLETION_TOKENS in text:
        return "max_tokens"
    if not _REFUSED.search(text) or _ABOUT_TOOLS.search(text):
        return None
    names = (name for name in sent if name not in ("tool_choice", "max_tokens"))
    parameter = next((name for name in names if _named(name).search(text)), None)
    # Make sure that the parameter is refused, rather than a value that is too large.
    renamed = "max_tokens" in sent and _named("max_tokens").search(text) and _UNKNOWN.search(text)
    return parameter or ("max_tokens" if renamed else None)


@functools.cache
def _named(parameter: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(parameter)}(?!\w)")
