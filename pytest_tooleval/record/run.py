"""What a run says of itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from datetime import timezone
from typing import Annotated
from typing import Any
from typing import Literal

from msgspec import Meta
from msgspec import Struct

from .summary import Summary

Status = Literal["finished", "running", "killed"]
# What a model may be asked for beside being judged.
Role = Literal["judge", "user"]
_AS = {"judge": " (as judge)", "user": " (as user)"}


def payer(model: str, role: Role | None) -> str:
    """Under which name is counted what a model takes."""
    return model + _AS[role] if role else model


def is_other(payer: str) -> bool:
    """Whether that name is of a judge or a simulated user."""
    return payer.endswith(tuple(_AS.values()))


class Git(Struct, frozen=True, gc=False):
    """The state of a git repository."""

    commit: Annotated[str, Meta(description="The hash of the commit.")]
    branch: Annotated[str | None, Meta(description="The branch; null when none is checked out.")]
    dirty: Annotated[
        bool | None, Meta(description="Whether files differed from the commit; null: unknown.")
    ]


class AskedModel(Struct, frozen=True, gc=False):
    """A model that was asked."""

    model: Annotated[str, Meta(description="The label of the model, as everywhere in the document.")]
    calls: Annotated[str, Meta(description="What is asked under that label, such as a litellm name.")]


class Spent(Struct, frozen=True, gc=False):
    """What was answered in a run, and so paid for, whatever became of the answers."""

    answers: Annotated[int, Meta(ge=0, description="Answers of the model, none of them cached.")] = 0
    priced: Annotated[int, Meta(ge=0, description="Those of them whose price is known.")] = 0
    usd: Annotated[float, Meta(description="What these cost, in US dollars.")] = 0.0

    @classmethod
    def of(cls, cost_usd: float | None) -> Spent:
        """One answer; None is an unknown price."""
        return cls(1, int(cost_usd is not None), cost_usd or 0.0)

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.answers + other.answers, self.priced + other.priced, self.usd + other.usd)


def add_up(*parts: Mapping[str, Spent]) -> dict[str, Spent]:
    """What was spent on each model, in all parts of a run together."""
    # Copies: another thread may count on.
    payers = dict.fromkeys(payer for part in parts for payer in list(part))
    return {payer: sum((part.get(payer, Spent()) for part in parts), Spent()) for payer in payers}


class Shard(Struct, frozen=True, kw_only=True, gc=False):
    """A part of a run, which `tooleval merge` joins with the other parts."""

    number: Annotated[int, Meta(ge=1, description="Which part it is.")]
    of: Annotated[int, Meta(ge=1, description="How many parts there are.")]
    cases: Annotated[
        int, Meta(ge=0, description="Cases that were selected for all parts, each once for each model.")
    ]
    split: Annotated[
        str, Meta(description="A hash of these cases, their suites, and which part each belongs to.")
    ]
    judging: Annotated[
        dict[str, Any],
        Meta(description="The gates of the ini file, by option, which are judged over all parts."),
    ] = {}
    misnamed: Annotated[
        tuple[str, ...], Meta(description="Recorded runs that name a case which there is not.")
    ] = ()


class Run(Struct, frozen=True, kw_only=True, gc=False):
    """The run as a whole."""

    id: Annotated[str, Meta(description="The name of the run, in the history too.")]
    started: Annotated[str, Meta(description="When it started: ISO 8601, UTC.")]
    duration_s: Annotated[float, Meta(ge=0, description="How long it took, in seconds.")] = 0.0
    status: Annotated[
        Status,
        Meta(description="Whether the run came to its end; it may still have been cut short."),
    ] = "finished"
    pytest_tooleval: Annotated[str, Meta(description="The version of pytest-tooleval.")]
    pytest: Annotated[str, Meta(description="The version of pytest.")]
    python: Annotated[str, Meta(description="The version of Python.")]
    exitstatus: Annotated[int | None, Meta(description="pytest's exit status; null when unknown.")] = (
        None
    )
    collection_errors: Annotated[int, Meta(ge=0, description="Files that could not be collected.")] = 0
    max_cost_usd: Annotated[float | None, Meta(description="The value of --tooleval-max-cost.")] = None
    spent: Annotated[
        dict[str, Spent],
        Meta(
            description="The label of a model to what was spent on it; behind that of a judge or "
            "simulated user stands `(as judge)` or `(as user)`."
        ),
    ] = {}
    answers: Annotated[
        Literal["replayed", "resumed", "shared"],
        Meta(description="Where cached answers came from: a cassette, the run before, this run."),
    ] = "shared"
    models: Annotated[tuple[AskedModel, ...], Meta(description="The models that were asked.")] = ()
    options: Annotated[
        dict[str, Any],
        Meta(description="The options of pytest-tooleval that were given, and their values."),
    ] = {}
    git: Annotated[Git | None, Meta(description="The state of the repository; null outside of one.")] = (
        None
    )
    selected: Annotated[
        int,
        Meta(ge=0, description="Cases that were selected, each once for each model; 0: unknown."),
    ] = 0
    partial: Annotated[
        bool,
        Meta(description="Whether some case of a suite was not selected, or did not come to its turn."),
    ] = False
    shard: Annotated[Shard | None, Meta(description="Of which run it is a part; null: of none.")] = None

    @property
    def stops_early(self) -> bool:
        """Whether asking ended once a verdict was decided (--tooleval-early-stop)."""
        return bool(self.options.get("early-stop"))


class SummedRun(Run, frozen=True, kw_only=True, gc=False):
    """The run as a whole, with sums over all its cases."""

    total: Annotated[Summary, Meta(description="Sums over all cases.")]


def new_run_id(started: datetime) -> str:
    """`20261122-101530-3fa9c1`: the time in UTC, and what tells two runs of one second apart."""
    return f"{started.astimezone(timezone.utc):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
