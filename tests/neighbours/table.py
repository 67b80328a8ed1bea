"""The table of docs/reference/neighbours.md: `PYTHONPATH=tests python -m neighbours.table` writes it."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from generated import ROOT, part, table

from .plugins import NEIGHBOURS

DOCS = ROOT / "docs/reference/neighbours.md"
# What to know besides the outcomes.
NOTES = {
    "allure-pytest": 'the model is a parameter of each case; errors are "broken"; gates are not shown',
    "pytest-evals": "`--run-eval` also runs cases, as evals named after their suite",
    "pytest-flakefinder": "each repetition asks again",
    "pytest-github-actions-annotate-failures": "annotates failures and gates; we annotate errors",
    "pytest-md-report": "failures that a gate judges count as skipped",
    "pytest-repeat": "repeats Python tests only; `--tooleval-trials` repeats cases",
    "pytest-rerunfailures": "a rerun asks again, and counts",
    "pytest-retry": "a retry asks again, and counts; errors are not retried",
    "pytest-rich": "pytest-tooleval's table follows its summary",
    "pytest-socket": "asyncio needs `--allow-unix-socket`, and models `--allow-hosts`",
}


def rows() -> list[tuple[str, str, str]]:
    return [(name, version(name), note) for name, note in NOTES.items()]


def others() -> str:
    return ", ".join(name for name in NEIGHBOURS if name not in NOTES)


if __name__ == "__main__":
    text = DOCS.read_text(encoding="utf-8")
    old = part(text, "neighbours")
    new = table(["plugin", "version", "what to know"], rows())
    new += f"\nAlso tested, each in its newest version: {others()}.\n"
    new += f"\nWith pytest {pytest.__version__} and pytest-xdist {version('pytest-xdist')}.\n"
    DOCS.write_text(text[: old.start(1)] + new + text[old.end(1) :], encoding="utf-8")
