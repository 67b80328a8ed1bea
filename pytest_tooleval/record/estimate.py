"""What a run would send and cost."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from .fields import doc


class Estimate(Struct, kw_only=True):
    """Totals for one model, judge or simulated user.

    `calls` and `prompt_tokens` assume the shortest chains, `most_calls` and `most_reasoning_tokens`
    the longest.
    """

    model: Annotated[str, doc("The model's name.")]
    cases: Annotated[int, doc("Cases of the model.")] = 0
    replayed: Annotated[int, doc("Trials that are in a cassette and cost nothing.")] = 0
    calls: Annotated[int, doc("Requests, if all chains are as short as they can be.")] = 0
    most_calls: Annotated[int, doc("Requests, if all chains are as long as they can be.")] = 0
    prompt_tokens: Annotated[int, doc("Input tokens of the shortest chains.")] = 0
    most_reasoning_tokens: Annotated[int, doc("The most tokens of reasoning.")] = 0
    least_usd: Annotated[float | None, doc("The least cost; null if price or tokens are unknown.")] = 0.0
    most_usd: Annotated[float | None, doc("The most; null if price or tokens are unknown.")] = 0.0
    has_price: Annotated[bool, doc("Whether the model's price is known.")] = True
