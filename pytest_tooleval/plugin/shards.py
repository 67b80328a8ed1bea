"""`--tooleval-shard`: which of the selected cases belong to this shard of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..engine.cassettes.latencies import latencies
from ..engine.cassettes.latencies import opening
from ..history import committed
from ..record.encoding import to_json
from ..record.run import Shard
from ..suite.fingerprints import content_of_bytes
from .items import CaseItem
from .nodeids import split_nodeid

if TYPE_CHECKING:
    from .asking import Asking
    from .settings import Settings


def keep_shard(
    config: pytest.Config, items: list[pytest.Item], settings: Settings, asking: Asking
) -> Shard:
    """Deselect the cases of other shards. Other tests run in every shard."""
    shard = settings.shard
    assert shard is not None

    def recorded(suite: Path) -> bytes:
        """The cassette as all shards have it, before they record."""
        cassette = asking.cassette_for(suite) if settings.cassette else None
        if cassette is None:
            return b""
        if settings.record != "none":
            return committed(cassette.path)
        return cassette.path.read_bytes() if cassette.path.is_file() else b""

    cases = {item.nodeid: item for item in items if isinstance(item, CaseItem)}
    shards = split(expected_seconds(cases.values(), recorded), shard.of)
    of_each = {nodeid: shards[case_of(nodeid)] for nodeid in sorted(cases)}
    others = [item for nodeid, item in cases.items() if of_each[nodeid] != shard.number]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if of_each.get(item.nodeid, shard.number) == shard.number]
    told = [[nodeid, cases[nodeid].origin.content, number] for nodeid, number in of_each.items()]
    return Shard(
        number=shard.number,
        of=shard.of,
        cases=len(cases),
        split=content_of_bytes(to_json(told)),
        judging=dict(settings.judging),
    )


def split(seconds: Mapping[str, float], of: int) -> dict[str, int]:
    """The shard, from 1, of each case: the longest cases first, each to the shard with the least time.

    The same on every machine, independent of the order of cases.
    """
    loads = [0] * of
    shards = {}
    # Whole milliseconds, as sums of fractions depend on their order.
    for case, weight in sorted(
        ((case, max(1, round(1000 * each))) for case, each in seconds.items()),
        key=lambda pair: (-pair[1], pair[0]),
    ):
        shard = loads.index(min(loads))
        loads[shard] += weight
        shards[case] = shard + 1
    return shards


def expected_seconds(items: Collection[CaseItem], recorded: Callable[[Path], bytes]) -> dict[str, float]:
    """The expected time of all trials of a case on all its models, by `case_of`.

    From the latencies in the suite's cassette (`recorded`). A missing one counts as the mean of the
    others, or as a second without any.
    """
    known: dict[Path, Mapping[tuple[str, str], float]] = {}
    found = []
    for item in items:
        if item.path not in known:
            known[item.path] = latencies(recorded(item.path))
        model = item.spec.identity if item.spec else ""
        found.append(known[item.path].get(opening(model, item.case.messages)))
    measured = [each for each in found if each is not None]
    mean = math.fsum(measured) / len(measured) if measured else 1.0
    seconds: dict[str, float] = {}
    for item, each in zip(items, found, strict=True):
        case = case_of(item.nodeid)
        seconds[case] = seconds.get(case, 0.0) + item.case.trials * (mean if each is None else each)
    return seconds


def case_of(nodeid: str) -> str:
    """A node id without the model, as all models and trials of a case go to one shard."""
    file, case, _ = split_nodeid(nodeid)
    return f"{file}::{case}"
