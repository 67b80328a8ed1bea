"""A gate of a run and its verdict."""

from __future__ import annotations

from typing import Annotated
from typing import Literal

from msgspec import Meta
from msgspec import Struct

Verdict = Literal["passed", "failed", "inconclusive"]


class Gate(Struct, frozen=True, kw_only=True, gc=False):
    """A gate over many cases, and its verdict."""

    kind: Annotated[Literal["fail_under", "errors", "budget"], Meta(description="The kind of gate.")]
    name: Annotated[str, Meta(description="A short name.")]
    verdict: Annotated[
        Verdict,
        Meta(description="Its end. Inconclusive: the interval holds the value that is needed."),
    ]
    failed: Annotated[
        bool,
        Meta(description="Whether it fails the run; if inconclusive, it does with --tooleval-strict."),
    ]
    message: Annotated[str, Meta(description="All of it in one line.")]
    model: Annotated[str | None, Meta(description="The model judged; null for all.")] = None
    suite: Annotated[str | None, Meta(description="The suite judged; null for all.")] = None
    tag: Annotated[str | None, Meta(description="The tag judged; null for all cases.")] = None
    metric: Annotated[str | None, Meta(description="The metric judged.")] = None
    needed: Annotated[float | None, Meta(description="The value that passes.")] = None
    value: Annotated[float | None, Meta(description="The value reached.")] = None
    low: Annotated[float | None, Meta(description="The lower bound of its interval.")] = None
    high: Annotated[float | None, Meta(description="The upper bound of its interval.")] = None
    confidence: Annotated[float | None, Meta(description="The value of --tooleval-confidence.")] = None
    cases: Annotated[int, Meta(ge=0, description="The cases judged; the trials by a budget.")] = 0
    errors: Annotated[int, Meta(ge=0, description="The cases among them without an answer.")] = 0
    more_trials: Annotated[
        int | None,
        Meta(description="If inconclusive: about how many more trials of each case decide; null: none."),
    ] = None
    more_cases: Annotated[
        int | None,
        Meta(description="If inconclusive: about how many more cases like these decide; null: none."),
    ] = None
