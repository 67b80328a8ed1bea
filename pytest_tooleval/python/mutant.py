"""A test asked by an agent that does what a script says, to see whether the test notices."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import structs

from ..engine.models.spec import CallableModel
from ..errors import ConfigError
from ..mutation.results import MutantCall
from ..mutation.wrong_agents import AgentTrial, AgentTurn, WrongAgent
from ..record.results import CaseResult
from ..record.transcript import RubricVerdict
from ..run.asker import Asker, RunningDialogue
from ..text import canonical
from ..worlds.plain import state_of
from .case import PythonCase
from .question import Question, QuestionContext
from .run import AgentRun


class MutantCase(PythonCase):
    """A test whose agent is scripted. It costs nothing, and leaves no result in the run.

    `tried` is what came of it, once the test has ended.
    """

    def __init__(self, context: QuestionContext, asker: Asker, agent: WrongAgent) -> None:
        self.tried: AgentTrial | None = None
        self._turns = agent.turns
        context = dataclasses.replace(context, trials=1, marked_trials=None, rule=None, cassette=None)
        context = dataclasses.replace(context, plain_model=lambda: self._spec(False))
        super().__init__(context, asker, is_fresh=True)

    def _spec(self, answers: bool) -> CallableModel:
        agent = _agent(self._turns, answered=answers)
        return CallableModel("scripted", "scripted:agent", agent, folder=Path())

    def _begin(self, question: Question) -> RunningDialogue:
        if question.case.user is not None:
            raise ConfigError("a model plays the user")
        model = self._spec(question.case.world is not None)
        # An agent with its own loop may have made as many calls, and then said something.
        case = structs.replace(question.case, max_rounds=2 * question.case.round_limit + 1)
        job = dataclasses.replace(question.job, case=case, model=model, cassette=None, judge=None)
        return super()._begin(question._replace(job=job))

    def _run_of(self, question: Question, running: RunningDialogue) -> AgentRun:
        return _JudgedRun(question, running, self._asker)

    def conclude(self) -> CaseResult:
        result = super().conclude()
        error = next((trial.error for trial in result.trials if trial.error), None)
        self.tried = AgentTrial(
            result.outcome == "passed", self._state(), error.message if error is not None else ""
        )
        self.question = None  # it is no case of this run
        return result

    def _state(self) -> str | None:
        if self._running[0].dialogue.world is None:
            return None
        try:
            world = self._runs[0].world
            objects = world if isinstance(world, tuple) else (world,)
            return canonical([state_of(each) for each in objects])
        except Exception:  # a world without a state
            return None


class _JudgedRun(AgentRun):
    """A run whose judge finds every rubric met, as only a model could tell."""

    def _judging(self, rubric: str) -> concurrent.futures.Future[RubricVerdict]:
        met: concurrent.futures.Future[RubricVerdict] = concurrent.futures.Future()
        met.set_result(RubricVerdict(rubric, 0, True))
        return met


def _agent(turns: Sequence[AgentTurn], *, answered: bool) -> Callable[..., Mapping[str, Any]]:
    """An agent that makes these turns, in one reply each unless its calls are `answered`."""
    first: int | None = None  # the user's messages at the start, as a prompt may have several

    def agent(messages: Sequence[Mapping[str, Any]], tools: object) -> Mapping[str, Any]:
        nonlocal first
        roles = [message["role"] for message in messages]
        spoken = roles.count("user")
        first = spoken if first is None else first
        turn = next(iter(turns[spoken - first :]), AgentTurn((), ""))
        replies = [*turn.replies, ()] if answered else [turn.calls]
        of_turn = takewhile(lambda role: role != "user", reversed(roles))
        said = sum(role == "assistant" for role in of_turn)
        calls = next(iter(replies[said:]), ())
        return _message(calls, turn.text if said + 1 >= len(replies) else "", len(roles))

    return agent


def _message(calls: Sequence[MutantCall], text: str, index: int) -> Mapping[str, Any]:
    tool_calls = [
        {
            "id": f"call_{index}_{number}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for number, call in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": tool_calls} if tool_calls else message
