"""The one fallback there is: `required` becomes `auto` when, and only when, a provider refuses it."""

from __future__ import annotations

import re

from ..errors import ModelError

# The parameter by any of its names, or a thinking mode that excludes forced calls (DeepSeek, Claude).
_NAMES_TOOL_CHOICE = re.compile(r"tool[ _-]?choice|thinking[ _-]?mode|forced? tool", re.IGNORECASE)
# Groq answers so when the model did not obey: the model's failure, not a refusal.
_NOT_OBEYED = re.compile(r"tool_use_failed|did not call a tool", re.IGNORECASE)
_REFUSALS = (None, 400, 404, 422, 501)


class ToolChoiceRefused(ModelError):
    """The provider, or litellm on its behalf, refused the request's `tool_choice`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="bad_request")


def refuses_tool_choice(status: int | None, message: str, tool_choice: str | None) -> bool:
    """Whether a failed request was refused for its `required` and not for anything else."""
    return (
        tool_choice == "required"
        and status in _REFUSALS
        and bool(_NAMES_TOOL_CHOICE.search(message))
        and not _NOT_OBEYED.search(message)
    )
