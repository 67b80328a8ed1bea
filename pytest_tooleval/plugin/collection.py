"""A suite file as a pytest collector.

pytest also creates collectors for neighbouring files that it does not collect, so this module
imports nothing heavy before `collect`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from .settings import USAGE_ERROR

if TYPE_CHECKING:
    from .case_session import CaseSession


class SuiteFile(pytest.File):
    """One `*.tooleval.json`."""

    def __init__(self, *args: Any, cases: Callable[[], CaseSession], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cases = cases

    def collect(self) -> list[pytest.Item]:
        from ..errors import ConfigError
        from .cases import Cases, not_asked
        from .settings import config_tables

        try:
            config_tables(self.config)  # even without a model: a bad table must not look like none
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None
        items = list(Cases(self, self._cases()).items())
        problem = not_asked(self.config, self.path, [item.nodeid for item in items])
        if problem:
            raise pytest.UsageError(problem)
        return items

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Mark a usage error, so that it ends the run."""
        if isinstance(excinfo.value, pytest.UsageError):
            return f"{USAGE_ERROR}{excinfo.value}"
        return super().repr_failure(excinfo)
