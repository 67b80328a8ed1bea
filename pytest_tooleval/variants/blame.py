"""What changed in suites since a git revision, and which of it broke cases.

Each change is reverted alone, then in pairs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from ..checkout.git import git_output
from ..errors import ConfigError, ToolevalError
from ..record.identity import Identity, shared_names
from ..record.results import CaseRow
from ..suite.case import TestCase
from ..suite.discovery import SUITE_ENDING
from ..suite.load import load_suite
from ..suite.model import Suite
from ..text import first_few, plural
from ..verdicts.statistics import higher_rate_test
from .builtin import AGAIN
from .revisions import EVERYTHING, NAMESPACE, PROMPT, read_at, tools_in, undoable

# The significance level for a difference between pass rates; see docs/guides/story.md.
_ALPHA = 0.05

_ANSWERED = ("passed", "failed")
_SHOWN = 20  # names of cases in a line
# Fields of a suite whose changes are listed by tool, or case by case.
_APART = {"tools", "namespaces", "system_prompt", "test_cases"}

_WORDS = {
    "description": "description",
    "parameters": "schema",
    "format": "format",
    "strict": "strict mode",
    "defer_loading": "defer_loading",
    "allowed_callers": "allowed callers",
    "input_examples": "examples",
    "output_schema": "output schema",
}


class Rate(NamedTuple):
    """A pass rate: passed trials out of those with an answer."""

    passes: int
    trials: int

    @property
    def share(self) -> float:
        return self.passes / self.trials

    def is_above(self, other: Rate) -> bool:
        """True if it is significantly higher."""
        return higher_rate_test(*self, *other) <= _ALPHA

    @property
    def failed_text(self) -> str:
        return f"{self.trials - self.passes} of {self.trials}"


class CaseRates(NamedTuple):
    """A case's pass rates: today, as of the revision, and with changes reverted."""

    today: Rate
    earlier: Rate
    undone: Mapping[str, Rate]

    @property
    def is_answered(self) -> bool:
        return bool(self.today.trials and self.earlier.trials)

    @property
    def is_reproduced(self) -> bool:
        """True if today's pass rate is significantly lower."""
        return self.earlier.is_above(self.today)

    def explains(self, part: str) -> bool:
        """True if reverting the part recovers the loss significantly, and at least half of it."""
        undone, today = self.undone[part], self.today
        return (
            undone.is_above(today)
            and undone.share - today.share >= (self.earlier.share - today.share) / 2
        )

    @property
    def untested_parts(self) -> list[str]:
        """The changes without answers, which are neither blamed nor cleared."""
        return [part for part, rate in self.undone.items() if not rate.trials]

    @property
    def is_unexplained(self) -> bool:
        """True if the loss is reproduced, and none of the changes, all of them tried, explains it."""
        return self.is_reproduced and not self.causes and not self.untested_parts

    @property
    def causes(self) -> list[str]:
        return [part for part in self.undone if self.explains(part)]


def broken_cases(rows: Iterable[CaseRow], against: str) -> list[Identity]:
    """Return the cases that fail unchanged and pass under the variant `against`."""
    outcomes = _outcomes(rows).items()
    return [case for case, each in outcomes if (each.get(""), each.get(against)) == ("failed", "passed")]


def uncompared_lines(rows: Iterable[CaseRow], against: str, revision: str) -> Iterator[str]:
    """Yield a line for the cases that may be newly broken, but have no answer in one of the runs."""
    outcomes = _outcomes(rows)
    names = _names(outcomes)
    unanswered: dict[str, list[str]] = {}
    for case, by_variant in outcomes.items():
        today, before = by_variant.get(""), by_variant.get(against)
        if today not in _ANSWERED and today != "skipped":
            unanswered.setdefault("today", []).append(names[case])
        elif today == "failed" and before not in _ANSWERED:
            unanswered.setdefault(f"as of {revision}", []).append(names[case])
    for when, cases in unanswered.items():
        yield f"{first_few(cases, _SHOWN)}: no answer {when}, so not compared"


def _outcomes(rows: Iterable[CaseRow]) -> dict[Identity, dict[str, str]]:
    """Return each case's outcomes by variant."""
    outcomes: dict[Identity, dict[str, str]] = {}
    for row in rows:
        outcomes.setdefault(row.identity.under(""), {})[row.variant] = row.outcome
    return outcomes


def variants_to_rerun(parts: Iterable[str], undo: str) -> list[str]:
    """Return the variants under which a broken case runs again, in new trials.

    Its first answers would overstate the loss, as it was selected by them.
    """
    return [AGAIN, undo + EVERYTHING, *(undo + part for part in parts)]


def rates_of(rows: Iterable[CaseRow], undo: str) -> dict[Identity, CaseRates]:
    """Return the pass rates of each case. The variant that reverts PART is named `undo` + PART."""
    rates: dict[Identity, dict[str, Rate]] = {}
    for row in rows:
        rates.setdefault(row.identity.under(""), {})[row.variant] = Rate(row.passes, row.answered)
    return {
        case: CaseRates(
            by_variant.pop(AGAIN, Rate(0, 0)),
            by_variant.pop(undo + EVERYTHING, Rate(0, 0)),
            {name.removeprefix(undo): rate for name, rate in by_variant.items()},
        )
        for case, by_variant in rates.items()
    }


def pairs_of(parts: Sequence[str]) -> list[str]:
    """Return all pairs of these parts, as `undo` takes them."""
    return ["+".join(pair) for pair in combinations(parts, 2)]


