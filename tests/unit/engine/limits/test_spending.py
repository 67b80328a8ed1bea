"""What a run spends."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tooleval.engine.limits.spending import Spending
from pytest_tooleval.engine.limits.spending import price
from pytest_tooleval.errors import ModelError
from pytest_tooleval.record.run import Spent


def test_without_a_limit_nothing_is_refused() -> None:
    spending = Spending()
    spending.add("m", 1e9)
    spending.check()


def test_it_refuses_once_the_limit_is_reached() -> None:
    spending = Spending(1.0)
    spending.add("one", 0.6)
    spending.check()
    spending.add("one", None)
    spending.add("other", 0.4)
    with pytest.raises(
        ModelError, match=r"spent \$1\.0000 of the \$1 allowed by --tooleval-max-cost"
    ) as raised:
        spending.check()
    assert raised.value.kind == "max_cost"
    assert not raised.value.retryable
    assert spending.by_model == {"one": Spent(2, 1, 0.6), "other": Spent(1, 1, 0.4)}


def test_processes_share_a_ledger(tmp_path: Path) -> None:
    one, other = Spending(1.0, tmp_path / "spent"), Spending(1.0, tmp_path / "spent")
    one.add("m", 0.5)
    assert other.by_model == {"m": Spent(1, 1, 0.5)}
    other.add("m", 0.5)
    assert one.by_model == other.by_model == {"m": Spent(2, 2, 1.0)}
    other.add("m", 0.25, at_least=True)
    assert one.by_model == {"m": Spent(3, 2, 1.25)}
    with pytest.raises(ModelError):
        one.check()


def test_a_line_that_is_still_being_written_counts_later(tmp_path: Path) -> None:
    ledger = tmp_path / "spent"
    spending = Spending(1.0, ledger)
    ledger.write_bytes(b'["m", 0.5]\n["m", 0.2')
    assert spending.by_model["m"].usd == 0.5
    ledger.write_bytes(b'["m", 0.5]\n["m", 0.25]\n')
    assert spending.by_model["m"].usd == 0.75


def test_what_the_ledger_has_no_room_for_is_counted_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    spending = Spending(1.0, tmp_path / "file" / "spent")
    spending.add("m", 0.5)
    assert spending.by_model == spending.apart == {"m": Spent(1, 1, 0.5)}


def test_prices_are_per_million_tokens() -> None:
    assert price(1_000_000, 500_000, 3.0, 15.0) == 10.5
    assert price(None, 1, 3.0, 15.0) is None
    assert price(1, 1, None, 15.0) is None
