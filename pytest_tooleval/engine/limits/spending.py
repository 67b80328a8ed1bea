"""The money that a run has spent, and may spend."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import ModelError
from ...figures import most_text, usd_text
from ...record.run import Payments, add_up
from ..exchange.chat import ChatAnswer, ChatRequest
from ..models.spec import ModelSpec
from .ledger import Ledger, count
from .reserves import Bounds, has_price, reserve_for

_ROUNDING = 1e-9  # ten answers of 5 cents each add up to a little less than 50 cents
_TICK_S = 0.02


class _Reserve(NamedTuple):
    process: int
    model: str
    usd: float


@dataclass
class Reservation:
    """A request that is being sent; set `answer` when it has come."""

    answer: ChatAnswer | None = None


class Spending:
    """The cost of the answers of a run, including discarded ones. Requests are made on one event loop.

    `most_usd` is the limit in dollars, or None. Before a request is sent, the most that it may cost is
    reserved. The processes of a run share a ledger, a file of events.
    """

    def __init__(self, most_usd: float | None = None, ledger_path: Path | None = None) -> None:
        self._most_usd = most_usd
        self._ledger = None if ledger_path is None else Ledger(ledger_path)
        # By model label: spending outside the ledger, and in it.
        self.apart: dict[str, Payments] = {}
        self._shared: dict[str, Payments] = {}
        # Sums over all processes: open reserves, possible bills for lost answers, known costs.
        self._open: dict[str, _Reserve] = {}
        self._lost_usd = 0.0
        self._seen: dict[str, Bounds] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._reading = threading.Lock()  # other threads report what was spent

    @property
    def by_model(self) -> dict[str, Payments]:
        """Spending by model label, over all processes that share the ledger."""
        self._catch_up()
        return add_up(self._shared, self.apart)

    def _catch_up(self) -> None:
        with self._reading:
            for event in self._ledger.new_events() if self._ledger is not None else ():
                self._take_in(event, self._shared)

    def check(self) -> None:
        """Raise ModelError if the limit is reached."""
        if self._most_usd is not None and self._used() >= self._most_usd - _ROUNDING:
            raise self._refusal()

    def add(self, model: str, cost_usd: float | None, at_least: bool = False) -> None:
        """Count an answer of the model with this label, as `Payments.of` does."""
        self._record([model, cost_usd, at_least])

    def count_cancelled(self, model: str) -> None:
        """Count a request that was cancelled, and may be billed."""
        self._record([model, None, False, True])

    @contextlib.asynccontextmanager
    async def reserve(
        self, spec: ModelSpec, request: ChatRequest, pause: Callable[[float], Awaitable[None]]
    ) -> AsyncIterator[Reservation]:
        """Reserve what the request may cost, and give back what it did not cost.

        Waits with `pause` while the reserves of other requests leave no room, and while a model's first
        request, whose cost nothing shows yet, is in flight. Raises ModelError if no room can come.
        """
        reserved = Reservation()
        if self._most_usd is None or not has_price(spec):
            yield reserved
            return
        async with self._turns.setdefault(spec.label, asyncio.Lock()):
            while (name := self._reserve(spec, request)) is None:
                await pause(_TICK_S)
        may_be_billed = False
        try:
            yield reserved
        except ModelError as error:
            may_be_billed = error.answered or error.kind == "timeout"  # it may be billed
            raise
        finally:
            answer = reserved.answer
            seen = answer and Bounds.of(request, answer)
            self._record({"end": name, "lost": may_be_billed, "seen": seen})

    def _reserve(self, spec: ModelSpec, request: ChatRequest) -> str | None:
        """The name of the new reserve; None while there is no room for it."""
        assert self._most_usd is not None
        with contextlib.nullcontext() if self._ledger is None else self._ledger.alone():
            self.check()
            self._end_those_of_dead_processes()
            label, seen = spec.label, self._seen.get(spec.label)
            if seen is None and any(each.model == label for each in self._open.values()):
                return None
            usd = reserve_for(spec, request, seen)
            others = sum(each.usd for each in self._open.values())
            if self._used() + others + usd > self._most_usd + _ROUNDING:
                if self._open:
                    return None
                raise self._refusal(f", and this request may cost {usd_text(usd)}")
            name = secrets.token_hex(8)
            self._record({"reserve": name, "by": [os.getpid(), label, usd]})
            return name

    def _used(self) -> float:
        return sum(each.usd for each in self.by_model.values()) + self._lost_usd

    def _refusal(self, more: str = "") -> ModelError:
        spent = sum(each.usd for each in self.by_model.values())
        lost = (
            f" ({usd_text(self._lost_usd)} more may be billed for lost answers)"
            if self._lost_usd
            else ""
        )
        most = most_text("cost_usd", self._most_usd or 0.0)
        spent_of_it = f"{usd_text(spent)}{lost} of the {most}"
        return ModelError(
            f"not asked: the run has spent {spent_of_it} allowed by --tooleval-max-cost{more}",
            kind="max_cost",
        )

    def _end_those_of_dead_processes(self) -> None:
        """A process that was killed cannot say what its requests cost."""
        if self._ledger is not None:
            for name, reserve in list(self._open.items()):
                if not self._ledger.is_alive(reserve.process):
                    self._record({"end": name, "lost": True, "seen": None})

    def _record(self, event: list[Any] | dict[str, Any]) -> None:
        if self._ledger is None or not self._ledger.append(event):
            with self._reading:
                self._take_in(event, self.apart)

    def _take_in(self, event: Any, spent: dict[str, Payments]) -> None:
        if isinstance(event, list):
            count(event, spent)
        elif "reserve" in event:
            self._open[event["reserve"]] = _Reserve(*event["by"])
        elif (ended := self._open.pop(event["end"], None)) is not None:
            self._lost_usd += ended.usd if event["lost"] else 0.0
            if event["seen"] is not None:
                before = self._seen.get(ended.model, Bounds())
                self._seen[ended.model] = before.and_also(Bounds(*event["seen"]))
