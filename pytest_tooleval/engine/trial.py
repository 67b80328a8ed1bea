"""Runs one trial: with a model, or replayed from a cassette alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from ..record.transcript import Transcript
from ..suite.case import ResolvedCase
from .cassettes.cassette import Cassette
from .helper_models import Models
from .judge import require_judge, with_verdicts
from .models.spec import ModelSpec
from .play import play
from .players import Player
from .tool_source import ToolSource
from .tools.live import BeginAnew, Live, LiveTools
from .tools.mocks import Mocks
from .tools.world import WorldTools
from .users import user_in


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial to run. A lower `priority` goes first. `fresh` ignores recorded answers.

    `live` has the server of the live tools, and `allowed` are the tools that the command line allows.
    `judge` applies the case's rubrics, and `user` plays its user.
    """

    case: ResolvedCase
    model: ModelSpec
    number: int = 0
    priority: int = 0
    cassette: Cassette | None = None
    fresh: bool = False
    live: Live | None = None
    judge: ModelSpec | None = None
    user: ModelSpec | None = None
    allowed: Sequence[str] = ()

    def live_tools(self) -> LiveTools | None:
        """The trial's live tools. Close them at its end."""
        if self.live is None or not self.case.has_tool_rounds:
            return None
        return LiveTools(self.live, self.case, self.model, self.number, self.allowed, fresh=self.fresh)


async def run_trial(trial: Trial, models: Models, live: LiveTools | None = None) -> Transcript:
    """The judged transcript of a trial. Raises ModelError if an answer is missing."""
    require_judge(trial.case, trial.judge)
    try:
        try:
            transcript = await _converse(trial, models, live)
        except BeginAnew:
            transcript = await _converse(trial, models, live)
    finally:
        if live is not None:
            await live.close()
    return await with_verdicts(trial.case, transcript, trial.judge, models)


async def _converse(trial: Trial, models: Models, live: LiveTools | None) -> Transcript:
    prefix = trial.model.tool_prefix or trial.case.tool_prefix
    case, number = structs.replace(trial.case, tool_prefix=prefix), trial.number
    player = Player(case, trial.model, models, number)
    user = user_in(case, trial.user, models, number)
    world = WorldTools(case.world, case.public) if case.world is not None else None
    sources: list[ToolSource] = [world] if world is not None else [Mocks(case)]
    if live is not None:
        sources.append(live)
    try:
        transcript = await play(case, player, user, sources, trial.allowed)
    finally:
        if world is not None:
            world.close()
    return transcript if world is None else structs.replace(transcript, printed=world.printed)
