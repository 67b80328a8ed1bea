"""What is tried only at night, with `TOOLEVAL_TESTS=all` in the environment."""

from __future__ import annotations

import os
from typing import Any

import pytest

ALL = os.environ.get("TOOLEVAL_TESTS") == "all"


def at_night(*values: Any) -> Any:
    """A row of a parametrized test that only repeats another one's decision."""
    return pytest.param(*values, marks=pytest.mark.nightly)
