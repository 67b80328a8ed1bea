"""How pytest-xdist's controller distributes cases to its workers. Imported only under xdist.

Stock `--dist load` sends a worker two items at a time, so its requests could hardly overlap. The
scheduler here gives each worker its whole share of the cases at the start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from ..run.nodeids import is_case
from ..settings.settings import Asking
from .processes import worker_number


class EvalScheduling(LoadScheduling):  # type: ignore[misc]
    """Distributes cases round-robin at the start, and other tests as `load` does.

    A limit below the number of workers is kept: only so many get cases. Workers stay until all are
    done, so that one can take over the cases of another that died. A session without cases is scheduled
    exactly as by `load`.
    """

    collection: list[str] | None
    maxschedchunk: int | None

    def __init__(self, config: pytest.Config, log: Any, asking: Asking) -> None:
        super().__init__(config, log)
        self._asking = asking
        self._active = 0

    def schedule(self) -> None:
        first = next(iter(self.node2collection.values()))
        if self.collection is not None or not any(map(is_case, first)):
            super().schedule()
            return
        if not self._check_nodes_have_same_collection():
            self.log("**Different tests collected, aborting run**")
            return
        self._active = self._asking.active_workers(self.numnodes)
        self.collection = first
        if self.maxschedchunk is None:
            self.maxschedchunk = len(first)
        self.pending[:] = [i for i, nodeid in enumerate(first) if not is_case(nodeid)]
        self._share_out([i for i, nodeid in enumerate(first) if is_case(nodeid)])
        for node in self.nodes:
            self.check_schedule(node)

    def _share_out(self, cases: Sequence[int]) -> None:
        """Send the cases to the active workers, which are those with the lowest numbers."""
        alive = [node for node in self.nodes if not node.shutting_down]
        asking = sorted(alive, key=lambda node: worker_number(node.gateway.id))[: self._active]
        for k, node in enumerate(asking):
            if share := cases[k :: len(asking)]:
                self.node2pending[node].extend(share)
                _send(node.send_runtest_some, share)
        if not asking:
            self.pending.extend(cases)

    def remove_node(self, node: Any) -> str | None:
        """Drop a worker that is gone. If it crashed, share out its cases and return its item."""
        running, rest = self.node2pending[node][:1], self.node2pending[node][1:]
        collection = self.collection or []
        others = [i for i in rest if not is_case(collection[i])]
        self.node2pending[node] = running + others
        crashed: str | None = super().remove_node(node)
        self._share_out([i for i in rest if is_case(collection[i])])
        return crashed

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        if self._active and self._ends_early:
            self._drop_queued()
        elif self.pending or not self._active:
            super().check_schedule(node, duration)

    @property
    def _ends_early(self) -> bool:
        """True after `-x`, when xdist would let all workers run their whole queues."""
        return bool(getattr(self.config.pluginmanager.getplugin("dsession"), "shouldstop", False))

    def _drop_queued(self) -> None:
        for node in self.nodes:
            # The first is running, and the worker already knows the second as its next item.
            if queued := self.node2pending[node][2:]:
                _send(node.send_steal, queued)

    def remove_pending_tests_from_node(self, node: Any, indices: Sequence[int]) -> None:
        """Forget the items that a worker gave back: all or, if it had begun any of them, none."""
        gone = set(indices)
        self.node2pending[node] = [i for i in self.node2pending[node] if i not in gone]


def _send(command: Callable[[Sequence[int]], None], indices: Sequence[int]) -> None:
    # A worker may have ended already, while its last messages wait for this process to read them.
    with contextlib.suppress(OSError):
        command(indices)
