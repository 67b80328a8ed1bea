"""Why an answer cannot be used."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from .fields import doc

NoAnswerCategory = Literal["refused", "blocked", "cut_off", "malformed_call", "empty_answer", "gave_up"]
# The finish reason of an answer that continues once it is sent back, as the provider runs tools itself.
PAUSED = "pause_turn"


class NoAnswer(Struct, frozen=True, gc=False):
    """Why an answer cannot be used."""

    category: Annotated[NoAnswerCategory, doc("The failure category.")]
    reason: Annotated[str, doc("The finish reason and the provider's message.")]

    def __str__(self) -> str:
        return f"{self.category.replace('_', ' ')}: {self.reason}"
