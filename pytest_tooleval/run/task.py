"""A case on a model, as a run asks and scores it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from ..engine.cassettes.cassette import Cassette
from ..engine.models.spec import ModelSpec
from ..engine.models.tables import ModelTables
from ..engine.runner import TrialAnswer
from ..engine.tools.live import LiveServer
from ..engine.trial import Job
from ..engine.users import user_of
from ..record.results import CaseResult
from ..replies.outside_transcript import OutsideTranscript
from ..scoring.registry import Scorer
from ..settings.settings import Asking
from ..suite.case import ResolvedCase
from ..suite.changes import changes_of
from .evaluation import evaluate
from .origin import CaseOnModel, Origin


@dataclass
class Task:
    """A job, and where its case stands. `unchanged` is the case that a variant changes.

    `transcripts` are those to judge if no model is queried. `attempts` counts how often it was asked.
    """

    nodeid: str
    job: Job
    origin: Origin
    unchanged: ResolvedCase | None = None
    transcripts: Sequence[OutsideTranscript] | None = None
    attempts: int = 0

    @property
    def on_model(self) -> CaseOnModel:
        return self.origin.with_blank_result(self.nodeid, self.job.case, self.job.model.label)

    def result(self, answers: Sequence[TrialAnswer], *, explain: bool) -> CaseResult:
        """The result with these answers. `explain` as in `evaluate`."""
        result = evaluate(self.on_model, answers, self.job.scorers, explain=explain)
        if self.unchanged is None:
            return result
        return structs.replace(result, changes=changes_of(self.unchanged, self.job.case))


def job_of(
    case: ResolvedCase,
    model: ModelSpec,
    asking: Asking,
    tables: Callable[[], ModelTables],
    cassette: Cassette | None,
    scorers: Sequence[Scorer],
    live: LiveServer | None = None,
    *,
    asks: bool = True,
) -> Job:
    """A case's job. Raises ConfigError for a user that `tables` lack; without `asks`, it has none."""
    user = user_of(case.user, asking.user, tables) if asks else None
    if user is not None and user is not asking.user:
        user = asking.with_same_share(user)
    return Job(case, model, cassette, live, asking.judge, user, asking.allowed_tools, scorers)
