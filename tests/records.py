"""Results made by hand: the fields that are computed elsewhere are filled in here, too."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from pytest_tooleval.record.encoding import to_json
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.results import TrialResult
from pytest_tooleval.record.transcript import Transcript
from pytest_tooleval.record.transcript import measures_of


def as_json(value: object) -> Any:
    """The value as it is read from a file of JSON."""
    return msgspec.json.decode(to_json(value))


def trial_of(transcript: Transcript, **fields: Any) -> TrialResult:
    """A trial that took what its transcript says."""
    return TrialResult(transcript=transcript, **{**structs.asdict(measures_of(transcript)), **fields})


def result_of(**fields: Any) -> CaseResult:
    """A case that counts its trials."""
    trials = fields.get("trials", ())
    counts = {
        "called": tuple(dict.fromkeys(call.name for trial in trials for call in trial.calls)),
        "passes": sum(trial.passed for trial in trials),
        "scored": sum(trial.error is None for trial in trials),
    }
    return CaseResult(**{**counts, **fields})
