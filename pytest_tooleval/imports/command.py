"""What is imported by a command of its own, as it is no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .apply import Found

if TYPE_CHECKING:
    from ..verdicts.sides import Side


@dataclass(frozen=True)
class Surroundings:
    """The current folder, and what finds a run of the project's history."""

    folder: Path
    side_of: Callable[[str], Side]


@dataclass(frozen=True)
class Command:
    """One command, which a module of `commands` defines as its COMMAND.

    `source` is its argument in the help. `found` gets it, the surroundings and the `options`, which have
    a type and a help each.
    """

    help: str
    source: str
    found: Callable[..., Found]
    options: Mapping[str, tuple[type, str]] = field(default_factory=dict)
