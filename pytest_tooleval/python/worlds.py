"""What a test gives to answer its agent's tools, and the tools that it describes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import ConfigError, WorldError
from ..text import near
from ..worlds.plain import without_addresses
from ..worlds.play import look
from ..worlds.tools import tool_of
from ..worlds.world import Memory, World, WorldSpec, method_for
from .test import Test

ToolDict = dict[str, Any]


class Offer(NamedTuple):
    """The tools that a world answers; with `answers_all`, it answers any."""

    tools: Sequence[ToolDict]
    answers_all: bool = False

    def require(self, tools: Sequence[Mapping[str, Any]], whose: str) -> None:
        """Raise ConfigError if nothing answers one of these tools."""
        methods = [definition_name(each) for each in self.tools]
        left = [name for name in map(definition_name, tools) if method_for(name, methods) is None]
        if left and not self.answers_all:
            raise ConfigError(
                f"world: nothing answers {whose} {', '.join(left)}{near(left[0], methods)}; "
                "give the world a method of that name"
            )


def definition_name(tool: Mapping[str, Any]) -> str:
    inner = tool.get(str(tool.get("type", "function")), tool)
    return str(inner.get("name", "")) if isinstance(inner, Mapping) else ""


def world_from(world: object, trials: int, test: Test) -> WorldSpec:
    """The world that `world=` makes for each trial. Raises ConfigError."""
    factory, named = _factory(world, trials)
    written = inspect.unwrap(named)
    try:
        file = Path(inspect.getsourcefile(written) or test.path)
    except TypeError:  # not written in Python
        file = test.path
    name = getattr(written, "__qualname__", type(written).__qualname__)
    code = test.fingerprint(file) if file == test.path else ""
    # A local function may use more, which is unknown here and may differ from test to test.
    of = test.nodeid if "<" in name else ""
    call = id(world) if named is type(world) else without_addresses(repr(world))
    return WorldSpec(
        f"{file.stem}:{name}",
        file.parent,
        memory=Memory(test.sources.begun),
        factory=factory,
        code=code,
        like=(file, of, call),
    )


def _factory(world: object, trials: int) -> tuple[Callable[[], Any], Any]:
    """What makes the world, and the class or function that names it."""
    if isinstance(world, (list, tuple)):
        if not world or not all(map(callable, world)):
            raise ConfigError("world: expected a list of functions that answer the tools")
        return _functions(world), world[0]
    if isinstance(world, functools.partial):
        return world, world.func
    if inspect.isclass(world) or inspect.isroutine(world):
        return world, world
    if trials > 1:
        name = type(world).__name__
        raise ConfigError(
            f"world: {trials} trials would share this {name}; pass the class, or a function that makes "
            "one"
        )
    return lambda: world, type(world)


def _functions(functions: Sequence[Callable[..., Any]]) -> type:
    """A class with these functions as its methods."""
    members: dict[str, Any] = {_called(each): staticmethod(each) for each in functions}
    return type("Functions", (), {**members, "__module__": functions[0].__module__})


def _called(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise ConfigError(f"{function!r} has no name for a tool; write a function")
    return name


_offers: WeakKeyDictionary[Any, Offer] = WeakKeyDictionary()
_described: WeakKeyDictionary[Any, ToolDict] = WeakKeyDictionary()


def offer_of(spec: WorldSpec) -> Offer:
    """The tools of a world. Raises ConfigError if it cannot be made."""
    assert spec.factory is not None
    if spec.factory not in _offers:
        try:
            _offers[spec.factory] = look(replace(spec, memory=Memory()), _offer)
        except WorldError as error:
            raise ConfigError(f"world: {error}") from None
    return _offers[spec.factory]


def _offer(world: World) -> Offer:
    tools = [tool_of(name, method) for name, method in world.methods.items()]
    return Offer(tools, any(map(callable, world.objects)))


def described_tools(tools: Sequence[object]) -> list[ToolDict]:
    """The tools of `tools=`: functions, which never run, or definitions. Raises ConfigError."""
    definitions = []
    for tool in tools:
        if isinstance(tool, Mapping):
            definitions.append(dict(tool))
        elif callable(tool):
            definitions.append(_definition(tool))
        else:
            raise ConfigError(f"tools: expected functions or tools in OpenAI's format, got {tool!r}")
    return definitions


def _definition(function: Callable[..., Any]) -> ToolDict:
    key = getattr(function, "__func__", function)
    if key not in _described:
        try:
            _described[key] = tool_of(_called(function), function)
        except WorldError as error:
            raise ConfigError(f"tools: {error}") from None
    return _described[key]
