"""A case on a model, as a run asks and scores it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from ..engine.runner import TrialAnswer
from ..engine.trial import Job
from ..record.results import CaseResult
from ..replies.conversation import Conversation
from ..suite.case import ResolvedCase
from ..suite.changes import changes_of
from .place import CaseAndBlank, Origin
from .scored import evaluate


@dataclass
class Task:
    """A job, and where its case stands. `unchanged` is the case that a variant changes.

    `transcripts` are those to judge if no model is queried. `attempts` counts how often it was asked.
    """

    nodeid: str
    job: Job
    origin: Origin
    unchanged: ResolvedCase | None = None
    transcripts: Sequence[Conversation] | None = None
    attempts: int = 0

    @property
    def placed(self) -> CaseAndBlank:
        return self.origin.place(self.nodeid, self.job.case, self.job.model.label)

    def result(self, answers: Sequence[TrialAnswer], *, explain: bool) -> CaseResult:
        """The result with these answers. `explain` as in `evaluate`."""
        result = evaluate(self.placed, answers, self.job.scorers, explain=explain)
        if self.unchanged is None:
            return result
        return structs.replace(result, changes=changes_of(self.unchanged, self.job.case))
