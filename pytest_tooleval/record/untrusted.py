"""Read JSON from models, providers and servers, any part of which may have an unexpected type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else ()


def as_text(value: object) -> str:
    """Return a text as it is, and an empty one for anything else."""
    return value if isinstance(value, str) else ""


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list; empty for anything else."""
    return [each for each in as_list(value) if isinstance(each, dict)]


def values_in(value: Any) -> Iterator[Any]:
    """Yield a JSON value, and the values inside it at any depth."""
    yield value
    if isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from values_in(member)
