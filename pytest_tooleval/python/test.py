"""What a question knows of the test that asks it."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..engine.models.modules import fingerprint_of, imported_modules, path_from, syntax_tree
from ..suite.fingerprints import fingerprint_of_bytes
from ..text import canonical
from ..writing import code_of

_PLAIN = (str, int, float, bool, type(None))


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)
_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Sources:
    """The files of a run's tests and agents, each read once."""

    def __init__(self) -> None:
        self.fingerprint = cache(lambda path: fingerprint_of_bytes(code_of(path)))
        self.imports = cache(_imports)
        self.asked = cache(self._asked)
        # What the worlds of all tests have left, see `Memory`.
        self.begun: dict[Hashable, Any] = {}
        self._parts = cache(lambda path: _parts(code_of(path)))

    def function(self, path: Path, line: int) -> _Function | None:
        """The function of a file that begins at this line."""
        function: _Function | None = self._parts(path)[1].get(line)
        return function

    def _asked(self, path: Path, line: int) -> str:
        """A fingerprint of a file without its tests, and of this line's test without its assertions."""
        node = self.function(path, line)
        body = "" if node is None else ast.unparse(_without(node, _is_assertion, _STATEMENTS))
        return fingerprint_of_bytes(f"{self._parts(path)[0]}\n{body}".encode())


@dataclass(frozen=True)
class Test:
    """A test of a run. `fixtures` are the values of its arguments, and `parameters` those of its marks.

    `id` is its name without the parameter `tooleval_model`, if it has one, and `whole_id` with it.
    `cases` is the number of tests in its file that may ask, or 0 if all of them were selected.
    """

    __test__ = False

    nodeid: str
    id: str
    whole_id: str
    path: Path
    root: Path
    line: int
    function: Callable[..., Any]
    module: ModuleType
    fixtures: Mapping[str, object]
    sources: Sources
    parameters: Mapping[str, object]
    tags: tuple[str, ...] = ()
    model: str | None = None
    position: int = 0
    cases: int = 0

    @property
    def file(self) -> str:
        return self.nodeid.partition("::")[0]

    @property
    def suite(self) -> str:
        """The name under which reports group the tests of its file."""
        return self.path.stem

    def fingerprint(self, file: Path) -> str:
        """A fingerprint of a file on which answers depend.

        For the test's own file, it leaves out the other tests, and this one's assertions.
        """
        is_own = file == self.path
        return self.sources.asked(file, self._first_line) if is_own else self.sources.fingerprint(file)

    @property
    def expectation_fingerprint(self) -> str:
        """A fingerprint of what the test expects: its function's syntax tree, and its parameters."""
        node = self.sources.function(self.path, self._first_line)
        code = "" if node is None else _code_of(node)
        parameters = {name: _plain(value) for name, value in self.parameters.items()}
        return fingerprint_of_bytes(f"{code}\n{canonical(parameters)}".encode())

    @property
    def asks_model(self) -> bool:
        """True if the test certainly queries a model: it passes no agent."""
        node = self.sources.function(self.path, self._first_line)
        calls = [] if node is None else [each for each in ast.walk(node) if _is_question(each)]
        words = [word.arg for each in calls for word in each.keywords]  # type: ignore[attr-defined]
        return bool(calls) and None not in words and "agent" not in words

    @property
    def _first_line(self) -> int:
        line: int = inspect.unwrap(self.function).__code__.co_firstlineno
        return line


def _imports(target: str, path: Path, root: Path) -> Mapping[str, str]:
    """Fingerprints of what an agent and a test's file import, and of each conftest.py likewise."""
    files = (folder / "conftest.py" for folder in path.parents if folder.is_relative_to(root))
    conftests = [*filter(Path.is_file, files)]
    own = {path_from(root, each): fingerprint_of(each) for each in conftests}
    return {**own, **imported_modules(target, root, [path, *conftests])}


def _parts(code: bytes) -> tuple[str, Mapping[int, _Function]]:
    """The code of a module without its tests; and by first lines, its functions and its classes'."""
    tree = syntax_tree(code)
    return ast.unparse(_without(tree, _is_test, (ast.ClassDef,))), _functions(tree)


def _without(
    node: _Node, left_out: Callable[[ast.AST], bool], inside: tuple[type[ast.AST], ...]
) -> _Node:
    """A syntax tree without some of its nodes, even those inside of nodes of these kinds."""
    pruned = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            kept = [each for each in value if not left_out(each)]
            parts = [
                _without(each, left_out, inside) if isinstance(each, inside) else each for each in kept
            ]
            setattr(pruned, name, parts)
    return pruned


def _is_assertion(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert)


def _is_question(node: ast.AST) -> bool:
    """True for a call of the fixture."""
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("tooleval", "tooleval.arun")


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, _Function) and node.name.startswith("test")


def _functions(tree: ast.Module) -> Mapping[int, _Function]:
    functions: dict[int, _Function] = {}
    left: list[ast.AST] = [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if isinstance(node, _Function):
                functions[min([node.lineno, *(each.lineno for each in node.decorator_list)])] = node
            elif isinstance(node, ast.stmt):
                left.append(node)
    return functions


def _code_of(node: _Function) -> str:
    """A function's syntax tree as code, without decorators, comments and the docstring."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return "\n".join(map(ast.unparse, (node.args, *body)))


def _plain(value: object) -> object:
    """A parameter as JSON. An object is its type, as all else may depend on the process."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return getattr(value, "__qualname__", type(value).__qualname__)
