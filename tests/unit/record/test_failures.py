"""The categories of failures are described once, for all who show them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pytest_tooleval.record.results import FAILURES
from pytest_tooleval.record.results import FailureCategory

PAGE = Path(__file__).parents[3] / "docs" / "scoring.md"


def test_every_category_is_described() -> None:
    assert list(FAILURES) == list(get_args(FailureCategory))


def test_the_table_of_the_documentation_is_up_to_date() -> None:
    table = "\n".join(f"| `{category}` | {meaning} |" for category, meaning in FAILURES.items())
    assert f"|---|---|\n{table}\n\n" in PAGE.read_text(encoding="utf-8")
