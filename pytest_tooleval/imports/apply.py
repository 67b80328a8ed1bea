"""What an import found, and the suite that it makes: the one way from a format into a suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import Problem, SuiteError, each_reason_once
from ..keys import texts_in
from ..replies.outside_transcript import unread_text
from ..secrets import redact
from ..suite.update import update_suite
from ..text import plural
from .answers import AnsweredCases, disagreeing, new_suite
from .chats import RecordedAnswer
from .items import ToolList
from .records import UnusableError

Tick = Callable[[str], None]
_MOST_IDS = 5
_UNRECORDED = (
    "the tools are not recorded: made {} of the calls; to have the real ones, add a file of tools"
)
_DISAGREE = "a prompt had different answers, so these contradict each other; keep the right ones: {}"


def count_changed(before: Any, after: Any) -> int:
    """How many texts two JSON values of the same form do not share."""
    return sum(a != b for a, b in zip(texts_in(before), texts_in(after), strict=False))


class ImportResult(NamedTuple):
    """What an import found: `tools` in place of a suite's, a `suite` with more cases, or `answers`.

    `name` is for a suite without a file. Problems are records to leave out; `secrets` counts texts with
    a key, and `remarks` say what else there is to know.
    """

    name: str
    tools: ToolList | None = None
    suite: dict[str, Any] | None = None
    answers: Sequence[RecordedAnswer | Problem] = ()
    left_out: Sequence[Problem] = ()
    remarks: Sequence[str] = ()
    secrets: int = 0


class ImportOutcome(NamedTuple):
    """The suite after an import, and what to say; `is_broken` if its cases do not fit new tools."""

    suite: dict[str, Any]
    counts: list[str]
    remarks: list[str]
    left_out: Sequence[Problem] = ()
    is_broken: bool = False


def apply(
    result: ImportResult,
    name: str,
    existing: Mapping[str, Any] | None = None,
    tick: Tick = lambda text: None,
) -> ImportOutcome:
    """The suite with what was found: an existing one keeps its cases, a new one has this name.

    SuiteError if none of the answers can be used.
    """
    if result.tools is not None:
        applied = _with_tools(result, result.tools, name, existing)
    elif result.suite is not None:
        # It may come from files that nobody has cleaned.
        suite = redact(result.suite)
        result = result._replace(secrets=result.secrets + count_changed(result.suite, suite))
        applied = _with_cases(suite, existing)
    else:
        applied = _with_answers(result, name, existing, tick)
    counts = [*applied.counts, *([f"{len(applied.left_out)} left out"] if applied.left_out else [])]
    texts = plural(result.secrets, "text")
    keys = [f"{texts} contained a key, now a stand-in such as sk-xxxxxxxx"] if result.secrets else []
    return applied._replace(counts=counts, remarks=[*keys, *result.remarks, *applied.remarks])


def _with_tools(
    result: ImportResult, listing: ToolList, name: str, existing: Mapping[str, Any] | None
) -> ImportOutcome:
    new = {"name": name, **listing.settings, "tools": [], "test_cases": []}
    suite, changes = update_suite(existing or new, listing.tools)
    counts = [plural(len(listing.tools), "tool")]
    counts += [f"{plural(changes.drafted, 'draft')} to edit"] if changes.drafted else []
    remarks = changes.lines() if existing else []
    return ImportOutcome(suite, counts, remarks, result.left_out, bool(changes.broken))


def _with_cases(imported: Mapping[str, Any], existing: Mapping[str, Any] | None) -> ImportOutcome:
    """Add the cases whose ids are new, and those without one that the suite lacks."""
    suite = existing or {**imported, "test_cases": []}
    cases = suite["test_cases"]
    by_id = {case["id"]: case for case in cases if "id" in case}
    kept = [case for case in imported["test_cases"] if case.get("id") in by_id or case in cases]
    added = [case for case in imported["test_cases"] if case not in kept]
    other = [case["id"] for case in kept if "id" in case and case != by_id[case["id"]]]
    counts = [f"{plural(len(added), 'case')} added", *([f"{len(kept)} kept"] if kept else [])]
    remarks = [f"of those kept, {len(other)} differ from the file: {_listed(other)}"] if other else []
    return ImportOutcome({**suite, "test_cases": [*suite["test_cases"], *added]}, counts, remarks)


def _with_answers(
    result: ImportResult, name: str, existing: Mapping[str, Any] | None, tick: Tick
) -> ImportOutcome:
    usable = [each for each in result.answers if isinstance(each, RecordedAnswer)]
    left_out = [*result.left_out, *(each for each in result.answers if isinstance(each, Problem))]
    suite = new_suite(name, usable) if existing is None else dict(existing)
    cases = AnsweredCases(suite, is_new=existing is None)
    made_tools: Sequence[Any] = ()
    for number, answer in enumerate(usable):
        tick(f"{number} of {plural(len(usable), 'case')} added")
        try:
            cases.add(answer)
            made_tools = answer.made_tools or made_tools
        except UnusableError as error:
            left_out.append(answer.at.problem(str(error)))
    left_out.sort(key=lambda problem: problem.line)
    if not cases.added and not cases.repeated:
        raise SuiteError(each_reason_once(left_out))
    counts = [f"{plural(len(cases.added), 'case')} added"]
    counts += [f"{cases.folded} identical ones merged"] if cases.folded else []
    counts += [f"{cases.repeated} skipped: prompt already in suite"] if cases.repeated else []
    unread = unread_text(kind for each in usable for kind in each.unread)
    remarks = [f"{unread}; the cases do not expect them"] if unread else []
    remarks += [_UNRECORDED.format(plural(len(made_tools), "tool"))] if made_tools else []
    whole = cases.suite_data()
    same = [_listed(ids) for ids in disagreeing(whole["test_cases"][len(cases.existing) :])]
    remarks += [_DISAGREE.format(_listed(same, "; "))] if same else []
    return ImportOutcome(whole, counts, remarks, left_out)


def _listed(texts: Sequence[str], between: str = ", ") -> str:
    return between.join(texts[:_MOST_IDS]) + (f"{between}..." if len(texts) > _MOST_IDS else "")
