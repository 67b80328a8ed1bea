"""The one fallback there is: `required` becomes `auto` when, and only when, a provider refuses it."""

from __future__ import annotations

import re

from ..errors import ModelError

# The parameter by any of its names, or a thinking mode that excludes forced calls (DeepSeek, Claude).
_NAMES_TOOL_CHOICE = re.compile(r"tool[ _-]?choice|thinking[ _-]?mode|forced? tool", re.IGNORECASE)


class ToolChoiceRefused(ModelError):
    """The provider, or litellm on its behalf, refused the request's `tool_choice`."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="bad_request")


def refuses_tool_choice(message: str, tool_choice: str | None) -> bool:
    """Whether a 400 with this message is about `required` and not about anything else."""
    return tool_choice == "required" and bool(_NAMES_TOOL_CHOICE.search(message))
