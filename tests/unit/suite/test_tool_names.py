from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tooleval.suite.tool_names import provider_name, provider_names

ACCEPTED = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
ANY_TEXT = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("get_weather", "get_weather"),
        ("get-weather", "get-weather"),
        ("_private", "_private"),
        ("files/read.all", "files_read_all"),
        ("../../etc/passwd", "etc_passwd"),
        ("9lives", "_9lives"),
        ("-x", "_-x"),
        ("günstig wählen", "gunstig_wahlen"),
        ("\x1b[31mred", "_31mred"),
        ("a" * 64, "a" * 64),
    ],
)
def test_a_name_keeps_what_is_accepted(name: str, accepted: str) -> None:
    assert provider_name(name) == accepted


@pytest.mark.parametrize("name", ["", "天気", "...", "___" * 40, "a" * 65, "x." * 100_000])
def test_what_is_lost_is_made_up_by_a_checksum(name: str) -> None:
    made = provider_name(name)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]*_[0-9a-f]{6}", made)
    assert len(made) <= 64
    assert made != provider_name(name + "y")


@given(ANY_TEXT)
def test_every_name_becomes_an_accepted_one_and_stays_it(name: str) -> None:
    made = provider_name(name)
    assert ACCEPTED.fullmatch(made)
    assert provider_name(name) == made
    assert provider_name(made) == made


@given(st.lists(ANY_TEXT | st.sampled_from(["a.b", "a/b", "a_b", "A_B", "a" * 70]), unique=True))
def test_a_list_gets_different_names(names: list[str]) -> None:
    made = provider_names(names)
    assert list(made) == names
    assert len({name.casefold() for name in made.values()}) == len(names)
    assert all(ACCEPTED.fullmatch(name) for name in made.values())


@given(st.permutations(["a.b", "a/b", "a_b", "A_b", "a b", "b", "B"]))
def test_the_order_of_a_list_changes_no_name(names: list[str]) -> None:
    assert provider_names(names) == provider_names(sorted(names))
    assert provider_names(names)["a_b"] in ("a_b", provider_names(names)["a_b"])


def test_a_name_that_is_accepted_comes_before_one_that_would_become_it() -> None:
    made = provider_names(["a.b", "a_b"])
    assert made["a_b"] == "a_b"
    assert re.fullmatch("a_b_[0-9a-f]{6}", made["a.b"])


def test_taken_names_are_not_given_whatever_their_case() -> None:
    assert provider_name("Get", taken=["get"]) != "Get"
    taken = {"a_b", provider_name("a.b", ["a_b"])}
    assert provider_name("a.b", taken) not in taken


def test_names_of_an_earlier_time_are_given_again() -> None:
    before = provider_names(["a.b", "a/b"])
    known = {accepted: original for original, accepted in before.items()}
    # Alone, the second would now be called what the first one was called then.
    after = provider_names(["a/b", "c"], known)
    assert after["a/b"] == before["a/b"]
    assert provider_names(["a.b", "a_b"], {"z": "a.b"}) == {"a.b": "z", "a_b": "a_b"}
