"""Which case of one run is which of another."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.record.results import CaseRow
from pytest_tooleval.suite.model import Suite
from pytest_tooleval.verdicts.pairing import Pairing, moved_files, pair_cases


def row(case: str, content: str = "1", suite: str = "weather", line: int = 0, **fields: Any) -> CaseRow:
    return CaseRow(
        nodeid=case,
        suite=suite,
        case=case,
        model="m",
        outcome="passed",
        content=content,
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


def test_equal_names_and_contents_are_the_same_case() -> None:
    found = ids(pair_cases([row("a", "1"), row("b", "2")], [row("b", "2"), row("a", "1")]))
    assert found["same"] == [("b", "b"), ("a", "a")]
    assert not any(found[kind] for kind in ("renamed", "changed", "added", "removed"))


def test_another_content_under_the_same_name_is_a_changed_case() -> None:
    found = ids(pair_cases([row("a", "1")], [row("a", "9")]))
    assert found["changed"] == [("a", "a")]
    assert found["same"] == []


def test_a_renamed_case_is_found_by_its_content_and_compared() -> None:
    old = [row("a", "1"), row("gone", "2")]
    found = ids(pair_cases(old, [row("b", "1"), row("new", "3")]))
    assert found["renamed"] == found["same"] == [("a", "b")]
    assert found["added"] == [("new",)]
    assert found["removed"] == [("gone",)]


def test_a_case_in_another_suite_is_renamed() -> None:
    found = pair_cases([row("a", "1", "weather")], [row("a", "1", "climate")])
    assert len(found.renamed) == 1


def test_numbered_names_that_moved_on_keep_their_cases() -> None:
    # Ids made from prompts are numbered where they repeat: a case put first moves the others on.
    old = [row("weather", "1"), row("weather-2", "2")]
    new = [row("weather", "new"), row("weather-2", "1"), row("weather-3", "2")]
    found = ids(pair_cases(old, new))
    assert found["same"] == [("weather", "weather-2"), ("weather-2", "weather-3")]
    assert found["added"] == [("weather",)]
    assert found["changed"] == []


def test_equal_cases_are_paired_one_to_one_in_order() -> None:
    old = [row("a", "1", line=1), row("a", "1", line=2), row("a", "1", line=3)]
    new = [row("a", "1", line=11), row("a", "1", line=12)]
    found = pair_cases(old, new)
    assert [(a.line, b.line) for a, b in found.same] == [(1, 11), (2, 12)]
    assert [case.line for case in found.removed] == [3]


def test_renamed_twins_are_told_apart_by_their_tools() -> None:
    old = [row("a", tools_content="x"), row("b", tools_content="y")]
    new = [row("c", tools_content="y"), row("d", tools_content="x")]
    assert ids(pair_cases(old, new))["same"] == [("b", "c"), ("a", "d")]


def test_a_case_is_looked_for_in_its_own_file_while_that_is_there() -> None:
    a, b = row("c", file="a.json"), row("c", file="b.json")
    both = pair_cases([a, b], [row("c", "9", file="a.json"), b])
    assert [(old.file, new.file) for old, new in (*both.same, *both.changed)] == [
        ("b.json", "b.json"),
        ("a.json", "a.json"),
    ]
    moved = pair_cases([a], [b])
    assert moved.same == [(a, b)]
    there = Suite.model_construct(name="", tools=[], test_cases=[])
    apart = pair_cases([a], [b], moved_files([a], [b], lambda file: there))
    assert (apart.same, apart.removed, apart.added) == ([], [a], [b])


rows = st.lists(
    st.builds(row, st.sampled_from("abc"), st.sampled_from(["1", "2"]), st.sampled_from("xy")),
    max_size=8,
)


@given(rows, rows)
def test_every_row_is_in_one_place(old: list[CaseRow], new: list[CaseRow]) -> None:
    found = pair_cases(old, new)
    pairs = [*found.same, *found.changed]
    assert sorted(map(id, old)) == sorted([*(id(a) for a, _ in pairs), *map(id, found.removed)])
    assert sorted(map(id, new)) == sorted([*(id(b) for _, b in pairs), *map(id, found.added)])
    for a, b in found.same:
        assert a.content == b.content
    for a, b in found.changed:
        assert (a.suite, a.case) == (b.suite, b.case)
        assert a.content != b.content
