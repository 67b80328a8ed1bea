"""The world of the Berkeley Function Calling Leaderboard's conversations, based on `bfcl-eval`.

It behaves like BFCL's checker (`bfcl_eval/eval_checker/multi_turn_eval/`): every public method of the
classes answers, offered or not, results become text as in the checker, and the state is what the checker
compares. Unlike the checker's objects, worlds share nothing.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import random
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

from ..errors import WorldError

_CONSTANTS = "bfcl_eval.constants.executable_backend_config"
_INSTALL = "install BFCL's package: pip install --no-deps bfcl-eval mpmath"
# Before evaluating a call, the checker removes this white space, even inside strings.
_BEFORE_BRACKET = re.compile(r"\b([a-zA-Z_]\w*)\s+(?=\()")
# One class sets mpmath's precision, which all threads share.
_one_at_a_time = threading.Lock()


class BFCL:
    """Objects of BFCL's classes. Each public attribute has the state of one object."""

    def __init__(
        self, classes: Sequence[str], config: Mapping[str, Any], long_context: bool = False
    ) -> None:
        self._objects = {name: _made(name, config.get(name, {}), long_context) for name in classes}
        self._methods = {
            name: (of, method) for of in classes for name, method in _methods(self._objects[of]).items()
        }
        for name in classes:
            self._show(name)

    def __call__(self, name: str, arguments: dict[str, Any]) -> str:
        with _one_at_a_time:
            try:
                return self._answer(name, arguments)
            except Exception as error:
                return f"Error during execution: {error}"

    def _answer(self, name: str, arguments: dict[str, Any]) -> str:
        result = self._called(name, ast.literal_eval(_BEFORE_BRACKET.sub(r"\1", repr(arguments))))
        if not isinstance(result, dict):
            return str(result)
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)

    def _called(self, name: str, arguments: dict[str, Any]) -> Any:
        if name not in self._methods:
            raise NameError(f"name {name!r} is not defined")
        of, method = self._methods[name]
        try:
            return method(**arguments)
        finally:
            self._show(of)

    def _show(self, name: str) -> None:
        """Set the state that the checker compares: an object's public attributes."""
        state = vars(self._objects[name]).items()
        setattr(self, name, {key: _compared(value) for key, value in state if key[0] != "_"})


def _made(name: str, config: Mapping[str, Any], long_context: bool) -> Any:
    try:
        constants = importlib.import_module(_CONSTANTS)
        made = getattr(importlib.import_module(constants.CLASS_FILE_PATH_MAPPING[name]), name)()
    except ImportError as error:
        raise WorldError(f"{error}; {_INSTALL}") from None
    if name not in constants.STATELESS_CLASSES:
        made._load_scenario(config, long_context=long_context)
    # Parts of a scenario are globals of the package, so copy all but random number generators.
    kept = {id(each): each for each in vars(made).values() if isinstance(each, random.Random)}
    return copy.deepcopy(made, kept)


def _methods(thing: object) -> dict[str, Callable[..., Any]]:
    found = inspect.getmembers(thing, inspect.ismethod)
    return {name: _with_own_defaults(method) for name, method in found if name[0] != "_"}


def _with_own_defaults(method: MethodType) -> MethodType:
    """Give a method its own copy of its default arguments, as lists among them become state."""
    function: Any = method.__func__
    defaults = copy.deepcopy(function.__defaults__)
    code, names, closure = function.__code__, function.__globals__, function.__closure__
    own = FunctionType(code, names, function.__name__, defaults, closure)
    own.__qualname__ = function.__qualname__
    return MethodType(own, method.__self__)


def _compared(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    """Return a value as plain data that compares as in Python: 1 equals 1.0 and true, but not "1".

    Files and directories become their names and contents.
    """
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    if id(value) in inside:  # a directory that was copied into itself
        return "(a part of itself)"
    inside |= {id(value)}
    if isinstance(value, dict):
        # Equal numbers have the same hash.
        keys = {key: key if isinstance(key, str) else f"#{hash(key)}" for key in value}
        return {keys[key]: _compared(each, inside) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        members = sorted(value) if isinstance(value, set) else value
        return [_compared(each, inside) for each in members]
    public = {key: each for key, each in vars(value).items() if key[0] != "_" and key != "parent"}
    return _compared(public, inside)
