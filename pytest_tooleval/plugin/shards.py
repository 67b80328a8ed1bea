"""`--tooleval-shard`: selects the cases of one shard."""

from __future__ import annotations

import pytest

from ..record.encoding import to_json
from ..record.run import Shard
from ..run.shards import shard_of
from ..settings.parts import Settings
from ..suite.fingerprints import content_of_bytes
from .items import CaseItem


def keep_shard(config: pytest.Config, items: list[pytest.Item], settings: Settings) -> Shard:
    """Deselect the cases of other shards. Other tests run in every shard."""
    shard = settings.shard
    assert shard is not None
    cases = {item.nodeid: item for item in items if isinstance(item, CaseItem)}
    of_each = {nodeid: shard_of(nodeid, shard.of) for nodeid in sorted(cases)}
    others = [item for nodeid, item in cases.items() if of_each[nodeid] != shard.number]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if of_each.get(item.nodeid, shard.number) == shard.number]
    rows = [[nodeid, cases[nodeid].origin.content, number] for nodeid, number in of_each.items()]
    return Shard(
        number=shard.number,
        of=shard.of,
        cases=len(cases),
        split=content_of_bytes(to_json(rows)),
        judging=dict(settings.left_to_merge),
    )
