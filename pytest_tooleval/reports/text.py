"""The text of a failed case: the reason in one line, a diff, scores and the transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..figures import score_text
from ..record.call_records import CallRecord, call_records
from ..record.calls import NO_TOOL, ToolCall
from ..record.images import in_words
from ..record.results import ABSENT, NOT_SAID, CaseResult, Check, TrialResult
from ..record.thresholds import misses, needs_text
from ..record.transcript import Message, Reply, ToolSearch, Transcript, text_of
from ..replies.recovery import read_calls
from ..text import MOST_SHOWN, align_rows, json_text, plural, printable, shorten, shown

# The file in the node id of a gate's report, as pytest needs one.
GATE_FILE = "tooleval"
# The signs of the diff.
EXPECTED, GOT = "- ", "+ "
_CELL = 36
_LAST_LINES = 8
# How checks show that there is no value.
NO_TEXTS = ("", NO_TOOL, ABSENT)
# The heading of checks without a place.
WHOLE = {"conversation": "the whole conversation", "answer": "the answer"}
_TEXT = 400


def render_case(result: CaseResult, *, whole: bool = True) -> str:
    """The failure text of a case. Its first line is shown in the short summary.

    It has the checks, scores and messages of the first failed trial. Without `whole` only the failed
    checks and scores, and the end of the conversation.
    """
    blocks = [result.reason, f"{result.file}:{result.line}: {result.case} on {result.model}"]
    shown = [trial for trial in result.trials if not trial.passed] or list(result.trials)
    if len(result.trials) > 1:
        limits = result.thresholds.values()
        values = ", ".join(score_text(trial.values.get("overall"), limits) for trial in result.trials)
        blocks.append(f"{len(result.trials)} trials, overall: {values}; the first that failed:")
    for trial in shown[:1]:
        parts = (
            [render_scores(trial, result), render_transcript(trial)] if whole else _short(trial, result)
        )
        blocks += [line for part in parts if part for line in ("", part)]
    return "\n".join(blocks).rstrip()


def render_scores(trial: TrialResult, result: CaseResult) -> str:
    """The diff of expected and actual, then each metric with its threshold."""
    return "\n".join([*_diff(trial, trial.checks, MOST_SHOWN), _table(_score_rows(trial, result))])


def _short(trial: TrialResult, result: CaseResult) -> Iterator[str]:
    """The failed checks and scores, and the end of the conversation."""
    differing = {where: [c for c in checks if c.value < 1.0] for where, checks in trial.checks.items()}
    differing = {where: checks for where, checks in differing.items() if checks}
    yield "\n".join(_diff(trial, differing, _CELL)).rstrip()
    values, thresholds = trial.values, result.thresholds
    missed = [
        metric
        for metric, value in values.items()
        if value is not None and metric in thresholds and misses(metric, value, thresholds[metric])
    ]
    yield _table([row for row in _score_rows(trial, result) if row[0] in missed])
    lines = [line for line in _conversation_lines(trial) if not line.startswith("  system ")]
    cut = len(lines) - _LAST_LINES
    if cut > 1:
        question = [line for line in lines[:cut] if line.startswith("  user ")][-1:]
        more = f"  ({plural(cut - len(question), 'line')} left out; -v shows all)"
        lines = [*question, more, *lines[cut:]]
    yield "\n".join(lines)


def _score_rows(trial: TrialResult, result: CaseResult) -> list[list[str]]:
    rows = []
    for metric, score in trial.scores.items():
        threshold = result.thresholds.get(metric)
        limits = () if threshold is None else (threshold,)
        needed = "" if threshold is None else needs_text(metric, threshold)
        lines = printable(score.explanation, keep_newlines=True).splitlines() or [""]
        rows.append([metric, score_text(score.value, limits), needed, lines[0]])
    return rows


def _diff(trial: TrialResult, by_call: Mapping[str, Sequence[Check]], most: int) -> Iterator[str]:
    """The checks by call; those that failed have a line for expected and one for actual.

    Values are cut to `most` characters. A reason follows a long one without its own column.
    """
    whole = WHOLE["conversation" if "conduct" in trial.scores else "answer"]
    for where, checks in by_call.items():
        if where or len(by_call) > 1:
            yield f"  {printable(where) or whole}"
        lines = [line for check in checks for line in _check_lines(check, most)]
        if any(len(text) > _CELL for _, text, _ in lines):
            lines = [[what, f"{text}  {reason}".rstrip(), ""] for what, text, reason in lines]
        yield from (f"  {line}" for line in align_rows(lines, texts=(0, 1, 2)))
        yield ""
    for line in (*trial.not_played, *trial.differing):
        yield f"  {printable(line)}"
    if trial.not_played or trial.differing:
        yield ""


def _check_lines(check: Check, most: int) -> Iterator[list[str]]:
    what = printable(check.what)
    if check.value >= 1.0:
        yield [f"  {what}", shorten(check.actual, most), ""]
        return
    lines = [[EXPECTED, check.expected], [GOT, check.actual]]
    shown = [[sign + what, shorten(text, most), ""] for sign, text in lines if text not in NO_TEXTS]
    if shown:
        shown[0 if check.reason == NOT_SAID else -1][2] = check.reason
    yield from shown


def _table(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"  {line}" for line in align_rows(rows, range(len(rows[0]) if rows else 0)))


def render_transcript(trial: TrialResult) -> str:
    """The conversation below a title; empty without one."""
    lines = render_conversation(trial)
    return f"  transcript\n{lines}" if lines else ""


def render_conversation(trial: TrialResult) -> str:
    """The conversation, one message or call per line."""
    return "\n".join(f"  {line}" for line in _conversation_lines(trial))


def _conversation_lines(trial: TrialResult) -> list[str]:
    if trial.transcript is None:
        return []
    lines = [line for message in trial.transcript.prompt for line in _message_lines(message)]
    replies = trial.transcript.replies
    for reply, calls in zip(replies, call_records(replies), strict=True):
        lines += [line for message in reply.prompt for line in _message_lines(message)]
        agent = reply.agent if trial.transcript.agents else None
        lines += _reply_lines(reply, calls, agent)
        lines += [line for answer in reply.tool_answers for line in _message_lines(answer)]
    lines += _others_lines(trial.transcript)
    printed = printable(trial.transcript.printed, keep_newlines=True).splitlines()
    return [*lines, "", "world output", *(f"  {line}" for line in printed)] if printed else lines


def _others_lines(transcript: Transcript) -> Iterable[str]:
    """How the simulated user ended the conversation, and the judge's verdicts."""
    if transcript.user is not None and transcript.user.ending:
        yield f"  user       {shown(transcript.user.ending, _TEXT)}"
    for judged in transcript.judged:
        met = "met" if judged.passed else "not met"
        where = f" in turn {judged.turn}" if judged.turn else ""
        yield f"  judge      {json_text(judged.rubric, 120)} {met}{where}: {shown(judged.reason, _TEXT)}"


