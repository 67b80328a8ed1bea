"""What a failing case shows: the verdict in one line, what was compared, and the transcript."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

from ..record.calls import ToolCall
from ..record.results import ABSENT
from ..record.results import NO_TOOL
from ..record.results import CaseResult
from ..record.results import Check
from ..record.results import TrialResult
from ..record.transcript import Message
from ..record.transcript import Reply
from ..record.transcript import Transcript
from ..record.transcript import text_of
from ..text import json_text
from ..text import printable
from ..text import score_text
from ..text import shorten
from ..text import shown
from .tables import aligned

_CELL = 36
_NOTHING = ("", NO_TOOL, ABSENT)
_TEXT = 400


def render_case(result: CaseResult) -> str:
    """The failure text of a case. Its first line is what the short summary shows."""
    blocks = [result.reason, f"{result.file}:{result.line}: {result.case} on {result.model}"]
    shown = [trial for trial in result.trials if not trial.passed] or list(result.trials)
    if len(result.trials) > 1:
        values = ", ".join(score_text(trial.values.get("overall")) for trial in result.trials)
        blocks.append(f"{len(result.trials)} trials, overall: {values}; the first that failed:")
    for trial in shown[:1]:
        blocks += ["", render_scores(trial, result), "", render_transcript(trial)]
    return "\n".join(blocks).rstrip()


def render_scores(trial: TrialResult, result: CaseResult) -> str:
    """What was expected and what came, as a diff; then each metric with its threshold."""
    rows = []
    for metric, score in trial.scores.items():
        threshold = result.thresholds.get(metric)
        needed = "" if threshold is None else f"needs {threshold:.2f}"
        lines = printable(score.explanation, keep_newlines=True).splitlines() or [""]
        rows.append([metric, score_text(score.value), needed, lines[0]])
    return "\n".join([*_diff(trial), _table(rows)])


def _diff(trial: TrialResult) -> Iterator[str]:
    """By call: what is as expected with a blank in front, else what was expected and what came."""
    for place, checks in trial.checks.items():
        if place or len(trial.checks) > 1:
            yield f"  {printable(place) or 'the answer'}"
        lines = [line for check in checks for line in _check_lines(check)]
        yield from (f"  {line}" for line in aligned(lines, texts=(0, 1, 2)))
        yield ""


def _check_lines(check: Check) -> Iterator[list[str]]:
    what = printable(check.what)
    if check.value >= 1.0:
        yield [f"  {what}", shorten(check.actual, _CELL), ""]
        return
    lines = [["- ", check.expected], ["+ ", check.actual]]
    shown = [[sign + what, shorten(text, _CELL), ""] for sign, text in lines if text not in _NOTHING]
    if shown:
        shown[-1][2] = check.reason
    yield from shown


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"  {line}" for line in aligned(rows, range(len(rows[0]) if rows else 0)))


def render_transcript(trial: TrialResult) -> str:
    """The conversation, one message or call per line."""
    if trial.transcript is None:
        return ""
    lines = [line for message in trial.transcript.prompt for line in _message_lines(message)]
    for round_ in trial.transcript.rounds:
        lines += [line for message in round_.prompt for line in _message_lines(message)]
        lines += _reply_lines(round_.reply)
        lines += [line for answer in round_.answers for line in _message_lines(answer)]
    lines += _others_lines(trial.transcript)
    printed = printable(trial.transcript.printed, keep_newlines=True).splitlines()
    lines += ["", "printed by the world", *(f"  {line}" for line in printed)] if printed else []
    return "\n".join(["  transcript", *(f"  {line}" for line in lines)])


def _others_lines(transcript: Transcript) -> Iterable[str]:
    """How the model that plays the user ended it, and what the judge made of it."""
    if transcript.user is not None and transcript.user.ending:
        yield f"  user       {shown(transcript.user.ending, _TEXT)}"
    for each in transcript.judged:
        met = "is met" if each.passed else "is not met"
        where = f" in turn {each.turn}" if each.turn else ""
        yield f"  judge      {json_text(each.rubric, 120)} {met}{where}: {shown(each.reason, _TEXT)}"


def _message_lines(message: Message) -> Iterable[str]:
    yield f"  {message.get('role', '')!s:<9}  {shown(text_of(message), _TEXT)}"


def _reply_lines(reply: Reply) -> Iterable[str]:
    text = reply.text
    recovered = " (written as text)" if reply.format == "recovered" else ""
    if text.strip() and not recovered:
        yield f"  assistant  {shown(text, _TEXT)}"
    for call in reply.calls:
        yield f"  assistant  calls {show_call(call)}{recovered}"
    if reply.no_answer is not None:
        yield f"  assistant  ({shown(str(reply.no_answer), _TEXT)})"
    elif not reply.calls and not text.strip():
        yield "  assistant  (an empty answer)"
    elif reply.finish_reason not in (None, "stop", "tool_calls", "function_call"):
        yield f"             (ended with {shown(reply.finish_reason, _TEXT)})"


def show_call(call: ToolCall) -> str:
    """`name(city="Paris")`, safe for a terminal."""
    name = shorten(printable(call.name), 80) or "(no name)"
    if call.arguments is None:
        return (
            f"{name} with arguments that are not a JSON object: {shown(call.raw_arguments or '', _TEXT)}"
        )
    pairs = ", ".join(
        f"{printable(key)}={json_text(value, 120)}" for key, value in call.arguments.items()
    )
    return shorten(f"{name}({pairs})", _TEXT)
