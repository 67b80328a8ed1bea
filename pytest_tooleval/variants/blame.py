"""Which change broke which cases: each change is reverted alone, then in pairs."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from ..record.results import CaseRow
from ..record.variants import SEPARATOR
from .revisions import FIELDS
from .revisions import PROMPT

_WORDS = dict(zip(FIELDS, ("description", "schema"), strict=True))


class Rate(NamedTuple):
    """Passed trials, of those with an answer."""

    passes: int
    trials: int

    @property
    def share(self) -> float:
        return self.passes / self.trials if self.trials else 0.0

    @property
    def failed(self) -> str:
        return f"{self.trials - self.passes} of {self.trials}"


class Broken(NamedTuple):
    """A case that passes as of the revision and fails today."""

    file: str
    case: str
    model: str

    @classmethod
    def of(cls, row: CaseRow) -> Broken:
        return cls(row.file, row.case, row.model)

    def nodeid(self, variant: str = "") -> str:
        return f"{self.file}::{self.case}[{self.model}{variant and SEPARATOR + variant}]"


class Asked(NamedTuple):
    """A case's pass rates: today, as of the revision, and with changes reverted."""

    today: Rate
    earlier: Rate
    undone: Mapping[str, Rate]

    @property
    def is_reproduced(self) -> bool:
        """Whether today's pass rate is lower by at least 0.5."""
        return self.earlier.share - self.today.share >= 0.5

    def explains(self, part: str) -> bool:
        """Whether reverting it recovers at least half of the loss."""
        lost = self.earlier.share - self.today.share
        return part in self.undone and self.undone[part].share - self.today.share >= lost / 2

    @property
    def causes(self) -> list[str]:
        return [part for part in self.undone if self.explains(part)]


def broken_cases(rows: Iterable[CaseRow], against: str) -> list[Broken]:
    """The cases that fail unchanged and pass under the variant `against`."""
    outcomes = {(Broken.of(row), row.variant): row.outcome for row in rows}
    return [
        case
        for (case, variant), outcome in outcomes.items()
        if not variant and outcome == "failed" and outcomes.get((case, against)) == "passed"
    ]


def asked_of(rows: Iterable[CaseRow], against: str, undo: str) -> dict[Broken, Asked]:
    """The pass rates of each case. The variant that reverts PART is named `undo` + PART."""
    rates: dict[Broken, dict[str, Rate]] = {}
    for row in rows:
        rates.setdefault(Broken.of(row), {})[row.variant] = Rate(row.passes, row.scored)
    return {
        case: Asked(
            found.get("", Rate(0, 0)),
            found.get(against, Rate(0, 0)),
            {name.removeprefix(undo): rate for name, rate in found.items() if name.startswith(undo)},
        )
        for case, found in rates.items()
    }


def pairs_of(parts: Sequence[str]) -> list[str]:
    """All pairs of these parts, as `undo` takes them."""
    return ["+".join(pair) for pair in combinations(parts, 2)]


def blame_lines(asked: Mapping[Broken, Asked]) -> Iterator[str]:
    """A line for each change that broke cases, then for each case that none explains."""
    found: dict[str, list[Broken]] = {}
    for case, each in asked.items():
        for part in each.causes if each.is_reproduced else ():
            found.setdefault(part, []).append(case)
    several = len({case.model for case in asked}) > 1
    for part, cases in sorted(found.items(), key=lambda item: -len(item[1])):
        by_rates: dict[str, list[str]] = {}
        for case in cases:
            undone, today = asked[case].undone[part], asked[case].today
            rates = f"fails {today.failed} trials, without it {undone.failed}"
            by_rates.setdefault(rates, []).append(_name(case, several))
        told = (f"{', '.join(names)} ({rates})" for rates, names in by_rates.items())
        yield f"{part_text(part)} breaks {'; '.join(told)}"
    for case, each in asked.items():
        name = _name(case, several)
        rates = f"fails {each.today.failed} trials today, {each.earlier.failed} before"
        if not each.is_reproduced:
            yield f"{name}: passed when run again ({rates})"
        elif not each.causes:
            yield f"{name}: no change or pair of changes explains it ({rates})"


def part_text(part: str) -> str:
    """A change in words, such as `the new description of search`."""
    return " and ".join(map(_one, part.split("+")))


def _one(part: str) -> str:
    tool, dot, field = part.rpartition(".")
    if part == PROMPT:
        return "the new system prompt"
    return (
        f"the new {_WORDS[field]} of {tool}" if dot and field in _WORDS else f"{part}, added or removed,"
    )


def _name(case: Broken, several: bool) -> str:
    return f"{case.case} on {case.model}" if several else case.case
