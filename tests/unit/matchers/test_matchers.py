"""What each matcher takes for right, and what it says of the rest."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_tooleval.matchers.compare import compare_with_reason
from pytest_tooleval.matchers.matcher import MATCHERS, matcher_findings
from pytest_tooleval.matchers.modes import MODES

FORBIDDEN = "is what it must not be"
NO_DATE = "is not a date or time such as 2026-03-02 or 2026-03-02T10:00Z"

# Operand, actual value, and why it does not match; empty if it does.
TABLES: dict[str, list[tuple[Any, Any, str]]] = {
    "$any_of": [
        (["NYC", {"$regex": "^New York"}], "New York City", ""),
        (["NYC", 5], "nyc", ""),
        (["NYC", 5], 6, "none of these"),
        ([], None, "an empty $any_of never matches"),
    ],
    "$all_of": [
        ([{"$gte": 1}, {"$lt": 5}], 5, "is 5, not less than 5"),
        ([{"$gte": 1}, {"$lte": 5}], 7, "is 7, not at most 5"),
        ([{"$contains": "par"}, {"$not": {"$contains": "texas"}}], "Paris, France", ""),
        (
            [{"$contains": "par"}, {"$not": {"$contains": "texas"}}],
            "Paris, Texas",
            "is what it must not be",
        ),
    ],
    "$not": [
        ("Paris", "paris", FORBIDDEN),
        ("Paris", None, ""),
    ],
    "$optional": [
        ("a", "A", ""),
        ("a", "b", "different text"),
    ],
    "$absent": [
        (True, None, "must be absent"),
    ],
    "$exact": [
        ("Paris", "paris", "not of the same type and value"),
        ("Caf\u00e9", "Cafe\u0301", 'in different code points: "Cafe\\u0301", not "Caf\\u00e9"'),
        (1, 1.0, "not of the same type and value"),
        ("5", 5, "not of the same type and value"),
        ({"$any_of": [1]}, {"$any_of": [1]}, ""),
        ({"$any_of": [1]}, 1, "not of the same type and value"),
        ([True, None], [True, None], ""),
        ([True], [1], "not of the same type and value"),
    ],
    "$regex": [
        (r"^\d{4}-\d\d$", "2024-01", ""),
        (r"^\d{4}-\d\d$", "2024-01-05", "the pattern does not match"),
        ("(?i)PARIS", "paris", ""),
        ("5", 5, "is the number 5, not a string"),
        ("^5$", "5\n", "the pattern does not match"),
    ],
    "$contains": [
        ("PARIS", "in Paris now", ""),
        (["paris", "now"], "in Paris now", ""),
        (["paris", "never"], "in Paris now", "does not contain it"),
        ("a", ["b", "A"], ""),
        ([1, {"$regex": "^x"}], ["xyz", 1], ""),
        ([1, 2], [1, 3], "does not contain it"),
        (5, "5", "does not contain it"),
        ({"$any_of": ["DROP", {"$regex": "(?i)delete"}]}, "Delete it", ""),
        ({"$any_of": ["DROP", {"$regex": "(?i)delete"}]}, "Select it", "does not contain it"),
        ({"$all_of": ["paris", {"$not": "texas"}]}, "in Paris now", ""),
        ({"$all_of": ["paris", {"$not": "texas"}]}, "in Paris, Texas", "does not contain it"),
        (["now", {"$exact": "Paris"}], "in Paris now", ""),
        (["now", {"$exact": "Paris"}], "in paris now", "does not contain it"),
        ({"$exact": 5}, "5", "does not contain it"),
        ({"$contains": {"$any_of": ["now"]}}, "in Paris now", ""),
        ({"$fuzzy": "New York City"}, "new york cty", ""),
        ({"$fuzzy": "New York City"}, "I live in New York City", "does not contain it"),
        ("a", {"a": 1}, "does not contain it"),
        ("a", None, "does not contain it"),
    ],
    "$fuzzy": [
        ("New York City", "new york cty", ""),
        ("Paris", "London", "similarity 0.00, below 0.85"),
        ("5", 5, "is the number 5, not a string"),
        ("2024-01-01", "2024-01-02", "the numbers differ"),
        ("by noon on 2024-01-01", "by noon on 2024/01/01", ""),
        ("150 EUR", "15.0 EUR", "the numbers differ"),
        ("150 EUR in all", "150.0 EUR in all", ""),
        ("15000 EUR in all", "15,000 EUR in all", ""),
        ("a debit of 150 EUR", "a debit of -150 EUR", "the numbers differ"),
        ("pages 1-5 of it", "pages 15 of it", "the numbers differ"),
        ("order A17 of Jane", "order A71 of Jane", "the numbers differ"),
        ("Flat 4, 120 High Street", "Flat 4 120 High Street", ""),
        ("a" * 20_000, "a" * 19_999, "different text, and longer than 10000 characters"),
    ],
    "$unordered": [
        (["a", "B"], ["b", "A"], ""),
        (["a", "b"], ["a", "a"], 'no item is left that matches "b"'),
        (["a"], ["a", "a"], "has 2 members, not 1"),
        (["a"], "a", 'is the string "a", not a list'),
        ([], [], ""),
        # A greedy choice gives 5 to the first, and leaves nothing for the second.
        ([{"$gte": 1}, {"$gte": 5}], [5, 1], ""),
        ([{"$unordered": [1, 2]}, 3], [3, [2, 1]], ""),
    ],
    "$gte": [
        (10, 10.0, ""),
        (10, 9, "is 9, not at least 10"),
        (0, True, "is true, not a number"),
        (0, "1", 'is the string "1", not a number'),
    ],
    "$lte": [
        (10, 10, ""),
        (10, 11, "is 11, not at most 10"),
    ],
    "$gt": [
        (10, 11, ""),
        (10, 10, "is 10, not more than 10"),
    ],
    "$lt": [
        (10**400, 1e300, ""),
        (10, 10, "is 10, not less than 10"),
    ],
    "$approx": [
        ({"value": 3.14, "abs": 0.01}, 3.13, ""),
        ({"value": 3.14, "abs": 0.01}, 3.1299, "not close enough"),
        ({"value": 100, "rel": 0.05}, 95, ""),
        ({"value": 100, "rel": 0.05}, 94.9, "not close enough"),
        ({"value": -100, "rel": 0.05, "abs": 10}, -110, ""),
        ({"value": 1, "abs": 1}, True, "is true, not a number"),
        ({"value": 1, "abs": 1}, "1", 'is the string "1", not a number'),
        ({"value": 1, "abs": 1}, math.inf, "not close enough"),
        ({"value": 1, "abs": 1}, 10**400, "not close enough"),
    ],
    "$date": [
        ("2026-03-02", "2026-03-02", ""),
        ("2026-03-02", "2026-03-02T23:30:00-05:00", ""),
        ("2026-03-02", "2026-03-03", "different day: 2026-03-03"),
        ("2026-03-02", "2026-03-03T00:00Z", "different day: 2026-03-03T00:00Z"),
        ("2026-03-02", "10:00", "is a time, not a date"),
        ("2026-03-02", "March 2, 2026", NO_DATE),
        ("2026-03-02", "2026-02-30", NO_DATE),
        ("2026-03-02", 1772409600, "is the number 1772409600, not a string"),
        ("2026-03-02", "1772409600", NO_DATE),
        ("2026-03-02", "٢٠٢٦-٠٣-٠٢", NO_DATE),
        ("2026-03-02T10:00", "2026-03-02 10:00:00.000", ""),
        ("2026-03-02T10:00", "2026-03-02T10:00:01", "different instant: 2026-03-02T10:00:01"),
        ("2026-03-02T10:00", "2026-03-02T10:00:00+02:00", ""),
        ("2026-03-02T10:00Z", "2026-03-02T12:00:00+0200", ""),
        ("2026-03-02T10:00Z", "2026-03-02t12:00+02", ""),
        ("2026-03-02T10:00Z", "2026-03-02T10:00+02:00", "different instant: 2026-03-02T10:00+02:00"),
        ("2026-03-02T00:30+01:00", "2026-03-01T23:30Z", ""),
        ("2026-03-02T00:00", "2026-03-02", "is a date, not a date-time"),
        ("0001-01-01T00:00+14:00", "0001-01-01T00:00Z", "different instant: 0001-01-01T00:00Z"),
        ("10:00", "10:00:00", ""),
        ("10:00", "10:01", "different time: 10:01"),
        ("10:00", "2026-03-02T10:00", "is a date-time, not a time"),
        ("00:30+01:00", "23:30Z", ""),
    ],
    "$len": [
        (5, "Paris", ""),
        (2, {"a": 1, "b": 2}, ""),
        (2, [1, 2, 3], "has 3 members, not 2"),
        (3, "Cafe\u0301", "has 4 characters, not 3"),
        ({"$gte": 2}, [1], "has 1 member, not at least 2"),
        ({"$any_of": [1, 3]}, [1, 2, 3], ""),
        ({"$any_of": [1, 3]}, {}, "has 0 keys: none of these"),
        ({"$gte": 0}, 5, "is the number 5, which has no length"),
    ],
    "$type": [
        ("integer", 5.0, ""),
        ("integer", 5.5, 'is the number 5.5, not of type "integer"'),
        ("integer", True, 'is true, not of type "integer"'),
        ("number", False, 'is false, not of type "number"'),
        (["string", "null"], None, ""),
        (["string", "null"], [], 'is a list, not of type ["string", "null"]'),
        ("array", [], ""),
        ("object", {}, ""),
    ],
    "$schema": [
        ({"type": "integer", "minimum": 3}, 3, ""),
        ({"type": "integer", "minimum": 3}, 2, "2 is less than the minimum of 3"),
        ({"type": "string", "format": "date"}, "x", ""),
    ],
}


@pytest.mark.parametrize(
    ("key", "operand", "actual", "why"),
    [(key, *row) for key, rows in TABLES.items() for row in rows],
)
def test_a_matcher(key: str, operand: Any, actual: Any, why: str) -> None:
    right, words = compare_with_reason({key: operand}, actual, MODES["exact"])

    assert right is (not why)
    assert words == (why or ("equal, ignoring case" if key == "$optional" else f"matches {key}"))
    assert not list(matcher_findings({"name": {key: operand}}, ()))


def test_every_matcher_has_a_table() -> None:
    assert TABLES.keys() == MATCHERS.keys()
