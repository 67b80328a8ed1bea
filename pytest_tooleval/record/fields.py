"""Field descriptions for the published schemas."""

from __future__ import annotations

from msgspec import Meta


def doc(description: str, *, ge: int | None = None) -> Meta:
    """Describe a field, with its minimum if it has one."""
    return Meta(description=description, ge=ge)
