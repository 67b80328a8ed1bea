"""Tool names, which ignore case unless two tools differ only in case.

The name of a tool in a namespace includes both: `crm.find`. A decorated name (`functions.find`,
`find:0`, `mcp__crm__find`, `find<|channel|>commentary`) is the offered tool's if exactly one fits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import structs

from ..text import fold
from .calls import ToolCall

# What models, servers and agents add to a tool's name.
_PREFIX = re.compile(r"functions?\.|tools?\.|default_api\.")
_NUMBER = re.compile(r":\d+\Z")
_MCP = "mcp__"


def same_tool(one: str, other: str, offered: Iterable[str]) -> bool:
    """True if two names mean the same one of the offered tools."""
    if one == other:
        return True
    key = fold(one)
    return key == fold(other) and len({name for name in offered if fold(name) == key}) < 2


def meaning(name: str, offered: Collection[str]) -> str | None:
    """Return the offered tool that a name means; None if it means none of them."""
    if name in offered:
        return name
    key = fold(name)
    tools = {each for each in offered if fold(each) == key}
    return tools.pop() if len(tools) == 1 else None


class OfferedNames:
    """The names of many offered tools, found without comparing each."""

    def __init__(self, names: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        for name in names:
            self._by_key.setdefault(fold(name), set()).add(name)

    def find(self, name: str) -> str | None:
        """Return the tool that a name means; None if it means none of them."""
        return meaning(name, self._by_key.get(fold(name), ()))


def full_name(name: str, namespace: str | None) -> str:
    """Return the name of a tool, with its namespace if it has one."""
    return f"{namespace}.{name}" if namespace else name


def bare_name(name: str, offered: Collection[str]) -> str | None:
    """Return the offered tool whose decorated name this is; None unless exactly one fits."""
    tools = {tool for bare in _bare_names(name) if (tool := meaning(bare, offered)) is not None}
    return tools.pop() if len(tools) == 1 else None


def _bare_names(name: str) -> Iterator[str]:
    """Yield the names that a decorated name may stand for."""
    bare = name.partition("<|")[0].strip()
    bare = _NUMBER.sub("", _PREFIX.sub("", bare, count=1) if _PREFIX.match(bare) else bare)
    yield bare
    if bare.startswith(_MCP):
        parts = bare.removeprefix(_MCP).split("__")
        yield from ("__".join(parts[start:]) for start in range(1, len(parts)))


class KnownTools(NamedTuple):
    """The tools that a model may call.

    `names` maps every name for a tool to its whole name, `schemas` the whole name to the schema of its
    parameters. `is_exact`: a decorated name is none of theirs. `prefix` may stand before each name.
    `in_text`: a text may contain calls.
    """

    names: Mapping[str, str]
    schemas: Mapping[str, Mapping[str, Any]]
    is_exact: bool = False
    prefix: str = ""
    in_text: bool = True

    @classmethod
    def of(
        cls,
        tools: Iterable[tuple[str, str | None, Mapping[str, Any]]],
        *,
        is_exact: bool = False,
        prefix: str = "",
        in_text: bool = True,
    ) -> KnownTools:
        """Make it of tools, given by name, namespace and schema."""
        tools = list(tools)
        names = _spellings((name, space) for name, space, _ in tools)
        schemas = {full_name(name, space): schema for name, space, schema in tools}
        return cls(names, schemas, is_exact, prefix, in_text)

    def has(self, name: str) -> bool:
        """True if a call with this name is to one of the tools."""
        return meaning(self.canonical_name(name), self.names) is not None

    def canonical_name(self, name: str, namespace: str = "") -> str:
        """Return the name of the tool that a call means.

        If no tool has a namespace, the call's namespace is ignored.
        """
        spelled = meaning(name, self.names)
        if spelled is None and self.prefix and name.startswith(self.prefix):
            name = name.removeprefix(self.prefix)
            spelled = meaning(name, self.names)
        if spelled is None and not self.is_exact and (bare := bare_name(name, self.names)):
            name = spelled = bare
        if all(name == whole for name, whole in self.names.items()):
            return name
        whole = full_name(name, namespace)
        if spelled is None:
            return whole
        is_whole = self.names[spelled] == spelled
        if not namespace:
            return name if is_whole else self.names[spelled]
        return name if is_whole and meaning(whole, self.names) is None else whole

    def schema_of(self, name: str) -> Mapping[str, Any] | None:
        """Return the schema of a tool's parameters; None for an unknown tool."""
        spelled = meaning(self.canonical_name(name), self.names)
        return None if spelled is None else self.schemas.get(self.names[spelled])

    def read(self, call: ToolCall, namespace: str = "", *, cut_off: bool = False) -> ToolCall:
        """Return the call with the name of the tool that it means.

        Missing arguments are `{}` if the tool requires none, unless the answer was cut off.
        """
        name = self.canonical_name(call.name, namespace)
        if name != call.name:
            call = structs.replace(call, name=name)
        if call.arguments is None and call.has_no_arguments and not cut_off:
            schema = self.schema_of(name)
            if schema is not None and not schema.get("required") and not schema.get("minProperties"):
                return structs.replace(call, arguments={})
        return call


NO_TOOLS = KnownTools({}, {}, in_text=False)
# Where any call counts, whatever its tool.
ANY_TOOLS = KnownTools({}, {})


def _spellings(tools: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Map every name that calls may use for the tools to the whole name, whole names first.

    The tools are given by name and namespace. A model without namespaces calls `find`, or `crm_find`
    if there are several.
    """
    whole = {full_name(name, space): (name, space) for name, space in tools}
    names = {each: each for each in whole}
    bare = [name for name, _ in whole.values()]
    for full, (name, space) in whole.items():
        if space:
            short = [name] if bare.count(name) == 1 else []
            for other in (*short, f"{space}_{name}"):
                names.setdefault(other, full)
    return names
