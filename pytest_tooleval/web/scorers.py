"""Metrics of a project's own. To show a suite, nothing of the project is run.

A metric that the scorers in a conftest file may well have is taken for known; pytest finds out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..record.metrics import BUDGETS
from ..record.metrics import PENALTIES

_HOOK = "pytest_tooleval_register_scorers"


def has_scorers(root: Path, file: str) -> bool:
    """Whether a conftest file, from the root folder down to the suite's, registers scorers."""
    folder = (root / file).parent
    return any(
        _registers(above / "conftest.py")
        for above in (folder, *folder.parents)
        if above.is_relative_to(root)
    )


def _registers(path: Path) -> bool:
    try:
        return path.is_file() and _HOOK.encode() in path.read_bytes()
    except OSError:
        return False


def named_metrics(data: Any) -> set[str]:
    """Every metric that a suite's data sets a threshold for."""
    return {name for thresholds in _thresholds(data) for name in thresholds} - {*PENALTIES, *BUDGETS}


def _thresholds(data: Any) -> Iterator[dict[str, Any]]:
    cases = data.get("test_cases") if isinstance(data, dict) else None
    for owner in (data, *(cases if isinstance(cases, list) else ())):
        thresholds = owner.get("thresholds") if isinstance(owner, dict) else None
        if isinstance(thresholds, dict):
            yield thresholds
