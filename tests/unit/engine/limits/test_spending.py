"""The budget of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.engine.limits.spending import Budget
from pytest_tooleval.engine.limits.spending import price
from pytest_tooleval.errors import ModelError


def test_without_a_limit_nothing_is_refused() -> None:
    budget = Budget(None)
    budget.add(1e9)
    budget.check()


def test_it_refuses_once_the_limit_is_reached() -> None:
    budget = Budget(1.0)
    budget.add(0.6)
    budget.check()
    budget.add(None)
    budget.add(0.4)
    with pytest.raises(
        ModelError, match=r"spent \$1\.0000 of the \$1 that --tooleval-max-cost"
    ) as raised:
        budget.check()
    assert raised.value.kind == "budget"
    assert not raised.value.retryable


def test_processes_share_a_ledger(tmp_path: Path) -> None:
    one, other = Budget(1.0, tmp_path / "spent"), Budget(1.0, tmp_path / "spent")
    one.add(0.5)
    assert other.spent_usd == 0.5
    other.add(0.25)
    other.add(0.25)
    assert one.spent_usd == other.spent_usd == 1.0
    with pytest.raises(ModelError):
        one.check()


def test_a_line_that_is_still_being_written_counts_later(tmp_path: Path) -> None:
    ledger = tmp_path / "spent"
    budget = Budget(1.0, ledger)
    ledger.write_bytes(b"0.5\n0.2")
    assert budget.spent_usd == 0.5
    ledger.write_bytes(b"0.5\n0.25\n")
    assert budget.spent_usd == 0.75


def test_prices_are_per_million_tokens() -> None:
    assert price(1_000_000, 500_000, 3.0, 15.0) == 10.5
    assert price(None, 1, 3.0, 15.0) is None
    assert price(1, 1, None, 15.0) is None
