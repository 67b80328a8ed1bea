"""One background thread with one event loop, on which all trials of a process run.

Client connections belong to an event loop, so one loop serves the whole process, never a single item.
Everything public here may be called from any thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import random
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from ..errors import ModelError
from ..record.transcript import RubricVerdict, Transcript
from ..threads import DaemonThreads
from .asking.context import Context, set_by
from .asking.gateway import ModelGateway, SharedState, TrialModels
from .clients.make_client import load_client
from .exchange.receiving import receiving_tasks, waits_for_others
from .judge import judge_one, with_verdicts
from .limits.retry import RetryPolicy
from .limits.slots import Slots
from .limits.spending import Spending
from .models.spec import CallableModel, ModelSpec
from .tools.hosted import refusal
from .trial import Job, TrialRequest, run_trial

TrialAnswer = Transcript | ModelError
_T = TypeVar("_T")

DEFAULT_CONCURRENCY = 32
MODEL_TIMEOUT_S = 120.0
# At the end, for responses that have begun, and for tasks to end once they are cancelled.
_GRACE_S = _CANCEL_S = 2.0
_ARRIVED_S = 0.05


class Runner:
    """Runs trials in the background, with at most `concurrency` requests at a time in total."""

    def __init__(
        self,
        concurrency: int = DEFAULT_CONCURRENCY,
        timeout_s: float = MODEL_TIMEOUT_S,
        policy: RetryPolicy | None = None,
        spending: Spending | None = None,
    ) -> None:
        self._shared = SharedState(
            concurrency=concurrency,
            slots=Slots(concurrency),
            spending=spending or Spending(),
            timeout_s=timeout_s,
            policy=policy or RetryPolicy(),
            # Its own generator: test plugins reseed the global one before every item.
            rng=random.Random(),
        )
        # Python tests may pass several agents of one name.
        self._gateways: dict[tuple[str | int, ...], ModelGateway] = {}
        self._loaded: set[tuple[str, str]] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="tooleval-engine", daemon=True)
        self._thread.start()
        self._ready.wait()

    def submit(self, *trials: TrialRequest) -> concurrent.futures.Future[list[TrialAnswer]]:
        """Start trials of a case. The future can be cancelled."""
        self._load_for(trials[0])
        return self.start(_answers(partial(self._run_one, trial) for trial in trials))

    def _load_for(self, trial: TrialRequest) -> None:
        """Import the clients of the trial's models, unless all their answers may be recorded."""
        job, case, cassette = trial.job, trial.job.case, trial.job.cassette
        needed = (job.model, job.user, job.judge if case.rubrics else None)
        world = case.world.target if case.world else ""
        specs = [each for each in needed if each and (each.label, world) not in self._loaded]
        if specs and cassette is not None and not trial.is_fresh:
            with contextlib.suppress(ModelError):  # the request raises it again
                if not cassette.may_ask or (case.has_tool_rounds and not cassette.is_empty):
                    return
        for spec in specs:
            self._loaded.add((spec.label, world))
            if spec.missing is None:
                load_client(spec, case.world)

    def start(self, coroutine: Coroutine[Any, Any, _T]) -> concurrent.futures.Future[_T]:
        """Run a coroutine on the runner's event loop."""
        if self._closed:
            coroutine.close()
            raise RuntimeError("the runner is closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _run_one(self, trial: TrialRequest) -> Transcript:
        job, live = trial.job, trial.live_tools()
        context = Context(
            trial.priority,
            job.cassette,
            trial.is_fresh,
            set_by(job.model, job.case),
            (live.refusal if live else "") or refusal(job.case, job.model, job.allowed),
            public_texts=job.case.public_texts,
        )
        return await run_trial(trial, TrialModels(self._gateway, context), live)

    def converse(self, trial: TrialRequest) -> concurrent.futures.Future[Transcript]:
        """Start a trial whose user is a dialogue. The future can be cancelled."""
        self._load_for(trial)
        future = self.start(self._run_one(trial))
        if trial.dialogue is not None:
            future.add_done_callback(trial.dialogue.close)
        return future

    def judge(
        self, rubric: str, transcript: Transcript, judge: ModelSpec, context: Context | None = None
    ) -> concurrent.futures.Future[RubricVerdict]:
        """Judge a whole conversation by one rubric."""
        models = TrialModels(self._gateway, context or Context())
        return self.start(judge_one(rubric, transcript, judge, models))

    def submit_judging(
        self, job: Job, answers: Sequence[TrialAnswer]
    ) -> concurrent.futures.Future[list[TrialAnswer]]:
        """Let the job's judge judge conversations that ran elsewhere."""
        context = Context(cassette=job.cassette, public_texts=job.case.public_texts)
        models = TrialModels(self._gateway, context)

        async def judged(answer: TrialAnswer) -> Transcript:
            if isinstance(answer, ModelError):
                raise answer
            return await with_verdicts(job.case, answer, job.judge, models)

        return self.start(_answers(partial(judged, answer) for answer in answers))

    def _gateway(self, spec: ModelSpec) -> ModelGateway:
        identity = (id(spec.function), spec.fingerprint) if isinstance(spec, CallableModel) else ()
        key = (spec.label, *identity)
        if key not in self._gateways:
            self._gateways[key] = ModelGateway(spec, self._shared)
        return self._gateways[key]

    @property
    def problems(self) -> list[str]:
        """A line for each model with a problem."""
        return [each.problem for each in list(self._gateways.values()) if each.problem]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        # litellm and sync callables run in the default executor, which has only cores + 4 threads.
        self._loop.set_default_executor(DaemonThreads())
        self._loop.call_soon(self._ready.set)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def close(self, timeout_s: float = 10.0) -> None:
        """Cancel all trials, but read responses that have begun, and end the thread.

        Waits at most `timeout_s` seconds. Ctrl-C cancels even these.
        """
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop)
        try:
            self._thread.join(timeout_s)
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(_cancel, receiving_tasks())
            self._thread.join(_CANCEL_S)
            raise

    async def _shut_down(self) -> None:
        # `asyncio.wait` everywhere, so that a library that swallows cancellation cannot block us.
        try:
            self._shared.ended.set()
            # Read the responses that have arrived first.
            await asyncio.sleep(_ARRIVED_S)
            begun = receiving_tasks()
            await _end(_others() - begun)
            if begun:
                await asyncio.wait(begun, timeout=_GRACE_S)
            await _end(_others())
            closing = [asyncio.ensure_future(each.close()) for each in self._gateways.values()]
            if closing:
                await asyncio.wait(closing, timeout=3.0)
        finally:
            self._loop.stop()


def _others() -> set[asyncio.Task[Any]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current}


def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    _cancel(tasks)
    if tasks:
        await asyncio.wait(tasks, timeout=_CANCEL_S)


async def _answers(trials: Iterable[Callable[[], Awaitable[Transcript]]]) -> list[TrialAnswer]:
    # No coroutines: of one that is cancelled before it begins, Python warns.
    async def answer(trial: Callable[[], Awaitable[Transcript]]) -> TrialAnswer:
        try:
            return await trial()
        except ModelError as error:
            return error

    waits_for_others()
    coming = list(trials)
    if len(coming) == 1:
        return [await answer(coming[0])]  # without a task
    return await asyncio.gather(*map(answer, coming))


def result_or_error(future: concurrent.futures.Future[_T]) -> _T | ModelError:
    """Wait for a future of `Runner`. Returns its result; a ModelError if it failed or was cancelled."""
    try:
        return future.result()
    except ModelError as error:
        return error
    except concurrent.futures.CancelledError:
        return ModelError("the run ended before the answer came", kind="cancelled")
