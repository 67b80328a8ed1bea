"""Node ids lead back to file, case, model and variant."""

from __future__ import annotations

import pytest

from pytest_tooleval.record.variants import model_label
from pytest_tooleval.run.nodeids import CaseId, is_case, split_nodeid


@pytest.mark.parametrize("case", ["a", "a[row 1]"])
@pytest.mark.parametrize("model", ["m", "a, b", "x][y", "a[b]"])
@pytest.mark.parametrize("variant", ["", "distractors:50"])
def test_an_id_is_split_into_what_it_was_made_of(case: str, model: str, variant: str) -> None:
    made = CaseId("tests/s.tooleval.json", case, model_label(model), variant)
    assert split_nodeid(made.nodeid) == made
    assert is_case(made.nodeid)


@pytest.mark.parametrize(
    "nodeid",
    ["test_plain.py::test[a.tooleval.json::b]", "s.tooleval.json", "a.tooleval.json/test.py::b"],
)
def test_other_tests_are_no_cases(nodeid: str) -> None:
    assert not is_case(nodeid)
