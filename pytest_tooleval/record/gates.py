"""A run's gates and their verdicts."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from .fields import doc

Verdict = Literal["passed", "failed", "inconclusive"]


class Gate(Struct, frozen=True, kw_only=True, gc=False):
    """A gate over many cases, and its verdict."""

    kind: Annotated[Literal["fail_under", "fail_over"], doc("The option of the gate.")]
    name: Annotated[str, doc("A short name.")]
    verdict: Annotated[
        Verdict, doc("The verdict. Inconclusive: the interval includes the value that is needed.")
    ]
    failed: Annotated[
        bool,
        doc("Whether it fails the run; if inconclusive, it does with --tooleval-fail-inconclusive."),
    ]
    message: Annotated[str, doc("The gate and its verdict in one line.")]
    model: Annotated[str | None, doc("The model judged; null for all.")] = None
    scope: Annotated[str, doc("Its scope: model, suite, tag or variant.")] = "model"
    of: Annotated[str | None, doc("The name in that scope; null if no case was evaluated.")] = None
    metric: Annotated[str | None, doc("The metric, or the name of --tooleval-fail-over.")] = None
    needed: Annotated[float | None, doc("The value that passes.")] = None
    value: Annotated[float | None, doc("The value reached.")] = None
    low: Annotated[float | None, doc("The lower end of its interval.")] = None
    high: Annotated[float | None, doc("The upper end of its interval.")] = None
    confidence: Annotated[float | None, doc("The value of --tooleval-confidence.")] = None
    cases: Annotated[int, doc("The cases judged; for an average trial, the trials.", ge=0)] = 0
    errors: Annotated[int, doc("The cases among them without an answer.", ge=0)] = 0
    detail: Annotated[str, doc("The message without the model.")] = ""
