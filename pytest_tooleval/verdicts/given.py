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
    from .rules import Rule
    from .sides import Side

# The value of an option, else of its ini key, and the prefix for messages about it.
Given = Callable[[str], tuple[Any, str]]
# Loads a run by name; of several good ones, the one with the most of these files and models.
Load = Callable[[str, Collection[tuple[str, str]]], "Side"]


@dataclass(frozen=True)
class Gates:
    """The gates of the run; `asked` if the command line, not the ini file, has one."""

    rules: tuple[Rule, ...] = ()
    confidence: float | None = None
    asked: bool = False

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def fail_under(self) -> list[Rule]:
        return [rule for rule in self.rules if not rule.over]


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
    found = {option: given(option) for option in ("fail_under", "fail_over")}
    if confidence is not None and not found["fail_under"][0]:
        raise ConfigError("--tooleval-confidence: needs a gate; add --tooleval-fail-under")
    if not any(entries for entries, _ in found.values()):
        return Gates()
    from .rules import read_rule

    return Gates(
        tuple(
            read_rule(entry, where, over=option == "fail_over")
            for option, (entries, where) in found.items()
            for entry in entries
        ),
        confidence,
        any(where.startswith("--") and option not in by_ini for option, (_, where) in found.items()),
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
