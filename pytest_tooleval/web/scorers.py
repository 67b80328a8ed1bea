"""Scorers of a project's own, which its `conftest.py` files register for pytest.

To show a suite nothing of the project is run: a metric that some scorer may well have is taken for
known. To run one, the conftest files above it are imported, as pytest would do.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..record.metrics import PENALTIES
from ..scoring.registry import ScorerRegistry
from ..text import printable
from ..text import shorten
from .project import project_folders
from .project import shown_from

_HOOK = "pytest_tooleval_register_scorers"
_FILE = "conftest.py"


def conftests(root: Path, file: str) -> list[Path]:
    """The conftest files, from the project's folder down to the suite's, that register scorers."""
    folders = project_folders(root)[::-1]
    for part in file.split("/")[:-1]:
        folders.append(folders[-1] / part)
    return [folder / _FILE for folder in folders if _registers(folder / _FILE)]


def _registers(path: Path) -> bool:
    try:
        return path.is_file() and _HOOK.encode() in path.read_bytes()
    except OSError:
        return False


def named_metrics(data: Any) -> set[str]:
    """Every metric that a suite's data sets a threshold for."""
    return {name for thresholds in _thresholds(data) for name in thresholds} - set(PENALTIES)


def _thresholds(data: Any) -> Iterator[dict[str, Any]]:
    cases = data.get("test_cases") if isinstance(data, dict) else None
    for owner in (data, *(cases if isinstance(cases, list) else ())):
        thresholds = owner.get("thresholds") if isinstance(owner, dict) else None
        if isinstance(thresholds, dict):
            yield thresholds


def load_scorers(root: Path, file: str) -> ScorerRegistry:
    """The built-in scorer and those of the project. ConfigError when a conftest file cannot be used."""
    registry = ScorerRegistry()
    for path in conftests(root, file):
        try:
            getattr(_imported(path), _HOOK)(register=registry.register)
        except ConfigError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # `pytest.skip` raises none of the ordinary ones
            reason = shorten(printable(f"{type(error).__name__}: {error}"), 300)
            raise ConfigError(f"{shown_from(root, path)}: {reason}") from None
    return registry


def _imported(path: Path) -> Any:
    # A name of its own, as every folder's file is called the same.
    name = f"tooleval_conftest_{abs(hash(path)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module  # dataclasses look up their module there
    spec.loader.exec_module(module)
    return module
