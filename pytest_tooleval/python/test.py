"""What a question knows of the test that asks it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from ..suite.fingerprints import content_of_bytes
from ..text import canonical
from ..writing import code_of

_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Test:
    """A test of a run. `fixtures` are the values of its arguments, and `parameters` those of its marks.

    `id` is its name without the parameter `tooleval_model`, if it has one. `cases` is the number of
    tests in its file that may ask, or 0 if all of them were selected.
    """

    __test__ = False

    nodeid: str
    id: str
    path: Path
    root: Path
    line: int
    function: Callable[..., Any]
    module: ModuleType
    fixtures: Mapping[str, object]
    parameters: Mapping[str, object]
    model: str | None = None
    position: int = 0
    cases: int = 0

    @property
    def file(self) -> str:
        return self.nodeid.partition("::")[0]

    @property
    def expectation(self) -> str:
        """A fingerprint of what the test expects: its function's syntax tree, and its parameters."""
        code = _trees(self.path, code_of(self.path)).get(self._first_line, "")
        given = {name: _plain(value) for name, value in self.parameters.items()}
        return content_of_bytes(f"{code}\n{canonical(given)}".encode())

    @property
    def _first_line(self) -> int:
        found: int = inspect.unwrap(self.function).__code__.co_firstlineno
        return found


@cache
def _trees(path: Path, code: bytes) -> Mapping[int, str]:
    """The syntax tree of each function by its first line, without decorators and the docstring."""
    trees = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            trees[first] = "\n".join(map(ast.dump, (node.args, *body)))
    return trees


def _plain(value: object) -> object:
    """A parameter as JSON. Of an object, only its type says nothing of the process."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return getattr(value, "__qualname__", type(value).__qualname__)
