from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.matchers.compare import RULES
from pytest_tooleval.matchers.reasons import reason


@pytest.mark.parametrize(
    ("expected", "actual", "why"),
    [
        ({"$gte": 10}, 7, "is 7, not at least 10"),
        ({"$lt": 10}, 10, "is 10, not less than 10"),
        ({"$lte": 10}, "7", 'is the string "7", not a number'),
        ({"$all_of": [{"$gte": 1}, {"$lte": 5}]}, 7, "is 7, not at most 5"),
        ({"$not": "Paris"}, "Paris", "is what it must not be"),
        ({"$type": "integer"}, 5.5, 'is the number 5.5, not of type "integer"'),
        ({"$type": ["string", "null"]}, [], 'is a list, not of type ["string", "null"]'),
        ({"$len": 2}, [1, 2, 3], "has 3 members, not 2"),
        ({"$len": {"$gte": 2}}, "a", "has 1 character, not at least 2"),
        ({"$len": {"$any_of": [1, 3]}}, {}, "has 0 keys: none of these"),
        ({"$len": 2}, 12, "is the number 12, which has no length"),
        ({"$unordered": [1, 2]}, [1, 2, 3], "has 3 members, not 2"),
        ({"$unordered": [1, 2]}, [1, 1], "no item is left that matches 2"),
        ({"$unordered": [1]}, "1", 'is the string "1", not a list'),
        ([1, 2], [2, 1], "the same members in a different order, which $unordered would allow"),
        ({"$date": "2026-03-01"}, "2026-03-02", "different day: 2026-03-02"),
        ({"$date": "2026-03-01"}, "2026-03-02T10:00", "different day: 2026-03-02T10:00"),
        ({"$date": "2026-03-02T10:00"}, "2026-03-02", "is a date, not a date-time"),
        (
            {"$date": "2026-03-02T10:00Z"},
            "2026-03-02T10:00+01:00",
            "different instant: 2026-03-02T10:00+01:00",
        ),
        ({"$date": "10:00"}, "10:30", "different time: 10:30"),
        (
            {"$date": "2026-03-02"},
            "March 2",
            "is not a date or time such as 2026-03-02 or 2026-03-02T10:00Z",
        ),
        (
            {"$exact": "Caf\u00e9"},
            "Cafe\u0301",
            'in different code points: "Cafe\\u0301", not "Caf\\u00e9"',
        ),
        ({"$date": "2026-03-02"}, 5, "is the number 5, not a string"),
        ({"$len": 3}, "Cafe\u0301", "has 4 characters, not 3"),
        ({"\xe9": 1, "b": 2}, {"e\u0301": 1, "b": 3}, 'at "b": different value'),
    ],
)
def test_why_a_matcher_does_not_match(expected: Any, actual: Any, why: str) -> None:
    assert reason(expected, actual, RULES["exact"]) == (False, why)


@pytest.mark.parametrize("expected", [{"$gte": 1}, {"$not": 6}, {"$any_of": [{"$type": "number"}]}])
def test_a_matcher_that_matches_is_named(expected: dict[str, Any]) -> None:
    assert reason(expected, 5, RULES["exact"]) == (True, f"matches {next(iter(expected))}")
