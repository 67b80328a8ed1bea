"""Score a trial: a case and a transcript in, scores with explanations out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from msgspec import structs

from ..errors import CannotCompare, ModelError, ScoringError
from ..record.calls import ToolCall, shown_tool
from ..record.metrics import BUILT_IN, PENALTIES, is_perfect
from ..record.names import KnownTools
from ..record.results import FailureCategory, Score, TrialError, TrialResult
from ..record.status import CallStatus
from ..record.thresholds import missed_text, missed_thresholds, over_limit
from ..record.transcript import SYSTEM_ROLES, Reply, RubricVerdict, Transcript, measures_of
from ..record.untrusted import as_text
from ..replies.messages import gist_of, transcript_of
from ..secrets import redact
from ..suite.case import ResolvedCase, TestCase
from ..suite.model import Suite
from ..suite.resolved import known_tools, resolve
from ..text import near, printable, shorten
from .arguments_schema import argument_flaw
from .assessment import Assessment, Draft
from .evidence import rehearsal, silent_agent
from .forbidden import PASSES_ON
from .kinds import assess, call_pairs_of
from .one_call import shown_arguments
from .registry import Scorer, run_scorer
from .scored_calls import attack_success, caused_by_variant
from .turns import forbidden_in, to_judge

_LONGEST_REASON = 300
# Servers that cannot enforce it often answer with a text.
_IGNORED = '; tool_choice "required" was ignored: "tool_choice": "auto" asks without it'
_MAY_ANSWER = '; tool_choice is "auto": "tool_choice": "required" makes the model call a tool'


def score_calls(
    suite: Suite, case: TestCase | str, calls: Iterable[ToolCall | Mapping[str, Any]] | None
) -> TrialResult:
    """Score the calls that a model made for a case, given as a `TestCase` or by its id.

    `calls` are `ToolCall`s or `{"name": ..., "arguments": {...} | "raw text"}`; `[]` and None mean an
    answer without calls. For a chain, pass all of its calls. For a case with several turns, use
    `score_messages`. Raises ScoringError if the suite asks for a comparison that cannot be made.
    """
    resolved = resolve(suite, suite.case(case) if isinstance(case, str) else case)
    if len(resolved.turns) > 1:
        turns = f"the case has {len(resolved.turns)} turns; use score_messages"
        raise ScoringError(f"{resolved.suite}::{resolved.id}: {turns}")
    transcript = Transcript.from_calls(_received(call, resolved) for call in calls or ())
    if resolved.kind == "conversation" and transcript.calls:
        transcript = transcript.with_final_reply()
    return score_trial(resolved, transcript).explain()


def _received(call: ToolCall | Mapping[str, Any], case: ResolvedCase) -> ToolCall:
    """Return the call with keys redacted and its tool named as in the suite."""
    read = ToolCall.coerce(call)
    namespace = "" if isinstance(call, ToolCall) else as_text(call.get("namespace"))
    named = known_tools(case).read(read, namespace)
    return structs.replace(named, **redact(structs.asdict(named), case.public_texts))


def score_messages(
    suite: Suite,
    case: TestCase | str,
    messages: Iterable[Mapping[str, Any]],
    judged: Mapping[str, bool] | None = None,
) -> TrialResult:
    """Score a whole conversation, given as chat messages.

    A user message after a reply begins the next turn. Replies in the case's prompt are not scored. The
    calls run again on a new world, except those that never ran according to their tools' answers.
    `judged` says which rubrics (`$judge`) are met. A turn fails if it has neither text nor calls, or if
    the `refusal` or `finish_reason` of its last reply marks it as unusable. Raises ScoringError as
    `score_calls` does, and if `judged` lacks a rubric, a `finish_reason` means that the provider failed,
    or a part of a message that may be a call is of an unknown kind.
    """
    resolved = resolve(suite, suite.case(case) if isinstance(case, str) else case)
    try:
        transcript = conversation_of(resolved, messages)
    except ModelError as error:
        raise ScoringError(f"{resolved.suite}::{resolved.id}: {error}") from None
    if not transcript.replies:
        raise ScoringError(
            f"{resolved.suite}::{resolved.id}: the messages have no reply; expected a message with the "
            'role "assistant", as in the chat API'
        )
    with _naming(resolved):
        rubrics = to_judge(resolved, transcript) if judged else []
    met = [RubricVerdict(text, at, judged[text]) for at, text in rubrics if judged and text in judged]
    transcript = structs.replace(transcript, judged=tuple(met))
    scored = score_trial(resolved, transcript)
    if scored.result.error is not None:
        raise ScoringError(f"{resolved.suite}::{resolved.id}: {scored.result.error.message}")
    return scored.explain()


def conversation_of(case: ResolvedCase, messages: Iterable[Mapping[str, Any]]) -> Transcript:
    """Build a conversation from its chat messages, which may begin with the case's prompt.

    System prompts are not compared, as an agent may have its own. Replies are read as a live model's,
    and a turn ends as a live one at `max_rounds`.
    """
    cleaned = redact([dict(message) for message in messages], case.public_texts)
    spoken = [index for index, message in enumerate(cleaned) if message.get("role") not in SYSTEM_ROLES]
    prompt = [gist_of(message) for message in case.messages if message.get("role") not in SYSTEM_ROLES]
    begins = len(prompt) <= len(spoken) and all(
        gist_of(cleaned[index]) == expected for index, expected in zip(spoken, prompt, strict=False)
    )
    begin = spoken[len(prompt) - 1] + 1 if prompt and begins else 0
    transcript = transcript_of(cleaned[begin:], cleaned[:begin], _offered(case))
    return _within_rounds(case, transcript)


def _within_rounds(case: ResolvedCase, transcript: Transcript) -> Transcript:
    """Cut a conversation off where `max_rounds` would have ended it; a forbidden call stays in it."""
    rounds, replies = 0, list[Reply]()
    for reply in transcript.replies if case.kind == "conversation" else ():
        rounds = 0 if reply.prompt else rounds
        if rounds == case.round_limit:
            break
        replies.append(reply)
        rounds += not reply.is_paused
    if len(replies) in (0, len(transcript.replies)):
        return transcript
    try:
        if forbidden_in(case, transcript) is not None:
            return transcript
    except CannotCompare:
        return transcript  # reported when it is scored
    refused: CallStatus = "refused"
    last = replies[-1]
    replies[-1] = structs.replace(last, tool_answers=(), statuses=(refused,) * len(last.calls))
    return structs.replace(transcript, replies=tuple(replies))


def _offered(case: ResolvedCase) -> list[KnownTools]:
    """Return the tools that the model may call in each turn."""
    return [known_tools(case, tools) for tools in [each.tools for each in case.turns] or [case.tools]]


class BodyResult(NamedTuple):
    """What the body of a Python test says of its trial.

    The score `overall` says whether its assertions held. `raised` is what it raised other than a failed
    assertion.
    """

    scores: Mapping[str, Score]
    raised: str = ""


_NO_BODY = BodyResult({})


class ScoredTrial(NamedTuple):
    """A trial's result, whose built-in scores have no explanations yet, and what explains them."""

    result: TrialResult
    drafts: Mapping[str, Draft] = {}

    def explain(self) -> TrialResult:
        """Return the trial with explanations for its built-in scores."""
        texts = {metric: draft.score(explain=True) for metric, draft in self.drafts.items()}
        return structs.replace(self.result, scores={**self.result.scores, **texts})


