"""What could not be understood in an answer: never "nothing happened"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Struct

from ..text import shorten
from .fields import doc

# Whose mistake it is: a model's answer fails, anybody else's is an error.
Owner = Literal["model", "other"]
_SHOWN = 200


class Unread(Struct, frozen=True, gc=False):
    """A part of an answer that could not be understood."""

    where: Annotated[str, doc("The field of the message.")]
    beginning: Annotated[str, doc("How the part begins.")]
    why: Annotated[str, doc("Why it could not be read.")]
    owner: Annotated[
        Owner, doc("model: the model wrote it wrongly; other: a server, agent or recording has it.")
    ] = "model"
    dialect: Annotated[str, doc("The dialect of the call, if it is one written as text.")] = ""

    @classmethod
    def at(cls, where: str, text: str, why: str, owner: Owner = "model", dialect: str = "") -> Unread:
        """Make one of a part, of which only the beginning is kept."""
        return cls(where, shorten(" ".join(text[: 4 * _SHOWN].split()), _SHOWN), why, owner, dialect)

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.why, self.beginning)))


def of_model(unread: Iterable[Unread]) -> Unread | None:
    """Return the first part that the model itself wrote wrongly."""
    return next((each for each in unread if each.owner == "model"), None)
