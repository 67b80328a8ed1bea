"""A model's known abilities, before any request."""

from __future__ import annotations

import re

from .known import known_entry

_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?=[.-]|$)")
# claude-3-5-haiku-20241022, claude-sonnet-4-5, claude-opus-latest.
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(?:(\d+)(?:-(\d)(?!\d))?|latest)")
_GEMINI_3 = re.compile(r"gemini-([3-9]|\d\d)")


def needs_responses(model: str) -> bool:
    """Whether OpenAI (or Azure) offers its own model, or tools with it, only at `/responses`.

    From gpt-5.4 on, reasoning together with tools works only there.
    """
    entry = known_entry(model) or {}
    chat = "/v1/chat/completions" in entry.get("supported_endpoints", ["/v1/chat/completions"])
    version = _GPT.match(model.rpartition("/")[2])
    later = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4)
    return entry.get("mode") == "responses" or not chat or later


def searches_tools(model: str) -> bool:
    """Whether an OpenAI or Anthropic model can search for deferred tools.

    True if litellm's list says so, or else from gpt-5.4 and Claude 4.5 on.
    """
    if (known_entry(model) or {}).get("supports_tool_search") is True:
        return True
    name = model.rpartition("/")[2]
    if (claude := _CLAUDE.match(name)) is not None:
        return (int(claude[1] or 9), int(claude[2] or 0)) >= (4, 5)
    gpt = _GPT.match(name)
    return gpt is not None and (int(gpt[1]), int(gpt[2] or 0)) >= (5, 4)


def reasons(model: str) -> bool | None:
    """Whether a model can reason before it answers, according to litellm's list; None if unknown."""
    entry = known_entry(model)
    return None if entry is None else entry.get("supports_reasoning") is True


def wants_warmth(model: str) -> bool:
    """Whether the provider advises against temperatures below 1, as Google does from Gemini 3 on."""
    return _GEMINI_3.search(model) is not None
