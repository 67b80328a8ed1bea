"""Texts by which libraries answer calls that failed or did not run, where nothing else marks these.

They hold only in a transcript of that library: anywhere else, a text is a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..record.status import StatusWord, error_or_unknown
from ..record.transcript import Message, text_of


class _Library(NamedTuple):
    """Whole texts of a library, with `{}` for any text. `tested` are versions that write them."""

    tested: str
    error: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


OPENAI_AGENTS = _Library(
    tested="openai-agents 0.2, 0.10, 0.24",
    error=(
        "An error occurred while running the tool. Please try again.",
        "An error occurred while running the tool. Please try again. Error: {}",
        "An error occurred while parsing tool arguments. Please try again with valid JSON. Error: {}",
        "Tool '{}' timed out after {} seconds.",
    ),
    refused=("Tool execution was not approved.",),
)
_AND_WHY = "'{}' with kwargs {} with error:\n {}\n Please fix the error and try again."
LANGCHAIN = _Library(
    tested="langgraph-prebuilt 1.1, langchain 1.5",
    error=(
        "Error: {}\n Please fix your mistakes.",
        f"Error executing tool {_AND_WHY}",
        f"Error invoking tool {_AND_WHY}",
    ),
    refused=(
        "Error: {} is not a valid tool, try one of [{}].",
        "User rejected the tool call for `{}` with id {}",
        "User rejected the tool call for `{}` with reason: {}",
    ),
)
CLAUDE_CODE = _Library(
    tested="Claude Code of claude-agent-sdk 0.2.189",
    error=("<tool_use_error>{}</tool_use_error>",),
    refused=(
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. {}",
        "Claude requested permissions to {}, but you haven't granted it yet.",
        "Permission to use {} has been denied.",
    ),
)
CODEX = _Library(
    tested="Codex 0.171", refused=("exec command rejected by user", "patch rejected by user")
)


def with_statuses(messages: Iterable[Message], library: _Library) -> list[Message]:
    """The chat messages, with the statuses that the texts of their library say."""
    return [_with_status(each, library) for each in messages]


def _with_status(message: Message, library: _Library) -> Message:
    # A library also marks a call that did not run as failed.
    if message.get("role") != "tool" or message.get("status") not in (None, "error"):
        return message
    status = status_by(library, text_of(message))
    return message if status is None else {**message, "status": status}


def status_by(library: _Library, text: str) -> StatusWord | None:
    """The status that a text of this library says; None for an ordinary text."""
    if any(_fits(text, each) for each in library.refused):
        return "refused"
    return error_or_unknown(text) if any(_fits(text, each) for each in library.error) else None


def _fits(text: str, template: str) -> bool:
    """Whether it is the whole text."""
    first, *rest = template.split("{}")
    if not rest:
        return text == template
    *inner, last = rest
    if not (text.startswith(first) and text.endswith(last)):
        return False
    at = len(first)
    for part in inner:
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return at + len(last) <= len(text)
