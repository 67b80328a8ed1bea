"""How pytest-xdist's controller shares test cases out to its workers. Imported only under xdist.

Stock `--dist load` tells a worker of two items at a time, so its calls could hardly overlap. The
scheduler here hands each worker its share of the cases at once.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from .nodeids import is_case
from .settings import Settings


def make_scheduler(config: pytest.Config, log: Any, settings: Settings) -> LoadScheduling | None:
    """The scheduler for `--dist load`; None leaves every other mode as it is."""
    if config.getoption("dist") != "load":
        return None

    def limits(workers: int) -> tuple[int, int]:
        # Only when there are cases: a run without them loads nothing that it does not need.
        from ..engine.models.spec import share
        from .workers import active_workers
        from .workers import lookahead

        active = active_workers(settings, workers)
        return active, lookahead(share(settings.concurrency, active, 0))

    return EvalScheduling(config, log, limits)


class EvalScheduling(LoadScheduling):  # type: ignore[misc]
    """Cases are shared out evenly at the start, every n-th to a worker; other tests as in `load`.

    At most `active` workers get cases, so that a limit smaller than their number still holds; each asks
    for as many as `ahead` before their turn.

    A worker that runs dry takes over what a slow one has not asked yet. Workers are kept until all
    are done, so that the cases of one that died find a place. A session without cases is
    scheduled exactly as `load` does it.
    """

    collection: list[str] | None
    maxschedchunk: int | None

    active: int
    ahead: int

    def __init__(
        self, config: pytest.Config, log: Any, limits: Callable[[int], tuple[int, int]]
    ) -> None:
        super().__init__(config, log)
        self._limits = limits
        self._shared_out = False
        self._dropping = False
        self._taker: Any = None

    def schedule(self) -> None:
        first = next(iter(self.node2collection.values()))
        if self.collection is not None or not any(is_case(nodeid) for nodeid in first):
            super().schedule()
            return
        if not self._check_nodes_have_same_collection():
            self.log("**Different tests collected, aborting run**")
            return
        self.active, self.ahead = self._limits(self.numnodes)
        self.collection = first
        self._shared_out = True
        if self.maxschedchunk is None:
            self.maxschedchunk = len(first)
        cases = [i for i, nodeid in enumerate(first) if is_case(nodeid)]
        self.pending[:] = [i for i, nodeid in enumerate(first) if not is_case(nodeid)]
        self._share_out(cases)
        for node in self.nodes:
            self.check_schedule(node)

    def _share_out(self, cases: list[int]) -> None:
        nodes = self._asking
        for k, node in enumerate(nodes):
            self._send(node, cases[k :: len(nodes)])

    @property
    def _asking(self) -> list[Any]:
        """The workers that get cases: those with the lowest numbers."""
        from .workers import worker_number

        alive = [node for node in self.nodes if not node.shutting_down]
        return sorted(alive, key=lambda node: worker_number(node.gateway.id))[: self.active]

    def remove_node(self, node: Any) -> str | None:
        """A worker is gone; if it crashed, the others share its cases, and its item is returned."""
        if self._taker is not None:
            self._taker = None  # whether the other side of a take-over died, or only a bystander
        if not self._shared_out or not self.node2pending[node]:
            found: str | None = super().remove_node(node)
            return found
        assert self.collection is not None
        crashed, *rest = self.node2pending.pop(node)
        self.pending.extend(i for i in rest if not is_case(self.collection[i]))
        cases = [i for i in rest if is_case(self.collection[i])]
        if self._asking:
            self._share_out(cases)
        else:
            self.pending.extend(cases)
        for other in self.nodes:
            self.check_schedule(other)
        item: str = self.collection[crashed]
        return item

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        if self.pending or not self._shared_out:
            super().check_schedule(node, duration)
        elif not self._dropping and any(len(left) < 2 for left in self.node2pending.values()):
            for idle in self._asking:
                self._take_over_for(idle)

    def _take_over_for(self, node: Any) -> None:
        if self._taker is not None or len(self.node2pending[node]) > 1:
            return
        slowest = max(self.nodes, key=lambda other: len(self.node2pending[other]))
        # The first is running, the second is known to be next; then come those asked ahead.
        unasked = self.node2pending[slowest][2 + self.ahead :]
        taken = unasked[len(unasked) // 2 :]
        if taken and slowest is not node and not slowest.shutting_down:
            self._taker = node
            slowest.send_steal(taken)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """A worker has given back what it had not begun; nothing, if it had begun any of it."""
        gone = set(indices)
        self.node2pending[node] = [i for i in self.node2pending[node] if i not in gone]
        if self._dropping:
            if not indices:
                self._drop_from(node)
            return
        taker, self._taker = self._taker, None
        if taker in self.node2pending and not taker.shutting_down:
            self._send(taker, list(indices))
        else:
            self.pending.extend(indices)
            for other in self.nodes:
                self.check_schedule(other)

    def drop_queued(self) -> None:
        """Take back everything that has not begun, because the run ends early (`-x`)."""
        if self._shared_out and not self._dropping:
            self._dropping = True
            self.pending.clear()
            for node in self.nodes:
                self._drop_from(node)

    def _drop_from(self, node: Any) -> None:
        rest = self.node2pending[node][2:]
        if rest and not node.shutting_down:
            node.send_steal(rest)

    def _send(self, node: Any, indices: list[int]) -> None:
        if indices:
            self.node2pending[node].extend(indices)
            node.send_runtest_some(indices)
