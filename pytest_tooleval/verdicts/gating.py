"""How a run is gated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rules import Rule
    from .sides import Side

# Loads a run by name; among several good ones, the one with the most of these (file, model) pairs.
Load = Callable[[str, frozenset[tuple[str, str]]], "Side"]


@dataclass(frozen=True)
class Gates:
    """The gates' rules."""

    rules: tuple[Rule, ...] = ()
    confidence: float | None = None

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def fail_under(self) -> list[Rule]:
        return [rule for rule in self.rules if not rule.is_limit]


@dataclass(frozen=True)
class Baseline:
    """What to compare with: the name of a file or run, pairs of models, and the allowed drop.

    The run is None if there is none yet, which `missing` explains.
    """

    name: str
    run: Side | None
    models: Sequence[tuple[str, str]]
    max_drop: float
    load: Load
    missing: str = ""


@dataclass(frozen=True)
class Gating:
    """How a run is gated: the part of its settings that `tooleval merge` can repeat.

    `strict` fails inconclusive verdicts. With `excuses_unasked`, cases without a recorded answer or a
    key are skipped instead of errors, and a gate that has only such cases judges nothing.
    `cases_needed_by` is the preset or baseline, which needs a case, as a gate does. One that `is_typed`
    on the command line needs it even in a run of other tests.
    """

    gates: Gates = Gates()
    baseline: Baseline | None = None
    strict: bool = False
    excuses_unasked: bool = False
    cases_needed_by: str = ""
    is_typed: bool = False

    @property
    def needs_cases(self) -> bool:
        """True if what was skipped fails the run."""
        return bool(self.gates or self.cases_needed_by) and not self.excuses_unasked
