"""Estimates how many requests a run sends and what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from ..record.estimate import Estimate
from ..record.run import payer
from ..record.transcript import Transcript
from ..suite.case import ResolvedCase
from .asking.context import sampling_for
from .cassettes.cassette import Cassette
from .cassettes.questions import key_of, question_of
from .exchange.chat import ChatRequest
from .judge import judge_messages, judge_request
from .model_under_test import model_request
from .models.known import known_entry
from .models.prices import table_usd, usual_usd
from .models.spec import EFFORT_TOKENS, Builtin, HttpModel, ModelSpec
from .tools.tokens import CHARACTERS_PER_TOKEN
from .tools.toolbox import Toolbox
from .trial import Job
from .users import opening, user_request

# Tokens of an answer: at least a short call; at most `max_tokens`, or this if it isn't set.
_SHORT_ANSWER = 20
_LONG_ANSWER = 500
# Tokens that a reply in a chain adds to the next question: the call and its answer.
_REPLY_TOKENS = 150


def estimate(jobs: Iterable[Job]) -> list[Estimate]:
    """Return an Estimate per model in order of first appearance, then per judge and simulated user."""
    sums: dict[str, Estimate] = {}
    others: dict[str, Estimate] = {}

    def row_of(label: str, rows: dict[str, Estimate], replayed: int) -> Estimate:
        row = rows.setdefault(label, Estimate(model=label))
        row.cases += 1
        row.replayed += replayed
        return row

    for job in jobs:
        case, spec, player, judge, user = job.case, job.model, job.user, job.judge, job.case.user
        first = model_request(case, spec, sampling_for(spec, case), case.messages, Toolbox(case))
        begins = user_request(player, opening(user)) if user and player else first
        replayed = 0
        if job.cassette is not None and (player or not user):
            replayed = _replayed(case, (user and player) or spec, job.cassette, begins)
        row = row_of(spec.label, sums, replayed)
        turns = user.max_turns if user else len(case.turns) or 1
        fewest = 1 if user else (case.optimal_hops or 1) if case.kind == "chain" else turns
        longest = max(fewest, turns * case.round_limit)
        replies = fewest, longest
        _add(row, spec, case.trials - replayed, replies, first)
        if user is not None and player is not None:
            row = row_of(payer(player.label, "user"), others, replayed)
            _add(row, player, case.trials - replayed, (2, turns + 1), begins)
        if judge is not None and case.rubrics:
            row = row_of(payer(judge.label, "judge"), others, replayed)
            for rubric in case.rubrics:
                first = judge_request(judge, judge_messages(rubric, Transcript(case.messages)))
                _add(row, judge, case.trials - replayed, (1, 1), first, quoted=replies)
    return [*sums.values(), *others.values()]


def _replayed(case: ResolvedCase, spec: ModelSpec, cassette: Cassette, first: ChatRequest) -> int:
    """The number of trials whose first question is in the cassette."""
    trials = range(case.first_trial, case.first_trial + case.trials)
    keys = (key_of(question_of(spec, structs.replace(first, trial=trial))) for trial in trials)
    return sum(cassette.find(key, spec.folder) is not None for key in keys)


def _add(
    row: Estimate,
    spec: ModelSpec,
    trials: int,
    replies: tuple[int, int],
    first: ChatRequest,
    quoted: tuple[int, int] = (0, 0),
) -> None:
    """Add trials to a row.

    `quoted` is the fewest and the most replies of another model that the first request quotes.
    """
    fewest, longest = replies
    row.calls += trials * fewest
    row.most_calls += trials * longest
    if not trials or isinstance(spec, Builtin):
        return
    if not isinstance(spec, HttpModel):  # an agent's own requests to its model are unknown
        row.least_usd = row.most_usd = None
        row.has_price = table_usd(spec, 0, 0) is not None
        return
    prompt, sampling = count_tokens(first), first.sampling
    shortest, longer = (prompt + replies * _REPLY_TOKENS for replies in quoted)
    reasoning = _reasoning_tokens(spec, sampling)
    answer = _LONG_ANSWER
    if sampling.get("max_tokens"):  # covers both reasoning and answer
        reasoning = min(reasoning, int(sampling["max_tokens"]))
        answer = int(sampling["max_tokens"]) - reasoning
    least = _tokens(shortest, fewest, _SHORT_ANSWER)
    most = _tokens(longer, longest, answer)
    row.prompt_tokens += trials * least[0]
    row.most_reasoning_tokens += trials * longest * reasoning
    row.has_price = usual_usd(spec, 0, 0) is not None
    row.least_usd = _plus(row.least_usd, trials, usual_usd(spec, *least))
    row.most_usd = _plus(row.most_usd, trials, usual_usd(spec, *most))
    row.most_usd = _plus(row.most_usd, trials, usual_usd(spec, 0, 0, longest * reasoning))


def _reasoning_tokens(spec: HttpModel, sampling: Mapping[str, Any]) -> int:
    """The maximum number of reasoning tokens before an answer."""
    thinking = sampling.get("thinking")
    if isinstance(thinking, Mapping) and isinstance(thinking.get("budget_tokens"), int):
        return int(thinking["budget_tokens"])
    entry = known_entry(spec.model)
    if entry is None:
        return EFFORT_TOKENS.get(sampling.get("reasoning_effort", "none"), 0)
    if not entry.get("supports_reasoning"):
        return 0
    # Claude reasons only if asked, other models by default.
    is_optional = "claude" in spec.model and not entry.get("thinking_always_on")
    by_itself = entry.get("default_reasoning_effort", "none" if is_optional else "medium")
    return EFFORT_TOKENS.get(sampling.get("reasoning_effort", by_itself), 0)


def _tokens(prompt: int, replies: int, answer: int) -> tuple[int, int]:
    """Prompt and completion tokens of a conversation that grows with each reply."""
    return replies * prompt + _REPLY_TOKENS * replies * (replies - 1) // 2, replies * answer


def _plus(total: float | None, trials: int, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + trials * cost


def count_tokens(first: ChatRequest) -> int:
    """The estimated tokens of the first request, including tools."""
    text = json.dumps([*first.messages, *first.tools], ensure_ascii=False)
    return len(text) // CHARACTERS_PER_TOKEN
