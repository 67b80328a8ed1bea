"""The table of docs/reference/neighbours.md: `PYTHONPATH=tests python -m neighbours.table` writes it."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from generated import ROOT
from generated import part
from generated import table

from .plugins import NEIGHBOURS

DOCS = ROOT / "docs/reference/neighbours.md"
# What is to be known beside the outcomes.
NOTES = {
    "allure-pytest": "the model is a parameter of each case; what has no answer is broken",
    "pytest-evals": "cases are evals of their suite's name: `--run-eval` runs them, too",
    "pytest-flakefinder": "each repetition is asked anew",
    "pytest-github-actions-annotate-failures": "annotates failures and gates; errors we annotate",
    "pytest-md-report": "what is tolerated counts as skipped",
    "pytest-repeat": "repeats Python tests only; `--tooleval-trials` repeats cases",
    "pytest-rerunfailures": "a rerun is asked anew, and holds",
    "pytest-retry": "a retry is asked anew, and holds; an error is not retried",
    "pytest-rich": "our table comes after its summary",
    "pytest-socket": "asyncio needs `--allow-unix-socket`, and models `--allow-hosts`",
}


def rows() -> list[tuple[str, str, str, str]]:
    found = []
    for name, options in NEIGHBOURS.items():
        tried = f"`{options}`" if options else ""
        found.append((name, version(name), tried, NOTES.get(name, "")))
    return found


if __name__ == "__main__":
    text = DOCS.read_text(encoding="utf-8")
    old = part(text, "neighbours")
    new = table(["plugin", "version", "tried with", ""], rows())
    new += f"\nWith pytest {pytest.__version__} and pytest-xdist {version('pytest-xdist')}.\n"
    DOCS.write_text(text[: old.start(1)] + new + text[old.end(1) :], encoding="utf-8")
