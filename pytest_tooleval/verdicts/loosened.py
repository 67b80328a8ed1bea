"""What makes it easier to pass than before. It is reported, and never judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ..errors import ConfigError
from ..figures import TOLERANCE, given_text
from ..record.gates import Gate
from ..record.metrics import PENALTIES
from ..record.results import CaseRow
from ..record.thresholds import needed_of
from ..text import first_few
from .case import Standard
from .rules import COUNTED, SCOPES

if TYPE_CHECKING:
    from ..suite.case import ResolvedCase, TestCase
    from ..suite.model import Suite

# The share of trials that must pass under a pass rule without a number. With the mean, other trials may
# make up for a bad one.
_SHARES = {"all": 1.0, "mean": 0.9999, "any": 0.0}


def loosened_gates(old: Sequence[Gate], new: Sequence[Gate], cases: Sequence[CaseRow]) -> Iterator[str]:
    """The gates of an earlier run that need less now, or are gone though this run has their `cases`."""
    now = {_key(gate): gate for gate in new}
    for gate in old:
        newer = now.get(_key(gate))
        if newer is None:
            keys = SCOPES[gate.scope].keys
            if any(case.model == gate.model and gate.of in dict(keys(case)) for case in cases):
                yield f"gate removed: {_bound(gate)}"
        elif _is_looser(gate, newer):
            yield f"gate {_bound(gate)} -> {given_text(newer.needed or 0)}"


def _key(gate: Gate) -> tuple[object, ...]:
    return gate.kind, gate.metric, gate.scope, gate.of, gate.model


def _bound(gate: Gate) -> str:
    word = "at most" if gate.kind == "fail_over" else "at least"
    return f"{gate.name}: {word} {given_text(gate.needed or 0)}"


def _is_looser(old: Gate, new: Gate) -> bool:
    before, now = old.needed or 0.0, new.needed or 0.0
    if old.kind == "fail_under":
        return now < before - TOLERANCE
    if now <= before + TOLERANCE:
        return False
    # A share of the cases is recorded as a number, which grows with them.
    is_share = old.metric in COUNTED and old.cases and new.cases
    return not is_share or now / new.cases > before / old.cases + TOLERANCE


def loosened_cases(suite: Suite, earlier: Suite) -> Iterator[tuple[str, str]]:
    """The cases of a suite, by id, that are gone, skipped or expected to fail now, or need less."""
    now = {case.id: case for case in suite.test_cases}
    for case in earlier.test_cases:
        newer = now.get(case.id)
        texts = ["removed"] if newer is None else _of_case(suite, newer, earlier, case)
        yield from ((case.id or "", text) for text in texts)


def by_text(cases: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each text, with the cases of which it is true, each once."""
    ids_of: dict[str, list[str]] = {}
    for id, text in dict.fromkeys(cases):
        ids_of.setdefault(text, []).append(id)
    return [f"{text}: {first_few(ids)}" for text, ids in ids_of.items()]


def _of_case(suite: Suite, case: TestCase, earlier: Suite, before: TestCase) -> Iterator[str]:
    from ..suite.name_patterns import fits
    from ..suite.resolved import resolve

    for word in ("skip", "xfail"):
        if getattr(case, word) and not getattr(before, word):
            yield f"new {word}"
    try:
        new, old = resolve(suite, case), resolve(earlier, before)
    except ConfigError:  # nothing judges one of them
        return
    yield from loosened_needs(Standard.of(old), Standard.of(new))
    now = _forbidden(new)
    for tool, rest in sorted(_forbidden(old)):
        if not any(fits(each, tool) and other in (rest, "") for each, other in now):
            yield f"forbidden call removed or narrowed: {f'{tool} {rest}'.strip()}"


def _forbidden(case: ResolvedCase) -> set[tuple[str, str]]:
    """The calls that a case or one of its turns forbids: a tool, and as JSON what else must be true."""
    turns = (turn.turn.forbidden_calls or () for turn in case.turns)
    calls: set[tuple[str, str]] = set()
    for call in chain(case.forbidden_calls, *turns):
        if isinstance(call, str):
            calls.add((call, ""))
        else:
            rest = call.model_dump(exclude={"tool"}, exclude_unset=True, by_alias=True)
            text = json.dumps(rest, sort_keys=True, ensure_ascii=False) if rest else ""
            calls |= {(tool, text) for tool in call.tools}
    return calls


def loosened_needs(old: Standard, new: Standard) -> Iterator[str]:
    """What a case needs less of than before."""
    before, now = _needs(old), _needs(new)
    for name, need in before.items():
        newer = now.get(name)
        if newer is None:
            yield f"{name} removed, was {need.text}"
        elif newer.strictness < need.strictness:
            yield f"{name} {need.text} -> {newer.text}"


class _Need(NamedTuple):
    strictness: float
    text: str


def _needs(by: Standard) -> dict[str, _Need]:
    """What a case needs to pass, by name."""
    needs = {
        f"threshold of {name}": _Need(-value if name in PENALTIES else value, given_text(value))
        for name, value in by.thresholds.items()
    }
    needs |= {f"limit of {name}": _Need(-value, given_text(value)) for name, value in by.limits.items()}
    return {**needs, "pass": _Need(_share(by.pass_rule), by.pass_rule)}


def _share(rule: str) -> float:
    """How strict a pass rule is: the share of trials that must pass."""
    needed = needed_of(rule)
    return needed[0] / needed[1] if needed else _SHARES[rule]
