"""Scoring: a case and a transcript in, scores with explanations out. Knows no model and no pytest."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import structs

from ..errors import ModelError
from ..errors import ScoringError
from ..record.calls import ToolCall
from ..record.metrics import BUILT_IN
from ..record.results import FailureCategory
from ..record.results import TrialResult
from ..record.transcript import ENDING
from ..record.transcript import SYSTEM_ROLES
from ..record.transcript import Judged
from ..record.transcript import Transcript
from ..record.transcript import gist_of
from ..record.transcript import measures_of
from ..suite.model import ResolvedCase
from ..suite.model import Suite
from ..suite.model import TestCase
from ..suite.model import resolve
from ..text import printable
from ..text import shorten
from .analysis import Analysis
from .analysis import analyse
from .analysis import failure_category
from .choices import choices_of
from .conversation import forbidden_in
from .conversation import to_judge
from .drafts import Draft
from .no_answer import without_answer
from .problems import CannotCompare
from .registry import Scorer
from .registry import run_scorer
from .thresholds import missed_thresholds
from .thresholds import over_budget
from .wrong import what_was_wrong

__all__ = ["conversation_of", "explained", "score_calls", "score_messages", "score_transcript"]


def score_calls(
    suite: Suite, case: TestCase | str, calls: Iterable[ToolCall | Mapping[str, Any]] | None
) -> TrialResult:
    """Score the calls that a model made for a case, given as a `TestCase` or by its id.

    `calls` are `ToolCall`s or `{"name": ..., "arguments": {...} | "raw text"}`. `[]` and None mean an
    answer without calls. For a chain, give the whole trajectory. A case with several turns needs
    `score_messages`, which knows the turn of each call. Raises ScoringError if the suite asks for a
    comparison that cannot be made.
    """
    resolved = resolve(suite, suite.case(case) if isinstance(case, str) else case)
    if len(resolved.turns) > 1:
        raise ScoringError(
            f"{resolved.suite}::{resolved.id}: the case has {len(resolved.turns)} turns; score_messages "
            "takes a whole conversation"
        )
    transcript = Transcript.from_calls(calls)
    if resolved.turns and transcript.calls:
        transcript = structs.replace(transcript, rounds=(*transcript.rounds, ENDING))
    return explained(resolved, score_transcript(resolved, transcript))


def score_messages(
    suite: Suite,
    case: TestCase | str,
    messages: Iterable[Mapping[str, Any]],
    judged: Mapping[str, bool] | None = None,
) -> TrialResult:
    """Score a whole conversation, given as chat messages.

    A user message after a reply begins the next turn. Replies that are part of the case's prompt are
    not scored. The answers of tools are ignored: the calls are made again on a new world. `judged` says
    which rubrics (`$judge`) are met. A reply never passes if its `refusal` or
    `finish_reason` says that it cannot be used. Raises ScoringError as `score_calls` does, and if
    `judged` lacks a rubric, or a `finish_reason` says that the provider broke off.
    """
    resolved = resolve(suite, suite.case(case) if isinstance(case, str) else case)
    try:
        transcript = conversation_of(resolved, messages)
    except ModelError as error:
        raise ScoringError(f"{resolved.suite}::{resolved.id}: {error}") from None
    with _placing(resolved):
        rubrics = to_judge(resolved, transcript) if judged else []
    met = [
        Judged(rubric, turn, judged[rubric]) for turn, rubric in rubrics if judged and rubric in judged
    ]
    transcript = structs.replace(transcript, judged=tuple(met))
    return explained(resolved, score_transcript(resolved, transcript))


def conversation_of(case: ResolvedCase, messages: Iterable[Mapping[str, Any]]) -> Transcript:
    """A conversation from its chat messages. Replies that the case's prompt holds are part of that.

    System prompts do not count: an agent may have one of its own.
    """
    said = [dict(message) for message in messages]
    spoken = [index for index, message in enumerate(said) if message.get("role") not in SYSTEM_ROLES]
    prompt = [gist_of(message) for message in case.messages if message.get("role") not in SYSTEM_ROLES]
    begins = len(prompt) <= len(spoken) and all(
        gist_of(said[index]) == wanted for index, wanted in zip(spoken, prompt, strict=False)
    )
    given = spoken[len(prompt) - 1] + 1 if prompt and begins else 0
    return Transcript.from_messages(said[given:], said[:given])


def score_transcript(
    case: ResolvedCase, transcript: Transcript, *, scorers: Sequence[Scorer] = (), trial: int = 0
) -> TrialResult:
    """Score one conversation, and judge it by the thresholds of the case.

    One that ended without a usable answer has 0 in every metric that applies, and never passes. The
    built-in scores have no explanations yet: `explained` adds them. Raises ScoringError when the
    suite asks for something that cannot be carried out, when a scorer misbehaves, or when no
    thresholded metric applies to a right answer.
    """
    measures = structs.asdict(measures_of(transcript))
    with _placing(case):
        analysis, drafts = analyse(case, transcript)
        scores = {metric: draft.score(explained=False) for metric, draft in drafts.items()}
        if transcript.no_answer is not None:
            scores = without_answer(transcript.no_answer.category, scores, scorers)
        else:
            for scorer in scorers:
                scores.update(run_scorer(scorer, case, transcript))
        result = TrialResult(
            trial=trial,
            scores=scores,
            transcript=transcript,
            calls_made=len(transcript.calls),
            choices=choices_of(case, transcript, analysis),
            others_cost_usd=transcript.others_cost_usd,
            **measures,
        )
        failure, wrong = _failure(case, result, analysis, drafts, scorers)
    return structs.replace(result, passed=failure is None, failure=failure, wrong=wrong)


def _failure(
    case: ResolvedCase,
    trial: TrialResult,
    analysis: Analysis,
    drafts: Mapping[str, Draft],
    scorers: Sequence[Scorer],
) -> tuple[FailureCategory | None, str]:
    """The category of a failure, and what was wrong in one line; (None, "") when nothing was."""
    transcript = trial.transcript or Transcript()
    if text := forbidden_in(case, transcript):
        return "forbidden_call", text
    if transcript.no_answer is not None:
        return transcript.no_answer.category, shorten(printable(str(transcript.no_answer)), 200)
    failing = _failing(case, trial.values, scorers)
    if failing:
        category = failure_category(case, transcript, analysis, failing)
        return category, what_was_wrong(category, trial.values, failing, drafts)
    if not case.budgets:
        return None, ""
    try:
        over = over_budget(trial.spent, case.budgets)
    except ScoringError as error:
        raise ScoringError(f"{case.suite}::{case.id}: {error}") from None
    return ("over_budget", over) if over else (None, "")


def explained(case: ResolvedCase, trial: TrialResult) -> TrialResult:
    """The trial with explanations of its built-in scores."""
    if trial.transcript is None or trial.no_answer is not None:
        return trial
    with _placing(case):
        _, drafts = analyse(case, trial.transcript)
        texts = {metric: draft.score(explained=True) for metric, draft in drafts.items()}
    return structs.replace(trial, scores={**trial.scores, **texts})


@contextmanager
def _placing(case: ResolvedCase) -> Iterator[None]:
    """Name the case in what cannot be compared."""
    try:
        yield
    except CannotCompare as error:
        place = f"{error.place}: " if error.place else ""
        raise ScoringError(f"{case.suite}::{case.id}: {place}{error.message}") from None


def _failing(
    case: ResolvedCase, values: Mapping[str, float | None], scorers: Sequence[Scorer]
) -> dict[str, tuple[float | None, float]]:
    """The metrics that miss their thresholds, with score and threshold."""
    for metric in case.thresholds:
        if metric not in values:
            _require_known(case, metric, scorers)
    try:
        return missed_thresholds(values, case.thresholds)
    except ScoringError as error:
        raise ScoringError(f"{case.suite}::{case.id}: {error}") from None


def _require_known(case: ResolvedCase, metric: str, scorers: Sequence[Scorer]) -> None:
    if metric not in BUILT_IN and not any(metric in scorer.metrics for scorer in scorers):
        raise ScoringError(
            f"{case.suite}::{case.id}: there is a threshold for {metric!r}, but no scorer reports it"
        )
