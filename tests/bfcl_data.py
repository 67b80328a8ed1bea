"""BFCL's single-turn suites, and its judge's verdicts, where TOOLEVAL_BFCL_DATA names their folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_tooleval.imports.files import import_files


def bfcl_suite(questions: Path, *answers: Path) -> dict[str, Any]:
    """The suite that an import makes of a file of questions, without answers of those beside it."""
    found, _ = import_files([questions, *answers], "bfcl", has_tools=False)
    assert found.suite is not None
    return found.suite


def bfcl_file(name: str) -> Path:
    """A file of that folder; without one, the test is skipped."""
    folder = os.environ.get("TOOLEVAL_BFCL_DATA")
    if folder is None:
        pytest.skip("no BFCL data; set TOOLEVAL_BFCL_DATA")
    return Path(folder, name)


def bfcl_suite_file(category: str) -> Path:
    return bfcl_file(f"bfcl_{category}.tooleval.json")
