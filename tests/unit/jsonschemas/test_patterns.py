from __future__ import annotations

import pytest

from pytest_tooleval.jsonschemas import patterns
from pytest_tooleval.jsonschemas.pattern_examples import example
from pytest_tooleval.jsonschemas.patterns import search


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(?i)budget", "budget"),
        ("^0?9:00(:00)?$", "9:00"),
        (r"^\d{4}-\d{2}-\d{2}$", "1111-11-11"),
        ("(?i)renew.*passport", "renewpassport"),
        ("^(Paris|London), (?:FR|UK)$", "Paris, FR"),
        (r"[^a-z]+x?", "1"),
        (r"\bfee\s+\$[0-9]+\.\d\d\b", "fee $0.11"),
        ("(?<year>20[0-9]{2})(?=-?)", "2000"),
        (r"^[\w.+-]+@[\]a]{2,}\.com$", "w@]].com"),
        ("", ""),
    ],
)
def test_a_short_text_that_is_found(pattern: str, text: str) -> None:
    assert example(pattern) == text
    assert search(pattern, text)


def test_not_all_patterns_stay_in_memory() -> None:
    for number in range(300):
        assert not search(f"a{{{number + 5}}}b", "a")
    assert patterns._kept.cache_info().currsize <= 32