def blame_lines(rates_by_case: Mapping[Identity, CaseRates]) -> Iterator[str]:
    """Yield each change that broke cases, with a line for each case, then the unexplained cases."""
    blamed: dict[str, list[Identity]] = {}
    for case, of_case in rates_by_case.items():
        for part in of_case.causes if of_case.is_reproduced else ():
            blamed.setdefault(part, []).append(case)
    names = _names(rates_by_case)
    for part, cases in sorted(blamed.items(), key=lambda item: -len(item[1])):
        verb, pronoun = ("together break", "them") if "+" in part else ("breaks", "it")
        yield f"{part_text(part)} {verb}"
        for case in cases:
            undone, today = rates_by_case[case].undone[part], rates_by_case[case].today
            rates = f"fails {today.failed_text} trials, without {pronoun} {undone.failed_text}"
            yield f"  {names[case]}: {rates}"
    for case, of_case in rates_by_case.items():
        name = names[case]
        rates = f"fails {of_case.today.failed_text} trials today, {of_case.earlier.failed_text} before"
        if not of_case.is_answered:
            when = "before" if of_case.today.trials else "today"
            yield f"{name}: not answered {when}, so nothing is blamed"
        elif not of_case.is_reproduced:
            yield f"{name}: may have failed by chance ({rates}); more --trials can tell"
        elif of_case.untested_parts:
            parts = ", ".join(map(part_text, of_case.untested_parts))
            yield f"{name}: not answered without {parts}, so neither blamed nor cleared ({rates})"
        elif of_case.is_unexplained:
            yield f"{name}: no change or pair of changes explains it ({rates})"


def part_text(part: str) -> str:
    """Return a change in words, such as `the new description of search`."""
    return " and ".join(map(_one, part.split("+")))


def _one(part: str) -> str:
    if part == PROMPT:
        return "the new system prompt"
    if part.endswith(NAMESPACE):
        return f"the new description of namespace {part.removesuffix(NAMESPACE)}"
    tool, dot, field = part.rpartition(".")
    if dot and field in _WORDS:
        return f"the new {_WORDS[field]} of {tool}"
    return f"adding, removing or replacing {part}"


def _names(cases: Collection[Identity]) -> dict[Identity, str]:
    shared, several = shared_names(cases), len({case.model for case in cases}) > 1
    return {case: case.case_name(shared) + (f" on {case.model}" if several else "") for case in cases}


class Edit(NamedTuple):
    """A change to what a case offers: its text before and now, if both have one."""

    what: str
    old: str
    new: str


def edits_of(case: TestCase, suite: Suite, earlier: Suite) -> Iterator[Edit]:
    """The changes since an earlier version of a suite to the tools and the prompt of a case."""
    for part in undoable(case, suite, earlier):
        old, new = (_value_of(part, case, each) for each in (earlier, suite))
        path, old, new = _narrowed(old, new)
        yield Edit(part_text(part) + (f" at {path}" if path else ""), _text(old), _text(new))


def _narrowed(old: Any, new: Any) -> tuple[str, Any, Any]:
    """The one place at which two objects differ, as a path, and its values."""
    path = []
    while isinstance(old, dict) and isinstance(new, dict):
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if len(names) != 1 or names[0] not in old or names[0] not in new:
            break
        path.append(names[0])
        old, new = old[names[0]], new[names[0]]
    return ".".join(path), old, new


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _value_of(part: str, case: TestCase, suite: Suite) -> Any:
    """A changed part in a version of a suite; None if that does not have it."""
    if part == PROMPT:
        return suite.system_prompt or ""
    if part.endswith(NAMESPACE):
        return suite.namespaces.get(part.removesuffix(NAMESPACE), "")
    name, _, field = part.rpartition(".")
    tool = next((each for each in tools_in(case, suite) if each.name == name), None)
    return tool.definition_wire.get(field) if tool else None


def changed_suites(revision: str, root: Path) -> dict[str, list[str]]:
    """The changes of the suites in a folder that `git diff` finds, by file."""
    options = ("--name-only", "--no-renames", "--relative", "-z", revision, "--", f"*{SUITE_ENDING}")
    files = (git_output(root, "diff", *options) or "").split("\0")
    return {
        file: [*_changes(revision, root / file)] if (root / file).is_file() else ["the suite is gone"]
        for file in filter(None, files)
    }


def _changes(revision: str, file: Path) -> Iterator[str]:
    try:
        suite, earlier = load_suite(file, metrics=None), read_at(revision, file)
    except (ConfigError, ToolevalError):
        yield "its file; one of the two versions cannot be read"
        return
    if earlier is None:
        yield f"a new suite with {plural(len(suite.test_cases), 'case')}"
        return
    yield from map(part_text, _parts(suite, earlier))
    for name in Suite.model_fields:
        if name not in _APART and getattr(suite, name) != getattr(earlier, name):
            yield f"the new {name} of the suite"
    before, now = ({case.id or "": case for case in each.test_cases} for each in (earlier, suite))
    kinds = {
        "added": [id for id in now if id not in before],
        "removed": [id for id in before if id not in now],
        "changed": [
            id
            for id, case in now.items()
            if id in before
            and case.model_dump(exclude={"tools"}) != before[id].model_dump(exclude={"tools"})
        ],
    }
    for kind, ids in kinds.items():
        if ids:
            yield f"{plural(len(ids), 'case')} {kind}: {first_few(ids)}"


def _parts(suite: Suite, earlier: Suite) -> Iterator[str]:
    """The changed tools and prompts, each once; a case's own tools only if both suites have the case."""
    both = {case.id for case in earlier.test_cases}
    yield from dict.fromkeys(
        part
        for case in suite.test_cases
        if case.tools is None or case.id in both
        for part in undoable(case, suite, earlier)
    )
