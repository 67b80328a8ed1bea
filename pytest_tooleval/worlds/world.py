"""A world: new objects for each trial, whose public methods answer calls.

A world is trusted code, but its arguments come from a model. An exception in a method becomes an answer
to the model; a `WorldError` means that the world cannot be used.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import hashlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from ..errors import WorldError, error_text, raised_at
from ..record.calls import NO_OBJECT
from ..record.names import meaning
from ..secrets import scrub_json, secret_values, without_key_values
from ..text import canonical, near, printable, shorten, shown
from .code import code_hash, names_in
from .output import captured_in
from .parameters import Parsers, misfit, parsed_arguments, parsers_of, qualified_name
from .plain import (
    ABSENT_VALUE,
    STATE,
    differences,
    everything,
    in_order,
    kinds_of,
    look_up,
    path_text,
    read_path,
    state_of,
    unseen,
    without_addresses,
    without_stack,
)

# In characters; a model may request huge answers.
MAX_ANSWER = 1024 * 1024
_MAX_ERROR = 2000
MAX_PRINTED = 10_000
_MAX_PRINTED_LAST = 300

_MOST_PLAYS = 64
_OWN_MODULE = re.compile(r"^tooleval_world_[0-9a-f]+_")
_PROPERTIES = (property, functools.cached_property)

_T = TypeVar("_T")
State = dict[str, Any]

_importing = threading.RLock()
_KEEP = (
    "make new objects each time, with no data in a default argument, a class attribute or a global, "
    "and let nothing depend on time or chance"
)


class Memory:
    """The answers of a run's worlds so far: reveals worlds that are not deterministic.

    `begun` has the state in which the first world of each kind began; in Python tests, that of the last
    one with a call, and its state after that. `answered` has the hash of the first answer to a call, by
    the digest of all calls up to it.
    """

    def __init__(self, begun: dict[Hashable, tuple[State, State | None]] | None = None) -> None:
        self.begun = {} if begun is None else begun
        self.answered: dict[bytes, int] = {}
        self._values: dict[Hashable, Any] = {}
        self._plays: dict[Hashable, Any] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory)  # it is no part of what a suite says

    __hash__ = object.__hash__

    def recall(self, key: Hashable, play: Callable[[], _T]) -> _T:
        """Return the play with this key, one of the last few that were made, else make it."""
        if key not in self._plays:
            self._plays[key] = play()
            while len(self._plays) > _MOST_PLAYS:
                del self._plays[next(iter(self._plays))]
        value: _T = self._plays[key]
        return value

    def once(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what was made for this key, or make it."""
        if key not in self._values:
            self._values[key] = make()
        value: _T = self._values[key]
        return value


@dataclass(frozen=True)
class WorldSpec:
    """How to make a world: `module:name`, the suite's folder, and the arguments for `name`.

    `memory` is shared by the worlds of a run. With `is_exact`, numbers arrive as the model sent them. A
    Python test passes the `factory` itself, which `target` then only names; `code` is a digest of
    its code if that is in the test's file, and `like` is equal for worlds that begin alike. Such a world
    is never played again, so it may depend on time and chance.
    """

    target: str
    folder: Path
    args: Mapping[str, Any] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)
    is_exact: bool = False
    factory: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    code: str = ""
    like: Hashable = field(default=None, compare=False, repr=False)

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What worlds that begin alike share, for `memory`."""
        return self.target, self.folder, canonical(dict(self.args))

    @property
    def file(self) -> Path:
        """The path of its module, if that is next to the suite."""
        return self.folder / f"{self.target.partition(':')[0]}.py"

    @property
    def identity(self) -> dict[str, Any]:
        """The world's part of a cassette key, with the code of its module or of its whole package."""
        where = (self.target, self.folder)
        code = self.code or self.memory.once(("code", *where), partial(code_hash, *where))
        return {"target": self.target, "args": dict(self.args), "code": code}


