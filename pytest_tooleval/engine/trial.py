"""Runs one trial: with a model, or replayed from a cassette alone.

The user and the model or agent alternate until one of them ends the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from msgspec import structs

from ..record.transcript import Message, Reply, Transcript
from ..replies.messages import ended_turn
from ..scoring.registry import Scorer
from ..suite.case import ResolvedCase
from .cassettes.cassette import Cassette
from .dialogue import Dialogue
from .exchange.errors import NotRecorded
from .exchange.reply import AsksModels
from .judge import require_judge, with_verdicts
from .model_under_test import ModelUnderTest
from .models.spec import ModelSpec
from .tools.alterations import Alterations
from .tools.live import BeginAnew, LiveServer, LiveTools
from .tools.mocks import Mocks
from .tools.source import ToolSource
from .tools.toolbox import Toolbox
from .tools.world import WorldTools
from .users import UserInConversation, user_in


@dataclass(frozen=True, slots=True)
class Job:
    """A case on a model, with all that is needed to ask and score it.

    `live` has the server of the live tools, and `allowed` are the tools that the command line allows.
    `judge` applies the case's rubrics, `user` plays its user, and `scorers` are those of hooks.
    """

    case: ResolvedCase
    model: ModelSpec
    cassette: Cassette | None = None
    live: LiveServer | None = None
    judge: ModelSpec | None = None
    user: ModelSpec | None = None
    allowed: Sequence[str] = ()
    scorers: Sequence[Scorer] = ()


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """One trial of a job. A lower `priority` goes first. `is_fresh` ignores recorded answers.

    With a `dialogue`, a Python test speaks after the case's own turns.
    """

    job: Job
    number: int = 0
    priority: int = 0
    is_fresh: bool = False
    dialogue: Dialogue | None = None

    def live_tools(self) -> LiveTools | None:
        """The trial's live tools. Close them at its end."""
        job = self.job
        if job.live is None or not job.case.has_tool_rounds:
            return None
        return LiveTools(job.live, job.case, job.model, self.number, job.allowed, is_fresh=self.is_fresh)


async def run_trial(trial: TrialRequest, models: AsksModels, live: LiveTools | None) -> Transcript:
    """The judged transcript of a trial. Raises ModelError if an answer is missing."""
    job = trial.job
    require_judge(job.case, job.judge)
    try:
        try:
            transcript = await _converse(trial, models, live)
        except BeginAnew:
            transcript = await _converse(trial, models, live)
    finally:
        if live is not None:
            await live.close()
    return await with_verdicts(job.case, transcript, job.judge, models)


async def _converse(trial: TrialRequest, models: AsksModels, live: LiveTools | None) -> Transcript:
    job, number = trial.job, trial.number
    prefix = job.model.tool_prefix or job.case.tool_prefix
    case = structs.replace(job.case, tool_prefix=prefix)
    player = ModelUnderTest(case, job.model, models, number)
    dialogue = trial.dialogue
    user = user_in(case, job.user, models, number)
    world = WorldTools(case.world, case.public_texts) if case.world is not None else None
    if dialogue is not None:
        user, dialogue.world = dialogue.after(user), world
    sources: list[ToolSource] = [world] if world is not None else [Mocks(case)]
    if live is not None:
        sources.append(live)
    try:
        transcript = await _play(case, player, user, sources, job.allowed)
    finally:
        if world is not None:
            world.close()
    return transcript if world is None else structs.replace(transcript, printed=world.output)


async def _play(
    case: ResolvedCase,
    player: ModelUnderTest,
    user: UserInConversation,
    sources: Sequence[ToolSource] = (),
    allowed: Sequence[str] = (),
) -> Transcript:
    """Run the conversation of one trial. Raises ModelError if there is no answer.

    Cases of all kinds consist of turns; a single question or a chain has one.
    """
    messages: list[Message] = [dict(message) for message in case.messages]
    prompt: tuple[Message, ...] = tuple(messages)
    replies: list[Reply] = []
    alterations = Alterations(case.altered)
    for turn in count():
        next_messages = await user.next(replies)
        if next_messages is None:
            break
        messages += next_messages
        toolbox = Toolbox(case, sources, allowed, turn, alterations)
        try:
            played = await player.take_turn(messages, toolbox)
        except NotRecorded as missing:
            if not user.ended:
                raise
            why = "the recording lacks the model's turn after the user's last words"
            raise NotRecorded(missing.asked, f"{why}: {missing.message}") from None
        first, *rest = ended_turn(played)
        if turn:
            first = structs.replace(first, prompt=next_messages)
        else:
            prompt += next_messages
        replies += [first, *rest]
        last = replies[-1]
        if last.to_answer or last.no_answer is not None or last.unread:
            break  # the turn did not end
        # The toolbox has not seen what a provider or an agent ran itself. No later error may hide it.
        # In a case of one reply there is none, so nothing needs to be looked up.
        calls = [call for reply in played for call in reply.calls]
        if case.has_tool_rounds and await toolbox.forbids(calls):
            break
    return Transcript(prompt, tuple(replies), user=user.played)
