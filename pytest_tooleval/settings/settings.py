"""The checked settings of a run, in three parts: what it asks, how it is judged, what it writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..suite.overrides import Overrides
from ..verdicts.gating import Gating
from .options import ShardNumber

if TYPE_CHECKING:
    from ..engine.models.spec import ModelSpec
    from ..replies.outside_transcript import OutsideTranscript
    from ..reports.outputs import Report


# Set for a run that has no secrets, such as a fork's.
WITHOUT_SECRETS = "TOOLEVAL_WITHOUT_SECRETS"


@dataclass(frozen=True)
class Asking:
    """What a run asks, and how."""

    models: tuple[ModelSpec, ...]
    # Judged instead of querying `models`, which are then the models of the transcripts.
    transcripts: tuple[OutsideTranscript, ...] | None
    judge: ModelSpec | None
    user: ModelSpec | None
    overrides: Overrides
    allowed_tools: tuple[str, ...]
    concurrency: int
    timeout_s: float
    variants: tuple[str, ...]
    cassette_path: Path | None
    record: Literal["none", "new", "all"]
    resume: bool
    max_cost: float | None  # in US dollars
    # The parts taken of all limits: into how many they were split, and which one this is, from 0.
    shares: tuple[tuple[int, int], ...] = ()

    def with_share(self, of: int, number: int) -> Asking:
        """These settings with share `number`, from 0, of the limits, which are split into `of`."""
        from ..engine.models.spec import share

        return dataclasses.replace(
            self,
            models=tuple(spec.with_share(of, number) for spec in self.models),
            judge=self.judge and self.judge.with_share(of, number),
            user=self.user and self.user.with_share(of, number),
            concurrency=share(self.concurrency, of, number),
            shares=(*self.shares, (of, number)),
        )

    def active_workers(self, count: int) -> int:
        """How many of `count` workers can get cases within the limits: each sends a request or more."""
        limits = [self.concurrency]
        for spec in (*self.models, *filter(None, (self.judge, self.user))):
            limits += [spec.max_concurrency or count, spec.requests_per_minute or count]
        return max(1, min(count, *limits))

    def with_same_share(self, spec: ModelSpec) -> ModelSpec:
        """Another model with the same share of its limits."""
        for of, number in self.shares:
            spec = spec.with_share(of, number)
        return spec


@dataclass(frozen=True)
class Outputs:
    """What a run writes."""

    reports: tuple[Report, ...]
    events: str | None
    history: str  # a path or URL; empty for none
    writes_properties: bool
    github: str

    def writes(self, format: str) -> bool:
        return any(report.format == format for report in self.reports)

    @property
    def explains(self) -> bool:
        """True if the scores of passed cases need explanations."""
        return self.writes("json") or self.events is not None


@dataclass(frozen=True)
class Settings:
    """The checked settings of a run."""

    # The options of the command line and its preset, for the record.
    options: Mapping[str, Any]
    preset: str
    preset_text: str
    replaced: tuple[str, ...]
    asking: Asking
    gating: Gating
    outputs: Outputs
    only_estimates: bool
    # With --tooleval-shard, all limits but `max_cost` are the shard's.
    shard: ShardNumber | None
    # The gates of the ini file, by option, if `tooleval merge` is to judge them.
    left_to_merge: Mapping[str, Any]
