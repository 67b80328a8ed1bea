"""Calls that a provider ran itself: free where the suite lists their tool, unless something names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import structs

from ..record.calls import ToolCall
from ..record.hosted import MCP, PROGRAM, hosted_tool, listed_names, programs_in
from ..record.transcript import Reply, Transcript
from ..record.untrusted import as_text
from ..suite.case import ResolvedCase
from ..suite.expectations import ANY_TOOL, ExpectedCall
from ..suite.resolved import find_tool, is_among


def with_listed_names(case: ResolvedCase, transcript: Transcript) -> Transcript:
    """Return the transcript with a provider's own calls named as in the suite, programs among them."""
    if not any(_is_hosted(case, call) for reply in transcript.replies for call in _every(reply)):
        return transcript
    return structs.replace(
        transcript, replies=tuple(_with_names(case, each) for each in transcript.replies)
    )


def _with_names(case: ResolvedCase, reply: Reply) -> Reply:
    calls = tuple(_named(case, call) for call in _every(reply))
    unknown = (None,) * (len(calls) - len(reply.statuses))
    status = (*reply.statuses, *unknown) if reply.statuses else ()
    return structs.replace(reply, calls=calls, statuses=status)


def is_free(case: ResolvedCase, call: ToolCall) -> bool:
    """Whether a call, named as in the suite, is one that the model may make freely."""
    return _is_hosted(case, call) and _is_listed(case, call.name) and not _is_expected(case, call)


def _every(reply: Reply) -> Iterable[ToolCall]:
    return chain(reply.calls, programs_in(reply.message))


def _is_hosted(case: ResolvedCase, call: ToolCall) -> bool:
    return call.hosted and find_tool(case, call.name) is None


def _named(case: ResolvedCase, call: ToolCall) -> ToolCall:
    tool = hosted_tool(call.name)
    if not tool or not _is_hosted(case, call):
        return call
    names = chain(_expected_names(case), _listed_names(case), [tool])
    return structs.replace(call, name=next(name for name in names if hosted_tool(name) == tool))


def _is_listed(case: ResolvedCase, name: str) -> bool:
    tool = hosted_tool(name)
    if not tool:  # of an MCP server, whose tools have other names
        return any(as_text(each.get("type")).startswith(MCP) for each in case.provider_tools.all_tools)
    if tool == PROGRAM and any(
        "programmatic" in (each.definition.allowed_callers or ()) for each in case.tools
    ):
        return True
    return any(hosted_tool(listed) == tool for listed in _listed_names(case))


def _listed_names(case: ResolvedCase) -> Iterator[str]:
    return (name for tool in case.provider_tools.all_tools for name in listed_names(tool))


def _is_expected(case: ResolvedCase, call: ToolCall) -> bool:
    parts = (case.expected, *(each.turn for each in case.turns))
    expected = (each for part in parts for each in part.calls or () if ANY_TOOL not in each.tools)
    return is_among(call.name, expected, case)


def _expected_names(case: ResolvedCase) -> Iterator[str]:
    """Yield the names of tools that the case or its turns expect or forbid, or that a policy names."""
    parts = (case.expected, *(each.turn for each in case.turns))
    forbidden = [*case.forbidden_calls, *(each for part in parts for each in part.forbidden_calls or ())]
    for each in (*(call for part in parts for call in part.calls or ()), *forbidden):
        yield from each.tools if isinstance(each, ExpectedCall) else [each]
    for policy in case.policies:
        yield from policy.tools
        yield from (name for _, other in policy.others for name in other.tools)
