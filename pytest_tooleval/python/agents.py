"""The agent that a test passes, as a model: where it is written, and what its answers depend on."""

from __future__ import annotations

import ast
import asyncio
import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..agents.kinds import AgentKind, kind_of
from ..engine.clients.agents_loop import agents_clock
from ..engine.clients.callable_client import find_callable
from ..engine.models.modules import syntax_tree
from ..engine.models.spec import CallableModel, ModelSpec
from ..errors import ConfigError, ModelError, error_text
from ..writing import code_of
from .test import Test

_INSTALLED = ("site-packages", "dist-packages")


class Home(NamedTuple):
    """Where an agent is written. `name` is its variable there.

    `is_variable` means that it is one of a module; `is_shared`, that several bodies get the same
    agent, as it is such a variable or a fixture's.
    """

    module: str
    file: Path
    name: str
    is_variable: bool
    is_shared: bool


def home_of(agent: object, test: Test) -> Home:
    """Find an agent among the variables of the project's modules, and the test's fixtures."""
    variable = _variable(agent, test)
    if variable is not None:
        module, name = variable
        return Home(module.__name__, Path(module.__file__ or test.path), name, True, True)
    fixture = next((name for name, value in test.fixtures.items() if value is agent), None)
    inner = agent.func if isinstance(agent, functools.partial) else agent
    called = str(fixture or getattr(inner, "__name__", type(inner).__name__))
    return Home(test.module.__name__, test.path, called, False, fixture is not None)


def _variable(agent: object, test: Test) -> tuple[ModuleType, str] | None:
    home = sys.modules.get(getattr(agent, "__module__", None) or "")
    name = getattr(agent, "__name__", None)
    if home is not None and name and vars(home).get(name) is agent and home.__dict__.get("__file__"):
        return home, name
    modules = dict.fromkeys([*_project_modules(test.root, len(sys.modules)), test.module])
    variables = [(module, key) for module in modules for key in _names_of(agent, module)]
    # Others import it from the module that makes it.
    makers = (each for each in variables if each[1] not in _imported(each[0].__file__))
    return next(makers, variables[0] if variables else None)


def _names_of(agent: object, module: ModuleType) -> Iterator[str]:
    return (key for key, value in list(vars(module).items()) if value is agent)


@functools.lru_cache(maxsize=4)
def _project_modules(root: Path, loaded: int) -> Sequence[ModuleType]:
    """The loaded modules below the root folder that are not installed."""
    return [
        module
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None))
        and Path(file).is_relative_to(root)
        and not any(part in Path(file).parts for part in _INSTALLED)
    ]


@cache
def _imported(file: str | None) -> frozenset[str]:
    """The names that a module imports from others."""
    try:
        tree = syntax_tree(code_of(Path(file or "")))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return frozenset()
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return frozenset(each.asname or each.name for node in nodes for each in node.names)


class AgentOfTest:
    """The agent of one question."""

    def __init__(self, agent: Any, name: str | None, test: Test) -> None:
        if isinstance(agent, str | ModelSpec):
            raise ConfigError(
                f"agent={agent!r}: expected an agent or a function; --tooleval-model names models"
            )
        self.agent = agent
        self.kind: AgentKind | None = None if inspect.isroutine(agent) else kind_of(agent)
        self.home = home_of(agent, test)
        self.label = name or self.home.name
        self._test = test

    def spec(
        self,
        identity: Sequence[Path],
        *,
        run_tools: bool = False,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> CallableModel:
        """The agent as a model. Its async code runs on `loop`, or else on that of all agents.

        Raises ConfigError if it cannot be called as one.
        """
        home, test = self.home, self._test
        try:
            function = (
                self.agent if self.kind is None else self.kind.model(self.agent, run_tools=run_tools)
            )
        except ValueError as error:
            raise ConfigError(f"agent: {error}") from None
        files = dict.fromkeys((home.file, test.path, *identity))
        fingerprints = [test.fingerprint(file) for file in files]
        # Another test may patch what the agent uses, or pass another agent of this name.
        fingerprints.append(test.nodeid.removeprefix(test.file))
        spec = CallableModel(
            self.label,
            f"{home.module}:{home.name}",
            function=function if loop is None else _on_loop(function, loop),
            folder=test.root,
            source="the argument agent",
            fingerprint="+".join(fingerprints),
            imports=test.sources.imports(home.module, test.path, test.root),
        )
        try:
            find_callable(spec)
        except ModelError as error:
            raise ConfigError(error.message) from None
        return spec

    def tools(self) -> list[dict[str, Any]]:
        """The tools that a library's agent offers to its model. Runs on the loop of all agents."""
        assert self.kind is not None
        coming = asyncio.run_coroutine_threadsafe(self.own_tools(), agents_clock().loop)
        return coming.result()

    async def own_tools(self) -> list[dict[str, Any]]:
        """The tools that a library's agent offers to its model. Raises ConfigError."""
        assert self.kind is not None
        try:
            return await self.kind.offered_tools(self.agent)
        except Exception as error:
            raise ConfigError(f"agent: its tools cannot be listed: {error_text(error)}") from None


def _on_loop(function: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> Callable[..., Any]:
    """The async function, run on this loop."""
    if not inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    async def on_loop(*values: Any, **named: Any) -> Any:
        called: Awaitable[Any] = asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(function(*values, **named), loop)
        )
        return await called

    return on_loop


def equality_key(thing: object, *, is_shared: bool) -> object:
    """An identity that is equal for the same agent or world in two bodies: functions have their code."""
    if isinstance(thing, functools.partial):
        return equality_key(thing.func, is_shared=is_shared)
    if is_shared:
        return id(thing)
    code = getattr(inspect.unwrap(thing) if callable(thing) else thing, "__code__", None)
    if code is not None:
        return code.co_code, repr(code.co_consts), code.co_names
    return getattr(thing, "__qualname__", None) or type(thing).__qualname__
