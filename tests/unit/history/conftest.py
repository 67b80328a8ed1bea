"""A history in an empty folder, and short ways to put runs into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.history import History, RunWriter
from pytest_tooleval.record.results import CaseResult
from pytest_tooleval.record.run import Run

from .runs import case_of, kept, run_of

Keep = Callable[..., str]


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """What git and CI services say of another repository counts for none of these tests."""
    for name in list(os.environ):
        if name.startswith(("GIT_", "GITHUB_", "CI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[History]:
    """Its writers let go of their runs when the test is over."""
    history = History(tmp_path / "project" / ".tooleval")
    begin, writers = history.begin, []

    def remember(run: Run) -> RunWriter:
        writers.append(begin(run))
        return writers[-1]

    monkeypatch.setattr(history, "begin", remember)
    yield history
    for writer in writers:
        writer.close()


@pytest.fixture
def keep(history: History) -> Keep:
    """Keep a finished run on day `day` of November; returns its id."""

    def keep(day: int, *cases: CaseResult, **fields: Any) -> str:
        made = run_of(f"2026-11-{day:02}T10:00:00+00:00", **fields)
        writer = history.begin(made)
        writer.add(kept(*(cases or [case_of()])))
        writer.finish(made)
        return writer.id

    return keep
