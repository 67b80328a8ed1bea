"""Drafts of cases from failed cases of a run, and from transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Location, Problem, SuiteError, ToolevalError
from ...record.results import CaseResult
from ...record.transcript import Transcript
from ...replies.outside_transcript import OutsideTranscript
from ...text import shown
from ..apply import ImportResult
from ..chats import RecordedAnswer, draft_in, usable
from ..records import read_records
from ..seen_tools import tools_seen
from ..transcripts import read_transcripts

if TYPE_CHECKING:
    from ...verdicts.sides import Side

_OPEN = "draft: write what should be called"
_MOST_REASON = 200


def import_draft(source: str, side_of: Callable[[str], Side], case: str | None) -> ImportResult:
    """The drafts. Raises ToolevalError for an unknown run, SuiteError if there is nothing to draft."""
    path = Path(source)
    if path.exists() and not _is_report(path):
        answers = list(map(_of_transcript, read_transcripts([path])))
        return ImportResult(path.stem, answers=answers)
    side = side_of(source)
    if side.whole is None:
        raise ToolevalError(f"{source}: stored without transcripts, so the prompts are unknown")
    failed = [each for each in side.whole() if _is_drafted(each)]
    chosen = [each for each in failed if case in (None, each.case)]
    if not chosen:
        ids = ", ".join(shown(each.case) for each in failed[:10])
        what = f"no failed case {shown(case)}; failed: {ids}" if case and failed else "no case failed"
        raise SuiteError([Problem(source, 0, 0, "", what)])
    return ImportResult("drafts", answers=[_of_case(side, row) for row in chosen])


def _is_drafted(row: CaseResult) -> bool:
    """True for failed cases, and for Python tests with an answer, which no suite has yet."""
    return not row.variant and (row.outcome == "failed" or (row.is_python and row.answered > 0))


def _is_report(path: Path) -> bool:
    if not path.is_file():
        return False
    records, _ = read_records(path)
    first = records[0].value if records else None
    return isinstance(first, Mapping) and {"version", "run", "cases"} <= first.keys()


def _of_transcript(outside: OutsideTranscript) -> RecordedAnswer | Problem:
    choice = "auto" if outside.tools else None
    return usable(outside.at, lambda: draft_in(outside.messages, outside.tools, choice, _OPEN))


def _of_case(side: Side, row: CaseResult) -> RecordedAnswer | Problem:
    at = Location(row.file or side.name, row.line, 1, row.case)
    answered = [trial for trial in row.trials if trial.transcript]
    shown_ones = [trial for trial in answered if trial.failure or row.outcome == "passed"]
    trial = next(iter(shown_ones), None)
    if trial is None or (transcript := trial.transcript) is None:
        return at.problem("there is no transcript of a failed trial")
    try:
        tools = _seen_in(row, transcript) if row.is_python else _tools_of(side, row)
    except ToolevalError as error:
        return at.problem(f"its tools are unknown: {error}")
    why = f"{_OPEN}; {shown(row.case)} passed on {shown(row.model)}"
    if row.outcome != "passed":
        reason = shown(trial.mistake or row.reason, _MOST_REASON)
        why = f"{_OPEN}; {shown(row.case)} failed on {shown(row.model)}: {reason}"
    choice = row.tool_choice if row.tool_choice in ("auto", "required", "none") else None
    return usable(at, lambda: draft_in(transcript.messages, tools, choice, why))


def _tools_of(side: Side, row: CaseResult) -> list[dict[str, Any]] | None:
    """The tools that the suite offers now; None if they come from a server."""
    assert side.suites is not None
    suite = side.suites(row.file)
    case_tools = next((case.tools for case in suite.test_cases if case.id == row.case), None)
    return [tool.wire for tool in (suite.tools if case_tools is None else case_tools)] or None


def _seen_in(row: CaseResult, transcript: Transcript) -> list[dict[str, Any]]:
    """The tools of a Python test, with the parameters that its calls show."""
    seen = tools_seen((call.name, call.arguments or {}) for call in transcript.calls)
    by_name = {tool["function"]["name"]: tool for tool in seen}
    return [by_name.get(name) or tools_seen([(name, {})])[0] for name in row.offered]
