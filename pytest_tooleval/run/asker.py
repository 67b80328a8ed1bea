"""Asks for jobs' answers in the background, and waits for them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from ..engine.asking.context import Context
from ..engine.dialogue import Dialogue
from ..engine.judge import no_judge
from ..engine.limits.spending import Spending
from ..engine.models.spec import CallableModel, ModelSpec
from ..engine.replay import recorded_transcripts
from ..engine.runner import Runner, TrialAnswer, result_or_error
from ..engine.trial import Job, TrialRequest
from ..errors import ModelError, ScoringError
from ..record.run import Payments
from ..record.transcript import RubricVerdict, Transcript
from ..scoring.trial import require_answers, require_evidence
from ..settings.settings import Settings
from ..text import plural
from .cassettes import Cassettes
from .observers import Observers
from .process import Process

_TICK_S = 0.25
# File handles for everything else: cassettes, the history, reports, libraries, other tests.
_SPARE_HANDLES = 64

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Pending:
    """The answers to a job's trials, or a future of them.

    Recorded answers need no future: thousands of futures slow down garbage collection.
    """

    answers: Sequence[TrialAnswer] = ()
    future: concurrent.futures.Future[list[TrialAnswer]] | None = None

    @property
    def is_done(self) -> bool:
        return self.future is None or self.future.done()

    def cancel(self) -> None:
        if self.future is not None:
            self.future.cancel()


class RunningDialogue(NamedTuple):
    """A trial whose user is a Python test: what they say, and the conversation once it is over."""

    dialogue: Dialogue
    transcript: concurrent.futures.Future[Transcript]


class Asker:
    """One process's requests, and where their answers are kept. The first one starts the runner."""

    def __init__(self, process: Process, settings: Settings, observers: Observers) -> None:
        self.cassettes = Cassettes(process, settings.asking, observers)
        self._process = process
        self._settings = settings
        self._observers = observers
        self._asked = 0
        self._runner: Runner | None = None
        self._problems_before: list[str] = []
        # Why a model cannot be queried, by its label; None if it can.
        self._problems: dict[str, str | None] = {}
        # Called while waiting for an answer, with the seconds so far.
        self.waited: Callable[[float], None] = lambda seconds: None

    def cannot_ask(self, job: Job, *, has_answers: bool = False) -> str | None:
        """Why a job cannot be asked; None if it can, or may be recorded.

        A key or a callable may be missing. With `has_answers`, only the judge is asked.
        """
        cassette = job.cassette
        if cassette is not None and not (cassette.is_empty and cassette.may_ask):
            return None
        judge = job.judge if job.case.rubrics else None
        asked = [] if has_answers else [job.model, job.user]
        problems = (self.problem_of(spec) for spec in (*asked, judge) if spec is not None)
        return next(filter(None, problems), None)

    def problem_of(self, spec: ModelSpec) -> str | None:
        """Why a model cannot be asked. Cached: otherwise a failing import would run for every case."""
        if spec.label not in self._problems:
            self._problems[spec.label] = _why_not(spec)
        return self._problems[spec.label]

    def send(self, job: Job, *, is_fresh: bool = False) -> Pending:
        """Ask for all trials of a job. `is_fresh` ignores recorded answers."""
        try:
            require_evidence(job.case, job.scorers)
            require_answers(job.case)
        except ScoringError as error:  # told when it is scored; nothing is asked for it
            return Pending([ModelError(str(error), kind="world")] * job.case.trials)
        numbers = range(job.case.trials)
        return self._ask([self._trial(job, number, is_fresh=is_fresh) for number in numbers])

    def converse(self, job: Job, number: int, *, is_fresh: bool = False) -> RunningDialogue:
        """Begin a trial of a job whose user is a Python test."""
        dialogue = Dialogue()
        trial = TrialRequest(job, job.case.first_trial + number, 0, is_fresh, dialogue)
        return RunningDialogue(dialogue, self.runner.converse(trial))

    def judge(
        self, job: Job, rubric: str, transcript: Transcript
    ) -> concurrent.futures.Future[RubricVerdict]:
        """Ask the job's judge about a whole conversation. Raises ModelError if there is no judge."""
        if job.judge is None:
            raise no_judge("the test asks a judge")
        context = Context(cassette=job.cassette, public_texts=job.case.public_texts)
        return self.runner.judge(rubric, transcript, job.judge, context)

    def judge_answers(self, job: Job, answers: list[TrialAnswer]) -> Pending:
        """Answers that were given, sent to the judge if the case has rubrics."""
        if job.judge is None or not job.case.rubrics:
            return Pending(answers)
        return Pending(future=self.runner.submit_judging(job, answers))

    def _ask(self, trials: Sequence[TrialRequest]) -> Pending:
        """Replay a case's trials if all are recorded, else send them."""
        answers = recorded_transcripts(trials)
        return Pending(future=self.runner.submit(*trials)) if answers is None else Pending(answers)

    def _trial(self, job: Job, number: int, *, is_fresh: bool) -> TrialRequest:
        self._asked += 1
        return TrialRequest(job, job.case.first_trial + number, self._asked, is_fresh)

    def take(self, pending: Pending) -> list[TrialAnswer]:
        """Wait for the answer to each trial, and cancel what is in flight if the wait is interrupted."""
        if pending.future is None:
            return [*pending.answers]
        try:
            answers = self.wait(pending.future)
        except KeyboardInterrupt:
            raise  # the end of the run cancels what has not begun to come
        except BaseException:
            # A timeout plugin: nobody will read these answers.
            pending.cancel()
            raise
        return [answers] if isinstance(answers, ModelError) else answers

    def wait(self, future: concurrent.futures.Future[_T]) -> _T | ModelError:
        """Wait in short steps, so that Ctrl-C works on every platform."""
        begin = time.monotonic()
        while not future.done() and not concurrent.futures.wait([future], timeout=_TICK_S).done:
            self.waited(time.monotonic() - begin)
        return result_or_error(future)

    @property
    def runner(self) -> Runner:
        if self._runner is None:
            asking = self._settings.asking
            most = _most_in_flight(asking.concurrency)
            if most < asking.concurrency:
                self._observers.warned(
                    f"{plural(most, 'request')} at a time instead of {asking.concurrency}, because "
                    "this process may not open more files; raise the limit with ulimit -n"
                )
            self._runner = Runner(most, asking.timeout_s, spending=self._spending)
        return self._runner

    @cached_property
    def _spending(self) -> Spending:
        most, process, shard = self._settings.asking.max_cost, self._process, self._settings.shard
        if most is not None and shard is not None:
            most /= shard.of
        if process.is_remote:  # it gets its share of the limit
            return Spending(most and most / process.workers)
        return Spending(most, process.ledger_path)

    @property
    def spend(self) -> Mapping[str, Payments]:
        """The money that this process spent, by model, without amounts that are in a ledger."""
        return self._spending.apart

    @property
    def problems(self) -> tuple[str, ...]:
        """Lines about agents that block the event loop, and about cassettes that cannot be used."""
        of_models = self._runner.problems if self._runner is not None else self._problems_before
        return (*of_models, *self.cassettes.problems)

    def close(self) -> None:
        """Cancel all pending requests."""
        if self._runner is not None:
            self._runner.close()
            self._problems_before += self._runner.problems
            self._runner = None
        self.cassettes.close()


def _why_not(spec: ModelSpec) -> str | None:
    try:
        spec.require()
        if isinstance(spec, CallableModel):
            from ..engine.clients.callable_client import find_callable

            find_callable(spec)
    except ModelError as error:
        return error.message
    return None


def _most_in_flight(most: int) -> int:
    """How many connections can be open, up to `most`: each needs a file handle.

    Raises the process's limit if needed.
    """
    if sys.platform == "win32":  # without such a limit
        return most
    import resource

    used = len(os.listdir("/dev/fd"))
    needed = used + most + _SPARE_HANDLES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return most
    more = needed if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(OSError, ValueError):  # macOS has a second limit, below the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return max(1, min(most, soft - used - _SPARE_HANDLES))
