"""A suite file as a pytest collector.

pytest makes one of every file beside those that it collects, so this loads nothing before `collect`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Any

import pytest

if TYPE_CHECKING:
    from .session import EvalSession


class SuiteFile(pytest.File):
    """One `*.tooleval.json`."""

    def __init__(self, *args: Any, evals: Callable[[], EvalSession], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._evals = evals

    def collect(self) -> list[pytest.Item]:
        from .cases import Cases

        return list(Cases(self, self._evals()).items())
