from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.suite.slugs import MAX_SLUG, assign_ids, slug


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("What's the weather in Paris?", "whats-the-weather-in-paris"),
        ("  2 + 2 = ?", "2-2"),
        ("Größe in ÅNGSTRÖM", "größe-in-ångström"),
        ("東京の天気は?", "東京の天気は"),
        ("मौसम कैसा है", "मौसम-कैसा-है"),
        ("::[x]\x1b[31m\n", "x-31m"),
        ("?!", ""),
    ],
)
def test_slug(prompt: str, expected: str) -> None:
    assert slug(prompt) == expected


def test_a_long_prompt_is_cut_at_a_word_and_told_apart_by_a_checksum() -> None:
    start = "Book a flight from New York to London for next Friday "
    first, second = slug(start + "morning"), slug(start + "evening")
    assert re.fullmatch(r"book-a-flight-from-new-york-to-london-for-[0-9a-f]{6}", first)
    assert re.fullmatch(r"book-a-flight-from-new-york-to-london-for-[0-9a-f]{6}", second)
    assert first != second


def test_a_single_long_word_is_cut() -> None:
    assert len(slug("雨" * 200)) == MAX_SLUG


def test_repeated_prompts_are_numbered() -> None:
    assert assign_ids([(1, "Rain?"), (2, "Rain!"), (3, "rain")], []) == ["rain", "rain-2", "rain-3"]


def test_given_ids_are_never_taken_again() -> None:
    assert assign_ids([(2, "Rain?"), (3, "?"), (4, "Rain?")], ["rain", "rain-2", "case-3"]) == [
        "rain-3",
        "case-3-2",
        "rain-4",
    ]


def test_ids_stay_when_other_prompts_come_in_between() -> None:
    long = "Please look up the following rather long question for me number "
    before = [f"{long}{n}" for n in range(20)] + ["Rain?"]
    more = [text for prompt in before for text in (f"New {prompt}", prompt)]
    ids = dict(zip(before, assign_ids(list(enumerate(before, 1)), []), strict=True))
    later = dict(zip(more, assign_ids(list(enumerate(more, 1)), []), strict=True))
    assert {prompt: later[prompt] for prompt in before} == ids


@given(st.lists(st.text(max_size=120), max_size=20), st.sets(st.text("abc-12", min_size=1, max_size=4)))
def test_ids_are_unique_and_fit_into_node_ids(prompts: list[str], taken: set[str]) -> None:
    ids = assign_ids(list(enumerate(prompts, 1)), taken)
    assert len(set(ids)) == len(ids)
    assert not set(ids) & taken
    for name in ids:
        assert name
        assert name.isprintable()
        assert not re.search(r"::|[\[\]\s]", name)
        assert len(name) <= MAX_SLUG + 10
