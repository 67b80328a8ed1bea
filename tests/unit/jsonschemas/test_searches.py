from __future__ import annotations

from pytest_tooleval.jsonschemas import searches as regexes


def test_an_empty_pattern_of_a_schema_matches_everything() -> None:
    assert regexes.search("", "a")


def test_not_all_patterns_stay_in_memory() -> None:
    for number in range(300):
        assert not regexes.search(f"a{{{number + 5}}}b", "a")
    assert regexes._compiled.cache_info().currsize <= 32
