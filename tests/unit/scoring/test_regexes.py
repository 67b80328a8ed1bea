from __future__ import annotations

import pytest
import regex

from pytest_tooleval.scoring import regexes
from pytest_tooleval.scoring.json_schema import errors
from pytest_tooleval.scoring.problems import CannotCompare

HUGE = "(?:" * 12 + "a" + "{100})" * 12


def test_what_is_huge_when_written_out_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "compile", None)
    with pytest.raises(CannotCompare, match="repeats too much"):
        regexes.search(HUGE, "aaa")


@pytest.mark.parametrize("schema", [{"pattern": HUGE}, {"additionalProperties": {"pattern": HUGE}}])
def test_nor_in_a_schema(schema: dict[str, object]) -> None:
    with pytest.raises(CannotCompare, match="repeats too much"):
        errors(schema, {"a": "b"} if "additionalProperties" in schema else "b")


def test_an_empty_pattern_of_a_schema_matches_everything() -> None:
    assert regexes.search("", "a")


def test_not_all_patterns_stay_in_memory() -> None:
    for number in range(300):
        assert not regexes.search(f"a{{{number + 5}}}b", "a")
    assert regexes._compiled.cache_info().currsize <= 128
