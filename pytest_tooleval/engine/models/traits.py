"""What is known about a model before it is asked."""

from __future__ import annotations

import re

from .prices import listed

_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?=[.-]|$)")
_GEMINI_3 = re.compile(r"gemini-([3-9]|\d\d)")


def needs_responses(model: str) -> bool:
    """Whether OpenAI (or Azure) offers this model of its own, or its tools, only at `/responses`.

    From gpt-5.4 on, this is true for reasoning together with tools.
    """
    entry = listed(model) or {}
    chat = "/v1/chat/completions" in entry.get("supported_endpoints", ["/v1/chat/completions"])
    version = _GPT.match(model.rpartition("/")[2])
    later = version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 4)
    return entry.get("mode") == "responses" or not chat or later


def reasons(model: str) -> bool | None:
    """Whether a model can reason before it answers, by litellm's list; None when unknown."""
    entry = listed(model)
    return None if entry is None else entry.get("supports_reasoning") is True


def wants_warmth(model: str) -> bool:
    """Whether the provider advises against temperatures below 1, as Google does from Gemini 3 on."""
    return _GEMINI_3.search(model) is not None
