"""Building HTML and SVG in which every text is escaped, unless it was built here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ...text import printable
from ...text import shorten

_VOID = frozenset({"meta", "link", "br", "input"})
# Names and messages are hostile; one of a megabyte would be repeated in every row of a table.
_LONGEST = 1000
_LONGEST_NAME = 120

Attribute = str | int | float | None


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """An element. Children that are not `Html` are text: made printable, cut short and escaped.

    In attribute names a trailing underscore is dropped and others become hyphens: `class_`,
    `stroke_width`. An attribute of None is left out.
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{pairs}>")
    return Html(f"<{name}{pairs}>{join(children)}</{name}>")


def join(children: Iterable[str]) -> Html:
    """Children of no element in particular."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children))


def text(value: str) -> Html:
    return Html(escape(printable(shorten(value, _LONGEST))))


def named(value: str) -> Html:
    """The name of a model, suite, case or tool: cut shorter, and kept apart from its surroundings.

    Without `bdi` a name in Arabic or Hebrew would reorder the numbers beside it.
    """
    return tag("bdi", label(value), class_="name")


def label(value: str, limit: int = _LONGEST_NAME) -> str:
    """A name as plain text, for places that hold no markup."""
    return shorten(printable(shorten(value, limit)), limit) or "(no name)"


def spoken(value: str) -> Html:
    """Words for screen readers alone."""
    return tag("span", value, class_="spoken")


def _attribute(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(printable(value) if isinstance(value, str) else str(value))