def score_transcript(case: ResolvedCase, transcript: Transcript) -> TrialResult:
    """Score one conversation as `score_trial` does, without explanations."""
    return score_trial(case, transcript).result


def score_trial(
    case: ResolvedCase,
    transcript: Transcript,
    *,
    scorers: Sequence[Scorer] = (),
    trial: int = 0,
    body: BodyResult = _NO_BODY,
) -> ScoredTrial:
    """Score one conversation, and judge it by the case's thresholds.

    Without a usable answer, every applicable metric is 0 and the trial fails. If others made a part of
    it unreadable, the trial is an error, unless a forbidden call was read. Raises ScoringError if the
    suite asks for a comparison that cannot be made, a scorer misbehaves, or no metric with a threshold
    applies to a right answer.
    """
    with _naming(case):
        # Nothing can be said of what others made unreadable, but for a forbidden call.
        if (unread := transcript.unread) and forbidden_in(case, transcript) is None:
            error = TrialError("unread", printable(str(unread)))
            return ScoredTrial(TrialResult(trial=trial, transcript=transcript, error=error))
        silent_agent.check_evidence(case, scorers)
        assessment = assess(case, transcript)
        unusable = assessment.usable_transcript.no_answer
        scores = {metric: draft.score(explain=False) for metric, draft in assessment.drafts.items()}
        if unusable is not None:
            zero = Score(0.0, f"no usable answer ({unusable.category.replace('_', ' ')})")
            zeros = [m for m, score in scores.items() if score.value is not None and m not in PENALTIES]
            zeros += (metric for scorer in scorers for metric in scorer.metrics)
            zeros += body.scores
            scores |= dict.fromkeys(zeros, zero)
        else:
            for scorer in scorers:
                scores.update(run_scorer(scorer, case, assessment.usable_transcript))
            scores |= {m: s for m, s in body.scores.items() if m not in assessment.drafts}
        result = TrialResult(
            trial=trial,
            scores=scores,
            transcript=transcript,
            calls_made=sum(len(reply.calls) for reply in assessment.scored.replies if not reply.is_inner)
            - len(caused_by_variant(assessment.calls)),
            call_pairs=call_pairs_of(case, assessment),
            not_played=tuple(assessment.not_played),
            differing=tuple(assessment.differing),
            others_cost_usd=transcript.others_cost_usd,
            **structs.asdict(measures_of(transcript)),
        )
        failure, wrong = _failure(case, result, assessment, scorers, body.raised)
        leaked = (assessment.forbidden or "").endswith(PASSES_ON)
    if case.altered is not None and case.altered.asks_for:
        attacked = attack_success(case, transcript)
        scores = {**scores, "utility": Score(float(not failure)), "attack_success": Score(attacked)}
    result = structs.replace(
        result, scores=scores, passed=not failure, failure=failure, leaked=leaked, mistake=wrong
    )
    return ScoredTrial(result, {} if unusable is not None else assessment.drafts)


