"""Which case of one run is which of another."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.verdicts.pairing import Pairing, pair_cases


def row(case: str, content: str = "1", suite: str = "weather", line: int = 0, **fields: Any) -> CaseRow:
    return CaseRow(
        nodeid=case,
        suite=suite,
        case=case,
        model="m",
        outcome="passed",
        case_fingerprint=content,
        line=line,
        **fields,
    )


def ids(pairing: Pairing) -> dict[str, list[tuple[str, ...]]]:
    """The case ids of a pairing."""
    return {
        "same": [(old.case, new.case) for old, new in pairing.same],
        "renamed": [(old.case, new.case) for old, new in pairing.renamed],
        "changed": [(old.case, new.case) for old, new in pairing.changed],
        "added": [(new.case,) for new in pairing.added],
        "removed": [(old.case,) for old in pairing.removed],
    }


def test_a_case_in_another_suite_is_renamed() -> None:
    found = pair_cases([row("a", "1", "weather")], [row("a", "1", "climate")], (), None)
    assert len(found.renamed) == 1


def test_equal_cases_are_paired_one_to_one_in_order() -> None:
    old = [row("a", "1", line=1), row("a", "1", line=2), row("a", "1", line=3)]
    new = [row("a", "1", line=11), row("a", "1", line=12)]
    found = pair_cases(old, new, (), None)
    assert [(a.line, b.line) for a, b in found.same] == [(1, 11), (2, 12)]
    assert [case.line for case in found.removed] == [3]


rows = st.lists(
    st.builds(row, st.sampled_from("abc"), st.sampled_from(["1", "2"]), st.sampled_from("xy")),
    max_size=8,
)
