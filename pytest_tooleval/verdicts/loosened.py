"""What makes it easier to pass than before. It is reported, and never judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..figures import TOLERANCE, given_text
from ..record.gates import Gate
from ..record.metrics import PENALTIES
from ..record.results import CaseRow
from ..text import first_few
from .rules import COUNTS, SCOPES

if TYPE_CHECKING:
    from ..suite.case import TestCase
    from ..suite.model import Suite


def loosened_gates(old: Sequence[Gate], new: Sequence[Gate], cases: Sequence[CaseRow]) -> Iterator[str]:
    """The gates of an earlier run that need less now, or are gone though this run has their `cases`."""
    now = {_key(gate): gate for gate in new}
    for gate in old:
        found = now.get(_key(gate))
        if found is None:
            keys = SCOPES[gate.scope].keys
            if any(case.model == gate.model and gate.of in dict(keys(case)) for case in cases):
                yield f"gate removed: {_needs(gate)}"
        elif _is_looser(gate, found):
            yield f"gate loosened: {_needs(gate)}; now {given_text(found.needed or 0)}"


def _key(gate: Gate) -> tuple[object, ...]:
    return gate.kind, gate.metric, gate.scope, gate.of, gate.model


def _needs(gate: Gate) -> str:
    word = "at most" if gate.kind == "fail_over" else "at least"
    return f"{gate.name}, {word} {given_text(gate.needed or 0)}"


def _is_looser(old: Gate, new: Gate) -> bool:
    before, now = old.needed or 0.0, new.needed or 0.0
    if old.kind == "fail_under":
        return now < before - TOLERANCE
    if now <= before + TOLERANCE:
        return False
    # A share of the cases is recorded as a number, which grows with them.
    is_share = old.metric in COUNTS and old.cases and new.cases
    return not is_share or now / new.cases > before / old.cases + TOLERANCE


def loosened_cases(suite: Suite, earlier: Suite) -> Iterator[str]:
    """The cases of a suite that are gone, skipped or expected to fail now, or need less than before."""
    now = {case.id or "": case for case in suite.test_cases}
    found: dict[str, list[str]] = {}
    for case in earlier.test_cases:
        id = case.id or ""
        for text in ["removed"] if id not in now else _of_case(suite, now[id], earlier, case):
            found.setdefault(text, []).append(id)
    yield from (f"{text}: {first_few(ids)}" for text, ids in found.items())


def _of_case(suite: Suite, case: TestCase, earlier: Suite, before: TestCase) -> Iterator[str]:
    from ..suite.resolved import resolve

    for word in ("skip", "xfail"):
        if getattr(case, word) and not getattr(before, word):
            yield f"new {word}"
    try:
        new, old = resolve(suite, case), resolve(earlier, before)
    except ConfigError:  # nothing judges one of them
        return
    yield from _of_bounds("threshold", old.thresholds, new.thresholds)
    yield from _of_bounds("limit", old.limits, new.limits)


def _of_bounds(word: str, old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[str]:
    for name, bound in old.items():
        is_most = word == "limit" or name in PENALTIES
        if name not in new:
            yield f"{word} of {name} removed, was {given_text(bound)}"
        elif (new[name] > bound) if is_most else (new[name] < bound):
            yield f"{word} of {name} {given_text(bound)} -> {given_text(new[name])}"
