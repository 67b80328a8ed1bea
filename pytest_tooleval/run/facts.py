"""What is known of a run besides its results."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from msgspec import Struct

from .. import __version__
from ..record.results import CaseRow
from ..record.run import SCORING_VERSION, AskedModel, Git, Run, Shard, Spent, add_up, new_run_id
from ..settings.parts import Settings
from ..verdicts.summary import ran_partly


class Part(Struct, frozen=True):
    """What one process knows of the run. An xdist worker sends it to the controller when it ends.

    Every process that collects cases knows the same of the whole run: `case_counts`, the number of cases
    of each model, selected or not; `unapplied`, the variants that apply to no selected case; lines about
    transcripts without a case (`unclaimed`), and about those that name an unknown one (`misnamed`).
    `problems`, `recorded` (answers added to cassettes) and `spent` are its own.
    """

    case_counts: Mapping[str, int] = {}
    unapplied: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    misnamed: tuple[str, ...] = ()
    shard: Shard | None = None
    problems: tuple[str, ...] = ()
    recorded: int = 0
    spent: Mapping[str, Spent] = {}


def joined(parts: Iterable[Part]) -> Part:
    """The run as its processes know it together."""
    whole = Part()
    for part in parts:
        whole = Part(
            part.case_counts,
            part.unapplied,
            part.unclaimed,
            part.misnamed,
            part.shard or whole.shard,
            tuple(dict.fromkeys((*whole.problems, *part.problems))),
            whole.recorded + part.recorded,
            add_up(whole.spent, part.spent),
        )
    return whole


class Facts:
    """What is known of a run so far. `here` is this process's own part; `pytest` is its version."""

    def __init__(
        self, root: Path, settings: Settings, started: datetime, pytest: str, here: Callable[[], Part]
    ) -> None:
        # The run's id in the history and in its document.
        self.id = new_run_id(started)
        self.selected = 0
        self.collection_errors = 0
        self.tests_failed: int | None = None
        # True once all tests have run. Until then, no end of the run is a verdict.
        self.is_complete = False
        self.exitstatus: int | None = None
        self._root = root
        self._settings = settings
        self._pytest = pytest
        self._started = started
        self._begin = time.monotonic()
        self._here = here
        self._workers: list[Part] = []

    def take_over(self, part: Part) -> None:
        """Keep an xdist worker's part."""
        self._workers.append(part)

    @property
    def known(self) -> Part:
        """What all processes know together."""
        return joined((self._here(), *self._workers))

    def about(self, rows: Sequence[CaseRow]) -> Run:
        """The run with these rows, for its document and the history."""
        known, settings = self.known, self._settings
        return Run(
            id=self.id,
            started=self._started.isoformat(timespec="seconds"),
            duration_s=round(time.monotonic() - self._begin, 3),
            pytest_tooleval=__version__,
            pytest=self._pytest,
            python=platform.python_version(),
            scoring_version=SCORING_VERSION,
            exitstatus=self.exitstatus,
            collection_errors=self.collection_errors,
            tests_failed=self.tests_failed,
            max_cost_usd=settings.asking.max_cost,
            spent=dict(known.spent),
            answers=self._answers,
            models=tuple(AskedModel(spec.label, spec.identity) for spec in settings.asking.models),
            options=dict(settings.options),
            git=self._git,
            selected=self.selected,
            collected=dict(known.case_counts),
            unapplied=known.unapplied,
            partial=ran_partly(rows) or known.shard is not None,
            shard=known.shard,
        )

    @cached_property
    def _git(self) -> Git | None:
        from ..checkout.git import git_state

        return git_state(self._root)

    @property
    def _answers(self) -> Literal["replayed", "resumed", "shared"]:
        """Where answers that this run did not request came from; shown beside their number."""
        if self._settings.asking.cassette is not None:
            return "replayed"
        return "resumed" if self._settings.asking.resume else "shared"
