"""The money that a run has spent, and may spend."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from ...errors import ModelError
from ...record.run import Spent
from ...record.run import add_up
from ..cassettes.appending import Appender

_ROUNDING = 1e-9  # ten answers of 5 cents each add up to a little less than 50 cents


class Spending:
    """The cost of the answers of a run, including discarded ones. Belongs to one event loop.

    `most_usd` is the limit in dollars, or None. A price is known only after the answer, so requests
    that are running when the limit is reached are still paid for. The processes of a run share a
    ledger, a file with a line for each answer.
    """

    def __init__(self, most_usd: float | None = None, ledger: Path | None = None) -> None:
        self._most_usd = most_usd
        self._ledger = ledger
        self._read = 0
        # By model label: spending outside the ledger, and in it.
        self.apart: dict[str, Spent] = {}
        self._shared: dict[str, Spent] = {}

    @property
    def by_model(self) -> Mapping[str, Spent]:
        """Spending by model label, over all processes that share the ledger."""
        self._read_ledger()
        return add_up(self._shared, self.apart)

    def _read_ledger(self) -> None:
        if self._ledger is None or not self._ledger.exists():
            return
        with self._ledger.open("rb") as file:
            file.seek(self._read)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read += len(whole + end)
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):  # a line cut short by a full disk
                _count(self._shared, *json.loads(line))

    def check(self) -> None:
        """Raise ModelError if the limit is reached."""
        if self._most_usd is None:
            return
        spent = sum(each.usd for each in self.by_model.values())
        if spent >= self._most_usd - _ROUNDING:
            raise ModelError(
                f"not asked: the run has spent ${spent:.4f} of the ${self._most_usd:g} allowed by "
                "--tooleval-max-cost",
                kind="max_cost",
            )

    def add(self, model: str, cost_usd: float | None, at_least: bool = False) -> None:
        """Count an answer of the model with this label, as `Spent.of` does."""
        if self._ledger is not None and self._ledger.parent.is_dir():
            with contextlib.suppress(OSError), contextlib.closing(Appender()) as ledger:
                ledger.append(self._ledger, f"{json.dumps([model, cost_usd, at_least])}\n".encode())
                return
        _count(self.apart, model, cost_usd, at_least)


def _count(spent: dict[str, Spent], model: str, cost_usd: float | None, at_least: bool = False) -> None:
    spent[model] = spent.get(model, Spent()) + Spent.of(cost_usd, at_least)


def price(
    prompt_tokens: int | None,
    completion_tokens: int | None,
    input_price: float | None,
    output_price: float | None,
) -> float | None:
    """US dollars for these tokens at prices per million tokens; None if anything is unknown."""
    if prompt_tokens is None or completion_tokens is None or input_price is None or output_price is None:
        return None
    return (prompt_tokens * input_price + completion_tokens * output_price) / 1_000_000
