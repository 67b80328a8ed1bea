"""The cases of one process: which of them are sent, and when."""

from __future__ import annotations

from ..engine.runner import TrialAnswer
from .asker import Pending
from .eval_run import EvalRun
from .observers import Wait
from .task import Task
from .transcripts import answers_of


class CaseQueue:
    """One process's cases, sent ahead and taken in order. Each xdist worker has its own queue."""

    def __init__(self, run: EvalRun) -> None:
        self.run = run
        self._asker = run.asker
        self._asker.waited = self._waited
        self._pending: dict[str, Pending] = {}

    def ahead(self, task: Task) -> None:
        """Send a case unless it was sent already."""
        if task.nodeid in self._pending or task.attempts:
            return
        if task.transcripts is not None and not task.job.case.rubrics:
            return  # nothing to send: transcripts that need no judge
        self._pending[task.nodeid] = self._begin(task)

    def _begin(self, task: Task) -> Pending:
        if task.transcripts is not None:
            return self._asker.judge_answers(task.job, answers_of(task.job.case, task.transcripts))
        # A rerun by pytest-rerunfailures needs a new answer, not the recorded one.
        fresh, task.attempts = task.attempts > 0, task.attempts + 1
        return self._asker.send(task.job, is_fresh=fresh)

    def take(self, task: Task) -> list[TrialAnswer]:
        """Wait for the answer to each trial of a case. Sends the case now if it was not sent ahead."""
        sent = self._pending.pop(task.nodeid, None)
        return self._asker.take(self._begin(task) if sent is None else sent)

    def _waited(self, seconds: float) -> None:
        self.run.observers.waited(Wait(seconds, self.waiting, self._answered))

    def _answered(self) -> int:
        return sum(each.is_done for each in self._pending.values())

    @property
    def waiting(self) -> int:
        """Cases sent ahead whose answers nobody has taken yet."""
        return len(self._pending)

    def drop(self, nodeid: str) -> None:
        """Cancel a case that something else skipped or failed."""
        if nodeid in self._pending:
            self._pending.pop(nodeid).cancel()

    def close(self) -> None:
        """Cancel all pending requests."""
        self._asker.close()
        self._pending.clear()
