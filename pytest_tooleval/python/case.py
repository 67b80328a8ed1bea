"""A test as a case: what its bodies ask, how they end, and the result of all together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import structs

from ..engine.runner import TrialAnswer
from ..errors import ConfigError, ModelError, ToolevalError, WorldError, error_text
from ..record.results import CaseResult, Score
from ..record.transcript import Transcript
from ..run.asker import Asker, RunningDialogue
from ..run.evaluation import evaluate
from ..scoring.trial import BodyResult
from ..secrets import clean_reason
from ..worlds.play import look
from .awaiting import Coroutines
from .question import Prompt, Question, QuestionContext, QuestionOptions, agent_of, make_question
from .run import AgentRun, error_of


class PythonCase:
    """The case of one test, whose body runs once for each trial.

    Where every body gets the same agent, the first one asks all trials at once.
    """

    def __init__(self, context: QuestionContext, asker: Asker, *, is_fresh: bool) -> None:
        self.question: Question | None = None
        self.result: CaseResult | None = None
        # The number of the running body, from 0.
        self.number = 0
        # A failure that the body did not raise, such as a subtest's.
        self.noted = ""
        self.coroutines = Coroutines()
        self._context = context
        self._asker = asker
        self._is_fresh = is_fresh
        self._running: dict[int, RunningDialogue] = {}
        self._runs: dict[int, AgentRun] = {}
        self._errors: dict[int, ModelError] = {}
        self._wrong: dict[int, str] = {}
        # The bodies that raised anything but a failed assertion.
        self._raised: set[int] = set()

    @property
    def trials(self) -> int:
        return self._context.trials

    @property
    def has_asked(self) -> bool:
        """Whether the running body has asked."""
        return self.number in self._runs or self.number in self._errors

    def ask(self, prompt: Prompt, options: QuestionOptions) -> AgentRun:
        """Ask, and wait for the agent's turn. Raises ConfigError, or ModelError without an answer."""
        __tracebackhide__ = True
        if options.get("loop") is not None:
            raise ConfigError('loop="test" needs the test\'s event loop: await tooleval.arun(...)')
        try:
            agent = agent_of(options, self._context.test)
            own_tools = agent.tools() if agent is not None and agent.kind is not None else None
            question = make_question(prompt, options, self._context, agent, own_tools)
            running = self._begin(question)
        except ToolevalError as error:
            raise error.with_traceback(None) from None  # a mistake in the test: show its line, not ours
        heard = self._asker.wait(running.dialogue.test_may_speak)
        return self._heard(heard)

    async def arun(self, prompt: Prompt, options: QuestionOptions) -> AgentRun:
        """Like `ask`, for async tests."""
        __tracebackhide__ = True
        is_tests = options.get("loop") == "test"
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise ConfigError(
                "arun needs asyncio; on another event loop, call tooleval(...), which waits"
            ) from None
        try:
            agent = agent_of(options, self._context.test)
            own_tools = None
            if agent is not None and agent.kind is not None:
                own_tools = await agent.own_tools() if is_tests else agent.tools()
            question = make_question(
                prompt, options, self._context, agent, own_tools, loop if is_tests else None
            )
            running = self._begin(question)
        except ToolevalError as error:
            raise error.with_traceback(None) from None
        # On the test's loop, nothing moves while no body awaits.
        coming = (
            [each.dialogue.test_may_speak for each in self._running.values()]
            if is_tests
            else [running.dialogue.test_may_speak]
        )
        await asyncio.gather(*map(asyncio.wrap_future, coming))
        return self._heard(None)

    def _begin(self, question: Question) -> RunningDialogue:
        """Send a question for this trial; where all bodies get the same agent, for all trials."""
        number = self.number
        if number in self._runs:
            raise ConfigError(
                "the test has asked already: run.reply(...) continues the conversation, and "
                "@pytest.mark.parametrize makes a case of each of several questions"
            )
        if self.question is None:
            self.question = question
            self._context.asks(question)
            numbers: Sequence[int] = range(self.trials) if question.is_shared else [number]
        elif question.equality_key != self.question.equality_key:
            text = f"trial {number + 1} asked another question than the first"
            error = self._errors[number] = ModelError(text, kind="replay")
            raise error
        else:
            numbers = [] if number in self._running else [number]
        for index in numbers:
            self._running[index] = self._asker.converse(question.job, index, is_fresh=self._is_fresh)
        running = self._running[number]
        self._runs[number] = self._run_of(question, running)
        return running

    def _run_of(self, question: Question, running: RunningDialogue) -> AgentRun:
        return AgentRun(question, running, self._asker)

    def _heard(self, answer: object) -> AgentRun:
        __tracebackhide__ = True
        error = answer if isinstance(answer, ModelError) else error_of(self._running[self.number])
        if error is not None:
            raise error.with_traceback(None) from None
        return self._runs[self.number]

    def end(self, raised: BaseException | None, *, is_assertion: bool = False) -> None:
        """Note how the running body ended, and end its conversation.

        `is_assertion` means that what it raised is a failed assertion.
        """
        number, run = self.number, self._runs.get(self.number)
        if number in self._running:
            running = self._running[number]
            if not running.dialogue.test_may_speak.done() and number not in self._errors:
                why = "" if raised is None else f": {reason_of(raised)}"
                message = f"the test did not wait for the answer{why}"
                self._errors[number] = ModelError(message, kind="cancelled")
                running.transcript.cancel()
            if running.dialogue.world is not None:
                running.dialogue.world.note_end()
            running.dialogue.say(None)
        if run is not None and run.error is not None and raised is run.error:
            self._errors[number] = run.error
        question = self.question
        if self.trials > 1 and question is not None and question.is_shared and question.case.world:
            try:  # each world may have begun before the others' calls
                look(question.case.world, lambda world: world)
            except WorldError as error:
                self._errors.setdefault(number, ModelError(str(error), kind="world"))
        if raised is not None:
            self._wrong[number] = reason_of(raised)
            if not is_assertion:
                self._raised.add(number)
        elif self.noted:
            self._wrong[number] = self.noted
        self.noted = ""

    def mistake(self) -> str | None:
        """The mistake of a body that did not await what it asked, so that its assertions say nothing."""
        test, run = self._context.test, self._runs.get(self.number)
        where = f"{test.file}:{test.line}"
        for coroutines in (self.coroutines, *((run.coroutines,) if run is not None else ())):
            if name := coroutines.not_awaited():
                return f"{where}: {name} was not awaited; write await {name}(...), in an async test"
        return None

    def conclude(self) -> CaseResult:
        """The result of all trials."""
        self.result = self._evaluated(self.trials)
        return self.result

    def skipped_result(self, reason: str) -> CaseResult:
        """The result of a test that skipped itself after it had asked.

        Nothing excuses a forbidden call in a trial that ran.
        """
        assert self.question is not None
        self.end(None)
        result, blank = self._evaluated(self.number + 1), self.question.on_model.blank
        if not result.fails_despite.marks:
            result = structs.replace(blank, outcome="skipped", reason=clean_reason(reason))
        self.result = result
        return result

    def _evaluated(self, trials: int) -> CaseResult:
        """The result of the first trials."""
        question = self.question
        assert question is not None
        answers = [self._answer(number) for number in range(trials)]
        bodies = [self._body(number) for number in range(trials)]
        return evaluate(question.on_model, answers, question.job.scorers, bodies=bodies)

    def _answer(self, number: int) -> TrialAnswer:
        if number in self._errors:
            return self._errors[number]
        answer: Transcript | ModelError = self._asker.wait(self._running[number].transcript)
        judged = self._runs[number].judged
        if isinstance(answer, ModelError) or not judged:
            return answer
        return structs.replace(answer, judged=(*answer.judged, *judged))

    def _body(self, number: int) -> BodyResult:
        wrong = self._wrong.get(number)
        overall = Score(1.0, "the test's assertions held") if wrong is None else Score(0.0, wrong)
        run = self._runs.get(number)
        scores = {"overall": overall, **(run.scores if run is not None else {})}
        return BodyResult(scores, wrong or "" if number in self._raised else "")

    def close(self) -> None:
        """Cancel what nobody will read."""
        for running in self._running.values():
            running.transcript.cancel()


def reason_of(raised: BaseException) -> str:
    """What a body raised, in one line."""
    if isinstance(raised, AssertionError):
        text = str(raised).partition("\n")[0].removeprefix("assert ") or "an assertion failed"
    elif isinstance(raised, Exception):
        text = error_text(raised).partition("\n")[0]
    else:  # of pytest.fail()
        text = str(raised).partition("\n")[0] or type(raised).__name__
    return clean_reason(text)
