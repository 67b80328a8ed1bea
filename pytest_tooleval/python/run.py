"""What one trial of a test did, and what the test can still say and ask about it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Collection, Coroutine, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, TypeVar

from ..errors import ConfigError, ModelError, ToolevalError
from ..jsonschemas.parameters import parameters_of
from ..record.call_records import call_records
from ..record.metrics import BUILT_IN
from ..record.results import Score
from ..record.transcript import Measures, Reply, RubricVerdict, Transcript, measures_of
from ..run.asker import Asker, RunningDialogue
from ..suite.case import ResolvedCase
from ..suite.resolved import prompt_messages
from ..text import shown
from .awaiting import Coroutines
from .calls import Call, Calls
from .question import Question

_T = TypeVar("_T")


class RunUsage(NamedTuple):
    """The tokens of a run; None: unknown."""

    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None


class Judgement:
    """A judge's verdict, which is true if the rubric is met."""

    def __init__(self, judged: RubricVerdict) -> None:
        self.passed = judged.passed
        self.reason = judged.reason

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<{'met' if self.passed else 'not met'}: {self.reason}>"


class AgentRun:
    """What the agent did, up to now. `reply` continues the conversation."""

    def __init__(self, question: Question, running: RunningDialogue, asker: Asker) -> None:
        self._asked = question
        self._running = running
        self._asker = asker
        self.scores: dict[str, Score] = {}
        self.judged: list[RubricVerdict] = []
        self.coroutines = Coroutines()
        # Why there is no answer, once a reply or the judge has none.
        self.error: ModelError | None = None

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        dialogue, done = self._running.dialogue, self._running.transcript
        if dialogue.is_over and done.done() and not done.cancelled() and not done.exception():
            return done.result()
        return Transcript((*self._case.messages, *dialogue.opening), tuple(dialogue.replies))

    @property
    def _case(self) -> ResolvedCase:
        return self._asked.case

    @property
    def _replies(self) -> list[Reply]:
        return [reply for reply in self.transcript.replies if not reply.is_inner]

    @property
    def calls(self) -> Calls:
        """All calls, in order. Those of agents that were used as tools are in the transcript."""
        tools = self._tools
        calls = (Call.of(call, tools) for reply in self._replies for call in reply.calls)
        return Calls(calls) if self._asked.has_other_tools else Calls(calls, tools)

    @cached_property
    def _tools(self) -> Mapping[str, Collection[str] | None]:
        """The parameters of each offered tool; None for any."""
        return {tool.name: parameters_of(tool.parameters) for tool in self._case.tools}

    @property
    def text(self) -> str:
        """The text of the last reply."""
        replies = self._replies
        return replies[-1].text if replies else ""

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The whole conversation as chat messages."""
        return self.transcript.messages

    @property
    def _measures(self) -> Measures:
        return measures_of(self.transcript)

    @property
    def cost(self) -> float | None:
        """The cost in US dollars; None: unknown."""
        return self._measures.cost_usd

    @property
    def seconds(self) -> float | None:
        """Seconds of waiting for the agent's answers; of recorded ones, as recorded. None: unknown."""
        return self._measures.latency_s

    @property
    def usage(self) -> RunUsage:
        """The tokens."""
        measures = self._measures
        return RunUsage(measures.prompt_tokens, measures.completion_tokens, measures.reasoning_tokens)

    @property
    def world(self) -> Any:
        """The object that answered the calls; a tuple if the world has several."""
        __tracebackhide__ = True
        world = self._running.dialogue.world
        if world is None:
            raise ConfigError("the run has no world; pass world=")
        replies = self.transcript.replies
        # What the agent ran itself, instead of asking the world.
        ran = [
            each.call for row in call_records(replies) for each in row if each.ran and not each.by_suite
        ]
        names = [tool.name for tool in self._case.tools]
        objects = world.objects_with(ran)
        objects = objects or self._result(self._asker.runner.start(world.objects(ran, names)))
        return objects[0] if len(objects) == 1 else objects

    def reply(self, text: str) -> None:
        """Answer the agent, and wait until it has replied: `calls`, `text`, ... then include this turn.

        In an async test, await `areply`.
        """
        __tracebackhide__ = True
        self._say(text)
        heard = self._asker.wait(self._running.dialogue.test_may_speak)
        self._turn(heard)

    def areply(self, text: str) -> Coroutine[Any, Any, None]:
        """Like `reply`, for async tests."""
        return self.coroutines.note("run.areply", self._areply(text))

    async def _areply(self, text: str) -> None:
        __tracebackhide__ = True
        self._say(text)
        await asyncio.wrap_future(self._running.dialogue.test_may_speak)
        self._turn(None)

    def _say(self, text: str) -> None:
        __tracebackhide__ = True
        dialogue = self._running.dialogue
        if dialogue.is_over:
            why = "nothing answered its calls; pass world=" if self.calls else "it has no usable answer"
            if dialogue.world is not None:
                why = "a forbidden call, or the limit of replies, ended it" if self.calls else why
            raise ConfigError(f"the conversation is over: {why}")
        dialogue.say(prompt_messages(text))

    def _turn(self, answer: object) -> None:
        __tracebackhide__ = True
        error = answer if isinstance(answer, ModelError) else error_of(self._running)
        if error is not None:
            self._fail(error)

    def score(self, metric: str, value: float, why: str = "") -> None:
        """Add a metric from 0 to 1 to the test's row. By itself, it fails nothing."""
        __tracebackhide__ = True
        if not metric.isidentifier() or metric in BUILT_IN:
            problem = (
                "is built in" if metric in BUILT_IN else "must be of letters, digits and underscores"
            )
            raise ConfigError(f"score: the metric {metric!r} {problem}; choose a different name")
        number = float(value)
        if not 0 <= number <= 1:
            raise ConfigError(f"score: expected a number from 0 to 1, got {value!r}")
        self.scores[metric] = Score(number, why)

    def judge(self, rubric: str) -> Judgement:
        """Ask the judge whether the conversation meets a rubric: `assert run.judge("is polite")`.

        In an async test, await `ajudge`.
        """
        __tracebackhide__ = True
        judged = self._asker.wait(self._judging(rubric))
        return self._verdict(judged)

    def ajudge(self, rubric: str) -> Coroutine[Any, Any, Judgement]:
        """Like `judge`, for async tests."""
        return self.coroutines.note("run.ajudge", self._ajudge(rubric))

    async def _ajudge(self, rubric: str) -> Judgement:
        __tracebackhide__ = True
        try:
            verdict = await asyncio.wrap_future(self._judging(rubric))
        except ModelError as error:
            self._fail(error)
        return self._verdict(verdict)

    def _judging(self, rubric: str) -> concurrent.futures.Future[RubricVerdict]:
        __tracebackhide__ = True
        try:
            return self._asker.judge(self._asked.job, rubric, self.transcript)
        except ModelError as error:
            self._fail(error)

    def _verdict(self, verdict: RubricVerdict | ModelError) -> Judgement:
        __tracebackhide__ = True
        if isinstance(verdict, ModelError):
            self._fail(verdict)
        self.judged.append(verdict)
        return Judgement(verdict)

    def _result(self, future: concurrent.futures.Future[_T]) -> _T:
        __tracebackhide__ = True
        try:
            result: _T | ModelError = self._asker.wait(future)
        except ToolevalError as error:
            raise error.with_traceback(None) from None
        return self._fail(result) if isinstance(result, ModelError) else result

    def _fail(self, error: ModelError) -> NoReturn:
        """Note that there is no answer, and raise the error without our own frames."""
        __tracebackhide__ = True
        self.error = error
        raise error.with_traceback(None) from None

    def __repr__(self) -> str:
        return f"<run: {[*self.calls]!r}, text={shown(self.text, 200)!r}>"


def error_of(running: RunningDialogue) -> ModelError | None:
    """Why a conversation has no answer, if it is over and has none."""
    done = running.transcript
    if not running.dialogue.is_over:
        return None
    if done.cancelled():
        return ModelError("the run ended before the answer came", kind="cancelled")
    error = done.exception()
    if error is not None and not isinstance(error, ModelError):
        raise error
    return error
