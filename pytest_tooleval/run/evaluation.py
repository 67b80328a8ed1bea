"""Turns the answers to a case's trials into its result."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ..engine.runner import TrialAnswer
from ..errors import ModelError, ScoringError
from ..record.results import CaseResult, TrialError, TrialResult
from ..scoring.registry import Scorer
from ..scoring.trial import BodyResult, ScoredTrial, require_evidence, score_trial
from ..verdicts.case import Standard, decide
from .origin import CaseOnModel


def evaluate(
    on_model: CaseOnModel,
    answers: Sequence[TrialAnswer],
    scorers: Sequence[Scorer] = (),
    *,
    explain: bool = True,
    bodies: Sequence[BodyResult] = (),
) -> CaseResult:
    """Score and judge a case. One that cannot be scored is an error.

    `explain=False` explains only the scores of cases that did not pass. `bodies` are those of a
    Python test, one for each trial.
    """
    case = on_model.case
    scored: list[ScoredTrial] = []
    try:
        require_evidence(case, scorers)
        try:
            for number, answer in enumerate(answers):
                body = bodies[number] if bodies else BodyResult({})
                scored.append(
                    ScoredTrial(TrialResult(error=TrialError(answer.kind, answer.message), trial=number))
                    if isinstance(answer, ModelError)
                    else score_trial(case, answer, scorers=scorers, trial=number, body=body)
                )
        except ScoringError:
            # A forbidden call in another trial fails the case, whatever this one cannot say.
            scored = [each for each in scored if each.result.failure == "forbidden_call"]
            if not scored:
                raise
        trials = tuple(each.result for each in scored)
        standard = Standard.of(case)
        outcome, scores, reason = decide(trials, standard)
        if explain or outcome != "passed":
            trials = tuple(each.explain() for each in scored)
    except ScoringError as error:
        return structs.replace(on_model.blank, outcome="error", reason=f"cannot be scored: {error}")
    called = tuple(dict.fromkeys(call.name for trial in trials for call in trial.calls))
    return structs.replace(
        on_model.blank,
        outcome=outcome,
        reason=reason,
        scores=scores,
        called=called,
        added_called=tuple(name for name in called if name in case.variant.added),
        passes=sum(trial.passed for trial in trials),
        answered=sum(trial.error is None for trial in trials),
        trials=trials,
    )
