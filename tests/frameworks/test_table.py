"""Every cell of the table in docs/reference/agents-tested.md, run anew."""

from __future__ import annotations

import pytest
from generated import part

from .agents import AGENTS
from .running import skip_without
from .table import COLUMNS, PAGE, PART, TITLES, found, made_from, read


@pytest.mark.nightly
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("library", TITLES)
def test_what_a_run_says_of_an_agent(library: str, column: str) -> None:
    if library in AGENTS:
        skip_without(AGENTS[library][0])
    assert found(library, column) == read()[library][column]


def test_the_page_is_made_from_what_was_found() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert part(text, PART)[0] == made_from(read())
