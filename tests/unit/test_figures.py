from __future__ import annotations

import pytest

from pytest_tooleval.figures import amount_text, given_text, most_text, number_text


@pytest.mark.parametrize(
    ("name", "value", "most", "shown", "allowed"),
    [
        ("tokens", 1_000_001, 1_000_000, "1,000,001", "1,000,000"),
        ("tokens", 12_345.5, 12_345, "12,345.5", "12,345"),
        ("tokens", 100.001, 100, "100.001", "100"),
        ("calls", 2.0, 2, "2", "2"),
        ("calls", 2.5, 2, "2.5", "2"),
        ("cost_usd", 0.010004, 0.01, "$0.010004", "$0.01"),
        ("cost_usd", 1234567.0, 1000000.0, "$1,234,567.00", "$1,000,000"),
        ("latency_s", 2.0004, 2, "2.0004 s", "2 s"),
    ],
)
def test_an_amount_never_looks_like_its_limit(
    name: str, value: float, most: float, shown: str, allowed: str
) -> None:
    assert (amount_text(name, value, [most]), most_text(name, most)) == (shown, allowed)


def test_no_number_has_an_exponent() -> None:
    for value, text in ((1e6, "1,000,000"), (1e-7, "0.0000001"), (0.9, "0.9"), (1e15, f"{10**15:,}")):
        assert given_text(value) == text
    assert number_text(1e21) == f"{10**21:,}"