def _message_lines(message: Message) -> Iterable[str]:
    who, text = f"  {shown(str(message.get('role', '')), 20):<9}  ", text_of(in_words(message))
    calls = read_calls(message, "").calls if message.get("role") == "assistant" else ()
    if text or not calls:
        yield f"{who}{shown(text, _TEXT)}"
    yield from (f"{who}calls {show_call(call)}" for call in calls)


def _reply_lines(reply: Reply, calls: Iterable[CallRecord], agent: str | None) -> Iterable[str]:
    """The lines of a reply and its calls; `agent` is its writer, if there are several."""
    who = f"  {'assistant' if agent is None else shown(agent, 40):<9}  "
    text = reply.text
    as_text = f"written as text: {reply.dialect}" if reply.dialect else "written as text"
    recovered = f" ({as_text})" if reply.format == "recovered" else ""
    if text.strip() and not recovered:
        yield f"{who}{shown(text, _TEXT)}"
    for search in reply.searches:
        yield f"{who}{_search(search)}"
    for call in calls:
        status = "unknown" if call.has_unknown_end else call.status
        ended = f" ({status})" if status not in (None, "ok") else ""
        yield f"{who}calls {show_call(call.call)}{recovered}{ended}"
    if reply.no_answer is not None:
        yield f"{who}({shown(str(reply.no_answer), _TEXT)})"
    elif not reply.calls and not text.strip():
        yield f"{who}(empty answer)"
    elif reply.finish_reason not in (None, "stop", "tool_calls", "function_call"):
        yield f"             (finish reason: {shown(reply.finish_reason, _TEXT)})"


def _search(search: ToolSearch) -> str:
    """`searches for "refund", finds refund_payment`."""
    arguments = search.arguments
    query = arguments.get("query", arguments) if isinstance(arguments, dict) else arguments
    names = None if search.tools is None else ", ".join(map(printable, search.tools)) or "nothing"
    result = "" if names is None else f", finds {shorten(names, _TEXT)}"
    return f"searches for {json_text(query, 120)}{result}"


def show_call(call: ToolCall) -> str:
    """`name(city="Paris")`, safe for a terminal."""
    name = shorten(printable(call.name), 80) or "(no name)"
    if call.arguments is None:
        return f"{name} with malformed arguments: {shown(call.raw_arguments or '', _TEXT)}"
    pairs = ", ".join(
        f"{printable(key)}={json_text(value, 120)}" for key, value in call.arguments.items()
    )
    return shorten(f"{name}({pairs})", _TEXT)
