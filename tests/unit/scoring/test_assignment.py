from __future__ import annotations

import itertools
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.scoring.assignment import MAX_ACTUAL, Row, call_count, pair
from pytest_tooleval.scoring.one_call import CorrectShare
from pytest_tooleval.suite.expectations import Match

SHARES = st.none() | st.integers(1, 4).flatmap(
    lambda total: st.integers(0, total).map(lambda correct: CorrectShare(correct, total))
)
ROWS = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.builds(Row, st.lists(SHARES, min_size=width, max_size=width), st.booleans(), st.booleans()),
        min_size=1,
        max_size=4,
    )
)


def best_score(rows: list[Row], match: Match, *, in_order: bool) -> tuple[Fraction, int]:
    """The best score of all pairings, tried one by one, and the most required calls in one that has it.

    As scores.md says: the total over the expected or actual calls, whichever are more; a missing
    optional call is not expected; extra calls are ignored with contains, and missing ones with within.
    """
    width = len(rows[0].shares)
    required = sum(not row.optional for row in rows)
    best = Fraction(0), 0
    slots = [*range(width), *[None] * len(rows)]
    for columns in set(itertools.permutations(slots, len(rows))):
        used = [j for j in columns if j is not None]
        if in_order and used != sorted(used):
            continue
        shares = [(row, row.shares[j]) for row, j in zip(rows, columns, strict=True) if j is not None]
        made = [(row, share) for row, share in shares if share is not None]
        total = sum((3 + 2 * Fraction(s.correct, s.total)) / 5 for _, s in made) + Fraction(0)
        expected = required + sum(row.optional for row, _ in made)
        over = {"contains": expected, "within": width}.get(match, max(expected, width))
        taken = sum(not row.optional for row, _ in made)
        best = max(best, (total / over if over else Fraction(1), taken))
    return best


MATCHES = st.sampled_from(["exact", "contains", "within"])


@given(ROWS, MATCHES, st.booleans())
def test_the_score_is_the_best_there_is(rows: list[Row], match: Match, in_order: bool) -> None:
    pairing = pair(rows, in_order=in_order, match=match)

    optional = sum(row.optional for row in rows)
    taken = sum(rows[i].optional for i in pairing.pairs)
    most = call_count(match, len(rows) - optional + taken, len(rows[0].shares))
    score = pairing.exact / most if most else Fraction(1)
    required = len(pairing.pairs) - taken
    assert (score, required) == best_score(rows, match, in_order=in_order)
    assert len(set(pairing.pairs.values())) == len(pairing.pairs)
    for i, j in pairing.pairs.items():
        assert rows[i].shares[j] is not None
    if in_order:
        columns = [j for _, j in sorted(pairing.pairs.items())]
        assert columns == sorted(columns)


@pytest.mark.parametrize("in_order", [False, True])
def test_an_optional_call_does_not_take_a_required_calls_place(in_order: bool) -> None:
    right = CorrectShare(1, 1)
    required, optional = Row([right], False), Row([right], True, optional=True)
    assert pair([required, optional], in_order=in_order).pairs == {0: 0}
    assert pair([optional, required], in_order=in_order).pairs == {1: 0}


def test_a_greedy_pairing_would_be_worse() -> None:
    half, full = CorrectShare(1, 2), CorrectShare(1, 1)
    rows = [Row([full, full], True), Row([full, half], True)]

    assert pair(rows, in_order=False).pairs == {0: 1, 1: 0}
    assert pair(rows, in_order=False).total == 2.0


def test_equal_totals_go_to_the_pairing_with_more_pairs() -> None:
    none = CorrectShare(0, 1)
    # Two pairs of 0.6 and 1.0, or others: the figures may not depend on which was found first.
    rows = [Row([CorrectShare(1, 1), none], True), Row([none, None], False)]

    assert pair(rows, in_order=False) == pair(rows[::-1], in_order=False)._replace(
        pairs=pair(rows, in_order=False).pairs
    )


def test_a_hostile_number_of_calls_is_paired_in_bounded_time() -> None:
    rows = [Row([CorrectShare(i % 3, 3)] * MAX_ACTUAL, True) for i in range(20)]
    start = time.process_time()

    pairing = pair(rows, in_order=False)

    assert len(pairing.pairs) == 20
    assert time.process_time() - start < 20
