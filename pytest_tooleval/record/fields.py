"""Descriptions of fields, which the published schemas show."""

from __future__ import annotations

from msgspec import Meta


def doc(description: str, *, ge: int | None = None) -> Meta:
    """The description of a field, and its minimum if it has one."""
    return Meta(description=description, ge=ge)
