"""What the command line sets for every case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ChoiceWord = Literal["required", "auto", "none"]


@dataclass(frozen=True, slots=True)
class Overrides:
    """Command-line values for every case; None keeps the value of the case, suite or model."""

    tool_choice: ChoiceWord | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    trials: int | None = None
    pass_rule: str | None = None
    thresholds: Mapping[str, float | None] | None = None
