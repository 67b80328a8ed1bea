"""A job: a case on a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engine.models.spec import ModelSpec
from ..engine.tools.live import Live
from ..scoring.registry import Scorer
from ..suite.case import ResolvedCase


@dataclass(frozen=True, slots=True)
class Job:
    """A case on a model, with all that is needed to ask and score it.

    `suite` is the path of its file, None for a suite from no file. `user` is the model that plays the
    user, and `live` has the server of its tools.
    """

    case: ResolvedCase
    model: ModelSpec
    suite: Path | None = None
    scorers: Sequence[Scorer] = ()
    live: Live | None = None
    user: ModelSpec | None = None
