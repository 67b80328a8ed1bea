"""Loaded in a process (`-p without_litellm`, or an import), it hides litellm and what it brings."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

HIDDEN = ("litellm", "tiktoken", "openai", "httpx")


class _Hides(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


_find = importlib.util.find_spec


def _find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
    return None if name in HIDDEN else _find(name, package)


importlib.util.find_spec = _find_spec
sys.meta_path.insert(0, _Hides())