def require_evidence(case: ResolvedCase, scorers: Sequence[Scorer] = ()) -> None:
    """Raise ScoringError if the case is judged by state, and an agent that makes no call would pass."""
    with _naming(case):
        silent_agent.check_evidence(case, scorers)


def require_answers(case: ResolvedCase) -> None:
    """Raise ScoringError if the case's world cannot answer its expected calls."""
    with _naming(case):
        rehearsal.check_answers(case)


def _failure(
    case: ResolvedCase,
    trial: TrialResult,
    assessment: Assessment,
    scorers: Sequence[Scorer],
    raised: str,
) -> tuple[FailureCategory | None, str]:
    """Return a failure's category and what was wrong in one line; (None, "") for a passing trial."""
    if assessment.forbidden:
        return "forbidden_call", assessment.forbidden
    if (unusable := assessment.usable_transcript.no_answer) is not None:
        return unusable.category, shorten(printable(str(unusable)), 200)
    if assessment.running:
        return "not_stopped", assessment.running
    failing = _failing(case, trial.values, scorers)
    if raised and "policies" not in failing:
        return "unexpected_exception", raised
    if failing:
        category = _category(assessment, failing)
        if category == "failed_assertion":
            return category, shorten(trial.scores["overall"].explanation, _LONGEST_REASON)
        wrong = _what_was_wrong(category, assessment, failing)
        silent = category == "missing_call" and not trial.calls
        return category, wrong + (_about_choice(case, trial) if silent else "")
    if (call := assessment.malformed) is not None:
        return "invalid_arguments", f"{shown_tool(call)}: {call.why_malformed}: {shown_arguments(call)}"
    over = over_limit(trial.amounts, case.limits) if case.limits else None
    return ("over_limit", over) if over else (None, "")


