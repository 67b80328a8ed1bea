"""Reads JSON of models, providers and servers, any part of which may have another type than expected."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any


def as_mapping(value: object) -> Mapping[str, Any]:
    """An object; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else ()


def as_text(value: object) -> str:
    """A text; empty for anything else."""
    return value if isinstance(value, str) else ""


def objects_in(value: object) -> list[dict[str, Any]]:
    """The objects in a list; empty for anything else."""
    return [each for each in as_list(value) if isinstance(each, dict)]
