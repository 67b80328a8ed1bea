"""A suite file as a pytest collector.

pytest also creates collectors for neighbouring files that it does not collect, so this module
imports nothing heavy before `collect`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..suite.discovery import SUITE_ENDING
from .processes import USAGE_ERROR

if TYPE_CHECKING:
    from .case_session import CaseSession


def holds_cases(file: Path) -> bool:
    """True for a suite under another name."""
    try:
        data = json.loads(file.read_bytes())
    except ValueError:
        return False
    return isinstance(data, dict) and isinstance(data.get("test_cases"), list)


class MisnamedSuite(pytest.File):
    """A suite whose name does not end as a suite's must, though it may nearly do so."""

    def collect(self) -> list[pytest.Item]:
        stem = re.sub(r"[._-]?toolevals?$", "", self.path.stem, flags=re.IGNORECASE) or "suite"
        name = f"{stem}{SUITE_ENDING}"
        raise self.CollectError(
            f"{self.nodeid}: a suite's name ends in {SUITE_ENDING}; rename it to {name}"
        )


class SuiteFile(pytest.File):
    """One `*.tooleval.json`."""

    def __init__(self, *args: Any, cases: Callable[[], CaseSession], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cases = cases

    def collect(self) -> list[pytest.Item]:
        from ..errors import ConfigError
        from .cases import ItemFactory, not_asked
        from .settings import config_tables

        try:
            config_tables(self.config)  # even without a model: a bad table must not look like none
        except ConfigError as error:
            raise pytest.UsageError(str(error)) from None
        items = list(ItemFactory(self, self._cases()).items())
        problem = not_asked(self.config, self.path, [item.nodeid for item in items])
        if problem:
            raise pytest.UsageError(problem)
        if not items:  # which no gate must take for success
            self._cases().run.note_files({self.nodeid: 0})
        return items

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Mark a usage error, so that it ends the run."""
        if isinstance(excinfo.value, pytest.UsageError):
            return f"{USAGE_ERROR}{excinfo.value}"
        return super().repr_failure(excinfo)
