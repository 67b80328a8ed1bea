from __future__ import annotations

import itertools
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.scoring.assignment import MAX_ACTUAL, Row, pair
from pytest_tooleval.scoring.one_call import Share

SHARES = st.none() | st.integers(1, 4).flatmap(
    lambda total: st.integers(0, total).map(lambda correct: Share(correct, total))
)
ROWS = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.builds(Row, st.lists(SHARES, min_size=width, max_size=width), st.booleans()),
        min_size=1,
        max_size=4,
    )
)


def best_total(rows: list[Row], *, in_order: bool) -> Fraction:
    """The best total of all pairings there are, tried one by one."""
    width = len(rows[0].shares)
    best = Fraction(0)
    slots = [*range(width), *[None] * len(rows)]
    for columns in set(itertools.permutations(slots, len(rows))):
        used = [j for j in columns if j is not None]
        if in_order and used != sorted(used):
            continue
        shares = [rows[i].shares[j] for i, j in enumerate(columns) if j is not None]
        made = [share for share in shares if share is not None]
        best = max(best, sum((3 + 2 * Fraction(s.correct, s.total)) / 5 for s in made) + Fraction(0))
    return best


@given(ROWS, st.booleans())
def test_the_total_is_the_best_there_is(rows: list[Row], in_order: bool) -> None:
    pairing = pair(rows, in_order=in_order)

    assert pairing.total == pytest.approx(float(best_total(rows, in_order=in_order)), abs=1e-12)
    assert len(set(pairing.pairs.values())) == len(pairing.pairs)
    for i, j in pairing.pairs.items():
        assert rows[i].shares[j] is not None
    if in_order:
        columns = [j for _, j in sorted(pairing.pairs.items())]
        assert columns == sorted(columns)


def test_a_greedy_pairing_would_be_worse() -> None:
    half, full = Share(1, 2), Share(1, 1)
    rows = [Row([full, full], True), Row([full, half], True)]

    assert pair(rows, in_order=False).pairs == {0: 1, 1: 0}
    assert pair(rows, in_order=False).total == 2.0


def test_equal_totals_go_to_the_pairing_with_more_pairs() -> None:
    none = Share(0, 1)
    # Two pairs of 0.6 and 1.0, or others: the figures may not depend on which was found first.
    rows = [Row([Share(1, 1), none], True), Row([none, None], False)]

    assert pair(rows, in_order=False) == pair(rows[::-1], in_order=False)._replace(
        pairs=pair(rows, in_order=False).pairs
    )


def test_a_hostile_number_of_calls_is_paired_in_bounded_time() -> None:
    rows = [Row([Share(i % 3, 3)] * MAX_ACTUAL, True) for i in range(20)]
    start = time.process_time()

    pairing = pair(rows, in_order=False)

    assert len(pairing.pairs) == 20
    assert time.process_time() - start < 20
