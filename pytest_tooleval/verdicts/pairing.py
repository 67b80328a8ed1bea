"""Pairs the cases of two runs: by name and content, else by content, else by name.

Cases in the same file are paired first, because suites in several files may share a name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
from dataclasses import dataclass

from ..record.results import CaseRow

Pair = tuple[CaseRow, CaseRow]


@dataclass(frozen=True)
class Pairing:
    """Paired rows of an old and a new run on one model.

    `same` are the pairs to compare, including `renamed` ones. A `changed` pair has the same name, but
    different content. `not_selected` are rows of either run that the other left out.
    """

    same: list[Pair]
    renamed: list[Pair]
    changed: list[Pair]
    added: list[CaseRow]
    removed: list[CaseRow]
    not_selected: Sequence[CaseRow] = ()


def pair_cases(old: Sequence[CaseRow], new: Sequence[CaseRow]) -> Pairing:
    """Pair the rows of two runs. Cases with the same content are the same, whatever their names.

    Duplicates are paired in order.
    """
    same_file, old, new = _match(old, new, lambda row: (row.file, row.content, _name(row)))
    moved, old, new = _match(old, new, lambda row: (row.content, _name(row)))
    exact = [*same_file, *moved]
    renamed, old, new = _match(old, new, lambda row: row.content)
    changed, old, new = _match(old, new, _name)
    return Pairing([*exact, *renamed], renamed, changed, new, old)


def _name(row: CaseRow) -> Hashable:
    return row.suite, row.case


def _match(
    old: Sequence[CaseRow], new: Sequence[CaseRow], key: Callable[[CaseRow], Hashable]
) -> tuple[list[Pair], list[CaseRow], list[CaseRow]]:
    """Pairs with equal keys, and the rows left over on each side."""
    waiting: dict[Hashable, list[CaseRow]] = defaultdict(list)
    for row in reversed(old):
        waiting[key(row)].append(row)
    pairs: list[Pair] = []
    left: list[CaseRow] = []
    for row in new:
        found = waiting.get(key(row))
        if found:
            pairs.append((found.pop(), row))
        else:
            left.append(row)
    matched = {id(pair[0]) for pair in pairs}
    return pairs, [row for row in old if id(row) not in matched], left
