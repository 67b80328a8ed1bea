"""Imported before runs inside this process.

pytester forgets modules that such a run has imported. Each run would load them again, leave those of the
last one in memory, and fail for compiled ones, which cannot be loaded twice.
"""

from __future__ import annotations

import importlib
import pkgutil
import statistics  # noqa: F401

import aiohttp  # noqa: F401
import jsonschema  # noqa: F401
import pydantic  # noqa: F401
import rapidfuzz  # noqa: F401
import referencing  # noqa: F401
import regex  # noqa: F401

import pytest_tooleval

# The others wait for what is optional or heavy.
for _name in ("engine", "history", "imports", "plugin", "reports", "suite", "variants", "verdicts"):
    _folder = f"{pytest_tooleval.__path__[0]}/{_name}"
    for _module in pkgutil.walk_packages([_folder], f"pytest_tooleval.{_name}."):
        try:
            importlib.import_module(_module.name)
        except ModuleNotFoundError as error:
            if error.name != "httpx":  # which comes with litellm
                raise
