"""What a run would ask and cost, worked out without asking."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..suite.model import ResolvedCase
from .asking import sampling_for
from .cassettes.cassette import Cassette
from .cassettes.cassette import key_of
from .cassettes.cassette import question
from .clients.base import ChatRequest
from .executors.mocks import Mocks
from .executors.turn import TurnTools
from .limits.spending import price
from .models.prices import listed
from .models.spec import LEXICAL
from .models.spec import ModelSpec

# Tokens of an answer: a short call at least; at most `max_tokens`, or this where none is set.
_SHORT_ANSWER = 20
_LONG_ANSWER = 500
# Tokens of reasoning before an answer, at most: the budgets that litellm makes of efforts.
_REASONING = {
    "none": 0,
    "minimal": 128,
    "low": 1024,
    "medium": 2048,
    "high": 4096,
    "xhigh": 8192,
    "max": 16384,
}
# What a round of a chain adds to the next question: the call and the tool's answer.
_ROUND_TOKENS = 150


@dataclass
class Estimate:
    """Sums for one model. `least` and `most` are US dollars, None when the price is unknown.

    `calls` and `prompt_tokens` are for the shortest way through chains, `most_calls` and
    `most_reasoning_tokens` for the longest; `replayed` questions are on a cassette and cost nothing.
    """

    model: str
    cases: int = 0
    replayed: int = 0
    calls: int = 0
    most_calls: int = 0
    prompt_tokens: int = 0
    most_reasoning_tokens: int = 0
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
    tools = [tool.to_wire() for tool in (case.turns[0] if case.turns else case).tools]
    sampling = sampling_for(spec, case)
    executor = TurnTools(case, Mocks(case))
    requests = (
        ChatRequest(case.messages, tools, case.tool_choice, sampling, trial, executor)
        for trial in range(case.trials)
    )
    return sum(cassette.find(key_of(question(spec, request))) is not None for request in requests)


def _add(row: Estimate, case: ResolvedCase, spec: ModelSpec, trials: int) -> None:
    turns = len(case.turns) or 1
    fewest = (case.case.optimal_hops or 1) if case.case.multi_turn else turns
    longest = max(fewest, turns * case.max_rounds)
    row.calls += trials * fewest
    row.most_calls += trials * longest
    if spec.callable or spec.model == LEXICAL:
        if spec.callable:  # what an agent of the user's own costs, nobody here knows
            row.least_usd = row.most_usd = None
        return
    prompt = count_tokens(spec, case)
    sampling = sampling_for(spec, case)
    reasoning = _reasoning_tokens(spec, sampling)
    answer = _LONG_ANSWER
    if sampling.get("max_tokens"):  # for reasoning and answer together
        reasoning = min(reasoning, int(sampling["max_tokens"]))
        answer = int(sampling["max_tokens"]) - reasoning
    least, most = _tokens(prompt, fewest, _SHORT_ANSWER), _tokens(prompt, longest, answer)
    row.prompt_tokens += trials * least[0]
    row.most_reasoning_tokens += trials * longest * reasoning
    into, out, thought = prices_of(spec)
    row.least_usd = _plus(row.least_usd, trials, price(*least, into, out))
    row.most_usd = _plus(row.most_usd, trials, price(*most, into, out))
    row.most_usd = _plus(row.most_usd, trials, price(0, longest * reasoning, into, thought))


def _reasoning_tokens(spec: ModelSpec, sampling: Mapping[str, Any]) -> int:
    """Tokens of the reasoning before an answer, at most."""
    thinking = sampling.get("thinking")
    if isinstance(thinking, Mapping) and isinstance(thinking.get("budget_tokens"), int):
        return int(thinking["budget_tokens"])
    entry = listed(spec.model)
    if entry is None:
        return _REASONING.get(sampling.get("reasoning_effort", "none"), 0)
    if not entry.get("supports_reasoning"):
        return 0
    # Claude thinks when it is asked to, all others without being asked.
    asked = "claude" in spec.model and not entry.get("thinking_always_on")
    by_itself = entry.get("default_reasoning_effort", "none" if asked else "medium")
    return _REASONING.get(sampling.get("reasoning_effort", by_itself), 0)


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


def prices_of(spec: ModelSpec) -> tuple[float | None, float | None, float | None]:
    """US dollars per million tokens of input, output and reasoning, None where unknown.

    The model's table says it, else litellm's list.
    """
    if spec.input_price is not None and spec.output_price is not None:
        return spec.input_price, spec.output_price, spec.output_price
    entry = listed(spec.model) or {}
    into, out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not into or not out:
        return None, None, None
    thought = entry.get("output_cost_per_reasoning_token") or out
    return into * 1_000_000, out * 1_000_000, thought * 1_000_000
