"""What a run would ask and cost, worked out without asking."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

from ..record.run import payer
from ..record.transcript import Transcript
from ..suite.model import ResolvedCase
from .asking import sampling_for
from .cassettes.cassette import Cassette
from .cassettes.cassette import key_of
from .cassettes.cassette import question
from .clients.base import ChatRequest
from .executors.mocks import Mocks
from .executors.turn import TurnTools
from .judge import VERDICT
from .judge import judge_messages
from .limits.spending import price
from .models.prices import listed
from .models.spec import LEXICAL
from .models.spec import ModelSpec
from .user import opening

if TYPE_CHECKING:
    import tiktoken

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
# What a message adds to its text.
_MESSAGE_TOKENS = 3
# What a round of a chain adds to the next question: the call and the tool's answer.
_ROUND_TOKENS = 150


@dataclass
class Estimate:
    """Sums for one model. `least` and `most` are US dollars, None when price or tokens are unknown.

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
    has_price: bool = True

    def add(self, replayed: int) -> None:
        self.cases += 1
        self.replayed += replayed


def estimate(
    asked: Iterable[tuple[ResolvedCase, ModelSpec, Cassette | None, ModelSpec | None]],
    judge: ModelSpec | None = None,
) -> list[Estimate]:
    """One Estimate per model, in order of first appearance, then those of judges and played users.

    Each case comes with its model, its cassette, and the model that plays its user. Prompt tokens are
    counted by the tokenizer of OpenAI's models (near, not exact, for those of others).
    """
    sums: dict[str, Estimate] = {}
    others: dict[str, Estimate] = {}
    for case, spec, cassette, player in asked:
        row = sums.setdefault(spec.label, Estimate(spec.label))
        replayed = _replayed(case, spec, cassette, player)
        row.add(replayed)
        tools = [tool.to_wire() for tool in case.tools]
        user = case.case.user
        turns = user.max_turns if user else len(case.turns) or 1
        fewest = 1 if user else (case.case.optimal_hops or 1) if case.case.multi_turn else turns
        longest = max(fewest, turns * case.max_rounds)
        rounds = fewest, longest
        question = _Question(case.messages, tools, sampling_for(spec, case))
        _add(row, spec, case.trials - replayed, rounds, question)
        if user is not None and player is not None:
            label = payer(player.label, "user")
            row = others.setdefault(label, Estimate(label))
            row.add(replayed)
            question = _Question(opening(user), (), sampling_for(player))
            _add(row, player, case.trials - replayed, (2, turns + 1), question)
        if judge is not None and case.rubrics:
            label = payer(judge.label, "judge")
            row = others.setdefault(label, Estimate(label))
            row.add(replayed)
            told = Transcript(case.messages)
            for rubric in case.rubrics:
                messages = judge_messages(rubric, told)
                question = _Question(messages, [VERDICT], sampling_for(judge), rounds)
                _add(row, judge, case.trials - replayed, (1, 1), question)
    return [*sums.values(), *others.values()]


class _Question(NamedTuple):
    """What is asked first. `quoted` are the fewest and most rounds of another model that it quotes."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    sampling: Mapping[str, Any]
    quoted: tuple[int, int] = (0, 0)


def _replayed(
    case: ResolvedCase, spec: ModelSpec, cassette: Cassette | None, player: ModelSpec | None
) -> int:
    """Trials whose first question is on the cassette."""
    if cassette is None or (case.case.user and player is None):
        return 0
    if case.case.user and player:
        spec, first = player, ChatRequest(opening(case.case.user), (), "none", sampling_for(player))
    else:
        tools = [tool.to_wire() for tool in (case.turns[0] if case.turns else case).tools]
        sampling, executor = sampling_for(spec, case), TurnTools(case, Mocks(case))
        first = ChatRequest(case.messages, tools, case.tool_choice, sampling, 0, executor)
    requests = (replace(first, trial=trial) for trial in range(case.trials))
    return sum(cassette.find(key_of(question(spec, request))) is not None for request in requests)


def _add(row: Estimate, spec: ModelSpec, trials: int, rounds: tuple[int, int], asked: _Question) -> None:
    fewest, longest = rounds
    row.calls += trials * fewest
    row.most_calls += trials * longest
    if not trials or spec.callable or spec.model == LEXICAL:
        if trials and spec.callable:  # what an agent of the user's own asks its model, nobody here knows
            row.least_usd = row.most_usd = None
            row.has_price = spec.input_price is not None and spec.output_price is not None
        return
    prompt, sampling = count_tokens(asked), asked.sampling
    shortest, longer = (prompt + rounds * _ROUND_TOKENS for rounds in asked.quoted)
    reasoning = _reasoning_tokens(spec, sampling)
    answer = _LONG_ANSWER
    if sampling.get("max_tokens"):  # for reasoning and answer together
        reasoning = min(reasoning, int(sampling["max_tokens"]))
        answer = int(sampling["max_tokens"]) - reasoning
    least = _tokens(shortest, fewest, _SHORT_ANSWER)
    most = _tokens(longer, longest, answer)
    row.prompt_tokens += trials * least[0]
    row.most_reasoning_tokens += trials * longest * reasoning
    into, out, thought = prices_of(spec)
    row.has_price = into is not None
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


def count_tokens(asked: _Question) -> int:
    """Tokens of the first question, tools included."""
    contents = [message.get("content") for message in asked.messages]
    texts = [each if isinstance(each, str) else json.dumps(each) for each in contents if each]
    texts.append(json.dumps(list(asked.tools)))
    return 3 + sum(_MESSAGE_TOKENS + _tokens_of(text) for text in texts)


@functools.lru_cache
def _tokens_of(text: str) -> int:
    """Most cases of a suite have the same tools and system prompt."""
    return len(_encoding().encode_ordinary(text))


@functools.cache
def _encoding() -> tiktoken.Encoding:
    import tiktoken

    # With the file that litellm brings nothing is downloaded; importing litellm takes seconds.
    found = importlib.util.find_spec("litellm")
    if found is not None and found.origin is not None:
        files = Path(found.origin).parent / "litellm_core_utils" / "tokenizers"
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(files))
    return tiktoken.get_encoding("o200k_base")


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