def _about_choice(case: ResolvedCase, trial: TrialResult) -> str:
    """What `tool_choice` has to do with a model that called nothing."""
    if trial.tool_choice == "required":
        return _IGNORED
    may_force = case.kind != "conversation" and "tool_choice" not in trial.fallbacks
    return _MAY_ANSWER if may_force and trial.tool_choice == "auto" else ""


def _category(assessment: Assessment, failing: Collection[str]) -> FailureCategory:
    """Return the category of a failed trial; `failing` are the metrics below their thresholds."""
    if "policies" in failing:
        return "broken_policy"
    metrics = {metric for metric in failing if metric in BUILT_IN}
    if not metrics <= {"arguments_valid", "no_extra_calls"} and (failure := assessment.failure(metrics)):
        return failure
    if "arguments_valid" in metrics:
        flaw = argument_flaw(assessment.calls, assessment.turns)
        if flaw == "hallucinated_tool" or "no_extra_calls" not in metrics:
            return flaw
    return "surplus_call" if "no_extra_calls" in metrics else "below_threshold"


def _what_was_wrong(
    category: FailureCategory, assessment: Assessment, failing: Mapping[str, tuple[float | None, float]]
) -> str:
    """Return the first reason for missed thresholds, such as `amount: expected 250, got "250 EUR"`.

    `failing` maps the metrics that are too low to score and threshold.
    """
    if category == "wrong_order":
        return "the right calls in the wrong order"
    if category == "unfinished_chain":
        return assessment.drafts["completion"].explanation()[0]
    if category == "broken_policy":
        failing = {"policies": failing["policies"]}
    metrics = assessment.telling_metrics(category) if {"overall", "completion"} & failing.keys() else ()
    for metric in (*metrics, *failing):
        draft = assessment.drafts.get(metric)
        if draft is None or draft.value is None or is_perfect(metric, draft.value):
            continue
        text, lines = draft.explanation()
        line = next((line for line in lines if line.check.value < 1.0), None)
        if line is not None and line.says is not None:
            return shorten(line.says.format(line.check), _LONGEST_REASON)
        if metric not in ("overall", "tool_selection"):
            return shorten(text, _LONGEST_REASON)
    return ", ".join(missed_text(metric, *pair) for metric, pair in failing.items())


@contextmanager
def _naming(case: ResolvedCase) -> Iterator[None]:
    """Name the case in errors."""
    try:
        yield
    except CannotCompare as error:
        place = f"{error.place}: " if error.place else ""
        raise ScoringError(f"{case.suite}::{case.id}: {place}{error.message}") from None
    except ScoringError as error:
        raise ScoringError(f"{case.suite}::{case.id}: {error}") from error.__cause__


def _failing(
    case: ResolvedCase, values: Mapping[str, float | None], scorers: Sequence[Scorer]
) -> dict[str, tuple[float | None, float]]:
    """Return the metrics that miss their thresholds, with score and threshold."""
    for metric in case.thresholds:
        is_known = metric in values or metric in BUILT_IN
        if not is_known and not any(metric in scorer.metrics for scorer in scorers):
            hint = near(metric, BUILT_IN)
            raise ScoringError(f"there is a threshold for {metric!r}, which no scorer reports{hint}")
    return missed_thresholds(values, case.thresholds)
