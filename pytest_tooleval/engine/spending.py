"""Money: what a run has spent, and the point where it stops asking."""

from __future__ import annotations

from ..errors import ModelError


class Budget:
    """At most so many US dollars for a run; None is no limit. Belongs to one event loop.

    A price is known only when an answer has come, so requests under way when the limit is reached
    are still paid for.
    """

    def __init__(self, most_usd: float | None) -> None:
        self.most_usd = most_usd
        self.spent_usd = 0.0

    def check(self) -> None:
        """Raise ModelError when nothing more may be asked."""
        if self.most_usd is not None and self.spent_usd >= self.most_usd:
            raise ModelError(
                f"not asked: the run has spent ${self.spent_usd:.4f} of the "
                f"${self.most_usd:g} that --tooleval-max-cost allows",
                kind="budget",
            )

    def add(self, cost_usd: float | None) -> None:
        """Count an answer; an unknown price counts nothing."""
        self.spent_usd += cost_usd or 0.0


def price(
    prompt_tokens: int | None,
    completion_tokens: int | None,
    input_price: float | None,
    output_price: float | None,
) -> float | None:
    """US dollars for these tokens at prices per million tokens; None when anything is unknown."""
    if prompt_tokens is None or completion_tokens is None or input_price is None or output_price is None:
        return None
    return (prompt_tokens * input_price + completion_tokens * output_price) / 1_000_000
