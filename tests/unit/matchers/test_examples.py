from __future__ import annotations

from typing import Any

import pytest

from pytest_tooleval.matchers.examples import right_value
from pytest_tooleval.matchers.modes import MODES


@pytest.mark.parametrize(
    ("expected", "schema", "right"),
    [
        ({"$gte": 2.5}, {"type": "integer"}, 3),
        ({"$lt": 0}, {"type": "number"}, -1),
        ({"$all_of": [{"$gt": 1}, {"$lt": 5}]}, {"type": "integer"}, 2),
        ({"$all_of": [{"$type": "string"}, {"$len": 4}]}, {"type": "string"}, "xxxx"),
        ({"$not": "x"}, {"enum": ["x", "z"]}, "z"),
        ({"$not": {"$type": "null"}}, True, "x"),
        ({"$unordered": ["a", {"$regex": "^b+"}]}, {"type": "array"}, ["a", "b"]),
        ({"$date": "2026-03-02"}, {"type": "string"}, "2026-03-02"),
        ({"$contains": ["a", {"$any_of": ["b", "c"]}]}, {"type": "string"}, "a b"),
        ({"$len": {"$gte": 3}}, {"type": "array", "items": {"type": "integer"}}, [1, 1, 1]),
        ({"$type": ["integer", "null"]}, True, 1),
    ],
)
def test_a_value_that_a_matcher_accepts(expected: dict[str, Any], schema: Any, right: Any) -> None:
    assert right_value(expected, schema, MODES["exact"]) == right
