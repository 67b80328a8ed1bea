"""Money: what a run has spent, and the point where it stops asking."""

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
    """What the answers of a run cost, counted as they come, whatever becomes of them.

    At most `most_usd` dollars may be spent; None is no limit. A price is known only when an answer has
    come, so requests under way when the limit is reached are still paid for. Processes that work on one
    run share a ledger, a file to which each appends a line for each answer. Belongs to one event loop.
    """

    def __init__(self, most_usd: float | None = None, ledger: Path | None = None) -> None:
        self._most_usd = most_usd
        self._ledger = ledger
        self._read = 0
        # Of what is spent, by the labels of the models, what stands in no ledger, and what does.
        self.apart: dict[str, Spent] = {}
        self._shared: dict[str, Spent] = {}

    @property
    def by_model(self) -> Mapping[str, Spent]:
        """By the labels of the models; of all processes that share the ledger."""
        self._read_on()
        return add_up(self._shared, self.apart)

    def _read_on(self) -> None:
        if self._ledger is not None and self._ledger.exists():
            with self._ledger.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            whole, _, _ = new.rpartition(b"\n")
            if whole:
                self._read += len(whole) + 1
                for line in whole.splitlines():
                    with contextlib.suppress(ValueError):  # what a full disk took of a line
                        _count(self._shared, *json.loads(line))

    def check(self) -> None:
        """Raise ModelError when nothing more may be asked."""
        if self._most_usd is None:
            return
        spent = sum(each.usd for each in self.by_model.values())
        if spent >= self._most_usd - _ROUNDING:
            raise ModelError(
                f"not asked: the run has spent ${spent:.4f} of the ${self._most_usd:g} allowed by "
                "--tooleval-max-cost",
                kind="budget",
            )

    def add(self, model: str, cost_usd: float | None) -> None:
        """Count an answer of the model with this label; None is an unknown price."""
        if self._ledger is not None and self._ledger.parent.is_dir():
            with contextlib.suppress(OSError), contextlib.closing(Appender()) as ledger:
                ledger.append(self._ledger, f"{json.dumps([model, cost_usd])}\n".encode())
                return
        _count(self.apart, model, cost_usd)


def _count(spent: dict[str, Spent], model: str, cost_usd: float | None) -> None:
    spent[model] = spent.get(model, Spent()) + Spent.of(cost_usd)


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
