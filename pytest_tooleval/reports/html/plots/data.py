"""What plots are made of."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelRows:
    """A model's rows of the result document, its summary, and its place among the models."""

    index: int
    model: str
    summary: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    @property
    def answered(self) -> list[Mapping[str, Any]]:
        """Every trial with an answer."""
        return [trial for row in self.rows for trial in answered(row)]


def answered(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [trial for trial in row["trials"] if trial["error"] is None]
