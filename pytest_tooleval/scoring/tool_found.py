"""`tool_found`: did a search return the expected tool?

It covers expected calls to deferred tools. It does not apply if the model made no search, if what a
search found is unknown, or if the provider shows the names of the expected tools anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ..record.results import Check
from ..record.transcript import ToolSearch, Transcript
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL
from ..suite.resolved import accepts, find_tool, known_tools
from ..text import plural, printable, shorten
from .assessment import EXPECTED_GOT, CheckLine, Draft, Explained
from .one_call import shown_names


def has_deferred(case: ResolvedCase) -> bool:
    """True if the case has deferred tools, which a search could return."""
    return any(tool.definition.defer_loading for tool in case.tools)


def score_found(case: ResolvedCase, transcript: Transcript) -> Draft:
    """Score the share of expected deferred tools that a search returned."""
    searches = [search for reply in transcript.replies for search in reply.searches]
    if not searches:
        return Draft(None, "nothing was searched")
    if any(search.tools is None for search in searches):
        return Draft(None, "what the searches found is unknown")
    drafts = [_of_list(each, searches) for each in case.variations]
    return max(drafts, key=lambda draft: -1.0 if draft.value is None else draft.value)


def _of_list(case: ResolvedCase, searches: Sequence[ToolSearch]) -> Draft:
    hidden = list(_hidden(case, searches))
    if not hidden:
        return Draft(None, "the model saw the names of the expected tools without a search")
    right = [names for names in hidden if _is_found(case, names, searches)]
    return Draft(len(right) / len(hidden), partial(_explain, case, hidden, searches))


def unfound(case: ResolvedCase, transcript: Transcript) -> list[Sequence[str]]:
    """Return the acceptable tools of each expected call for which no search returned one."""
    if not has_deferred(case) or score_found(case, transcript).value is None:
        return []
    searches = [search for reply in transcript.replies for search in reply.searches]
    return [names for names in _hidden(case, searches) if not _is_found(case, names, searches)]


def _hidden(case: ResolvedCase, searches: Sequence[ToolSearch]) -> Iterator[Sequence[str]]:
    """Yield the acceptable tools of each expected call if the model saw none of them at first."""
    named = any(search.names_shown for search in searches)
    for expected in case.expected.calls or ():
        tools = [find_tool(case, name) for name in expected.tools]
        if (
            not expected.optional
            and ANY_TOOL not in expected.tools
            and all(
                tool is not None
                and tool.definition.defer_loading
                and not (named and tool.namespace is None)
                for tool in tools
            )
        ):
            yield expected.tools


def _is_found(case: ResolvedCase, names: Sequence[str], searches: Sequence[ToolSearch]) -> bool:
    return any(accepts(names, name, case) for name in _found(case, searches))


def _found(case: ResolvedCase, searches: Sequence[ToolSearch]) -> list[str]:
    offered = known_tools(case)
    every = (offered.canonical_name(name) for search in searches for name in search.tools or ())
    return list(dict.fromkeys(every))


def _explain(
    case: ResolvedCase, hidden: Sequence[Sequence[str]], searches: Sequence[ToolSearch]
) -> Explained:
    actual = shorten(", ".join(map(printable, _found(case, searches)))) or "nothing"
    lines = []
    for names in hidden:
        value = float(_is_found(case, names, searches))
        check = Check("found", shown_names(names), actual, value, "found" if value else "not found")
        lines.append(CheckLine(check, EXPECTED_GOT))
    right = sum(line.check.value for line in lines)
    return f"{right:.0f} of {plural(len(lines), 'expected tool')} found; found {actual}", lines
