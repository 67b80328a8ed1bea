"""Scores a run's stored transcripts again by today's scoring rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from msgspec import structs

from ..errors import ScoringError, ToolevalError
from ..record.metrics import BUILT_IN
from ..record.names import KnownTools
from ..record.results import CaseResult, CaseRow, Score, TrialResult
from ..record.run import SCORING_VERSION
from ..record.transcript import Reply, Transcript, ended_turn, read_message, statuses_of
from ..scoring.trial import score_transcript
from ..suite.case import ResolvedCase
from ..suite.fingerprints import ToolsContent, content_of_case
from ..suite.resolved import known_tools, resolve
from .case import Standard, decide_again
from .sides import FindSuite, Rescored, Side
from .summary import SCORED

_RULES = "has scores of other rules"
_NOT_KEPT = "its transcripts are not kept"
_NO_SUITES = "the suites are not known"
_CHANGED = "its tools or its world changed"
_ON_SERVER = "its tools are on a server, which only a run of pytest asks"


def by_todays_rules(side: Side, other: Side) -> Rescored:
    """Score a side's cases again that the other side also has."""
    if side.run.scoring_version == SCORING_VERSION:
        return Rescored(side)
    # A case's file may have moved since.
    files = {row.content: row.file for row in other.cases}
    open_ = {row.nodeid: row for row in side.cases if row.outcome in SCORED and row.content in files}
    problems = dict.fromkeys(open_, f"{_RULES}, and {_NOT_KEPT}")
    found: dict[str, CaseRow] = {}
    suites = _Suites(side.suites or other.suites)
    try:
        whole = side.whole() if open_ and side.whole is not None else ()
    except ToolevalError as error:
        return Rescored(side, 0, dict.fromkeys(open_, f"{_RULES}, and {error}"))
    for result in whole:
        if result.nodeid not in open_:
            continue
        try:
            case = suites.case_of(result, files[result.content])
            found[result.nodeid] = _scored_again(case, result)
            del problems[result.nodeid]
        except ToolevalError as error:
            problems[result.nodeid] = f"{_RULES}, and {error}"
    cases = [found.get(row.nodeid, row) for row in side.cases]
    return Rescored(side._replace(cases=cases), len(found), problems)


class _Cases(NamedTuple):
    """A suite's cases by the fingerprints of what they expect and of their tools."""

    found: Mapping[tuple[str, str], ResolvedCase]
    lacks_tools: bool


class _Suites:
    """Today's suites."""

    def __init__(self, find: FindSuite | None) -> None:
        self._find = find
        self._load = cache(self._loaded)

    def case_of(self, row: CaseRow, now_in: str) -> ResolvedCase:
        """Today's case for a row, if its tools are unchanged. Raises ToolevalError otherwise."""
        problem = _NO_SUITES
        for file in dict.fromkeys((row.file, now_in)):
            cases = self._load(file)
            if isinstance(cases, str):
                problem = cases
                continue
            if (case := cases.found.get((row.content, row.tools_content))) is not None:
                return case
            is_there = any(content == row.content for content, _ in cases.found)
            changed = _ON_SERVER if cases.lacks_tools else _CHANGED
            problem = changed if is_there else f"{file} no longer has this case"
        raise ScoringError(problem)

    def _loaded(self, file: str) -> _Cases | str:
        """The cases of the suite in a file, or why it cannot be used."""
        if self._find is None:
            return _NO_SUITES
        try:
            suite = self._find(file)
            tools = ToolsContent(suite)
            resolved = ((case, resolve(suite, case)) for case in suite.test_cases)
            found = {(content_of_case(suite, case), tools.of(each)): each for case, each in resolved}
        except ToolevalError as error:
            return str(error)
        return _Cases(found, suite.tools_from is not None and not suite.tools)


def _scored_again(case: ResolvedCase, result: CaseResult) -> CaseRow:
    """A case's row by today's rules, with its recorded thresholds."""
    case = structs.replace(case, thresholds=result.thresholds, limits=result.limits)
    trials = tuple(_trial_again(case, trial) for trial in result.trials)
    return decide_again(structs.replace(result, trials=trials).row(), Standard.of(result))


def _trial_again(case: ResolvedCase, trial: TrialResult) -> TrialResult:
    if trial.error is not None:
        return trial
    if trial.transcript is None:
        raise ScoringError(_NOT_KEPT)
    return score_transcript(
        case, _read_again(case, trial.transcript), scorers=[_AsBefore(trial, case)], trial=trial.trial
    )


class _AsBefore:
    """Keeps the scores of third-party scorers, whose rules the scoring version does not cover."""

    def __init__(self, trial: TrialResult, case: ResolvedCase) -> None:
        self._scores = {name: each for name, each in trial.scores.items() if name not in BUILT_IN}
        own = (name for name in case.thresholds if name not in BUILT_IN)
        self.metrics = tuple(dict.fromkeys([*self._scores, *own]))

    def score(self, case: ResolvedCase, transcript: Transcript) -> Mapping[str, Score]:
        return self._scores


def _read_again(case: ResolvedCase, transcript: Transcript) -> Transcript:
    """The transcript as it would be read today. Statuses of calls that it contains are kept."""
    # In benchmark results, which have no times, silence is an answer, and a text never a call.
    was_asked = any(reply.latency_s is not None for reply in transcript.replies)
    offered = known_tools(case)
    offered = offered._replace(in_text=offered.in_text and was_asked)
    read = statuses_of((each.message, each.answers) for each in transcript.replies)
    replies = []
    for each, found in zip(transcript.replies, read, strict=True):
        status = each.status or (found if len(found) == len(each.calls) else ())
        again = _reply_again(each, offered, was_asked=was_asked)
        replies.append(structs.replace(again, status=status))
    turns = structs.replace(transcript, replies=tuple(replies)).turns
    ended = (each for turn in turns for each in ended_turn(turn))
    return structs.replace(transcript, replies=tuple(ended))


def _reply_again(reply: Reply, offered: KnownTools, *, was_asked: bool) -> Reply:
    """A reply as it would be read today. Calls that its message does not hold are kept."""
    text = reply.text if was_asked else None
    again = read_message(reply.message, text, offered, reply.finish_reason)
    calls = again.calls if len(again.calls) >= len(reply.calls) else reply.calls
    return structs.replace(
        reply,
        calls=calls,
        format=again.format,
        dialect=again.dialect,
        recovered_calls=again.recovered_calls,
        lost_calls=again.lost_calls,
        unread=again.unread,
        no_answer=reply.no_answer or again.no_answer,
    )
