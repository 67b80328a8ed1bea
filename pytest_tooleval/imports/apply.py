"""What an import found, and the suite that it makes: the one way from a format into a suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ..errors import Problem, SuiteError
from ..keys import texts_in
from ..secrets import redacted
from ..text import counted
from .answers import AnsweredCases, new_suite
from .chats import RecordedAnswer
from .conversation import unread_text
from .drafts import draft_case
from .records import UnusableError
from .update import DraftCases, update_suite

_T = TypeVar("_T")
_MOST_PAIRS = 20
_MOST_IDS = 5
_NOTHING_TO_TEST = "the request offers no tools or forbids calls, so there is nothing to test"


def count_changed(before: Any, after: Any) -> int:
    """How many texts two JSON values of the same form do not share."""
    return sum(a != b for a, b in zip(texts_in(before), texts_in(after), strict=False))


class Recorded(NamedTuple):
    """A recorded answer and its place, a problem without a message."""

    place: Problem
    answer: RecordedAnswer


class Found(NamedTuple):
    """What an import found: `tools` in place of a suite's, a `suite` with more cases, or `answers`.

    `name` is for a suite without a file. With `tools` come what to call them, settings of a new suite,
    and how to draft cases. Problems are records to leave out; `secrets` counts texts with a key, and
    `remarks` say what else there is to know.
    """

    name: str
    tools: Sequence[dict[str, Any]] | None = None
    suite: dict[str, Any] | None = None
    answers: Sequence[Recorded | Problem] = ()
    left_out: Sequence[Problem] = ()
    remarks: Sequence[str] = ()
    secrets: int = 0
    noun: str = "tool"
    settings: Mapping[str, Any] = MappingProxyType({})
    draft: DraftCases = lambda tool: [draft_case(tool)]


class Applied(NamedTuple):
    """The suite after an import, and what to say; `is_broken` if its cases do not fit new tools."""

    suite: dict[str, Any]
    counts: list[str]
    remarks: list[str]
    left_out: Sequence[Problem] = ()
    is_broken: bool = False


def recorded(
    place: Problem, read: Callable[[_T], tuple[list[RecordedAnswer], list[str]]], value: _T
) -> Iterator[Recorded | Problem]:
    """The answers that `read` finds in a value at this place, and the problems with others."""
    try:
        answers, reasons = read(value)
    except UnusableError as error:
        answers, reasons = [], [str(error)]
    yield from (replace(place, message=reason) for reason in reasons)
    for answer in answers:
        is_empty = not answer.calls and (not answer.tools or answer.tool_choice == "none")
        yield replace(place, message=_NOTHING_TO_TEST) if is_empty else Recorded(place, answer)


def apply(found: Found, name: str, existing: Mapping[str, Any] | None = None) -> Applied:
    """The suite with what was found: an existing one keeps its cases, a new one has this name.

    SuiteError if none of the answers can be used.
    """
    if found.tools is not None:
        made = _with_tools(found, found.tools, name, existing)
    elif found.suite is not None:
        # It may come from files that nobody has cleaned.
        suite = redacted(found.suite)
        found = found._replace(secrets=found.secrets + count_changed(found.suite, suite))
        made = _with_cases(suite, existing)
    else:
        made = _with_answers(found, name, existing)
    counts = [*made.counts, *([f"{len(made.left_out)} left out"] if made.left_out else [])]
    texts = counted(found.secrets, "text")
    keys = [f"{texts} contained a key, now a stand-in such as sk-xxxxxxxx"] if found.secrets else []
    return made._replace(counts=counts, remarks=[*keys, *found.remarks, *made.remarks])


def _with_tools(
    found: Found, tools: Sequence[dict[str, Any]], name: str, existing: Mapping[str, Any] | None
) -> Applied:
    new = {"name": name, **found.settings, "tools": [], "test_cases": []}
    suite, changes = update_suite(existing or new, name, tools, True, found.draft)
    counts = [counted(len(tools), found.noun)]
    counts += [f"{counted(changes.drafted, 'draft')} to edit"] if changes.drafted else []
    remarks = changes.lines() if existing else []
    return Applied(suite, counts, remarks, found.left_out, bool(changes.broken))


def _with_cases(made: Mapping[str, Any], existing: Mapping[str, Any] | None) -> Applied:
    """Add the cases whose ids are new; all of them have one."""
    suite = existing or {**made, "test_cases": []}
    known = {case["id"]: case for case in suite["test_cases"] if "id" in case}
    added = [case for case in made["test_cases"] if case["id"] not in known]
    kept = [case for case in made["test_cases"] if case["id"] in known]
    other = [case["id"] for case in kept if case != known[case["id"]]]
    counts = [f"{counted(len(added), 'case')} added", *([f"{len(kept)} kept"] if kept else [])]
    shown = ", ".join(other[:_MOST_IDS]) + (", ..." if len(other) > _MOST_IDS else "")
    remarks = [f"of those kept, {len(other)} differ from the file: {shown}"] if other else []
    return Applied({**suite, "test_cases": [*suite["test_cases"], *added]}, counts, remarks)


def _with_answers(found: Found, name: str, existing: Mapping[str, Any] | None) -> Applied:
    usable = [each for each in found.answers if isinstance(each, Recorded)]
    left_out = [*found.left_out, *(each for each in found.answers if isinstance(each, Problem))]
    suite = new_suite(name, [each.answer for each in usable]) if existing is None else dict(existing)
    cases = AnsweredCases(suite, is_new=existing is None)
    for each in usable:
        try:
            cases.add(each.answer)
        except UnusableError as error:
            left_out.append(replace(each.place, message=str(error)))
    left_out.sort(key=lambda problem: problem.line)
    if not cases.added and not cases.known:
        raise SuiteError(left_out)
    counts = [f"{counted(len(cases.added), 'case')} added"]
    counts += [f"{cases.folded} identical ones merged"] if cases.folded else []
    counts += [f"{cases.known} skipped: prompt already in suite"] if cases.known else []
    unread = unread_text(kind for each in usable for kind in each.answer.unread)
    remarks = [f"{unread}; the cases do not expect them"] if unread else []
    return Applied(cases.finished(), counts, [*remarks, *_pairs(cases.ambiguous())], left_out)


def _pairs(ambiguous: Sequence[tuple[str, str]]) -> Iterator[str]:
    for first, second in ambiguous[:_MOST_PAIRS]:
        yield f"{first} and {second} ask the same and expect different calls: keep one"
    if len(ambiguous) > _MOST_PAIRS:
        yield f"and {len(ambiguous) - _MOST_PAIRS} more such pairs"
