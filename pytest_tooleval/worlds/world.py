"""A world: new objects for each trial, whose public methods answer calls.

A world is trusted code, but its arguments come from a model. An exception in a method becomes an answer
to the model; a `WorldError` means that the world cannot be used.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from types import ModuleType
from typing import Any
from typing import TypeVar

import msgspec

from ..errors import WorldError
from ..errors import error_text
from ..record.calls import NO_OBJECT
from ..record.names import meant
from ..secrets import scrub_json
from ..secrets import secret_values
from ..secrets import without_key_values
from ..text import near
from ..text import printable
from ..text import shorten
from ..text import shown
from ..writing import code_of
from .output import captured_in
from .plain import attributes
from .plain import canonical
from .plain import differences
from .plain import path_text
from .plain import plain
from .plain import without_addresses
from .plain import without_stack

# In characters; a model may request huge answers.
MAX_ANSWER = 1024 * 1024
_MAX_ERROR = 2000
MAX_PRINTED = 10_000
_MAX_PRINTED_LAST = 300

_T = TypeVar("_T")
State = dict[str, Any]

_importing = threading.RLock()
# In this process: the start of the first world of each kind, and the hash of the first answer to a call,
# by the digest of all calls up to it. They reveal worlds that are not deterministic.
_begun: dict[tuple[Callable[..., Any], str], State] = {}
_answered: dict[bytes, int] = {}
_KEEP = (
    "keep data only in the object, not in a default argument, a class attribute or a global, and "
    "let nothing depend on time or chance"
)


@dataclass(frozen=True)
class WorldSpec:
    """How to make a world: `module:name`, the suite's folder, and the arguments for `name`."""

    target: str
    folder: Path
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """The path of its module, if that is next to the suite."""
        return self.folder / f"{self.target.partition(':')[0]}.py"

    @property
    def identity(self) -> dict[str, Any]:
        """The world's part of a cassette key."""
        file = self.file
        code = hashlib.sha256(code_of(file)).hexdigest()[:16] if file.is_file() else None
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

    def begin(self) -> World:
        """Make the world's objects. Raises WorldError."""
        with captured_in(self._output):
            factory = _load(self._spec)
            self.objects = _make(self._spec, factory)
        self.methods = {name: each for thing in self.objects for name, each in methods_of(thing).items()}
        own = (thing.__call__ for thing in self.objects if callable(thing))
        self._answers_all = next(own, None)
        kind = (factory, canonical(dict(self._spec.args)))
        self._past.update(repr(kind).encode())
        state = self.state()
        _compare_start(self._spec, _begun.setdefault(kind, state), state)
        return self

    def state(self) -> State:
        """Return the public attributes of each object by class name."""
        state = {}
        for thing in self.objects:
            name = type(thing).__name__
            try:
                state[name] = plain(attributes(thing, of_class=True))
            except Exception as error:
                raise WorldError(f"the attributes of {name} cannot be read: {named(error)}") from None
        return state

    def call(self, name: str, arguments: Mapping[str, Any] | None, offered: Collection[str]) -> str:
        """Answer a call: as JSON, unless the method returned a text."""
        if arguments is None:
            return _error(NO_OBJECT)
        called = name if self._answers_all else meant(name, offered) or ""
        method = self._answers_all or self.methods.get(method_for(called, self.methods) or "")
        if method is None:
            return _error(f"there is no tool {name!r}")
        self.doing = method.__qualname__
        self.begun = time.monotonic()
        try:
            given = copy.deepcopy(dict(arguments))
            # Unsorted, as an answer may depend on the order of arguments.
            self._past.update(repr((called, given)).encode())
            with captured_in(self._output):
                result = method(called, given) if self._answers_all else method(**given)
                if inspect.isawaitable(result):
                    self._loop = self._loop or asyncio.new_event_loop()
                    result = self._loop.run_until_complete(result)
        except BaseException as error:
            content = _error(named(error))
        else:
            content = result if isinstance(result, str) else self._json(result)
        content = without_stack(content)  # a world may also return an error's text
        if len(content) > MAX_ANSWER:
            content = _error(
                f"the answer is too long: {len(content):,} characters, at most {MAX_ANSWER:,}"
            )
        if _answered.setdefault(self._past.digest(), hash(content)) != hash(content):
            before = "something else after the same calls in another world"
            raise WorldError(f"{self.doing} answered {shown(clean(content))}, and {before}; {_KEEP}")
        return without_key_values(content)

    def _json(self, result: object) -> str:
        try:
            built = msgspec.to_builtins(result, enc_hook=_dumped, str_keys=True)
            return json.dumps(built, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise WorldError(f"{self.doing} returned something that is not JSON: {error}") from None

    @property
    def printed(self) -> str:
        """The output of its code so far, shortened."""
        return shorten(clean(self._output.getvalue()), MAX_PRINTED)

    def with_printed(self, error: WorldError) -> str:
        """Return an error's text with the end of the code's output, which is shown nowhere else."""
        text = clean(str(error))
        printed = clean(self._output.getvalue()).strip()[-_MAX_PRINTED_LAST:]
        return f"{text} (it printed: {printable(printed)})" if printed else text

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()


def clean(value: _T) -> _T:
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
    return meant(tool, methods) or meant(alone, methods) or meant(tool.replace(".", "_"), methods)


def methods_of(thing: object) -> dict[str, Callable[..., Any]]:
    """Return the public methods of an object."""
    names = [
        name
        for kind in reversed(type(thing).__mro__[:-1])
        for name, each in vars(kind).items()
        if inspect.isfunction(each) and not name.startswith("_")
    ]
    return {name: getattr(thing, name) for name in dict.fromkeys(names)}


def named(error: BaseException) -> str:
    """Return an error as `ValueError: no such order`, without addresses, which vary."""
    return clean(without_addresses(error_text(error)))


def _make(spec: WorldSpec, factory: Callable[..., Any]) -> tuple[object, ...]:
    try:
        made = factory(**copy.deepcopy(dict(spec.args)))
    except WorldError:
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
        raise WorldError(f"{spec.target}() raised {named(error)}{place}") from None
    objects = tuple(made) if isinstance(made, (list, tuple)) else (made,)
    names = [type(thing).__name__ for thing in objects]
    tools = [name for thing in objects for name in methods_of(thing)]
    if not tools and not any(map(callable, objects)):
        raise WorldError(f"{spec.target} made {', '.join(names)}, which has no public methods")
    for kind, each in (("objects of the class", names), ("methods", tools)):
        twice = next((name for name in each if each.count(name) > 1), None)
        if twice is not None:
            raise WorldError(f"{spec.target} made several {kind} {twice}; give each its own name")
    return objects


def _compare_start(spec: WorldSpec, first: State, state: State) -> None:
    found = next(differences(first, state), None)
    if found is not None:
        place, other = path_text(found[0]), "a new world does not start like the first one"
        raise WorldError(f"{place}: {other} ({spec.target}); {_KEEP}")


def _load(spec: WorldSpec) -> Callable[..., Any]:
    module_name, _, path = spec.target.partition(":")
    try:
        with _importing:
            found: Any = _module(module_name, spec.folder)
    except BaseException as error:
        hint = _beside(spec) if isinstance(error, ModuleNotFoundError) else ""
        raise WorldError(f"cannot import {module_name!r}: {named(error)}{hint}") from None
    public = [each for each in dir(found) if not each.startswith("_")]
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise WorldError(f"{module_name!r} has no class or function {path!r}{near(path, public)}")
    return found  # type: ignore[no-any-return]


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
    own = f"tooleval_world_{digest}_{name}"
    if own not in sys.modules:
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        spec = importlib.util.spec_from_file_location(own, file)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[own] = module
        try:
            # Bytecode would miss an edit of the same size in the same second.
            exec(compile(code, str(file), "exec"), vars(module))
        except BaseException:
            del sys.modules[own]
            raise
    return sys.modules[own]
