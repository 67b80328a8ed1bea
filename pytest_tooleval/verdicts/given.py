"""Reads gates and baseline from options and ini file. Without any, nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from ..errors import ConfigError
from ..errors import ToolevalError

if TYPE_CHECKING:
    from .budgets import RunBudget
    from .gates import FailUnder
    from .gates import MostErrors
    from .sides import Side

# The value of an option, else of its ini key, and the prefix for messages about it.
Given = Callable[[str], tuple[Any, str]]
# Loads a run by name; of several good ones, the one with the most of these files and models.
Load = Callable[[str, Collection[tuple[str, str]]], "Side"]


@dataclass(frozen=True)
class Gates:
    """The gates of the run; `asked` if the command line, not the ini file, has one."""

    fail_under: tuple[FailUnder, ...] = ()
    max_errors: MostErrors | None = None
    confidence: float | None = None
    budgets: tuple[RunBudget, ...] = ()
    asked: bool = False

    def __bool__(self) -> bool:
        return bool(self.fail_under or self.max_errors or self.budgets)


@dataclass(frozen=True)
class Baseline:
    """What to compare with: the name of a file or run, pairs of models, the allowed drop.

    The run is None if a preset names it, as it may not exist yet.
    """

    name: str
    run: Side | None
    models: Sequence[tuple[str, str]]
    max_drop: float
    load: Load


def read_gates(given: Given, confidence: float | None, *, by_ini: Collection[str] = ()) -> Gates:
    """The gates. `by_ini` are options that a preset of the ini file has set.

    Raises ConfigError for invalid values, and for gates that cannot be judged.
    """
    entries, where = given("fail_under")
    errors, errors_where = given("max_errors")
    if confidence is not None and not entries:
        raise ConfigError("--tooleval-confidence: needs a gate; add --tooleval-fail-under")
    budgets, budgets_where = given("budget")
    asks_errors = errors_where.startswith("--")
    if not entries and not errors and not asks_errors and not budgets:
        return Gates()
    from .budgets import RunBudget
    from .gates import FailUnder
    from .gates import MostErrors

    return Gates(
        tuple(FailUnder.parse(entry, where) for entry in entries),
        MostErrors.parse(errors, errors_where) if errors or asks_errors else None,
        confidence,
        tuple(RunBudget.parse(entry, budgets_where) for entry in budgets),
        budgets_where.startswith("--")
        or (where.startswith("--") and "fail_under" not in by_ini)
        or (asks_errors and "max_errors" not in by_ini),
    )


def read_baseline(
    name: str | None, pairs: Sequence[str], max_drop: float | None, load: Load, *, by_preset: bool
) -> Baseline | None:
    """The baseline; None without one. Raises ConfigError."""
    if name is None:
        for option, value in (("baseline-model", pairs), ("max-drop", max_drop)):
            if value:
                raise ConfigError(f"--tooleval-{option}: needs a baseline; add --tooleval-baseline")
        return None
    if not name.strip():
        raise ConfigError("--tooleval-baseline=: expected a file or the name of a run, got nothing")
    models = []
    for pair in pairs:
        # litellm's names contain no `=`.
        old, equals, new = pair.partition("=")
        if not (equals and old.strip() and new.strip()):
            raise ConfigError(f"--tooleval-baseline-model={pair}: expected OLD=NEW, two models")
        models.append((old.strip(), new.strip()))
    if by_preset:
        return Baseline(name, None, models, max_drop or 0.0, load)
    try:
        run = load(name, ())
    except ToolevalError as error:
        raise ConfigError(f"--tooleval-baseline={name}: {error}") from None
    known = dict.fromkeys(row.model for row in run.cases)
    for old, new in models:
        if old not in known:
            raise ConfigError(
                f"--tooleval-baseline-model={old}={new}: {name} has no model {old}; it has: "
                + ", ".join(filter(None, known))
            )
    return Baseline(name, run, models, max_drop or 0.0, load)
