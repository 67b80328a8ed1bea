"""The scope of a check: a case or one of its turns, and the tools that it may name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...explain import listing, nearest, show
from ...findings import Finding, Findings, Loc
from ...record.hosted import hosted_tool, listed_names
from ...record.names import OfferedNames
from ..case import TestCase, Turn
from ..expectations import ANY_TOOL
from ..model import Suite
from ..name_patterns import is_pattern, with_fitting
from ..tools import ProviderTools, Tool


class ScopeTools:
    """Tools and their names; `complete` is False if there may be others.

    `hosted` are the names of tools that a provider runs itself.
    """

    def __init__(
        self, tools: Sequence[Tool], source: str, hosted: Collection[str], *, complete: bool = True
    ) -> None:
        self.tools = tools
        self.source = source
        self.hosted = hosted
        self.names = dict.fromkeys(tool.name for tool in tools)
        self.complete = complete and "" not in self.names
        self._offered = OfferedNames(self.names)
        self._places: dict[str, list[int]] = {}
        for index, tool in enumerate(tools):
            self._places.setdefault(tool.name, []).append(index)

    def lacks(self, name: str) -> bool:
        is_known = name == ANY_TOOL or name in self.hosted or self._offered.find(name) is not None
        return self.complete and not is_known

    def meant_names(self, names: Iterable[str]) -> set[str]:
        """The names of the tools that these names mean."""
        named = with_fitting([*names], self.names)
        return {tool for name in named if (tool := self._offered.find(name)) is not None}

    def find(self, names: Collection[str]) -> Sequence[Tool]:
        """The tools that any of these names means; `"*"` means all of them."""
        if ANY_TOOL in names:
            return self.tools
        places = sorted(index for name in self.meant_names(names) for index in self._places[name])
        return [self.tools[index] for index in places]

    def complaint(self, name: str) -> str:
        if name.casefold() in ("null", "none"):
            return f"the tool {show(name)} is not defined; for no tool, drop the quotes: null"
        if hosted_tool(name):
            return f"the tool {show(name)} is a provider's own; list it in provider_tools"
        if not self.names:
            return f"the tool {show(name)} is not defined: {self.source} has no tools; add it"
        near = nearest(name, self.names)
        hint = f", did you mean {show(near)}?" if near else f"; defined tools: {listing(self.names)}"
        return f"the tool {show(name)} is not defined in {self.source}{hint}"

    def find_undefined(
        self, names: str | Sequence[str | None] | None, at: Loc, *, by_pattern: bool = False
    ) -> Findings:
        """Undefined tools in a name or a list of names, patterns that fit none, and `"*"` in a list."""
        if isinstance(names, str):
            yield from self._undefined(names, at, by_pattern=by_pattern)
            return
        for index, name in enumerate(names or ()):
            if name == ANY_TOOL:
                message = '"*" means any tool and cannot be in a list; write "*" alone'
                yield Finding((*at, index), message)
            elif name is not None:
                yield from self._undefined(name, (*at, index), by_pattern=by_pattern)

    def _undefined(self, name: str, at: Loc, *, by_pattern: bool) -> Findings:
        if not is_pattern(name):
            if self.lacks(name):
                yield Finding(at, self.complaint(name))
        elif not by_pattern:
            yield Finding(
                at, f"{show(name)} is a pattern, for policies and forbidden_calls; name the tools"
            )
        elif name.count("*") > 1:
            yield Finding(at, f'only one "*" may be in a name, got {show(name)}')
        elif self.complete and not self.meant_names([name]):
            defined = f"defined tools: {listing(self.names)}" if self.names else "it has none"
            yield Finding(at, f"no tool of {self.source} fits the pattern {show(name)}; {defined}")


class Scope(NamedTuple):
    """A case or one of its turns, with its path, its suite and its tools."""

    suite: Suite
    case: TestCase
    at: Loc
    tools: ScopeTools
    turn: Turn | None = None

    @property
    def part(self) -> TestCase | Turn:
        return self.turn or self.case

    @property
    def has_world(self) -> bool:
        return isinstance(self.case.world, str) or self.suite.world is not None

    @property
    def all(self) -> Iterator[Scope]:
        """The case and its turns."""
        yield self
        for index, turn in enumerate(self.case.turns or ()):
            yield self._replace(turn=turn, at=(*self.at, "turns", index))


CheckRule = Callable[[Scope], Findings]


def tools_of_suite(suite: Suite) -> ScopeTools:
    read = vars(suite)  # lacks the fields that could not be read
    tools = read.get("tools", ())
    hosted = _hosted(suite)
    if read.get("tools_from") is not None:
        # The list is empty until the server is queried.
        return ScopeTools(tools, "the MCP server of tools_from", hosted, complete=bool(tools))
    complete = {"tools", "tools_from", "world"} <= read.keys() and not _awaits_tools(suite, suite)
    return ScopeTools(tools, "the suite", hosted, complete=complete)


def _hosted(suite: Suite) -> frozenset[str]:
    tools = vars(suite).get("provider_tools") or ProviderTools()
    return frozenset(name for tool in tools.all_tools for name in listed_names(tool))


def case_scopes(suite: Suite, of_suite: ScopeTools) -> Iterator[Scope]:
    """Yield every case with the tools that it may name."""
    for index, case in enumerate(suite.test_cases):
        read = vars(case)
        of_case = read.get("tools")
        if of_case is not None:
            tools = ScopeTools(of_case, "the case", of_suite.hosted)
        elif {"tools", "world"} <= read.keys() and not _awaits_tools(case, suite):
            tools = of_suite
        else:
            tools = ScopeTools((), "the case", of_suite.hosted, complete=False)
        yield Scope(suite, case, ("test_cases", index), tools)


def _awaits_tools(holder: Suite | TestCase, suite: Suite) -> bool:
    """True if its tools would come from a world that failed."""
    return holder.world is not None and "tools" not in suite.model_fields_set
