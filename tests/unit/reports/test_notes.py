"""Remarks below the tables."""

from __future__ import annotations

from pytest_tooleval.reports.notes import notes

from .samples import document, row, trial


def test_several_upstreams_of_a_router_are_counted() -> None:
    names = ("OpenAI", "Azure", "OpenAI")
    rows = [row("passed", trial(upstream=name), case=str(n)) for n, name in enumerate(names)]
    assert "gpt-4o: 2 upstreams: OpenAI 2, Azure 1" in notes(document(*rows))
    assert not [each for each in notes(document(rows[0], rows[2])) if "upstream" in each]
