"""What is a number in a text, as docs/guides/conversations.md says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pytest_tooleval.matchers.numerals import numbers
from pytest_tooleval.scoring.texts import says

TABLE = {
    "You get $5.00 back": [5],
    "5kg, the 3rd, 5%, (5) **5** #5": [5, 3, 5, 5, 5, 5],
    "40USD US$40 共40元5角 ４０円": [40, 40, 40, 5, 40],
    ".5 and 0.50, or 5.": [0.5, 0.5, 5],
    "5e3 5E-1 5e−1": [5000, 0.5, 0.5],
    "-5 −5 –5 -$5.00 $-5 -€ 5 -US$5 -EUR 5 x=-.5": [-5, -5, -5, -5, -5, -5, -5, -5, -0.5],
    "3-5, 3–5, 5%-10%, $3-$5, 5 - 3": [3, 5, 3, 5, 5, 10, 3, 5, 5, 3],
    "5,000 5 000 5\u00a0000 5\u202f000 5\u2009000 5’000": [5000] * 6,
    "1,234,567.89": [1234567.89],
    "items 100,200": [100200, 100, 200],
    "100 200 in all": [100200, 100, 200],
    "$100,200 100,200.5 100,200% 100,050": [100200, 100200.5, 100200, 100050],
    "1,2,3 and 40,50": [1, 2, 3, 40, 50],
    "$1,00,000 for 5.000": [5],
    "5, 000": [5, 0],
    "in 2024 150 people, 12 3456": [2024, 150, 12, 3456],
    "A5 A-5 INV-2024-0017 v1.2 item_5 a.5": [],
    "4f2a 12e3f 5e99999 1920x1080 2h30m 5_000": [],
    "5.0.1 10.0.0.1 1.000.000 555-123-4567": [],
    "2026-03-02 1/2/2026 2026-03-02T10:00:00.5+02:00 10:30 10:30pm": [],
    "24/7 16:9 ...5": [24, 7, 16, 9, 5],
    "½ – - . $ ,": [],
}


@pytest.mark.parametrize(("text", "found"), TABLE.items())
def test_the_numbers_in_a_text(text: str, found: list[float]) -> None:
    assert list(numbers(text)) == [Decimal(str(number)) for number in found]


@pytest.mark.parametrize(
    ("number", "text", "right"),
    [
        *((5, text, False) for text in ("-$5.00", "−5", "5e3", "5 000", "5.0.1")),
        *((5, text, True) for text in ("$5.00", "5.0", "5.")),
        (-5, "−5", True),
        (0.5, ".5", True),
        (100, "items 100,200", True),
        (1_000_000_000, "1,000,000,001", False),
        (10**23, "1e23", True),
        (1e23, "1" + "0" * 23, True),
        (1e308, "1e9999", False),
    ],
)
def test_whether_a_number_is_said(number: float, text: str, right: bool) -> None:
    assert says({"$number": number}, ["", text]) is right


@pytest.mark.parametrize("text", ["1,", "1.", "1-", "1 111", "1e1", "a.", "-", "$ ", "9", "-EUR 1'234"])
def test_long_texts_are_read_once(text: str) -> None:
    """Otherwise this takes hours."""
    assert len(list(numbers(text * 100_000))) <= 300_000
