"""What a run would ask and cost, worked out without asking."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..suite.model import DEFAULT_MAX_ROUNDS
from ..suite.model import ResolvedCase
from .asking import sampling_for
from .cassettes.cassette import Cassette
from .cassettes.cassette import key_of
from .cassettes.cassette import question
from .clients.base import ChatRequest
from .limits.spending import price
from .models.spec import LEXICAL
from .models.spec import ModelSpec

# Tokens of an answer: a short call at least; at most `max_tokens`, or this where none is set.
_SHORT_ANSWER = 20
_LONG_ANSWER = 500
# What a round of a chain adds to the next question: the call and the tool's answer.
_ROUND_TOKENS = 150


@dataclass
class Estimate:
    """Sums for one model. `least` and `most` are US dollars, None when the price is unknown.

    `calls` and `prompt_tokens` are for the shortest way through chains, `most_calls` for the
    longest; `replayed` questions are on a cassette and cost nothing.
    """

    model: str
    cases: int = 0
    replayed: int = 0
    calls: int = 0
    most_calls: int = 0
    prompt_tokens: int = 0
    least_usd: float | None = 0.0
    most_usd: float | None = 0.0


def estimate(
    asked: Iterable[tuple[ResolvedCase, ModelSpec, Cassette | None]],
) -> list[Estimate]:
    """One Estimate per model, in order of first appearance.

    Prompt tokens are counted by litellm's tokenizer for the model (near, not exact, for providers
    that keep theirs secret).
    """
    sums: dict[str, Estimate] = {}
    for case, spec, cassette in asked:
        row = sums.setdefault(spec.label, Estimate(spec.label))
        row.cases += 1
        replayed = _replayed(case, spec, cassette)
        row.replayed += replayed
        trials = case.trials - replayed
        if trials:
            _add(row, case, spec, trials)
    return list(sums.values())


def _replayed(case: ResolvedCase, spec: ModelSpec, cassette: Cassette | None) -> int:
    """Trials whose first question is on the cassette."""
    if cassette is None:
        return 0
    tools = [tool.to_wire() for tool in case.tools]
    sampling = sampling_for(spec, case)
    requests = (
        ChatRequest(case.messages, tools, case.tool_choice, sampling, trial)
        for trial in range(case.trials)
    )
    return sum(cassette.find(key_of(question(spec, request))) is not None for request in requests)


def _add(row: Estimate, case: ResolvedCase, spec: ModelSpec, trials: int) -> None:
    chain = case.case.multi_turn
    fewest = (case.case.optimal_hops or 1) if chain else 1
    longest = max(fewest, case.case.max_rounds or DEFAULT_MAX_ROUNDS) if chain else 1
    row.calls += trials * fewest
    row.most_calls += trials * longest
    if spec.callable or spec.model == LEXICAL:
        if spec.callable:  # what an agent of the user's own costs, nobody here knows
            row.least_usd = row.most_usd = None
        return
    prompt = count_tokens(spec, case)
    answer = sampling_for(spec, case).get("max_tokens") or _LONG_ANSWER
    least, most = _tokens(prompt, fewest, _SHORT_ANSWER), _tokens(prompt, longest, int(answer))
    row.prompt_tokens += trials * least[0]
    prices = prices_of(spec)
    row.least_usd = _plus(row.least_usd, trials, price(*least, *prices))
    row.most_usd = _plus(row.most_usd, trials, price(*most, *prices))


def _tokens(prompt: int, rounds: int, answer: int) -> tuple[int, int]:
    """Prompt and completion tokens of a conversation that grows by a round each time."""
    return rounds * prompt + _ROUND_TOKENS * rounds * (rounds - 1) // 2, rounds * answer


def _plus(total: float | None, trials: int, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + trials * cost


def count_tokens(spec: ModelSpec, case: ResolvedCase) -> int:
    """Tokens of the first question, tools included."""
    from .clients.litellm_client import load_litellm

    litellm = load_litellm()
    tools = json.dumps([tool.to_wire() for tool in case.tools])
    messages: list[Any] = [*case.messages, {"role": "system", "content": tools}]
    return int(litellm.token_counter(model=spec.model, messages=messages))


def prices_of(spec: ModelSpec) -> tuple[float | None, float | None]:
    """US dollars per million tokens of input and output: the model's table, else litellm's list."""
    if spec.input_price is not None and spec.output_price is not None:
        return spec.input_price, spec.output_price
    from .clients.litellm_client import load_litellm

    try:
        info = load_litellm().get_model_info(spec.model)
    except Exception:  # litellm raises a bare Exception for a model without a price
        return None, None
    found = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if not all(found):
        return None, None
    return found[0] * 1_000_000, found[1] * 1_000_000
