"""Which case of one run is which of another: by name and content, else by content, else by name.

Suites of one name may lie in several files, so what lies in the same file is paired first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Pair = tuple[Row, Row]


@dataclass(frozen=True)
class Pairing:
    """Rows of an old and a new run of one model.

    `same` are the pairs to compare, the renamed ones among them; a `changed` pair has the same
    name, but asks or expects something else.
    """

    same: list[Pair]
    renamed: list[Pair]
    changed: list[Pair]
    added: list[Row]
    removed: list[Row]


def pair_cases(old: Sequence[Row], new: Sequence[Row]) -> Pairing:
    """Pair the rows of two runs. What has the same content is the same case, whatever its name.

    Rows of old files without `content` are paired by suite and case id alone. Cases that are
    there several times are paired in the order of the runs.
    """
    same_file, old, new = _match(old, new, _file_name_and_content)
    moved, old, new = _match(old, new, _name_and_content)
    exact = [*same_file, *moved]
    renamed, old, new = _match(old, new, _content)
    named, old, new = _match(old, new, _name)
    known = [pair for pair in named if not (_content(pair[0]) and _content(pair[1]))]
    changed = [pair for pair in named if _content(pair[0]) and _content(pair[1])]
    return Pairing([*exact, *known, *renamed], renamed, changed, new, old)


def _content(row: Row) -> Hashable:
    """What is asked and expected; with other thresholds or another rule, a pass is another thing."""
    content = row.get("content")
    thresholds = row.get("thresholds") or {}
    if not content:
        return None
    return content, tuple(sorted(thresholds.items())), row.get("pass_rule", "mean")


def _name(row: Row) -> Hashable:
    return row["suite"], row["case"]


def _name_and_content(row: Row) -> Hashable:
    content = _content(row)
    return content and (content, row["suite"], row["case"])


def _file_name_and_content(row: Row) -> Hashable:
    named = _name_and_content(row)
    return named and (row.get("file"), named)


def _match(
    old: Sequence[Row], new: Sequence[Row], key: Callable[[Row], Hashable]
) -> tuple[list[Pair], list[Row], list[Row]]:
    """Pairs of equal key (rows whose key is None have none), and what is left of both sides."""
    waiting: dict[Hashable, list[Row]] = defaultdict(list)
    for row in reversed(old):
        waiting[key(row)].append(row)
    pairs: list[Pair] = []
    left: list[Row] = []
    for row in new:
        found = waiting.get(key(row)) if key(row) is not None else None
        if found:
            pairs.append((found.pop(), row))
        else:
            left.append(row)
    matched = {id(pair[0]) for pair in pairs}
    return pairs, [row for row in old if id(row) not in matched], left