class World:
    """One trial's world. Call `begin`, use it and `close` it in the same thread."""

    def __init__(self, spec: WorldSpec) -> None:
        # Its current action, for the message if it takes too long, and when its last call began.
        self.doing = f"{spec.target}()"
        self.begun: float | None = None
        self.objects: tuple[object, ...] = ()
        self.methods: dict[str, Callable[..., Any]] = {}
        self._spec = spec
        self._output = io.StringIO()
        self._answers_all: Callable[..., Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._past = hashlib.sha256()
        self._start: State = {}
        self._parsers: dict[str, Parsers] = {}  # by the name of the method, if it needs any

    def begin(self) -> World:
        """Make the world's objects. Raises WorldError."""
        with captured_in(self._output):
            factory = _load(self._spec)
            self.objects = _make(self._spec, factory)
        self.methods = {name: each for thing in self.objects for name, each in methods_of(thing).items()}
        callables = (thing.__call__ for thing in self.objects if callable(thing))
        self._answers_all = next(callables, None)
        memory, exact = self._spec.memory, self._spec.is_exact
        if self._answers_all is None:
            for thing in self.objects:
                key = "parsers", type(thing), exact
                self._parsers |= memory.once(key, partial(_parsers, thing, is_exact=exact))
        start = (factory, canonical(dict(self._spec.args)))
        self._past.update(repr(start).encode())
        if self._spec.factory is None:
            self._start = self.state()
            self._compare_start(*memory.begun.setdefault(start, (self._start, None)))
        else:
            self._start = self._reached()
            self._compare_start(*memory.begun.get(self._spec.like, (self._start, self._start)))
        return self

    def _compare_start(self, first: State, left: State | None) -> None:
        """Raise WorldError if it starts unlike the first one, and as that one was `left`."""
        different = {path: value for path, _, value in differences(first, self._start)}
        kept = [*different]
        if left is not None:
            changed = {path: value for path, _, value in differences(first, left)}
            kept = [each for each in different if each in changed and changed[each] == different[each]]
            own = [type(thing).__name__ for thing in self.objects]
            if any(path[0] not in own for path in different if path not in kept):
                return  # the test itself has changed what its worlds begin with
        if kept:
            other = f"a new world does not start like the first one ({self._spec.target})"
            raise WorldError(f"{path_text(kept[0])}: {other}; {_KEEP}")

    def note_end(self) -> None:
        """Note what its calls have left, for the next world of a Python test that begins."""
        if self.begun is not None:
            self._spec.memory.begun[self._spec.like] = self._start, self._reached()

    def _reached(self) -> State:
        """Return all data that its code can reach; nothing if some of that cannot be read."""
        try:
            return self.everything(names_in(map(type, self.objects), self._modules()))
        except Exception:
            return {}

    def state(self) -> State:
        """Return the state of each object by class name."""
        state = {}
        for thing in self.objects:
            name = type(thing).__name__
            try:
                state[name] = state_of(thing)
            except Exception as error:
                raise WorldError(f"the state of {name} cannot be read: {error_line(error)}") from None
        return state

    def unseen(self) -> list[str]:
        """Return what its state leaves out, such as `Desk._balance is private`."""
        return [f"{type(thing).__name__}.{each}" for thing in self.objects for each in unseen(thing)]

    def everything(self, names: set[str] | None = None) -> State:
        """Return all data of each object and of its modules, including what the state leaves out.

        With `names`, of the modules only these, and of their functions which ones they are.
        """
        modules = {module.__name__: module for module in self._modules()}
        owners = (getattr(each, "__self__", self) for each in self.methods.values())
        things = [*self.objects, *(each for each in owners if each is not self)]
        seen: set[int] = set()
        members = {}
        for name, module in modules.items():
            data = {key: each for key, each in vars(module).items() if not key.startswith("__")}
            if names is not None:
                kept = sorted(names & data.keys())
                data = {key: getattr(data[key], "__qualname__", data[key]) for key in kept}
            members[_OWN_MODULE.sub("", name)] = everything(data, modules, seen)
        for thing in things:
            members.setdefault(type(thing).__name__, everything(thing, modules, seen))
        return members

    def _modules(self) -> list[ModuleType]:
        """The modules of its classes, and those beside them that they import."""
        kinds = (kind for thing in self.objects for kind in kinds_of(thing))
        left = [sys.modules[kind.__module__] for kind in kinds if kind.__module__ in sys.modules]
        folders = {folder for each in left if (folder := _folder_of(each)) is not None}
        modules: list[ModuleType] = []
        while left:
            module = left.pop(0)
            if module in modules or _folder_of(module) not in folders:
                continue
            modules.append(module)
            for value in vars(module).values():
                named = sys.modules.get(getattr(value, "__module__", None) or "")
                left += filter(None, [value if isinstance(value, ModuleType) else named])
        return modules

    def compared_names(self) -> list[str]:
        """Return the names in its state, such as `Desk.orders`."""
        names = []
        for thing, (name, state) in zip(self.objects, self.state().items(), strict=True):
            if state is not None and hasattr(type(thing), STATE):
                names.append(name)
            elif isinstance(state, dict):
                names += [f"{name}.{each}" for each in state]
        return names

    def not_read(self, path: str) -> str:
        """Say why a path of a state leads nowhere, such as to a property; empty if it leads anywhere."""
        parts, state = read_path(path) or (path,), self.state()
        if look_up(state, parts)[1] is not ABSENT_VALUE:
            return ""
        for thing in self.objects:
            kind = type(thing)
            named = parts[0] == kind.__name__ and len(parts) > 1
            # What a class itself calls its state may have keys only later.
            if (not named and len(self.objects) > 1) or hasattr(kind, STATE):
                continue
            name = str(parts[1] if named else parts[0])
            if isinstance(inspect.getattr_static(kind, name, None), _PROPERTIES):
                return f"{kind.__name__}.{name} is a property, which is not read"
            has = state[kind.__name__] if isinstance(state[kind.__name__], dict) else {}
            if name not in has:
                return f"{kind.__name__} has no {name} in its state{near(name, has)}"
        return ""

    def cannot_run(self, name: str, arguments: Mapping[str, Any], offered: Collection[str]) -> str:
        """Return why no method could run a call; empty if one could, whatever it would answer."""
        if self._answers_all is not None:
            return ""
        method_name = method_for(meaning(name, offered) or "", self.methods)
        if method_name is None:
            return f"the world has no method {name}{near(name, self.methods)}"
        try:
            values = self._parsed(method_name, dict(arguments))
        except ValueError as error:
            return f"{qualified_name(self.methods[method_name])}: {error}"
        problem = misfit(self.methods[method_name], values)
        return f"{qualified_name(self.methods[method_name])}: {problem}" if problem else ""

    def call(self, name: str, arguments: Mapping[str, Any] | None, offered: Collection[str]) -> str:
        """Answer a call: as JSON, unless the method returned a text."""
        if arguments is None:
            return _error(NO_OBJECT)
        called = name if self._answers_all else meaning(name, offered) or ""
        method_name = method_for(called, self.methods) or ""
        method = self._answers_all or self.methods.get(method_name)
        if method is None:
            return _error(f"there is no tool {name!r}")
        self.doing = qualified_name(method)
        self.begun = time.monotonic()
        values = dict(arguments)
        try:
            values = copy.deepcopy(values)
            # Unsorted, as an answer may depend on the order of arguments.
            self._past.update(repr((called, values)).encode())
            with captured_in(self._output):
                if self._answers_all:
                    result = method(called, values)
                else:
                    values = self._parsed(method_name, values)
                    result = method(**values)
                if inspect.isawaitable(result):
                    self._loop = self._loop or asyncio.new_event_loop()
                    result = self._loop.run_until_complete(result)
        except BaseException as error:
            if self._is_mistake(error, values.values()):
                text = f"{self.doing} raised {error_line(error)}{raised_at(error)}"
                raise WorldError(f"{text}: a mistake in the world") from None
            content = _error(error_line(error))
        else:
            content = result if isinstance(result, str) else self._json(result)
        content = without_stack(content)  # a world may also return an error's text
        if len(content) > MAX_ANSWER:
            content = _error(
                f"the answer is too long: {len(content):,} characters, at most {MAX_ANSWER:,}"
            )
        answers = {} if self._spec.factory else self._spec.memory.answered
        if answers.setdefault(self._past.digest(), hash(content)) != hash(content):
            before = "something else after the same calls in another world"
            raise WorldError(
                f"{self.doing} answered {shown(without_secrets(content))}, and {before}; {_KEEP}"
            )
        return without_key_values(content)

    def _is_mistake(self, error: BaseException, values: Collection[Any]) -> bool:
        """Whether an exception shows a mistake in the code, and no wrong value of an argument."""
        names = {kind.__name__ for kind in type(error).__mro__}
        if not names.isdisjoint(("AssertionError", "OutcomeException")):  # as of pytest.fail()
            return True
        if not isinstance(error, (NameError, ImportError, AttributeError)):
            return False
        if traceback.extract_tb(error.__traceback__)[-1].filename.startswith("<"):
            return False  # as in `eval(formula)`
        if not isinstance(error, AttributeError):
            return True
        if any(each is error.obj or each == error.name for each in values):
            return False  # as in `getattr(order, field)`
        kind = error.obj if isinstance(error.obj, type) else type(error.obj)
        own = {module.__name__ for module in self._modules()}
        return isinstance(error.obj, ModuleType) or kind.__module__ in own

    def _parsed(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments as the objects that a method asks for. Raises ValueError."""
        parsers = self._parsers.get(method)
        return parsed_arguments(parsers, values) if parsers else values

    def _json(self, result: object) -> str:
        try:
            built = msgspec.to_builtins(result, enc_hook=_dumped, str_keys=True)
            return json.dumps(in_order(built, result), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise WorldError(f"{self.doing} returned something that is not JSON: {error}") from None

    @property
    def output(self) -> str:
        """The output of its code so far, shortened."""
        return shorten(without_secrets(self._output.getvalue()), MAX_PRINTED)

    def with_output(self, error: WorldError) -> str:
        """Return an error's text with the end of the code's output, which is shown nowhere else."""
        text = without_secrets(str(error))
        printed = without_secrets(self._output.getvalue()).strip()[-_MAX_PRINTED_LAST:]
        return f"{text} (it printed: {printable(printed)})" if printed else text

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()


def _folder_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).parent if file else None


def without_secrets(value: _T) -> _T:
    """Remove the environment's secrets from a world's text or JSON, so that it can be shown.

    Call it before cutting a text, as half a secret would not be recognised.
    """
    return scrub_json(value, secret_values())  # type: ignore[no-any-return]


def _dumped(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a {type(value).__name__}")


def _error(text: str) -> str:
    return json.dumps({"error": shorten(text, _MAX_ERROR)}, ensure_ascii=False)


def method_for(tool: str, methods: Collection[str]) -> str | None:
    """Return the method that answers a tool.

    `get` also answers `mcp__shop__get`, Claude Code's name for it, and `shop_get` answers `shop.get`, a
    tool in a namespace.
    """
    start, _, rest = tool.partition("__")
    alone = rest.partition("__")[2] if start == "mcp" else ""
    return meaning(tool, methods) or meaning(alone, methods) or meaning(tool.replace(".", "_"), methods)


def methods_of(thing: object) -> dict[str, Callable[..., Any]]:
    """Return the public methods of an object."""
    names = [
        name
        for kind in kinds_of(thing)
        for name, member in vars(kind).items()
        if not name.startswith("_") and _is_method(member)
    ]
    return {name: getattr(thing, name) for name in dict.fromkeys(names)}


def _parsers(thing: object, *, is_exact: bool) -> dict[str, Parsers]:
    """Return the parsers of each method that needs any, by name. Raises WorldError."""
    methods = methods_of(thing).items()
    by_method = {name: parsers_of(method, is_exact=is_exact) for name, method in methods}
    return {name: parsers for name, parsers in by_method.items() if parsers}


def _is_method(member: object) -> bool:
    """True for functions of a class, even static, class or wrapped ones, as by `lru_cache`."""
    if inspect.isfunction(member) or isinstance(member, (staticmethod, classmethod)):
        return True
    wraps = hasattr(member, "__wrapped__") and callable(member)
    return wraps or isinstance(member, functools.partialmethod)


def error_line(error: BaseException) -> str:
    """Return an error as `ValueError: no such order`, without addresses, which vary."""
    return without_secrets(without_addresses(error_text(error)))


def _make(spec: WorldSpec, factory: Callable[..., Any]) -> tuple[object, ...]:
    try:
        result = factory(**copy.deepcopy(dict(spec.args)))
    except WorldError:
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        where = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
        raise WorldError(f"{spec.target}() raised {error_line(error)}{where}") from None
    objects = tuple(result) if isinstance(result, (list, tuple)) else (result,)
    names = [type(thing).__name__ for thing in objects]
    tools = [name for thing in objects for name in methods_of(thing)]
    if not tools and not any(map(callable, objects)):
        raise WorldError(f"{spec.target} made {', '.join(names)}, which has no public methods")
    for kind, listed in (("objects of the class", names), ("methods", tools)):
        twice = next((name for name in listed if listed.count(name) > 1), None)
        if twice is not None:
            raise WorldError(f"{spec.target} made several {kind} {twice}; give each its own name")
    return objects


def _load(spec: WorldSpec) -> Callable[..., Any]:
    if spec.factory is not None:
        return spec.factory
    module_name, _, path = spec.target.partition(":")
    try:
        with _importing:
            value: Any = _module(module_name, spec.folder)
    except BaseException as error:
        hint = _beside(spec) if isinstance(error, ModuleNotFoundError) else ""
        raise WorldError(f"cannot import {module_name!r}: {error_line(error)}{hint}") from None
    public = [each for each in dir(value) if not each.startswith("_")]
    for name in path.split("."):
        value = getattr(value, name, None)
    if not callable(value):
        raise WorldError(f"{module_name!r} has no class or function {path!r}{near(path, public)}")
    return value  # type: ignore[no-any-return]


def _beside(spec: WorldSpec) -> str:
    """Return a hint on how to name a module next to the suite, or where it should be."""
    if spec.file.is_file():
        return ""  # the missing module is one that it imports
    module, _, name = spec.target.partition(":")
    stem = module.removesuffix(".py").rpartition(".")[2]
    if (spec.folder / f"{stem}.py").is_file():
        return f'; {stem}.py is next to the suite: write "{stem}:{name}"'
    return f"; there is no {stem}.py next to the suite"


def _module(name: str, folder: Path) -> ModuleType:
    """Return the module next to the suite, else any that can be imported."""
    file = folder / f"{name}.py"
    if not file.is_file():
        return importlib.import_module(name)
    # Two folders may have worlds with the same name, and `tooleval ui` must notice edits.
    code = file.read_bytes()
    digest = hashlib.sha256(bytes(file.resolve()) + code).hexdigest()[:12]
    unique = f"tooleval_world_{digest}_{name}"
    if unique not in sys.modules:
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        spec = importlib.util.spec_from_file_location(unique, file)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[unique] = module
        try:
            # Bytecode would miss an edit of the same size in the same second.
            exec(compile(code, str(file), "exec", dont_inherit=True), vars(module))
        except BaseException:
            del sys.modules[unique]
            raise
    return sys.modules[unique]
